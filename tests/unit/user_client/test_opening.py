"""What a user checks before anything of hers is sent: each check has a collection that only it refuses."""

import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from peos.collection.document import MechanismChoice
from peos.crypto.identity import Identity
from peos.errors import BadEncoding
from peos.ldp import GRR
from peos.wire import documents, parties
from tests.raising import raises
from tests.unit.user_client.conftest import Open
from tests.unit.user_client.town import NOW, FakeShufflers, certificate


def nothing_was_sent(town: FakeShufflers) -> bool:
    return not any(one.parts for one in town.shufflers)


def test_a_collection_within_her_limits_is_opened_after_asking_every_shuffler(
    town: FakeShufflers, client: Open
) -> None:
    collection = client().open(town.invitation)
    assert (collection.digest, collection.question) == (town.digest, "how many?")
    assert collection.asked == ("a whole number from 0 to 63",)
    assert [one.described for one in town.shufflers] == [1, 1, 1]


@pytest.mark.parametrize("deviant", [1, 2, 3])
def test_one_shuffler_that_describes_another_document_is_named(town: FakeShufflers, client: Open, deviant: int) -> None:
    invitation = town.invitation
    other = documents.sign_document(town.document(fakes=101), town.analyzer)
    town.shufflers[deviant - 1].signed, town.shufflers[deviant - 1].lie = other, b"\x01" * 32
    with raises("consent.other_document", f"shuffler {deviant}"):
        client().open(invitation)
    assert nothing_was_sent(town)


def test_an_invitation_to_another_digest_is_refused(town: FakeShufflers, client: Open) -> None:
    signed_cards = tuple(parties.sign_card(one.card, one.identity) for one in town.shufflers)
    for one in town.shufflers:
        one.lie = b"\x01" * 32  # it describes whatever it is asked about
    with raises("consent.other_document"):
        client().open(parties.encode_invitation(b"\x22" * 32, signed_cards))


def altered(signed: bytes) -> bytes:
    at = signed.index(b"how many?")
    return signed[:at] + b"how menu?" + signed[at + 9 :]


@pytest.mark.parametrize("alter", [altered, lambda signed: signed[:-1], lambda signed: signed + b"\x00", lambda _: b""])
def test_an_altered_document_is_refused(town: FakeShufflers, client: Open, alter: Callable[[bytes], bytes]) -> None:
    invitation = town.invitation
    for one in town.shufflers:
        one.lie = b"\x01" * 32
    town.shufflers[1].signed = alter(town.shufflers[1].signed)
    with raises("consent.document", "shuffler 2 (org-2), document"):
        client().open(invitation)
    assert nothing_was_sent(town)


def test_a_shuffler_that_she_does_not_trust_is_refused_and_not_even_asked(town: FakeShufflers, client: Open) -> None:
    pinned = tuple(card.identity for card in town.cards)
    with raises("consent.untrusted", "shuffler 3 (org-3)"):
        client(shufflers=(*pinned[:2], b"\x07" * 32, b"\x08" * 32)).open(town.invitation)
    assert [one.described for one in town.shufflers] == [0, 0, 0]


def test_she_asks_about_her_report_by_the_identities_that_she_pinned_when_she_answered(
    town: FakeShufflers, client: Open
) -> None:
    """Whatever she pins now; an identity that she never pinned is refused, in whatever place it stands."""
    mine, shufflers, cards = client(), town.shufflers, list(town.cards)
    assert mine.open(town.invitation).submit("7", town.ticket(1)).accepted
    pinned = tuple(card.identity for card in cards)
    later = client(shufflers=(b"\x07" * 32, b"\x08" * 32, pinned[2]))
    (found,) = later.verify(parties.decode_invitation(town.invitation))
    assert found.counted is None, "these shufflers prove nothing"
    with raises("consent.untrusted", "shuffler 1 (org-1)"):
        later.open(town.invitation)
    signed = [one.signed_card for one in shufflers]
    stranger = Identity(b"\x09" * 32)
    for place, card in enumerate(cards):
        theirs = parties.sign_card(replace(card, identity=stranger.public), stranger)
        forged = parties.encode_invitation(town.digest, (*signed[:place], theirs, *signed[place + 1 :]))
        with raises("consent.untrusted", f"shuffler {place + 1}"):
            later.verify(parties.decode_invitation(forged))
    for others in ([signed[1], signed[0], signed[2]], [signed[1], signed[2], signed[0]]):
        with raises("consent.untrusted"):  # a receipt is for the place that it was given in
            later.verify(parties.decode_invitation(parties.encode_invitation(town.digest, tuple(others))))
    with raises("consent.untrusted"):  # nor was anything sent to this one
        later.verify(parties.decode_invitation(parties.encode_invitation(b"\x22" * 32, tuple(signed))))


