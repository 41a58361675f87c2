"""Cards, invitations, proposals, orders, answers and status on the wire."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from peos.collection.cards import Card, Invitation
from peos.collection.document import TEXT_LIMIT
from peos.collection.lifecycle import Order
from peos.collection.receipts import Acknowledgement
from peos.collection.replies import Answer, Status
from peos.collection.ticket import ID_BYTES
from peos.crypto.identity import PUBLIC_BYTES, SIGNATURE_BYTES, Identity, verifies
from peos.crypto.kdf import DIGEST_BYTES
from peos.crypto.onion import read_point
from peos.errors import BadEncoding, id_from
from peos.shuffle.schedule import MAX_SHUFFLERS, MIN_SHUFFLERS
from peos.v1 import services_pb2 as pb
from peos.wire.strict import VERSION, exactly, parse, serialize, within
from peos.wire.submissions import decode_acknowledgement, encode_acknowledgement

CERTIFICATE_LIMIT: Final = 4096


@dataclass(frozen=True)
class Proposal:
    """A signed document as bytes, and the cards of everybody in it."""

    document: bytes
    cards: tuple[Card, ...]
    signed_cards: tuple[bytes, ...]


def encode_inquiry(collection: bytes) -> bytes:
    """Ask about one collection."""
    return serialize(pb.Inquiry(version=VERSION, collection=collection))


def decode_inquiry(data: bytes) -> bytes:
    """The collection that is asked about."""
    return exactly(parse(pb.Inquiry, data).collection, DIGEST_BYTES, "an inquiry's collection")


def encode_reply(_: None = None) -> bytes:
    """It was taken in."""
    return serialize(pb.Reply(version=VERSION))


def decode_reply(data: bytes) -> None:
    """It was taken in."""
    parse(pb.Reply, data)


def sign_card(card: Card, identity: Identity) -> bytes:
    """A card as it is handed around."""
    encoded = serialize(
        pb.Card(
            version=VERSION,
            name=card.name,
            identity=card.identity,
            peer_address=card.peer_address,
            peer_certificate=card.peer_certificate,
            user_address=card.user_address,
            user_certificate=card.user_certificate,
            onion_key=card.onion_key,
        )
    )
    return serialize(pb.SignedCard(version=VERSION, card=encoded, signature=identity.sign("card", encoded)))


@lru_cache(maxsize=1024)
def decode_card(data: bytes) -> Card:
    """A card that its own identity signed, which is verified once for the same bytes."""
    signed = parse(pb.SignedCard, data)
    message = parse(pb.Card, signed.card)
    exactly(message.identity, PUBLIC_BYTES, "a card's identity")
    exactly(signed.signature, SIGNATURE_BYTES, "a card's signature")
    if not verifies(message.identity, signed.signature, "card", signed.card):
        raise BadEncoding("card.signature", "a card is not signed by its own identity")
    within(len(message.name), 1, TEXT_LIMIT, "the length of a card's name")
    for address in (message.peer_address, message.user_address):
        within(len(address), 0, TEXT_LIMIT, "the length of a card's address")
    within(len(message.peer_certificate), 1, CERTIFICATE_LIMIT, "the length of a peer certificate")
    within(len(message.user_certificate), 0, CERTIFICATE_LIMIT, "the length of a user certificate")
    if message.onion_key:
        read_point(message.onion_key)
    return Card(
        message.name,
        message.identity,
        message.peer_address,
        message.peer_certificate,
        message.user_address,
        message.user_certificate,
        message.onion_key,
    )


def encode_proposal(document: bytes, signed_cards: tuple[bytes, ...]) -> bytes:
    """A signed document and everybody's signed card."""
    return serialize(pb.Proposal(version=VERSION, document=document, cards=signed_cards))


def decode_proposal(data: bytes) -> Proposal:
    """A proposal whose cards are signed; the receiver decodes the document and compares both."""
    message = parse(pb.Proposal, data)
    within(len(message.cards), MIN_SHUFFLERS + 1, MAX_SHUFFLERS + 1, "the number of a proposal's cards")
    return Proposal(message.document, tuple(map(decode_card, message.cards)), tuple(message.cards))


def encode_invitation(collection: bytes, signed_cards: tuple[bytes, ...]) -> bytes:
    """An invitation as users are given it."""
    return serialize(pb.Invitation(version=VERSION, collection=collection, cards=signed_cards))


