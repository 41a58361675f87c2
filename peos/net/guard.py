"""What stands before every call of a server: TLS 1.3, a peer that is trusted now, and the table of errors behind it.

The handshake has checked the certificate already; but a connection may outlive the trust in it, and a changed
environment of this process could have let TLS 1.2 in. So each call is checked once more.
"""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from peos.errors import NotYet, PeosError, WrongInput
from peos.net.certificates import fingerprint
from peos.net.errors import Public, to_status
from peos.net.observer import CallerTurnedAway, CallFailed, CallRefused, Observer
from peos.net.tls import TLS13, Trust, grpc

Context = grpc.aio.ServicerContext[Any, Any]
if TYPE_CHECKING:
    Handler = grpc.RpcMethodHandler[Any, Any]
else:
    Handler = grpc.RpcMethodHandler  # generic in its stubs only

_NO_TLS13: Final = Public(
    grpc.StatusCode.UNAUTHENTICATED, "TLS 1.3 is required", "", False, "Refused", "network.old_tls"
)
_NO_CERTIFICATE: Final = Public(
    grpc.StatusCode.UNAUTHENTICATED, "a certificate is required", "", False, "Refused", "network.no_certificate"
)
_NOT_TRUSTED: Final = Public(
    grpc.StatusCode.PERMISSION_DENIED,
    "this certificate is not accepted here",
    "ask the operator",
    False,
    "Refused",
    "network.not_trusted",
)
_NOT_VALID: Final = Public(
    grpc.StatusCode.PERMISSION_DENIED,
    "this certificate has expired, or is not valid yet by the clock here",
    "compare the clocks; if they agree, make the certificate anew",
    False,
    "Refused",
    "network.not_valid",
)

_fingerprint = lru_cache(maxsize=256)(fingerprint)


def peer_fingerprint(context: Context) -> bytes:
    """The fingerprint of the caller's certificate; empty if it showed none."""
    shown = list(context.auth_context().get("x509_pem_cert", ()))
    if len(shown) != 1:
        return b""
    try:
        return _fingerprint(shown[0])
    except WrongInput:
        return b""


def speaks_tls13(context: Context) -> bool:
    """Whether the call came over TLS 1.3."""
    return list(context.auth_context().get("ssl_tls_version", ())) == [TLS13]


class Guard(grpc.aio.ServerInterceptor):
    """Lets a call through to its handler, or refuses it; on a peer port `trust` says whose calls to answer."""

    def __init__(self, observer: Observer, trust: Trust | None = None) -> None:
        self._observer = observer
        self._trust = trust

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """The handler, with the checks around it."""
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        method = handler_call_details.method
        serializers = (handler.request_deserializer, handler.response_serializer)
        if handler.unary_unary:
            return grpc.unary_unary_rpc_method_handler(self._answering(handler.unary_unary, method), *serializers)
        if handler.stream_unary:
            return grpc.stream_unary_rpc_method_handler(self._answering(handler.stream_unary, method), *serializers)
        if handler.unary_stream:
            return grpc.unary_stream_rpc_method_handler(self._streaming(handler.unary_stream, method), *serializers)
        assert handler.stream_stream is not None, "a handler is of one of four kinds"
        return grpc.stream_stream_rpc_method_handler(self._streaming(handler.stream_stream, method), *serializers)

    def _answering(self, behaviour: Callable[..., Any], method: str) -> Callable[..., Awaitable[Any]]:
        async def guarded(request: Any, context: Context) -> Any:
            await self._check(context, method)
            try:
                return await behaviour(request, context)
            except Exception as error:
                await self._refuse(context, method, error)

        return guarded

    def _streaming(self, behaviour: Callable[..., Any], method: str) -> Callable[..., AsyncIterator[Any]]:
        async def guarded(request: Any, context: Context) -> AsyncIterator[Any]:
            await self._check(context, method)
            try:
                answer = behaviour(request, context)
                if inspect.isawaitable(answer):
                    await answer  # it writes through its context
                    return
                async for response in answer:
                    yield response
            except Exception as error:
                await self._refuse(context, method, error)

        return guarded

    async def _check(self, context: Context, method: str) -> None:
        refusal = self._refusal(context)
        if refusal is not None:
            self._observer.note(CallerTurnedAway(method, refusal.id, refusal.text))
            await context.abort(refusal.status, refusal.text, refusal.metadata)

    def _refusal(self, context: Context) -> Public | None:
        if not speaks_tls13(context):
            return _NO_TLS13
        if self._trust is None:
            return None
        print_ = peer_fingerprint(context)
        if not print_:
            return _NO_CERTIFICATE
        if self._trust.is_trusted(print_):
            return None
        return _NOT_VALID if print_ in self._trust else _NOT_TRUSTED

    async def _refuse(self, context: Context, method: str, error: Exception) -> None:
        """Tell the caller what it may know, and our log the rest."""
        if isinstance(error, grpc.aio.AbortError):
            raise error
        public = noted(self._observer, method, error)
        await context.abort(public.status, public.text, public.metadata)


def noted(observer: Observer, method: str, error: Exception) -> Public:
    """What a caller may know of an error; our log has the rest."""
    public = to_status(error)
    if isinstance(error, NotYet):
        observer.log.debug("a call was too early", method=method)  # callers ask again; each time is no news
    elif isinstance(error, PeosError):
        observer.note(CallRefused(error, method, public.status.name))
    else:
        observer.note(CallFailed(error, method))
    return public
