"""A port that speaks HTTPS, for callers that speak no gRPC: browsers.

The same acceptor stands before it as before every port. What comes in is an ASGI application's to answer; TLS is this
process's own, or a proxy's, and then only the proxy may connect. uvicorn is an extra (`peos[web]`),
loaded only where such a port is configured.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from peos.errors import BadEncoding, NotYet, PeosError, RemoteFault, WrongInput, in_words
from peos.net.acceptor import Acceptor
from peos.net.errors import TABLE
from peos.net.limits import Limits
from peos.net.observer import Listens, Observer
from peos.net.tls import grpc

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_Code = grpc.StatusCode
STATUS: Final = {
    _Code.INVALID_ARGUMENT: 400,
    _Code.PERMISSION_DENIED: 403,
    _Code.NOT_FOUND: 404,
    _Code.FAILED_PRECONDITION: 409,
    _Code.ALREADY_EXISTS: 409,
    _Code.ABORTED: 500,
    _Code.INTERNAL: 500,
    _Code.UNAVAILABLE: 503,
    _Code.RESOURCE_EXHAUSTED: 503,
}
STATUS_OF: Final[Mapping[type[PeosError], int]] = {kind: STATUS[row.status] for kind, row in TABLE.items()}
_LOOPBACK: Final = "127.0.0.1"
_BACKLOG: Final = 512
_HEAD: Final = 16 << 10  # bytes of a request's line and headers
_KEEP_ALIVE: Final = 30  # seconds that a connection is kept after a response
_BEAT: Final = 0.02


@dataclass(frozen=True)
class Pair:
    """The files of a certificate with its chain, and of its key: one that browsers trust."""

    certificate: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """TLS 1.3 and nothing older, with this certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        try:
            context.load_cert_chain(self.certificate, self.key)
        except OSError as error:  # ssl's own among them
            raise WrongInput(
                "config.web_certificate",
                f"listen.web_certificate and listen.web_key cannot be used: {in_words(error)}",
                hint="a PEM file with the certificate and its chain, and one with its key, which has no passphrase",
            ) from None
        return context


async def read_body(receive: Receive, *, limit: int, silence: float, what: str) -> bytes:
    """All that was posted; no more than `limit` bytes, and in no more time than a stream may be silent."""
    body = bytearray()
    try:
        async with asyncio.timeout(silence):
            while True:
                event = await receive()
                if event["type"] != "http.request":
                    raise RemoteFault("web.broken_off", "the request broke off", party="user", step="submission")
                body += event.get("body", b"")
                if len(body) > limit:
                    raise BadEncoding("encoding.too_long", f"{what} is no longer than {limit} bytes")
                if not event.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        raise NotYet("web.too_slow", f"{what} did not come in time", hint="try again in a while") from None


async def respond(send: Send, status: int, body: bytes, headers: Sequence[tuple[bytes, bytes]]) -> None:
    """A whole answer."""
    sized = [*headers, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": sized})
    await send({"type": "http.response.body", "body": body})


async def respond_on(
    send: Send, receive: Receive, headers: Sequence[tuple[bytes, bytes]], events: AsyncIterator[bytes]
) -> None:
    """An answer that goes on, until its events or its reader end."""
    await send({"type": "http.response.start", "status": 200, "headers": list(headers)})

    async def told() -> None:
        async for event in events:
            await send({"type": "http.response.body", "body": event, "more_body": True})

    async def gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    ends = {asyncio.ensure_future(told()), asyncio.ensure_future(gone())}
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in ends:
            one.cancel()
        await asyncio.gather(*ends, return_exceptions=True)
        await send({"type": "http.response.body", "body": b""})


class RunningWeb:
    """A server that is answering."""

    def __init__(self, server: Any, task: "asyncio.Task[None]", acceptor: Acceptor) -> None:
        self.port = acceptor.port
        self._server, self._task, self._acceptor = server, task, acceptor

    async def stop(self, grace: float) -> None:
        """Take no new calls, and give those under way `grace` seconds."""
        await asyncio.to_thread(self._acceptor.stop_accepting)
        self._server.should_exit = True
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._task, grace + 1.0)
        await asyncio.to_thread(self._acceptor.close)


async def serve_web(
    application: Callable[[Callable[[int], str | None]], Application],
    address: str,
    pair: Pair | None,
    *,
    observer: Observer,
    limits: Limits,
    proxies: frozenset[str] = frozenset(),
) -> RunningWeb:
    """Answer at `address`. The application is made with what tells a caller's address from its port here.

    `proxies` are addresses of which each stands for many callers.
    """
    uvicorn, context = _uvicorn(), pair.context() if pair else None
    inner = socket.create_server((_LOOPBACK, 0), backlog=_BACKLOG)
    acceptor = Acceptor(address, inner.getsockname(), limits, observer, proxies)
    config = uvicorn.Config(
        application(acceptor.caller),
        ws="none",
        interface="asgi3",
        lifespan="off",
        http="h11",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,  # which forwarded addresses count is the application's to say
        server_header=False,
        date_header=False,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=_HEAD,
        ssl_context_factory=None if context is None else lambda *_: context,
    )
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # when this process ends is for the process to say
    try:
        config.load()
        task = asyncio.create_task(server.serve(sockets=[inner]))
        while not server.started and not task.done():
            await asyncio.sleep(_BEAT)
        if task.done():
            task.result()
    except BaseException:
        inner.close()
        await asyncio.to_thread(acceptor.close)
        raise
    observer.note(Listens(address, acceptor.port))
    return RunningWeb(server, task, acceptor)


def require_metrics() -> None:
    """What a port for metrics is made with."""
    if not all(map(find_spec, ("prometheus_client", "uvicorn"))):
        raise WrongInput(
            "config.metrics_extra",
            "listen.metrics needs packages that are not installed",
            hint="pip install 'peos[metrics]'",
        )


def _uvicorn() -> Any:
    try:
        return import_module("uvicorn")
    except ImportError:
        raise WrongInput(
            "config.web_extra",
            "a port for browsers needs a server that is not installed",
            hint="pip install 'peos[web]'",
        ) from None
