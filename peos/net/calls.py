"""The table of calls (`peos.wire.methods`) bound to gRPC, for servers and for clients.

gRPC carries bytes; the strict codec reads them inside the guard, so that a bad encoding is answered with its reason.
"""

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from peos.crypto.kdf import DIGEST_BYTES
from peos.crypto.randomness import Randomness
from peos.errors import LocalFault
from peos.net.client import TIMEOUT
from peos.net.errors import from_rpc_error
from peos.net.guard import Context, Handler
from peos.net.retry import STANDARD, OnFailure, Retry, retrying
from peos.net.tls import grpc
from peos.wire.methods import Method

Behaviour = Callable[[Any, Context], Any]
"""What answers a call: `async def (request, context)`, or an async generator where the response is a stream.

A streamed request is an async iterator of decoded messages. Raise an error of `peos.errors` to refuse.
"""

Metadata = tuple[tuple[str, str | bytes], ...]

Meter = Callable[[int, int], None]
"""Called with the bytes of messages (sent, received)."""

CollectionMeter = Callable[[bytes, int, int], None]
"""The same with the collection in front. Messages that name none are not counted; chunks are, by their reader."""


@dataclass(frozen=True)
class Service:
    """A service as a server offers it."""

    name: str
    handler: grpc.GenericRpcHandler


def service(behaviours: Mapping[Method, Behaviour], *, meter: CollectionMeter | None = None) -> Service:
    """The calls of one service with what answers each; `meter` counts the bytes that they take and give."""
    names = {method.service for method in behaviours}
    if len(names) != 1:
        raise LocalFault("network.service", f"a service is offered by itself, and here are {len(names)}")
    name = f"peos.v1.{names.pop()}"
    handlers = {method.name: _handler(method, behaviour, meter) for method, behaviour in behaviours.items()}
    return Service(name, grpc.method_handlers_generic_handler(name, handlers))


def _handler(method: Method, behaviour: Behaviour, meter: CollectionMeter | None) -> Handler:
    def read(request: Any) -> tuple[Any, bytes]:
        """The request decoded, or a stream of such; and the collection that it names."""
        if method.streams_in:
            return _decoded(method, request, meter), b""
        decoded = method.decode(request)
        collection = _collection_of(decoded)
        if meter and collection:
            meter(collection, 0, len(request))
        return decoded, collection

    def write(response: Any, asked: bytes) -> bytes:
        encoded = method.encode_response(response)
        collection = _collection_of(response) or asked
        if meter and collection:
            meter(collection, len(encoded), 0)
        return encoded

    async def answer(request: Any, context: Context) -> bytes:
        decoded, collection = read(request)
        return write(await behaviour(decoded, context), collection)

    async def stream(request: Any, context: Context) -> AsyncIterator[bytes]:
        decoded, collection = read(request)
        async for response in behaviour(decoded, context):
            yield write(response, collection)

    if method.streams_out:
        if method.streams_in:
            return grpc.stream_stream_rpc_method_handler(stream)
        return grpc.unary_stream_rpc_method_handler(stream)
    if method.streams_in:
        return grpc.stream_unary_rpc_method_handler(answer)
    return grpc.unary_unary_rpc_method_handler(answer)


async def _decoded(method: Method, requests: AsyncIterable[bytes], meter: CollectionMeter | None) -> AsyncIterator[Any]:
    async for data in requests:
        decoded = method.decode(data)
        if meter and (collection := _collection_of(decoded)):
            meter(collection, 0, len(data))
        yield decoded


def _collection_of(message: Any) -> bytes:
    """The digest of the collection that a message is about; empty if it does not say."""
    if isinstance(message, bytes):
        return message if len(message) == DIGEST_BYTES else b""  # an inquiry
    about = getattr(message, "header", message)
    found = getattr(getattr(about, "context", about), "collection", b"")
    return found if isinstance(found, bytes) else b""


class Caller:
    """One party at the other end of a channel, by the name that errors and status give it.

    `reach` is its channel, or opens it, which is done at the first call.
    """

    def __init__(
        self,
        reach: grpc.aio.Channel | Callable[[], grpc.aio.Channel],
        party: str,
        rng: Randomness,
        *,
        policy: Retry = STANDARD,
        waiting: OnFailure | None = None,
        meter: Meter | None = None,
    ) -> None:
        self.party = party
        self._opened: grpc.aio.Channel | None = None if callable(reach) else reach
        self._reach: Callable[[], grpc.aio.Channel] = reach if callable(reach) else lambda: reach
        self._rng = rng
        self._policy = policy
        self._waiting = waiting
        self._meter = meter or _uncounted

    async def close(self) -> None:
        """Close the channel; a later call opens it again."""
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.close()

    @property
    def _channel(self) -> grpc.aio.Channel:
        if self._opened is None:
            self._opened = self._reach()
        return self._opened

    async def ask(
        self, method: Method, request: Any, *, step: str = "", timeout: float = TIMEOUT, metadata: Metadata = ()
    ) -> Any:
        """One request, one response; repeated as the policy says."""
        encoded = method.encode(request)
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = self._channel.unary_unary(method.path)

        async def once() -> bytes:
            self._meter(len(encoded), 0)
            return self._came(await call(encoded, timeout=timeout, metadata=metadata))

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
                yield self._left(method.encode(request))

        async def once() -> bytes:
            return self._came(await call(encoded(), timeout=timeout, metadata=metadata))

        return method.decode_response(await self._repeated(once, step or method.name))

    async def stream(
        self, method: Method, request: Any, *, step: str = "", timeout: float = TIMEOUT
    ) -> AsyncIterator[Any]:
        """One request, a stream of responses; not repeated, since some of it has been used."""
        call: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = self._channel.unary_stream(method.path)
        try:
            async for response in call(self._left(method.encode(request)), timeout=timeout):
                yield method.decode_response(self._came(response))
        except grpc.RpcError as error:
            raise from_rpc_error(error, self.party, step or method.name) from None

    async def exchange(
        self, method: Method, requests: AsyncIterable[Any], *, step: str = "", timeout: float | None = None
    ) -> AsyncIterator[Any]:
        """A stream each way; not repeated. Without a timeout it lasts as long as the requests do."""

        async def encoded() -> AsyncIterator[bytes]:
            async for request in requests:
                yield self._left(method.encode(request))

        call: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = self._channel.stream_stream(method.path)
        try:
            async for response in call(encoded(), timeout=timeout):
                yield method.decode_response(self._came(response))
        except grpc.RpcError as error:
            raise from_rpc_error(error, self.party, step or method.name) from None

    def _left(self, message: bytes) -> bytes:
        self._meter(len(message), 0)
        return message

    def _came(self, message: bytes) -> bytes:
        self._meter(0, len(message))
        return message

    async def _repeated(self, once: Callable[[], Awaitable[bytes]], step: str) -> bytes:
        def on_failure(error: Exception, pause: float) -> None:
            if self._waiting is not None:
                self._waiting(self._explained(error, step), pause)

        try:
            return await retrying(once, self._policy, rng=self._rng, on_failure=on_failure)
        except grpc.RpcError as error:
            raise self._explained(error, step) from None

    def _explained(self, error: Exception, step: str) -> Exception:
        """The one sentence about what failed: which party, at which step."""
        return from_rpc_error(error, self.party, step) if isinstance(error, grpc.RpcError) else error


def _uncounted(_sent: int, _received: int) -> None:
    """No meter."""
