"""A submission by the shufflers' ports for browsers, with a browser's requests and headers: for dummies.

Where users answer from pages, dummies that came by gRPC alone would be told from them. What cannot be imitated here is
a browser's TLS handshake (docs/limitations.md).
"""

import http.client
import socket
import ssl
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from peos.collection.cards import Card, party, plain_text
from peos.collection.receipts import Acknowledged
from peos.collection.replies import Answer
from peos.collection.submission import Part
from peos.crypto.randomness import Randomness
from peos.errors import BadEncoding, RemoteFault
from peos.net.limits import MESSAGE_BYTES
from peos.net.submit import Outcome, Refusal, fault_of
from peos.net.tunnel import Proxy
from peos.wire.methods import SUBMIT
from peos.wire.submissions import encode_part

TYPE: Final = "application/x-protobuf"
PARTS: Final = "/v1/parts"
AGENT: Final = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"
_IDLE: Final = 25.0
_PREFLIGHT: Final = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}


@dataclass(frozen=True)
class Site:
    """The ports for browsers in the shufflers' order, the page whose users they serve, and what these browse with."""

    addresses: tuple[str, ...]  # https://host or https://host:port
    origin: str
    agents: tuple[str, ...] = (AGENT,)


def submit_by_web(
    site: Site,
    cards: Sequence[Card],
    parts: Sequence[Part],
    *,
    seconds: float,
    rng: Randomness,
    proxy: Proxy | None = None,
    reading: float = 0.0,
) -> Outcome:
    """Ask every shuffler what is collected, as a page does that is opened; after `reading` post to each its part."""
    agent = site.agents[rng.integer_below(len(site.agents))]
    with ExitStack() as stack:
        asked = [
            _Browser(number, card, address, site.origin, agent, seconds, proxy)
            for number, (card, address) in enumerate(zip(cards, site.addresses, strict=True), start=1)
        ]
        refusals = []
        for one in asked:
            stack.enter_context(closing(one))
            status, body = one.call("GET", f"/v1/collections/{parts[0].collection.hex()}")
            if status != http.HTTPStatus.OK:
                refusals.append(one.refusal(one.read(body)))
        if not refusals:
            if reading > _IDLE:  # seconds after which a server closes, and a browser connects again
                for one in asked:
                    one.close()
            time.sleep(reading)
            for one in asked:
                one.call("OPTIONS", PARTS, more=_PREFLIGHT)
            for one, part in zip(asked, parts, strict=True):
                answer = one.read(one.call("POST", PARTS, encode_part(part))[1])
                if answer.refusal:
                    refusals.append(one.refusal(answer))
                elif fault := fault_of(answer, Acknowledged(part.collection, part.row, part.user_key), one.card):
                    refusals.append(Refusal(one.number, plain_text(one.card.name), "submit.acknowledgement", fault))
    return Outcome(parts[0].id, tuple(refusals))


class _Browser:
    """One connection to one shuffler; RemoteFault names it where it does not answer."""

    def __init__(
        self, number: int, card: Card, address: str, origin: str, agent: str, seconds: float, proxy: Proxy | None
    ) -> None:
        self.number, self.card, self._proxy, self._seconds = number, card, proxy, seconds
        url = urlsplit(address)
        self._host, self._port, self._name = url.hostname or "", url.port or 443, url.netloc
        self._shown = {"Origin": origin, "User-Agent": agent}
        self._link: http.client.HTTPSConnection | None = None

    def close(self) -> None:
        """Close the connection."""
        if self._link is not None:
            self._link.close()
            self._link = None

    def call(
        self, method: str, path: str, body: bytes = b"", *, more: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        """Status and body of one request."""
        try:
            link = self._connected()
            link.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in self._headers(body, more or {}).items():
                link.putheader(name, value)
            link.endheaders(body or None)
            found = link.getresponse()
            content = found.read(MESSAGE_BYTES + 1)
        except (OSError, http.client.HTTPException) as error:
            raise self._fault("network.no_answer", "does not answer at its port for browsers") from error
        if len(content) > MESSAGE_BYTES:
            raise self._fault("network.unsaid", "sent a body that is too long")
        return found.status, content

    def read(self, body: bytes) -> Answer:
        """What a body says."""
        try:
            answer: Answer = SUBMIT.decode_response(body)
        except BadEncoding:
            raise self._fault("network.unsaid", "sent an answer that cannot be read") from None
        return answer

    def refusal(self, answer: Answer) -> Refusal:
        """Why it did not take it."""
        said = plain_text(answer.refusal), plain_text(answer.hint)
        return Refusal(self.number, plain_text(self.card.name), answer.error_id, *said)

    def _connected(self) -> http.client.HTTPSConnection:
        if self._link is None:
            where = (self._host, self._port)
            raw = self._proxy.connect(*where) if self._proxy else socket.create_connection(where, timeout=self._seconds)
            raw.settimeout(self._seconds)
            context = ssl.create_default_context()  # the authorities that browsers trust
            context.minimum_version = ssl.TLSVersion.TLSv1_3
            context.set_alpn_protocols(["http/1.1"])
            self._link = http.client.HTTPSConnection(*where, timeout=self._seconds)
            self._link.sock = context.wrap_socket(raw, server_hostname=self._host)
        return self._link

    def _headers(self, body: bytes, more: dict[str, str]) -> dict[str, str]:
        """In the order in which Chromium has them, for a page of another site."""
        length = {"Content-Length": str(len(body)), "Content-Type": TYPE} if body else {}
        return {
            "Host": self._name,
            "Connection": "keep-alive",
            **length,
            "Pragma": "no-cache",
            "Cache-Control": "no-cache",
            "Accept": "*/*",
            **more,
            **self._shown,
            "Sec-Fetch-Mode": "cors",
            "Sec-Fetch-Site": "cross-site",
            "Sec-Fetch-Dest": "empty",
            "Accept-Encoding": "gzip, deflate, br, zstd",
            "Accept-Language": "en-US,en;q=0.9",
        }

    def _fault(self, id_: str, sentence: str) -> RemoteFault:
        return RemoteFault(id_, sentence, party=party(self.number, self.card), step="submission")
