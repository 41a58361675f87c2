"""Loopback servers for the tests: one call that answers with what it was sent, and certificates made once."""

import asyncio
import datetime
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

from peos.collection.freeze import FrozenDigest
from peos.crypto.randomness import Randomness
from peos.net import calls, server
from peos.net.certificates import Certificate, make_certificate
from peos.net.client import channel
from peos.net.guard import Context
from peos.net.limits import PEERS, Limits
from peos.net.logs import Log
from peos.net.observer import Observer
from peos.net.retry import ONCE
from peos.net.tls import Trust, peer_port, user_port
from peos.wire.methods import GET_FROZEN_DIGEST

T = TypeVar("T")
DIGEST: Final = bytes(range(32))
RNG: Final = Randomness(b"\x07" * 32)
SERVER: Final = make_certificate("shuffler 1", RNG)
PEER: Final = make_certificate("shuffler 2", RNG)
STRANGER: Final = make_certificate("shuffler 2", RNG)
EXPIRED: Final = make_certificate(
    "late", RNG, days=1, now=datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=3)
)
SECONDS: Final = 15.0  # of a loaded machine, within which anything refused must be refused
Behaviour = Callable[[Any, Context], Any]


def run(made: Awaitable[T]) -> T:
    """Run one asynchronous test to its end."""

    async def whole() -> T:
        return await made

    return asyncio.run(whole())


async def echo(request: bytes, _: Context) -> FrozenDigest:
    """Answers an inquiry with the collection that was asked about."""
    return FrozenDigest(request, request, bytes(64))


@asynccontextmanager
async def listening(
    trust: Trust | None = None, behaviour: Behaviour = echo, *, own: Certificate = SERVER, limits: Limits = PEERS
) -> AsyncIterator[server.Running]:
    """A user port, or with `trust` a peer port, on a free port of the loopback interface."""
    credentials = user_port(own) if trust is None else peer_port(own, trust)
    services = [calls.service({GET_FROZEN_DIGEST: behaviour})]
    running = await server.serve(
        "127.0.0.1:0", credentials, services, observer=Observer(Log("test")), trust=trust, limits=limits
    )
    try:
        yield running
    finally:
        await running.stop(0)


@asynccontextmanager
async def caller(
    running: server.Running, own: Certificate | None = None, *, pin: bytes = SERVER.pem
) -> AsyncIterator[calls.Caller]:
    """A caller that tries once."""
    made = calls.Caller(channel(f"127.0.0.1:{running.port}", pin, own), "shuffler 1", RNG, policy=ONCE)
    try:
        yield made
    finally:
        await made.close()


async def asked(running: server.Running, own: Certificate | None = None, *, pin: bytes = SERVER.pem) -> Any:
    """One call on a connection of its own."""
    async with caller(running, own, pin=pin) as made:
        return await made.ask(GET_FROZEN_DIGEST, DIGEST, step="freeze", timeout=SECONDS)
