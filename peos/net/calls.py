"""The table of calls (`peos.wire.methods`) bound to gRPC, for servers and for clients.

gRPC carries bytes; the strict codec reads them inside the guard, so that a bad encoding is answered with its reason.
"""

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from peos.crypto.randomness import Randomness
from peos.errors import LocalFault
from peos.net.client import STANDARD, TIMEOUT, Backoff, Waited, retrying
from peos.net.errors import from_rpc_error
from peos.net.guard import Context, Handler
from peos.net.tls import grpc
from peos.wire.methods import Method

Behaviour = Callable[[Any, Context], Any]
"""What answers a call: `async def (request, context)`, or an async generator where the response is a stream.

A streamed request is an async iterator of decoded messages. Raise an error of `peos.errors` to refuse.
"""

Metadata = tuple[tuple[str, str | bytes], ...]


@dataclass(frozen=True)
class Service:
    """A service as a server offers it."""

    name: str
    handler: grpc.GenericRpcHandler


def service(behaviours: Mapping[Method, Behaviour]) -> Service:
    """The calls of one service with what answers each."""
    names = {method.service for method in behaviours}
    if len(names) != 1:
        raise LocalFault(f"a service is offered by itself, and here are {len(names)}")
    name = f"peos.v1.{names.pop()}"
    handlers = {method.name: _handler(method, behaviour) for method, behaviour in behaviours.items()}
    return Service(name, grpc.method_handlers_generic_handler(name, handlers))


def _handler(method: Method, behaviour: Behaviour) -> Handler:
    def read(request: Any) -> Any:
        return _decoded(method, request) if method.streams_in else method.decode(request)

    async def answer(request: Any, context: Context) -> bytes:
        return method.encode_response(await behaviour(read(request), context))

    async def stream(request: Any, context: Context) -> AsyncIterator[bytes]:
        async for response in behaviour(read(request), context):
            yield method.encode_response(response)

    if method.streams_out:
        if method.streams_in:
            return grpc.stream_stream_rpc_method_handler(stream)
        return grpc.unary_stream_rpc_method_handler(stream)
    if method.streams_in:
        return grpc.stream_unary_rpc_method_handler(answer)
    return grpc.unary_unary_rpc_method_handler(answer)


async def _decoded(method: Method, requests: AsyncIterable[bytes]) -> AsyncIterator[Any]:
    async for data in requests:
        yield method.decode(data)


class Caller:
    """One party at the other end of a channel, by the name that errors and status give it."""

    def __init__(
        self,
        channel: grpc.aio.Channel,
        party: str,
        rng: Randomness,
        *,
        backoff: Backoff = STANDARD,
        waiting: Waited | None = None,
    ) -> None:
        self.party = party
        self._channel = channel
        self._rng = rng
        self._backoff = backoff
        self._waiting = waiting

    async def close(self) -> None:
        """Close the channel."""
        await self._channel.close()

    async def ask(
        self, method: Method, request: Any, *, step: str = "", timeout: float = TIMEOUT, metadata: Metadata = ()
    ) -> Any:
        """One request, one response; repeated as `Backoff` says."""
        encoded = method.encode(request)
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = self._channel.unary_unary(method.path)

        async def once() -> bytes:
            return await call(encoded, timeout=timeout, metadata=metadata)

        return method.decode_response(await self._repeated(once, step or method.name))

    async def send(
        self,
        method: Method,
        requests: Callable[[], Iterable[Any]],
        *,
        step: str = "",
        timeout: float = TIMEOUT,
        metadata: Metadata = (),
    ) -> Any:
        """A stream of requests, one response. `requests` begins anew, with the same messages, at each attempt."""
        call: grpc.aio.StreamUnaryMultiCallable[bytes, bytes] = self._channel.stream_unary(method.path)

        async def encoded() -> AsyncIterator[bytes]:
            for request in requests():
                yield method.encode(request)

        async def once() -> bytes:
            return await call(encoded(), timeout=timeout, metadata=metadata)

        return method.decode_response(await self._repeated(once, step or method.name))

    async def stream(
        self, method: Method, request: Any, *, step: str = "", timeout: float = TIMEOUT
    ) -> AsyncIterator[Any]:
        """One request, a stream of responses; not repeated, since some of it has been used."""
        call: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = self._channel.unary_stream(method.path)
        try:
            async for response in call(method.encode(request), timeout=timeout):
                yield method.decode_response(response)
        except grpc.RpcError as error:
            raise from_rpc_error(error, self.party, step or method.name) from None

    async def exchange(
        self, method: Method, requests: AsyncIterable[Any], *, step: str = "", timeout: float | None = None
    ) -> AsyncIterator[Any]:
        """A stream each way; not repeated. Without a timeout it lasts as long as the requests do."""

        async def encoded() -> AsyncIterator[bytes]:
            async for request in requests:
                yield method.encode(request)

        call: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = self._channel.stream_stream(method.path)
        try:
            async for response in call(encoded(), timeout=timeout):
                yield method.decode_response(response)
        except grpc.RpcError as error:
            raise from_rpc_error(error, self.party, step or method.name) from None

    async def _repeated(self, once: Callable[[], Awaitable[bytes]], step: str) -> bytes:
        return await retrying(
            once, party=self.party, step=step, rng=self._rng, backoff=self._backoff, waiting=self._waiting
        )