def test_one_organisation_twice_is_refused(town: FakeShufflers, client: Open) -> None:
    cards = [parties.sign_card(one.card, one.identity) for one in town.shufflers]
    with raises("consent.same_organisation"):
        client().open(parties.encode_invitation(town.digest, (cards[0], cards[1], cards[1])))
    assert [one.described for one in town.shufflers] == [0, 0, 0]


def test_a_document_that_names_other_shufflers_than_the_invitation_is_refused(
    town: FakeShufflers, client: Open
) -> None:
    stranger = Identity.generate(town.rng)
    members = tuple(one.card.member for one in town.shufflers)
    town.publish(town.document(shufflers=(*members[:2], replace(members[2], identity=stranger.public))))
    with raises("consent.shufflers"):
        client().open(town.invitation)


def test_shufflers_in_another_order_than_the_documents_are_refused(town: FakeShufflers, client: Open) -> None:
    cards = [parties.sign_card(one.card, one.identity) for one in town.shufflers]
    with raises("consent.shufflers"):
        client().open(parties.encode_invitation(town.digest, (cards[1], cards[0], cards[2])))


def test_an_invitation_with_two_shufflers_or_a_forged_card_is_refused(town: FakeShufflers, client: Open) -> None:
    cards = [parties.sign_card(one.card, one.identity) for one in town.shufflers]
    forged = parties.sign_card(town.cards[2], town.analyzer)
    for wrong in (cards[:2], [*cards[:2], forged], [*cards[:2], b"\x00"]):
        with pytest.raises(BadEncoding):
            client().open(parties.encode_invitation(town.digest, tuple(wrong)))


@pytest.mark.parametrize(
    ("limit", "mistake"),
    [
        ({"most_eps_local": 1.9}, ("consent.eps_local", "2", "1.9")),
        ({"least_reports": 1001}, ("consent.reports", "1000", "1001")),
        ({"least_fakes": 101}, ("consent.fakes", "100", "101")),
    ],
)
def test_each_of_her_limits_refuses(
    town: FakeShufflers, client: Open, limit: dict[str, float], mistake: tuple[str, ...]
) -> None:
    with raises(*mistake) as caught:
        client(**limit).open(town.invitation)
    assert next(iter(limit)) in caught.value.hint


def test_her_limits_let_in_what_just_meets_them(town: FakeShufflers, client: Open) -> None:
    epsilon = town.document().mechanism.epsilon_local
    client(most_eps_local=epsilon, least_reports=1000, least_fakes=100).open(town.invitation)


def test_a_collection_that_has_closed_is_refused(town: FakeShufflers, client: Open) -> None:
    with raises("consent.closed", "2030-03-17 18:46 UTC", "here says 2030-03-17 18:46"):
        client(now=NOW + 3600).open(town.invitation)
    client(now=NOW + 3599).open(town.invitation)


def test_a_collection_that_closes_while_she_thinks_is_not_answered(town: FakeShufflers, client: Open) -> None:
    now = [float(NOW)]
    collection = client(clock=lambda: now[0]).open(town.invitation)
    now[0] += 3600
    with raises("consent.closed"):
        collection.submit(5, town.ticket(1))
    assert nothing_was_sent(town)
    assert client().status() == ()


def test_one_shuffler_that_cannot_be_reached_is_named(town: FakeShufflers, client: Open) -> None:
    town.stop(2)
    with raises("network.no_answer", "org-2, document"):
        client().open(town.invitation)


def test_a_shuffler_that_turns_her_away_for_a_moment_is_asked_again(town: FakeShufflers, client: Open) -> None:
    """As its port does where her address has made as many connections in this second as it may."""
    town.stop(2)
    reset = struct.pack("ii", 1, 0)
    with socket.create_server(("127.0.0.1", town.shufflers[1].port)) as full:

        def turn_away() -> None:
            for _ in range(2):
                one, _ = full.accept()
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
                one.close()
            full.close()
            town.start(2)

        thread = threading.Thread(target=turn_away, daemon=True)
        thread.start()
        assert client().open(town.invitation).digest == town.digest
        thread.join()


def test_a_shuffler_with_another_certificate_than_its_card_is_named(town: FakeShufflers, client: Open) -> None:
    town.stop(3)
    town.shufflers[2].users, true = certificate("stranger"), town.shufflers[2].users
    town.start(3)
    town.shufflers[2].users = true
    with raises("network.certificate", "org-3, document"):
        client().open(town.invitation)


def test_a_mechanism_of_less_privacy_than_it_says_by_name_is_judged_by_its_numbers(
    town: FakeShufflers, client: Open
) -> None:
    town.publish(town.document(choice=MechanismChoice.of(GRR(64, 6.0))))
    with raises("consent.eps_local", "6", "2.5"):
        client().open(town.invitation)
