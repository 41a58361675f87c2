"""A submission by the shufflers' ports for browsers, as our client in a browser sends it: for dummies.

Where users answer from pages, dummies that came by gRPC alone would be told from them. The TLS handshake is a browser's
as curl_cffi imitates it, the requests are those of `user_client/web` in that browser; docs/limitations.md says what
still differs. curl_cffi is an extra (`peos[dummies]`), loaded only for such dummies.
"""

import re
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from http import HTTPStatus
from selectors import EVENT_READ, DefaultSelector
from typing import Final

from peos.collection.cards import Card, party, plain_text
from peos.collection.receipts import Acknowledged
from peos.collection.replies import Answer
from peos.collection.submission import Part
from peos.crypto.randomness import Randomness
from peos.errors import BadEncoding, RemoteFault
from peos.net.browsers import AGENT, EXTRA, Browser, browsers
from peos.net.limits import MESSAGE_BYTES
from peos.net.submit import Outcome, Refusal, fault_of
from peos.net.tunnel import Proxy
from peos.tabular import needed
from peos.wire.methods import SUBMIT
from peos.wire.submissions import encode_part

TYPE: Final = "application/x-protobuf"
PARTS: Final = "/v1/parts"
LANGUAGE: Final = "en-US,en;q=0.9"
_IDLE: Final = 300.0  # seconds that browsers keep a connection without a request
_ENCODINGS: Final = "gzip, deflate, br, zstd"
_SPOKEN: Final = re.compile(rb"SSL connection using (\S+)")  # in what curl says of a handshake
_HEADERS: Final = {
    "Connection": "keep-alive",
    "Pragma": "no-cache",
    "Cache-Control": "no-cache",
    "Accept": "*/*",
    "Sec-Fetch-Site": "cross-site",
    "Sec-Fetch-Mode": "cors",
    "Sec-Fetch-Dest": "empty",
    "Priority": "u=4",  # in Firefox
    "Expect": "",  # in none, and what curl adds to long bodies
}
_BY_METHOD: Final = {
    "GET": dict[str, str](),
    "OPTIONS": {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"},
    "POST": {"content-type": TYPE},
}


@dataclass(frozen=True)
class Site:
    """The ports for browsers in the shufflers' order, the page whose users they serve, and what these browse with."""

    addresses: tuple[str, ...]  # https://host or https://host:port
    origin: str
    agents: tuple[str, ...] = (AGENT,)
    languages: tuple[str, ...] = (LANGUAGE,)


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
    agent, language = (given[rng.integer_below(len(given))] for given in (site.agents, site.languages))
    shown = {"Origin": site.origin, "User-Agent": browsers()[agent].agent, "Accept-Language": language}
    with ExitStack() as stack:
        asked = [
            stack.enter_context(closing(_Visit(number, card, address, browsers()[agent], shown, seconds, proxy)))
            for number, (card, address) in enumerate(zip(cards, site.addresses, strict=True), start=1)
        ]
        refusals = []
        for one in asked:
            status, body = one.call("GET", f"/v1/collections/{parts[0].collection.hex()}")
            if status != HTTPStatus.OK:
                refusals.append(one.refusal(one.read(body)))
        if not refusals:
            time.sleep(reading)
            for one, part in zip(asked, parts, strict=True):
                one.call("OPTIONS", PARTS)
                answer = one.read(one.call("POST", PARTS, encode_part(part))[1])
                if answer.refusal:
                    refusals.append(one.refusal(answer))
                elif fault := fault_of(answer, Acknowledged(part.collection, part.row, part.user_key), one.card):
                    refusals.append(Refusal(one.number, plain_text(one.card.name), "submit.acknowledgement", fault))
        threading.Thread(target=_leave_open, args=(asked, stack.pop_all()), daemon=True, name="left open").start()
    return Outcome(parts[0].id, tuple(refusals))


def _leave_open(visits: "Sequence[_Visit]", all_of_them: ExitStack) -> None:
    """Keep connections until the shufflers close them, as a browser does for the next request to the same place."""
    give_up_at = time.monotonic() + _IDLE
    with all_of_them, DefaultSelector() as selector:
        for one in visits:
            if one.socket >= 0:
                selector.register(one.socket, EVENT_READ, one)
        while selector.get_map() and (left := give_up_at - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                selector.unregister(key.fileobj)
                key.data.close()


class _Visit:
    """What a browser and one shuffler say to each other; RemoteFault names it where it does not answer.

    One visit knows nothing of another. The connection is kept; where the shuffler has closed it, the next resumes it.
    """

    def __init__(
        self,
        number: int,
        card: Card,
        address: str,
        agent: Browser,
        shown: Mapping[str, str],
        seconds: float,
        proxy: Proxy | None,
    ) -> None:
        self.number, self.card = number, card
        self._address, self._agent, self._shown, self._seconds, self._proxy = address, agent, shown, seconds, proxy
        self._authorities = ssl.get_default_verify_paths()  # those that browsers trust
        self._library = needed("curl_cffi", EXTRA)
        self._curl = self._library.Curl(cacert=self._authorities.cafile or "")
        self._spoken = b""

    @property
    def socket(self) -> int:
        """The connection's descriptor; -1 if there is none any more."""
        return int(self._curl.getinfo(self._library.CurlInfo.ACTIVESOCKET))

    def close(self) -> None:
        """Close the connection, and forget all; a repeated call does nothing."""
        self._curl.close()

    def call(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Status and body of one request."""
        option, content = self._library.CurlOpt, bytearray()

        def take(block: bytes) -> int:
            content.extend(block)
            if len(content) > MESSAGE_BYTES:
                raise self._fault("network.unsaid", "sent a body that is too long")
            return len(block)

        headers, family = {**_HEADERS, **_BY_METHOD[method], **self._shown}, self._agent.family
        order = family.preflight if method == "OPTIONS" else family.order
        sent = (f"{name}: {value}" if name in order.split(",") else f"{name}:" for name, value in headers.items())
        settings = {
            option.URL: self._address + path,
            option.CUSTOMREQUEST: method,
            option.HTTPHEADER: [line.encode() for line in sent],  # without a value: not even if curl would
            option.ACCEPT_ENCODING: _ENCODINGS,
            option.PROXY: str(self._proxy or "").replace("socks5:", "socks5h:"),  # which resolves names
            option.NOPROXY: "",  # whatever the environment says, as of the proxy
            option.TIMEOUT_MS: int(1000 * self._seconds),
            option.NOSIGNAL: 1,
            option.WRITEFUNCTION: take,
            option.DEBUGFUNCTION: self._note,
            option.VERBOSE: 1,
        }
        if self._authorities.capath:
            settings[option.CAPATH] = self._authorities.capath
        if body:
            settings |= {option.POSTFIELDS: body, option.POSTFIELDSIZE: len(body)}
        self._curl.reset()  # of settings; connections stay
        for name, value in settings.items():
            self._curl.setopt(name, value)
        refused = self._curl.impersonate(self._agent.target, default_headers=False)
        assert not refused, "it is one of those that the library names"
        self._curl.setopt(option.HTTPHEADER_ORDER, order)
        try:
            self._curl.perform()
        except self._library.CurlError as error:
            raise self._unanswered(error.code) from error
        if self._spoken != b"TLSv1.3":  # browsers offer TLS 1.2 too, and an imitation must
            raise self._fault("network.no_answer", "speaks no TLS 1.3 at its port for browsers")
        return self._curl.getinfo(self._library.CurlInfo.RESPONSE_CODE), bytes(content)

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

    def _note(self, kind: int, said: bytes) -> None:
        if kind == 0 and (found := _SPOKEN.match(said)):
            self._spoken = found[1]

    def _unanswered(self, code: int) -> RemoteFault:
        """Whose fault it is that there is no answer."""
        codes, connected = self._library.CurlECode, self._curl.getinfo(self._library.CurlInfo.HTTP_CONNECTCODE)
        if self._proxy and (code == codes.PROXY or connected not in (0, HTTPStatus.OK)):
            return self._proxy.fault("proxy.target", f"does not connect to {self._address}")
        if self._proxy and code in (codes.COULDNT_RESOLVE_PROXY, codes.COULDNT_CONNECT):
            return self._proxy.fault("proxy.unreachable", "cannot be reached")
        return self._fault("network.no_answer", "does not answer at its port for browsers")

    def _fault(self, id_: str, sentence: str) -> RemoteFault:
        return RemoteFault(id_, sentence, party=party(self.number, self.card), step="submission")
