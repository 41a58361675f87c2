"""Cards, invitations, proposals, orders and answers: signed by those who may, and with one meaning each."""

from dataclasses import replace

import pytest

from peos.collection.cards import Card
from peos.collection.receipts import Acknowledgement, Receipt
from peos.collection.replies import Answer
from peos.crypto.identity import Identity
from peos.v1 import services_pb2 as pb
from peos.wire import parties
from peos.wire.strict import serialize
from peos.wire.submissions import encode_acknowledgement
from tests.raising import raises

OWN, OTHER = Identity(b"\x01" * 32), Identity(b"\x02" * 32)
CARD = Card("Ufficio", OWN.public, "host:1", b"peer certificate", "host:2", b"user certificate")
SIGNED = parties.sign_card(CARD, OWN)
COLLECTION, ID, DIGEST = b"\x03" * 32, b"\x04" * 16, b"\x05" * 32


def resigned(card: Card) -> bytes:
    return parties.sign_card(card, OWN)


def test_a_card_is_signed_by_its_own_identity_and_nobody_else() -> None:
    assert parties.decode_card(SIGNED) == CARD
    altered = pb.SignedCard.FromString(SIGNED)
    altered.card = pb.SignedCard.FromString(resigned(replace(CARD, peer_address="host:3"))).card
    for data in (parties.sign_card(CARD, OTHER), serialize(altered)):
        with raises("card.signature"):
            parties.decode_card(data)


@pytest.mark.parametrize(
    ("card", "mistake"),
    [
        (replace(CARD, name=""), ("encoding.range", "the length of a card's name", "0")),
        (replace(CARD, name="x" * 1025), ("encoding.range", "the length of a card's name", "1025")),
        (replace(CARD, peer_address="x" * 1025), ("encoding.range", "the length of a card's address", "1025")),
        (replace(CARD, user_address="x" * 1025), ("encoding.range", "the length of a card's address", "1025")),
        (replace(CARD, peer_certificate=b""), ("encoding.range", "the length of a peer certificate", "0")),
        (replace(CARD, peer_certificate=bytes(4097)), ("encoding.range", "the length of a peer certificate", "4097")),
        (replace(CARD, user_certificate=bytes(4097)), ("encoding.range", "the length of a user certificate", "4097")),
    ],
    ids=lambda given: str(given)[:40] if isinstance(given, str) else "",
)
def test_what_a_card_says_has_its_lengths(card: Card, mistake: tuple[str, ...]) -> None:
    with raises(*mistake):
        parties.decode_card(resigned(card))


@pytest.mark.parametrize("missing", ["user_address", "user_certificate"])
def test_an_invitation_names_no_shuffler_that_users_cannot_reach(missing: str) -> None:
    assert parties.decode_invitation(parties.encode_invitation(COLLECTION, (SIGNED,) * 3)).shufflers == (CARD,) * 3
    closed = resigned(replace(CARD, **{missing: ""} if missing == "user_address" else {missing: b""}))
    with raises("card.no_user_port"):
        parties.decode_invitation(parties.encode_invitation(COLLECTION, (SIGNED, SIGNED, closed)))


@pytest.mark.parametrize("count", range(12))
def test_cards_are_as_many_as_organisations_can_be(count: int) -> None:
    signed = (SIGNED,) * count
    if 3 <= count <= 9:
        parties.decode_invitation(parties.encode_invitation(COLLECTION, signed))
    else:
        with raises("encoding.range", "an invitation's cards", f"{count}", "3 … 9"):
            parties.decode_invitation(parties.encode_invitation(COLLECTION, signed))
    if 4 <= count <= 10:
        assert parties.decode_proposal(parties.encode_proposal(b"document", signed)).signed_cards == signed
    else:
        with raises("encoding.range", "a proposal's cards", f"{count}", "4 … 10"):
            parties.decode_proposal(parties.encode_proposal(b"document", signed))


def test_an_order_to_close_is_not_one_to_abort() -> None:
    for abort in (False, True):
        order = parties.decode_order(parties.sign_order(COLLECTION, OWN, abort=abort))
        assert order.abort is abort
        assert parties.order_verifies(order, OWN.public)
        assert not parties.order_verifies(order, OTHER.public)
        assert not parties.order_verifies(replace(order, abort=not abort), OWN.public)
        assert not parties.order_verifies(replace(order, collection=DIGEST), OWN.public)


RECEIPT = Receipt(0, 1, (), bytes(64))
TAKEN = encode_acknowledgement(Acknowledgement(COLLECTION, ID + DIGEST, RECEIPT))


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (pb.Answer(version=1, id=ID), ("submit.answer_form",)),
        (pb.Answer(version=1, id=ID, acknowledgement=TAKEN, refusal="no"), ("submit.answer_form",)),
        (pb.Answer(version=1, id=bytes(16), acknowledgement=TAKEN), ("submit.answer_part",)),
        (pb.Answer(version=1, id=ID, acknowledgement=TAKEN[:-1]), ("encoding.unreadable", "an Acknowledgement")),
        (pb.Answer(version=1, id=ID, acknowledgement=TAKEN, hint="try"), ("submit.answer_mixed",)),
        (pb.Answer(version=1, id=ID, acknowledgement=TAKEN, retry=True), ("submit.answer_mixed",)),
        (pb.Answer(version=1, id=ID, acknowledgement=TAKEN, error="submit.closed"), ("submit.answer_mixed",)),
        (pb.Answer(version=1, id=ID, refusal="no"), ("submit.answer_unnamed",)),
        (pb.Answer(version=1, id=ID, refusal="no", error="submit.\x1b[2J"), ("submit.answer_unnamed",)),
        (pb.Answer(version=1, id=ID, refusal="no", error="submit." + "x" * 99), ("submit.answer_unnamed",)),
        (pb.Answer(version=1, id=ID, refusal="x" * 1025), ("encoding.range", "a refusal", "1025")),
        (
            pb.Answer(version=1, id=ID, refusal="no", hint="x" * 1025),
            ("encoding.range", "a refusal", "1025"),
        ),
    ],
)
def test_an_answer_takes_a_part_or_refuses_it_and_means_one_thing(answer: pb.Answer, mistake: tuple[str, ...]) -> None:
    with raises(*mistake):
        parties.decode_answer(serialize(answer))


def test_an_answer_that_takes_a_part_carries_its_row() -> None:
    taken = Answer(COLLECTION, ID, ID + DIGEST, receipt=RECEIPT)
    assert parties.decode_answer(parties.encode_answer(taken)) == taken
    refused = Answer(COLLECTION, ID, refusal="the share has the wrong length", hint="send it again", retry=True)
    refused = replace(refused, error_id="submit.share_length")
    assert parties.decode_answer(parties.encode_answer(refused)) == replace(refused, collection=bytes(32))
