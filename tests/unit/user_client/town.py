"""A collection of three fake shufflers, and what its users are given."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

from peos.collection.cards import Card
from peos.collection.document import MIN_DUMMIES, Document, MechanismChoice
from peos.collection.ticket import Ticket, issue
from peos.crypto.identity import Identity
from peos.crypto.randomness import Randomness
from peos.crypto.schemes import scheme
from peos.crypto.schemes.base import PrivateKey
from peos.ldp import GRR
from peos.ldp.base import Question
from peos.net.certificates import Certificate, as_der, make_certificate
from peos.wire import documents, parties
from tests.unit.fake_shuffler import FakeShuffler, Loop, read

NOW = 1_900_000_000
SHUFFLERS = 3


@cache
def full_key() -> PrivateKey:
    """A key of the length that users insist on, made once a process."""
    return scheme("paillier").generate(Randomness(b"\x07" * 32))


@cache
def certificate(name: str) -> Certificate:
    """A port's certificate."""
    return make_certificate(name, Randomness(name.encode().ljust(32, b".")))


class FakeShufflers:
    """The shufflers of one collection, running; tests read and change them between calls."""

    def __init__(self, count: int = SHUFFLERS) -> None:
        self.rng = Randomness(b"\x01" * 32)
        self.analyzer = Identity.generate(self.rng)
        self.enrolment = Identity.generate(self.rng)
        self.shufflers = [
            FakeShuffler(number, f"org-{number}", Identity.generate(self.rng), *2 * (certificate(f"org-{number}"),))
            for number in range(1, count + 1)
        ]
        self._loop = Loop()

    def document(self, **changes: Any) -> Document:
        """The collection's document, in a state that everybody accepts."""
        mechanism = GRR(64, 2.0, question=Question(self.analyzer.public, "how many?", "2030"))
        analyzer_certificate = as_der(certificate("analyzer").pem)
        analyzer = Card("analyzer", self.analyzer.public, "127.0.0.1:1", analyzer_certificate)
        plain = Document(
            question="how many?",
            epoch="2030",
            choice=MechanismChoice.of(mechanism),
            scheme="paillier",
            public_key=full_key().public.encode(),
            shufflers=tuple(one.card.member for one in self.shufflers),
            analyzer=analyzer.member,
            fakes=100,
            minimum=1000,
            delta=1e-6,
            enrolment_key=self.enrolment.public,
            dummies=tuple(bytes((number,)) * 32 for number in range(MIN_DUMMIES)),
            closes_at=NOW + 3600,
            shuffle_by=NOW + 7200,
            erase_by=NOW + 9000,
        )
        return replace(plain, **changes)

    def publish(self, document: Document | None = None) -> bytes:
        """All shufflers describe this document from now on; returns its digest."""
        signed = documents.sign_document(document or self.document(), self.analyzer)
        for one in self.shufflers:
            one.signed = signed
        return self.digest

    @property
    def digest(self) -> bytes:
        return read(self.shufflers[0].signed)[0].digest

    @property
    def cards(self) -> tuple[Card, ...]:
        return tuple(one.card for one in self.shufflers)

    @property
    def invitation(self) -> bytes:
        """What the analyzer gives users."""
        return parties.encode_invitation(self.digest, tuple(one.signed_card for one in self.shufflers))

    def ticket(self, number: int) -> Ticket:
        """The ticket of a user by number."""
        id_ = number.to_bytes(16, "big")
        return issue(self.enrolment, self.digest, id_, Identity(hashlib.sha256(id_).digest()))

    def start(self, number: int) -> None:
        """Open a shuffler's port, the same one again after `stop`."""
        self._loop.run(self.shufflers[number - 1].open())

    def stop(self, number: int) -> None:
        """Close a shuffler's port, if it is open."""
        self._loop.run(self.shufflers[number - 1].close())

    @contextmanager
    def running(self) -> Iterator["FakeShufflers"]:
        """All ports open, and all closed at the end."""
        try:
            for one in self.shufflers:
                self.start(one.number)
            self.publish()
            yield self
        finally:
            for one in self.shufflers:
                self.stop(one.number)
            self._loop.close()

    def connections(self) -> dict[bytes, dict[int, bytes]]:
        """Who has taken what: rows by id and shuffler."""
        found: dict[bytes, dict[int, bytes]] = {}
        for one in self.shufflers:
            for part in list(one.taken.values()):  # in one step: its ports' thread goes on taking
                found.setdefault(part.id, {})[one.number] = part.row
        return found
