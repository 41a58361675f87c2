"""The port for browsers: what a collection asks by GET, and a part by POST, with the same bytes as over gRPC.

    GET  /v1/collections/{digest}   the SignedDocument
    POST /v1/parts                  a Part; the Answer
    POST /v1/proofs                 a MembershipRequest; the MembershipProof

They end where the calls of the port for users end, so that no rule stands here but those of a web: which pages may ask
(CORS), whose word about a forwarded address counts, and how an error of the one table becomes a status. A refusal is an
`Answer` too. There are no cookies, and the ticket is in the part: a page of another origin gains nothing by asking.
"""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Final

from peos.collection.membership import MembershipProof, MembershipRequest
from peos.collection.replies import Answer
from peos.collection.submission import Part
from peos.collection.ticket import ID_BYTES
from peos.crypto.kdf import DIGEST_BYTES
from peos.errors import Full, Refused, Unknown
from peos.net.acceptor import caller_of
from peos.net.calls import CollectionMeter
from peos.net.guard import noted
from peos.net.limits import MESSAGE_BYTES, Limits
from peos.net.observer import Observer
from peos.net.web import STATUS, Application, Receive, Scope, Send, read_body, respond
from peos.wire.methods import CLOSED_HEADER, PROVE, SUBMIT
from shuffler.web_config import Web

DOCUMENTS: Final = re.compile(rf"/v1/collections/([0-9a-f]{{{2 * DIGEST_BYTES}}})")
PARTS: Final = "/v1/parts"
PROOFS: Final = "/v1/proofs"
TYPE: Final = b"application/x-protobuf"
_CHECKED_AGAIN: Final = b"600"  # seconds for which a browser remembers what a page may ask
_AGAIN: Final = "try again in a while"
Headers = list[tuple[bytes, bytes]]


class WebPort:
    """Routes over the users' calls; `application` is what a server is given."""

    def __init__(
        self,
        web: Web,
        describe: Callable[[bytes], Awaitable[tuple[bytes, bool]]],
        submit: Callable[[Part], Awaitable[Answer]],
        prove: Callable[[MembershipRequest], Awaitable[MembershipProof]],
        *,
        limits: Limits,
        silence: float,
        observer: Observer,
        meter: CollectionMeter,
    ) -> None:
        self._describe, self._submit, self._prove, self._meter = describe, submit, prove, meter
        self._limits, self._silence, self._observer = limits, silence, observer
        self._origins = frozenset(origin.encode() for origin in web.origins)
        self._proxies, self._is_open = web.callers, web.pair is not None
        self._under_way: Counter[str] = Counter()

    def application(self, caller: Callable[[int], str | None]) -> Application:
        """The port as a server wants it; `caller` gives the address behind a port of the loopback."""

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            given: Headers = list(scope["headers"])
            origin = next((value for name, value in given if name == b"origin"), b"")
            method, path = scope["method"], scope["path"]
            try:
                address = self._address(caller(scope["client"][1]), given)
                self._require_origin(origin)
                if method == "OPTIONS":
                    await _send(send, 204, b"", origin, _ALLOWED)
                    return
                with self._one_more(address):
                    status, (body, more) = 200, await self._called(method, path, receive)
            except Exception as error:
                public = noted(self._observer, f"{method} {path[:80]}", error)
                refused = Answer(
                    bytes(DIGEST_BYTES),
                    bytes(ID_BYTES),
                    b"",
                    public.text,
                    public.hint,
                    public.retry,
                    error_id=public.id,
                )
                status, body, more = STATUS[public.status], SUBMIT.encode_response(refused), ()
                origin = origin if origin in self._origins else b""
            await _send(send, status, body, origin, more)

        return answer

    async def _called(self, method: str, path: str, receive: Receive) -> tuple[bytes, Iterable[tuple[bytes, bytes]]]:
        if method == "GET" and (found := DOCUMENTS.fullmatch(path)):
            digest = bytes.fromhex(found[1])
            document, has_closed = await self._describe(digest)
            self._meter(digest, len(document), 0)
            return document, _HAS_CLOSED if has_closed else ()
        if method == "POST" and path == PARTS:
            body = await self._body(receive)
            part: Part = SUBMIT.decode(body)
            answer = SUBMIT.encode_response(await self._submit(part))
            self._meter(part.collection, len(answer), len(body))
            return answer, ()
        if method == "POST" and path == PROOFS:
            body = await self._body(receive)
            asked: MembershipRequest = PROVE.decode(body)
            proof = PROVE.encode_response(await self._prove(asked))
            self._meter(asked.collection, len(proof), len(body))
            return proof, ()
        raise Unknown("web.route", "there is nothing at this address", hint="run the same version everywhere")

    async def _body(self, receive: Receive) -> bytes:
        return await read_body(receive, limit=MESSAGE_BYTES, silence=self._silence, what="a part")

    def _require_origin(self, origin: bytes) -> None:
        if origin and origin not in self._origins:
            raise Refused(
                "web.origin",
                "pages of this address may not ask here",
                hint="its operator names them in `listen.web_origins`",
            )

    def _address(self, connected: str | None, given: Headers) -> str:
        """Whose request it is. What a header says of that counts only if a proxy wrote it."""
        if connected is None or not (self._is_open or connected in self._proxies):
            raise Refused(
                "web.not_by_proxy", "this port is reached through its proxy alone", hint="use the address of the proxy"
            )
        if connected not in self._proxies:
            return connected
        chain = b",".join(value for name, value in given if name == b"x-forwarded-for")
        return forwarded(chain.decode("latin-1"), self._proxies) or connected

    @contextmanager
    def _one_more(self, address: str) -> Iterator[None]:
        """A request of one address under way, if it may have one more."""
        if self._under_way[address] >= self._limits.per_address or self._under_way.total() >= self._limits.calls:
            raise Full("web.full", "too many requests are under way", hint=_AGAIN)
        self._under_way[address] += 1
        try:
            yield
        finally:
            self._under_way[address] -= 1
            if not self._under_way[address]:
                del self._under_way[address]


def forwarded(chain: str, proxies: frozenset[str]) -> str:
    """The last address of a chain that is no proxy of ours, or nothing: what stands before it may be invented."""
    for one in reversed(chain.split(",")):
        try:
            address = caller_of(str(ip_address(one.strip())))
        except ValueError:
            return ""
        if address not in proxies:
            return address
    return ""


_HAS_CLOSED: Final[Headers] = [
    (CLOSED_HEADER.encode(), b"1"),
    (b"access-control-expose-headers", CLOSED_HEADER.encode()),
]
_ALLOWED: Final[Headers] = [
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"content-type"),
    (b"access-control-max-age", _CHECKED_AGAIN),
]


async def _send(send: Send, status: int, body: bytes, origin: bytes, more: Iterable[tuple[bytes, bytes]] = ()) -> None:
    headers = [
        (b"content-type", TYPE),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        (b"vary", b"Origin"),
        *more,
    ]
    if origin:
        headers.append((b"access-control-allow-origin", origin))
    await respond(send, status, body, headers)
