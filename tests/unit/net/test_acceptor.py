"""Who is let in to a port: so many of one address, the silent give way, and what was finished between parties stays."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Awaitable, Callable

import pytest

from peos.collection.freeze import FrozenDigest
from peos.errors import PeosError
from peos.net.acceptor import caller_of
from peos.net.limits import PER_CONNECTION, RESERVED, Limits, fitted
from peos.net.server import Running
from peos.net.tls import Trust
from peos.wire.methods import GET_FROZEN_DIGEST
from tests.unit.net.ports import DIGEST, PEER, asked, caller, listening, run

ANSWER = FrozenDigest(DIGEST, DIGEST, bytes(64))


def connected(running: Running, source: str = "127.0.0.2") -> socket.socket:
    """A connection from that address that says nothing, and that may be ended at once."""
    made = socket.socket()
    made.bind((source, 0))
    with contextlib.suppress(ConnectionError):
        made.connect(("127.0.0.1", running.port))
    made.setblocking(False)
    return made


def is_open(connection: socket.socket) -> bool:
    """Whether the other end has not ended it."""
    try:
        return bool(connection.recv(1 << 16))
    except BlockingIOError:
        return True
    except OSError:
        return False


async def until(holds: Callable[[], bool | Awaitable[bool]], what: str) -> None:
    """Wait until it is true."""
    async with asyncio.timeout(60):
        while True:
            found = holds()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.05)
    raise AssertionError(what)


async def answered(running: Running) -> bool:
    """Whether one call on a connection of its own gets its answer."""
    with contextlib.suppress(PeosError):
        return bool(await asked(running, PEER) == ANSWER)
    return False


@pytest.mark.parametrize("peers", [False, True], ids=["users", "peers"])
def test_silent_connections_give_way_and_no_more_stay_than_may(peers: bool) -> None:
    limits = Limits(connections=8, per_address=100, strangers=not peers)

    async def whole() -> None:
        async with listening(Trust([PEER.pem]) if peers else None, limits=limits) as running:
            silent = [connected(running, f"127.0.0.{2 + number % 20}") for number in range(60)]
            await until(lambda: sum(map(is_open, silent)) == 8, "as many as may")
            if peers:
                assert [number for number, one in enumerate(silent) if is_open(one)] == list(range(52, 60)), "the last"
                assert await asked(running, PEER) == ANSWER
            await until(lambda: answered(running), "a newcomer is let in")
            for one in silent:
                one.close()

    run(whole())


def test_one_address_has_its_limit_and_the_others_have_theirs() -> None:
    async def whole() -> None:
        async with listening(limits=Limits(connections=50, per_address=5, strangers=True)) as running:
            silent = [connected(running) for _ in range(5)]
            others = [connected(running, "127.0.0.3") for _ in range(5)]
            await asyncio.sleep(1.1)  # of the next second: an address has only so many new ones in one
            more = [connected(running) for _ in range(5)]
            await until(lambda: not any(map(is_open, silent)), "the first five gave way")
            assert all(map(is_open, others)), "of another address"
            assert all(map(is_open, more))
            for one in (*silent, *others, *more):
                one.close()

    run(whole())


def test_a_connection_between_parties_is_never_lost_to_outsiders() -> None:
    """It has outlived the time for a handshake, which is shorter here; then a hundred want its place."""

    async def whole() -> None:
        limits = Limits(connections=2, per_address=1000, handshake=5.0)
        async with (
            listening(Trust([PEER.pem]), limits=limits) as running,
            caller(running, PEER) as one,
            caller(running, PEER) as other,
        ):
            for peer in (one, other):
                assert await peer.ask(GET_FROZEN_DIGEST, DIGEST) == ANSWER
            await asyncio.sleep(5.5)
            silent = [connected(running) for _ in range(100)]
            await until(lambda: not any(map(is_open, silent)), "all were turned away")
            for peer in (one, other):  # each tries once only: its connection is the one that it had
                assert await peer.ask(GET_FROZEN_DIGEST, DIGEST) == ANSWER
            for connection in silent:
                connection.close()

    run(whole())


@pytest.mark.full
def test_a_user_is_let_in_at_once_where_fifty_addresses_hold_all_places_and_come_back_for_them() -> None:
    """Each finishes its handshake, says nothing more, and is there again as soon as it was ended."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])

    came = [0]

    async def comes_back(source: str, port: int) -> None:
        while True:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection(
                    "127.0.0.1", port, ssl=context, local_addr=(source, 0), server_hostname="peos.party"
                )
                came[0] += 1
                try:
                    while await reader.read(1 << 16):
                        pass
                finally:
                    writer.transport.abort()
            await asyncio.sleep(0.2)

    async def whole() -> None:
        async with listening(limits=Limits(connections=10, per_address=100, strangers=True)) as running:
            holders = [asyncio.ensure_future(comes_back(f"127.0.0.{2 + one}", running.port)) for one in range(50)]
            await until(lambda: came[0] > 75, "all have been there, and lost their places to one another")
            await until(lambda: answered(running), "each has wasted more than a user by now")
            found = []
            for _ in range(20):
                found.append(await answered(running))
                await asyncio.sleep(0.1)
            # Without places that go round it is 7 to 14 of them.
            assert found.count(False) <= 1, f"{found.count(False)} of 20 calls on connections of their own turned away"
            for holder in holders:
                holder.cancel()
            await asyncio.gather(*holders, return_exceptions=True)

    run(whole())


@pytest.mark.parametrize("speaks", [False, True], ids=["silent", "half a handshake"])
def test_a_handshake_has_its_time(speaks: bool) -> None:
    async def whole() -> None:
        async with listening(limits=Limits(handshake=0.5)) as running:
            one = connected(running)
            if speaks:
                one.send(b"\x16\x03\x01\x02\x00")  # a record begins, and does not go on
            await until(lambda: not is_open(one), "it was ended")
            one.close()

    run(whole())


def test_connections_leave_descriptors_for_the_rest_of_the_process() -> None:
    wanted = Limits.for_users(1000, 32), Limits()
    for most in (128, 256, 1024, 4096):
        users, peers = fitted(most, *wanted)
        taken = PER_CONNECTION * (users.connections + peers.connections)
        assert taken <= max(24, most - max(RESERVED, most // 4)), most
        assert min(users.connections, peers.connections) >= 4
    assert fitted(1 << 20, *wanted) == wanted


@pytest.mark.parametrize(
    ("host", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:0:1::5", "20010db800000001"),
        ("2001:db8:0:1:ffff::9", "20010db800000001"),
        ("fe80::1%eth0", "fe80000000000000"),
    ],
)
def test_an_address_is_counted_as_one_caller(host: str, counted: str) -> None:
    assert caller_of(host) == counted
