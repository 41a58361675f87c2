"""A port that answers calls: limits, health, reflection, and a stop that lets calls under way finish."""

import asyncio
import re
import signal
from collections.abc import Iterable, Iterator
from typing import Final

from peos.ending import STOPPING
from peos.errors import WrongInput
from peos.net.acceptor import Acceptor
from peos.net.calls import Service
from peos.net.guard import Guard
from peos.net.limits import KEEPALIVE_MS, OPTIONS, PEERS, Limits
from peos.net.observer import Listens, LogOpened, Observer
from peos.net.tls import Trust, grpc, health, health_pb2, health_pb2_grpc, reflection

_ADDRESS: Final = re.compile(r"(?:[^\s:\[\]]+|\[[0-9A-Fa-f:.%]+\]):[0-9]{1,5}")
_LOOPBACK: Final = "127.0.0.1"  # where gRPC listens: callers reach the acceptor
_SPARE: Final = 8  # connections that gRPC has not closed yet when the next has come in
_OPTIONS: Final = (
    *OPTIONS,
    ("grpc.so_reuseport", 0),  # else two servers share a port, and each gets some of the calls
    ("grpc.http2.min_recv_ping_interval_without_data_ms", KEEPALIVE_MS // 2),
    ("grpc.keepalive_permit_without_calls", 1),
)


class Running:
    """A server that is answering."""

    def __init__(self, server: grpc.aio.Server, acceptor: Acceptor, names: tuple[str, ...]) -> None:
        self.port = acceptor.port
        self._acceptor = acceptor
        self._server = server
        self._names = names
        self._health = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        reflection.enable_server_reflection((*names, health.SERVICE_NAME, reflection.SERVICE_NAME), server)

    async def set_serving(self, serving: bool) -> None:
        """Set the answer of health checks, for the whole and for each service."""
        status = health_pb2.HealthCheckResponse.SERVING if serving else health_pb2.HealthCheckResponse.NOT_SERVING
        for name in ("", *self._names):
            await self._health.set(name, status)

    async def stop(self, grace: float) -> None:
        """Take no new calls, and give those under way `grace` seconds."""
        await asyncio.to_thread(self._acceptor.stop_accepting)
        await self._health.enter_graceful_shutdown()
        await self._server.stop(grace)
        await asyncio.to_thread(self._acceptor.close)

    async def wait(self) -> None:
        """Until it was stopped."""
        await self._server.wait_for_termination()


async def serve(
    address: str,
    credentials: grpc.ServerCredentials,
    services: Iterable[Service],
    *,
    observer: Observer,
    trust: Trust | None = None,
    limits: Limits = PEERS,
) -> Running:
    """Answer `services` at `address` ("host:port"; port 0 for any that is free, see `Running.port`).

    A peer port gets the `trust` that its credentials have.
    """
    _require_address(address)
    offered = list(services)
    server = grpc.aio.server(
        interceptors=[Guard(observer, trust)],
        options=[*_OPTIONS, *_options(limits)],
        maximum_concurrent_rpcs=limits.calls,
    )
    server.add_generic_rpc_handlers([service.handler for service in offered])
    inner = server.add_secure_port(f"{_LOOPBACK}:0", credentials)
    acceptor = Acceptor(address, (_LOOPBACK, inner), limits, observer)
    running = Running(server, acceptor, tuple(service.name for service in offered))
    await server.start()
    await running.set_serving(True)
    observer.note(Listens(address, running.port))
    return running


def stop_at_signals(observer: Observer) -> asyncio.Event:
    """Set at SIGINT or SIGTERM. At SIGHUP the log gets a line, which is the first of a new file if it was moved."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in STOPPING:
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, observer.note, LogOpened())
    return stop


def _options(limits: Limits) -> Iterator[tuple[str, int]]:
    yield "grpc.max_concurrent_streams", limits.streams
    yield "grpc.server_handshake_timeout_ms", int(limits.handshake * 1000)
    # What another program on this machine opens past the acceptor has its limit too.
    yield "grpc.max_allowed_incoming_connections", limits.connections + _SPARE
    if limits.strangers:
        yield "grpc.max_connection_idle_ms", int(limits.idle * 1000)
        yield "grpc.max_connection_age_ms", int(limits.age * 1000)
        yield "grpc.max_connection_age_grace_ms", int(limits.idle * 1000)


def _require_address(address: str) -> None:
    if not _ADDRESS.fullmatch(address) or int(address.rpartition(":")[2]) > 65_535:
        raise WrongInput(
            "config.address", f"an address is host:port, not {address[:80]!r}", hint="for example 127.0.0.1:7001"
        )