def decode_invitation(data: bytes) -> Invitation:
    """An invitation whose cards are signed and have a user port; the client compares identities with her own pins."""
    message = parse(pb.Invitation, data)
    within(len(message.cards), MIN_SHUFFLERS, MAX_SHUFFLERS, "the number of an invitation's cards")
    cards = tuple(map(decode_card, message.cards))
    if any(not card.user_address or not card.user_certificate for card in cards):
        raise BadEncoding("card.no_user_port", "an invitation names a shuffler without a port for users")
    return Invitation(exactly(message.collection, DIGEST_BYTES, "an invitation's collection"), cards)


def sign_order(collection: bytes, analyzer: Identity, *, abort: bool = False) -> bytes:
    """Close a collection now, or abort it."""
    signature = analyzer.sign("order", collection, b"abort" if abort else b"close")
    return serialize(pb.Order(version=VERSION, collection=collection, abort=abort, signature=signature))


def decode_order(data: bytes) -> Order:
    """An order; `order_verifies` says whose."""
    message = parse(pb.Order, data)
    return Order(
        exactly(message.collection, DIGEST_BYTES, "an order's collection"),
        message.abort,
        exactly(message.signature, SIGNATURE_BYTES, "an order's signature"),
    )


def order_verifies(order: Order, analyzer: bytes) -> bool:
    """Whether the analyzer signed the order."""
    return verifies(analyzer, order.signature, "order", order.collection, b"abort" if order.abort else b"close")


def encode_answer(answer: Answer) -> bytes:
    """What became of a part."""
    return serialize(
        pb.Answer(
            version=VERSION,
            id=answer.id,
            acknowledgement=_acknowledged(answer),
            refusal=answer.refusal,
            hint=answer.hint,
            retry=answer.retry,
            error=answer.error_id,
        )
    )


def decode_answer(data: bytes) -> Answer:
    """An acknowledgement or a refusal, never both."""
    message = parse(pb.Answer, data)
    exactly(message.id, ID_BYTES, "an answer's id")
    if bool(message.acknowledgement) == bool(message.refusal):
        raise BadEncoding("submit.answer_form", "an answer is an acknowledgement or a refusal")
    for text in (message.refusal, message.hint):
        within(len(text), 0, TEXT_LIMIT, "the length of a refusal")
    if message.refusal:
        if id_from(message.error) != message.error:
            raise BadEncoding("submit.answer_unnamed", "a refusal does not name its id")
        said = message.refusal, message.hint, message.retry
        return Answer(bytes(DIGEST_BYTES), message.id, b"", *said, error_id=message.error)
    if message.hint or message.retry or message.error:
        raise BadEncoding("submit.answer_mixed", "an acknowledgement comes with a hint or asks for another try")
    taken = decode_acknowledgement(message.acknowledgement)
    if taken.row[:ID_BYTES] != message.id:
        raise BadEncoding("submit.answer_part", "an answer acknowledges another part")
    return Answer(taken.collection, message.id, taken.row, receipt=taken.receipt)


def _acknowledged(answer: Answer) -> bytes:
    if answer.refusal or answer.receipt is None:
        return b""
    return encode_acknowledgement(Acknowledgement(answer.collection, answer.row, answer.receipt))


def encode_status(status: Status) -> bytes:
    """Where a collection stands with one shuffler."""
    return serialize(
        pb.StatusReply(
            version=VERSION,
            collection=status.collection,
            state=status.state,
            reason=status.reason,
            reports=status.reports,
            step=status.step,
            done=status.done,
            total=status.total,
            seconds=status.seconds,
            refused=status.refused,
            known=status.known,
            waited_for=status.waited_for,
        )
    )


def decode_status(data: bytes) -> Status:
    """A status, as long as a status may be."""
    message = parse(pb.StatusReply, data)
    waited_for = tuple(message.waited_for)
    for text in (message.state, message.reason, message.step, *waited_for, *message.refused):
        within(len(text), 0, TEXT_LIMIT, "the length of a status line")
    return Status(
        exactly(message.collection, DIGEST_BYTES, "a status's collection"),
        message.state,
        message.known,
        message.reason,
        message.reports,
        message.step,
        waited_for,
        message.done,
        message.total,
        message.seconds,
        tuple(message.refused),
    )
