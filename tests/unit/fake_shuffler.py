"""A shuffler that answers on the real wire, in this process: TLS, strict codec, `check_part`, `judge`.

It shuffles nothing. It keeps what it takes in memory, remembers every part that came, byte for byte, and can be told
to misbehave.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypeVar

from peos.collection.cards import Card
from peos.collection.lifecycle import Order
from peos.collection.replies import Answer, Status
from peos.collection.submission import Part, Verdict, check_part, judge
from peos.crypto.identity import Identity
from peos.crypto.onion import OnionPrivateKey
from peos.crypto.schemes.base import KEY_BITS_FLOOR
from peos.errors import Conflict, PeosError, Unknown
from peos.net.calls import service
from peos.net.certificates import Certificate, as_der
from peos.net.errors import to_status
from peos.net.guard import Context
from peos.net.logs import Log
from peos.net.observer import Observer
from peos.net.server import Running, serve
from peos.net.tls import Trust, grpc, peer_port, user_port
from peos.protocols import Encryption
from peos.wire import documents, parties, submissions
from peos.wire.methods import CLOSE, CLOSED_HEADER, DESCRIBE, PROPOSE, STATUS, SUBMIT, SUBMIT_MANY
from tests.unit.collection.made import receipt_of

T = TypeVar("T")


class Loop:
    """An event loop in a thread: what is under test runs loops of its own, or none."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T], timeout: float = 120.0) -> T:
        """The work's result."""
        return self.start(work).result(timeout)

    def start(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Begin the work."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@cache
def read(signed: bytes, floor: int = KEY_BITS_FLOOR) -> tuple[documents.SignedDocument, Encryption]:
    """A document and its keys, which takes time to check."""
    found = documents.decode_signed_document(signed, floor=floor)
    return found, found.document.encryption(floor=floor)


@dataclass
class FakeShuffler:
    """One shuffler, and what a test may change about it."""

    number: int
    name: str
    identity: Identity
    users: Certificate
    peers: Certificate
    serves_peers: bool = False
    floor: int = KEY_BITS_FLOOR
    signed: bytes = b""  # the document: proposed, or published by the test
    port: int = 0
    peer_port: int = 1
    # What came.
    parts: list[bytes] = field(default_factory=list)  # in order
    taken: dict[bytes, Part] = field(default_factory=dict)
    described: int = 0
    streams: int = 0
    proposals: int = 0
    orders: list[Order] = field(default_factory=list)
    # What it does about it.
    trust: Trust = field(default_factory=Trust)
    accept_as: str = "open"
    refuse_proposals: PeosError | None = None
    status: Status = field(default_factory=lambda: Status(bytes(32), "", known=False))
    before: Callable[[Part], Answer | None] | None = None  # an answer instead of its own
    break_after: list[int] = field(default_factory=list)  # the n-th stream ends after so many answers
    swallow: bool = False  # take the part that breaks the stream, and lose the answer
    lie: bytes = b""  # acknowledge this row instead
    has_closed: bool = False  # says so with the document
    signer: Identity | None = None  # whose receipts it gives instead of its own
    _ports: list[Running] = field(default_factory=list)

    @property
    def card(self) -> Card:
        peers, users = as_der(self.peers.pem), as_der(self.users.pem)
        addresses = f"127.0.0.1:{self.peer_port}", f"127.0.0.1:{self.port}"
        onion_key = OnionPrivateKey.of(self.identity).point
        return Card(self.name, self.identity.public, addresses[0], peers, addresses[1], users, onion_key)

    @property
    def signed_card(self) -> bytes:
        return parties.sign_card(self.card, self.identity)

    @property
    def shares(self) -> dict[bytes, bytes]:
        """What was taken, by the id of its ticket."""
        return {part.id: part.share for part in list(self.taken.values())}  # as its port's thread goes on taking

    async def open(self) -> None:
        """Open the ports, that of users the same one again after `close`."""
        observer = Observer(Log("peos.tests"))
        users = service({DESCRIBE: self._describe, SUBMIT: self._submit, SUBMIT_MANY: self._submit_many})
        self._ports.append(await serve(f"127.0.0.1:{self.port}", user_port(self.users), [users], observer=observer))
        self.port = self._ports[-1].port
        if self.serves_peers:
            peers = service({PROPOSE: self._propose, CLOSE: self._close, STATUS: self._status})
            credentials = peer_port(self.peers, self.trust)
            self._ports.append(await serve("127.0.0.1:0", credentials, [peers], observer=observer, trust=self.trust))
            self.peer_port = self._ports[-1].port

    async def close(self) -> None:
        """Close the ports, if they are open."""
        while self._ports:
            await self._ports.pop().stop(0)

    # For users.

    async def _describe(self, collection: bytes, context: Context) -> bytes:
        self.described += 1
        if self.has_closed:
            context.set_trailing_metadata(((CLOSED_HEADER, "1"),))
        if not self.lie and (not self.signed or read(self.signed, self.floor)[0].digest != collection):
            raise Unknown("collection.unknown", "there is no such collection here")
        return self.signed

    async def _submit(self, part: Part, _: object) -> Answer:
        return self._answer(part)

    async def _submit_many(self, parts: AsyncIterator[Part], context: Context) -> AsyncIterator[Answer]:
        self.streams += 1
        left = self.break_after.pop(0) if self.break_after else -1
        async for part in parts:
            if left == 0:
                if self.swallow:
                    self._answer(part)
                await context.abort(grpc.StatusCode.UNAVAILABLE, "Socket closed")
            left -= 1
            yield self._answer(part)

    def _answer(self, part: Part) -> Answer:
        """What `check_part` and `judge` say."""
        self.parts.append(submissions.encode_part(part))
        instead = self.before(part) if self.before else None
        if instead is not None:
            return instead
        signed, encryption = read(self.signed, self.floor)
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

    # For the analyzer.

    async def _propose(self, proposal: parties.Proposal, _: Context) -> None:
        self.proposals += 1
        if self.refuse_proposals is not None:
            raise self.refuse_proposals
        if not self.signed:
            self.signed = proposal.document
            self.status = Status(read(self.signed, self.floor)[0].digest, self.accept_as)

    async def _close(self, order: Order, _: Context) -> None:
        assert parties.order_verifies(order, read(self.signed, self.floor)[0].document.analyzer.identity)
        self.orders.append(order)
        self.status = replace(self.status, state="aborted" if order.abort else "closed")

    async def _status(self, digest: bytes, _: Context) -> Status:
        return replace(self.status, collection=digest)


def refuse(sentence: str, *, retry: bool = False) -> Callable[[Part], Answer]:
    """A shuffler's answer to everything."""
    return lambda part: Answer(part.collection, part.id, b"", sentence, "", retry, error_id="submit.closed")
