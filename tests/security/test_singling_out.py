"""The analyzer shows one user a collection of her own: another key and other parameters, or shufflers that are itself.

With the client as it is, nothing is sent. A client that asks one shuffler only answers under the document made for
her, and one without pins hands all her shares to the analyzer, which reads her report.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from numpy.typing import NDArray

from peos.collection.cards import Card
from peos.collection.submission import plain_share
from peos.collection.ticket import Ticket, issue
from peos.crypto.identity import Identity
from peos.crypto.randomness import U64, Randomness
from peos.ldp import GRR
from peos.net.submit import Described, describe
from peos.wire import documents, parties
from tests.raising import raises
from tests.security.verdict import of_rate
from tests.unit.user_client.town import NOW, FakeShufflers, full_key
from user_client.client import Client, Describe
from user_client.config import Config

TRIALS: Final = 12


@pytest.fixture
def town() -> Iterator[FakeShufflers]:
    with FakeShufflers().running() as here:
        yield here


class Everybody(tuple[bytes, ...]):
    """Pins that hold for any identity: a client without pins."""

    def __contains__(self, _: object) -> bool:
        return True


def client(
    town: FakeShufflers, folder: Path, *, ask: Describe = describe, pins: tuple[bytes, ...] | None = None
) -> Client:
    """A user with a memory of her own, who asks shufflers so, and trusts these."""
    trusted = tuple(card.identity for card in town.cards) if pins is None else pins
    config = Config(folder=folder, shufflers=trusted, most_eps_local=2.5, least_reports=500, least_fakes=50, budget=5.0)
    return Client(config, clock=lambda: float(NOW), describe=ask)


def invitation(town: FakeShufflers, signed: bytes) -> bytes:
    digest = documents.decode_signed_document(signed).digest
    return parties.encode_invitation(digest, tuple(parties.sign_card(one.card, one.identity) for one in town.shufflers))


# A document for her alone, which shuffler 1, who works with the analyzer, shows to her. The others know none but the
# one that everybody else is given.


def for_her_alone(town: FakeShufflers) -> bytes:
    """Shuffler 1 describes a document with 60 fakes, the others the one with 100; returns hers."""
    town.publish()
    hers = documents.sign_document(town.document(fakes=60), town.analyzer)
    town.shufflers[0].signed = hers
    return hers


def test_a_document_for_her_alone_is_not_answered(town: FakeShufflers, tmp_path: Path) -> None:
    hers = for_her_alone(town)
    user = client(town, tmp_path / "user")
    with raises("collection.unknown", "org-2, document"):
        user.open(invitation(town, hers))
    user.close()
    assert not any(one.parts for one in town.shufflers)


def test_a_client_that_asks_one_shuffler_only_answers_a_document_for_her_alone(
    town: FakeShufflers, tmp_path: Path
) -> None:
    hers = for_her_alone(town)

    def one_only(card: Card, collection: bytes) -> Described:
        del card, collection
        return Described(hers)

    marked = documents.decode_signed_document(hers).digest
    taken = 0
    for number in range(TRIALS):
        user = client(town, tmp_path / f"user {number}", ask=one_only)
        ticket = _ticket(town, marked, number)
        user.open(invitation(town, hers)).submit(5, ticket)
        user.close()
        taken += any(part.collection == marked and part.id == ticket.id for part in town.shufflers[0].taken.values())
    of_rate("a document for one user", taken, TRIALS, "parts under it were taken in by shuffler 1").assert_succeeds()


def _ticket(town: FakeShufflers, collection: bytes, number: int) -> Ticket:
    id_ = number.to_bytes(16, "big")
    return issue(town.enrolment, collection, id_, Identity(id_ * 2))


# Shufflers that are the analyzer itself: their identities are fresh, and no organisation vouches for them.


def test_shufflers_that_nobody_knows_are_not_answered(town: FakeShufflers, tmp_path: Path) -> None:
    town.publish()
    known = tuple(bytes((number,)) * 32 for number in range(3))
    user = client(town, tmp_path / "user", pins=known)
    with raises("consent.untrusted"):
        user.open(town.invitation)
    user.close()
    assert not any(one.parts or one.described for one in town.shufflers)


def test_a_client_that_pins_nobody_hands_its_report_to_an_analyzer_that_is_every_shuffler(
    town: FakeShufflers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    town.publish()
    read, made, true = 0, list[U64](), GRR.randomize

    def noted(self: GRR, values: NDArray[np.int64], rng: Randomness | None = None) -> U64:
        made.append(true(self, values, rng))
        return made[-1]

    monkeypatch.setattr(GRR, "randomize", noted)
    for number in range(TRIALS):
        user = client(town, tmp_path / f"user {number}", pins=Everybody())
        assert user.open(town.invitation).submit(5, town.ticket(number)).accepted
        user.close()
        shares = [one.taken[town.ticket(number).signature].share for one in town.shufflers]
        first = int(full_key().decrypt(np.frombuffer(shares[0], np.uint8).reshape(1, -1))[0])
        word = (first + sum(int(plain_share(share)[0]) for share in shares[1:])) % 2**64
        read += [word] == [int(report[0, 0]) for report in made[number:]]
    of_rate(
        "an analyzer that is every shuffler", read, TRIALS, "reports read as their users made them"
    ).assert_succeeds()
