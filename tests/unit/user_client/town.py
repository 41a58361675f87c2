"""A collection with shufflers that answer on the real wire, in this process: TLS, strict codec, `check_part`, `judge`.

They keep what they take in memory, remember every part that came, byte for byte, and can be told to misbehave.
"""

import asyncio
import hashlib
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from peos.collection.cards import Card
from peos.collection.document import MIN_DUMMIES, Document, MechanismChoice
from peos.collection.replies import Answer
from peos.collection.submission import Part, Verdict, check_part, judge
from peos.collection.ticket import Ticket, issue
from peos.crypto.identity import Identity
from peos.crypto.onion import OnionPrivateKey
from peos.crypto.randomness import Randomness
from peos.crypto.schemes import scheme
from peos.crypto.schemes.base import PrivateKey
from peos.errors import Conflict, PeosError, Unknown
from peos.ldp import GRR
from peos.ldp.base import Question
from peos.net.calls import service
from peos.net.certificates import Certificate, as_der, make_certificate
from peos.net.errors import to_status
from peos.net.guard import Context
from peos.net.logs import Log
from peos.net.observer import Observer
from peos.net.server import Running, serve
from peos.net.tls import grpc, user_port
from peos.protocols import Encryption
from peos.wire import documents, parties, submissions
from peos.wire.methods import DESCRIBE, SUBMIT, SUBMIT_MANY
from tests.unit.collection.made import receipt_of

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


@cache
def read(signed: bytes) -> tuple[documents.SignedDocument, Encryption]:
    """A document and its keys, which takes time to check."""
    found = documents.decode_signed_document(signed)
    return found, found.document.encryption()


@dataclass
class FakeShuffler:
    """One shuffler's port for users, and what a test may change about it."""

    number: int
    identity: Identity
    certificate: Certificate
    signed: bytes = b""  # what it answers to Describe
    parts: list[bytes] = field(default_factory=list)  # all that came, in order
    taken: dict[bytes, Part] = field(default_factory=dict)
    described: int = 0
    streams: int = 0
    before: Callable[[Part], Answer | None] | None = None  # an answer instead of its own
    break_after: list[int] = field(default_factory=list)  # the n-th stream ends after so many answers
    swallow: bool = False  # take the part that breaks the stream, and lose the answer
    lie: bytes = b""  # acknowledge this row instead
    signer: Identity | None = None  # whose receipts it gives instead of its own
    port: int = 0

    @property
    def name(self) -> str:
        return f"org-{self.number}"

    @property
    def card(self) -> Card:
        der = as_der(self.certificate.pem)
        onion_key = OnionPrivateKey.of(self.identity).point
        return Card(self.name, self.identity.public, "127.0.0.1:1", der, f"127.0.0.1:{self.port}", der, onion_key)

    async def describe(self, collection: bytes, _: object) -> bytes:
        self.described += 1
        if not self.lie and read(self.signed)[0].digest != collection:
            raise Unknown("collection.unknown", "there is no such collection here")
        return self.signed

    async def submit(self, part: Part, _: object) -> Answer:
        return self.answer(part)

    async def submit_many(self, parts: AsyncIterator[Part], context: Context) -> AsyncIterator[Answer]:
        self.streams += 1
        left = self.break_after.pop(0) if self.break_after else -1
        async for part in parts:
            if left == 0:
                if self.swallow:
                    self.answer(part)
                await context.abort(grpc.StatusCode.UNAVAILABLE, "Socket closed")
            left -= 1
            yield self.answer(part)

    def answer(self, part: Part) -> Answer:
        """What `check_part` and `judge` say."""
        self.parts.append(submissions.encode_part(part))
        instead = self.before(part) if self.before else None
        if instead is not None:
            return instead
        signed, encryption = read(self.signed)
        try:
            row = check_part(part, signed.document, signed.digest, encryption, self.number)
            stored = self.taken.get(part.ticket)
            if judge(stored.row if stored else None, row) is Verdict.CONFLICT:
                raise Conflict("submit.ticket_used", "another submission was made under this ticket")
        except PeosError as error:
            public_error = to_status(error)
            said = public_error.text, public_error.hint, public_error.retry
            return Answer(part.collection, part.id, b"", *said, error_id=public_error.id)
        self.taken[part.ticket] = part
        return Answer(part.collection, part.id, self.lie or row, receipt=receipt_of(self.signer or self.identity, part))


class Town:
    """The shufflers of one collection, running; tests read and change them between calls."""

    def __init__(self, count: int = SHUFFLERS) -> None:
        self.rng = Randomness(b"\x01" * 32)
        self.analyzer = Identity.generate(self.rng)
        self.enrolment = Identity.generate(self.rng)
        self.shufflers = [
            FakeShuffler(number, Identity.generate(self.rng), certificate(f"org-{number}"))
            for number in range(1, count + 1)
        ]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._servers: dict[int, Running] = {}

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
        return parties.encode_invitation(
            self.digest, tuple(parties.sign_card(one.card, one.identity) for one in self.shufflers)
        )

    def ticket(self, number: int) -> Ticket:
        """The ticket of a user by number."""
        id_ = number.to_bytes(16, "big")
        return issue(self.enrolment, self.digest, id_, Identity(hashlib.sha256(id_).digest()))

    def start(self, number: int) -> None:
        """Open a shuffler's port, the same one again after `stop`."""
        one = self.shufflers[number - 1]
        offered = service({DESCRIBE: one.describe, SUBMIT: one.submit, SUBMIT_MANY: one.submit_many})
        running = self._call(
            serve(f"127.0.0.1:{one.port}", user_port(one.certificate), [offered], observer=Observer(Log("peos.tests")))
        )
        one.port = running.port
        self._servers[number] = running

    def stop(self, number: int) -> None:
        """Close a shuffler's port, if it is open."""
        if number in self._servers:
            self._call(self._servers.pop(number).stop(0))

    def _call(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(120)

    @contextmanager
    def running(self) -> Iterator["Town"]:
        """All ports open, and all closed at the end."""
        self._thread.start()
        try:
            for one in self.shufflers:
                self.start(one.number)
            self.publish()
            yield self
        finally:
            for one in self.shufflers:
                self.stop(one.number)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(60)
            self._loop.close()

    def connections(self) -> dict[bytes, dict[int, bytes]]:
        """Who has taken what: rows by id and shuffler."""
        found: dict[bytes, dict[int, bytes]] = {}
        for one in self.shufflers:
            for part in one.taken.values():
                found.setdefault(part.id, {})[one.number] = part.row
        return found


def refuse(sentence: str, *, retry: bool = False) -> Callable[[Part], Answer]:
    """A shuffler's answer to everything."""
    return lambda part: Answer(part.collection, part.id, b"", sentence, "", retry, error_id="submit.closed")
