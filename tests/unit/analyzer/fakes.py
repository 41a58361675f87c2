"""Shufflers as an analyzer sees them: they accept, take parts and orders, say where they stand, and do not shuffle."""

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, TypeVar

from peos.collection.cards import Card
from peos.collection.lifecycle import Order
from peos.collection.replies import Answer, Status
from peos.collection.submission import Part, check_part
from peos.crypto.identity import Identity
from peos.crypto.onion import OnionPrivateKey
from peos.crypto.randomness import Randomness
from peos.errors import PeosError
from peos.net.calls import service
from peos.net.certificates import as_der, make_certificate
from peos.net.guard import Context
from peos.net.logs import Log
from peos.net.observer import Observer
from peos.net.server import Running, serve
from peos.net.tls import Trust, peer_port, user_port
from peos.wire.documents import SignedDocument, decode_signed_document
from peos.wire.methods import CLOSE, DESCRIBE, PROPOSE, STATUS, SUBMIT_MANY
from peos.wire.parties import Proposal, order_verifies, sign_card
from tests.unit.collection.made import receipt_of

FLOOR = 512
T = TypeVar("T")


class Loop:
    """An event loop in a thread: the commands under test run loops of their own, or none."""

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


class FakeShuffler:
    """One shuffler's two ports. Tests set what it will say."""

    def __init__(self, number: int, loop: Loop) -> None:
        self.number = number
        self.name = f"organisation {number}"
        rng = Randomness(bytes([number]) * 32)
        self.identity = Identity.generate(rng)
        self.peers = make_certificate(f"{self.name} peers", rng)
        self.users = make_certificate(f"{self.name} users", rng)
        self.trust = Trust()
        self.accept_as = "open"
        self.refuse_proposals: PeosError | None = None
        self.signed: SignedDocument | None = None
        self.status = Status(bytes(32), "", known=False)
        self.parts: dict[bytes, bytes] = {}  # the encoded share, by ticket
        self.orders: list[Order] = []
        self.proposals = 0
        self.refuse_parts = ""
        self.described: list[str] = []  # from which addresses
        self.submitted: list[str] = []
        self._signed_bytes = b""
        self._loop = loop
        self._ports: list[Running] = loop.run(self._open())
        self.card = Card(
            self.name,
            self.identity.public,
            f"127.0.0.1:{self._ports[0].port}",
            as_der(self.peers.pem),
            f"127.0.0.1:{self._ports[1].port}",
            as_der(self.users.pem),
            OnionPrivateKey.of(self.identity).point,
        )
        self.signed_card = sign_card(self.card, self.identity)

    def close(self) -> None:
        for port in self._ports:
            self._loop.run(port.stop(0))
        self._ports = []

    async def _open(self) -> list[Running]:
        observer = Observer(Log("tests.analyzer"))
        peers = service({PROPOSE: self._propose, CLOSE: self._close, STATUS: self._status})
        users = service({DESCRIBE: self._describe, SUBMIT_MANY: self._submit_many})
        return [
            await serve("127.0.0.1:0", peer_port(self.peers, self.trust), [peers], observer=observer, trust=self.trust),
            await serve("127.0.0.1:0", user_port(self.users), [users], observer=observer),
        ]

    async def _propose(self, proposal: Proposal, _: Context) -> None:
        self.proposals += 1
        if self.refuse_proposals is not None:
            raise self.refuse_proposals
        if self.signed is None:
            self.signed = decode_signed_document(proposal.document, floor=FLOOR)
            self._signed_bytes = proposal.document
            self.status = Status(self.signed.digest, self.accept_as)

    async def _close(self, order: Order, _: Context) -> None:
        assert self.signed is not None
        assert order_verifies(order, self.signed.document.analyzer.identity)
        self.orders.append(order)
        self.status = replace(self.status, state="aborted" if order.abort else "closed")

    async def _status(self, digest: bytes, _: Context) -> Status:
        return replace(self.status, collection=digest)

    async def _describe(self, digest: bytes, context: Context) -> bytes:
        assert self.signed is not None
        assert digest == self.signed.digest
        self.described.append(context.peer())
        return self._signed_bytes

    async def _submit_many(self, parts: AsyncIterator[Part], context: Context) -> AsyncIterator[Answer]:
        assert self.signed is not None
        document = self.signed.document
        encryption = document.encryption(floor=FLOOR)
        async for part in parts:
            row = check_part(part, document, self.signed.digest, encryption, self.number)
            if self.refuse_parts:
                yield Answer(self.signed.digest, part.id, b"", self.refuse_parts, error_id="submit.closed")
                continue
            if self.parts.setdefault(part.id, part.share) != part.share:
                said = "another submission was made under this ticket"
                yield Answer(self.signed.digest, part.id, b"", said, error_id="submit.ticket_used")
                continue
            self.submitted.append(context.peer())
            yield Answer(self.signed.digest, part.id, row, receipt=receipt_of(self.identity, part))
