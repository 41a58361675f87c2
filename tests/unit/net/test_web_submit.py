"""A dummy as a shuffler's port for browsers sees it: handshake, requests, connections, and the way there."""

import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest
from curl_cffi import Curl, CurlOpt

from peos.collection.cards import Card
from peos.collection.replies import Answer
from peos.collection.ticket import ID_BYTES
from peos.crypto.kdf import DIGEST_BYTES
from peos.crypto.randomness import Randomness
from peos.localcluster import HOST
from peos.net import tunnel
from peos.net.browsers import browsers
from peos.net.limits import MESSAGE_BYTES
from peos.net.web import Pair
from peos.net.web_submit import Site, submit_by_web
from peos.wire.methods import SUBMIT
from tests.proxies import Proxy
from tests.raising import raises
from tests.recorder import Hello, Recorder
from tests.unit.shuffler_process.test_user_service import PARTS
from tests.web_certificates import certificate

PAGE: Final = "https://app.example"
CARD: Final = Card("org-1", bytes(32), "", b"")
REFUSED: Final = SUBMIT.encode_response(
    Answer(bytes(DIGEST_BYTES), bytes(ID_BYTES), b"", "it is closed", "", False, error_id="submit.closed")
)
BLOCK: Final = bytes(1 << 16)
HYBRID: Final = 4588  # X25519MLKEM768
DOCUMENT: Final = f"GET /v1/collections/{PARTS[0].collection.hex()} HTTP/1.1"
THREE: Final = [DOCUMENT, "OPTIONS /v1/parts HTTP/1.1", "POST /v1/parts HTTP/1.1"]


@dataclass
class Shuffler:
    """A port that answers as a test wants it to, and a recorder before it."""

    folder: Path
    port: int = 0
    recorder: Recorder = field(init=False)
    headers: list[tuple[str, str]] = field(default_factory=list)  # of every answer
    status: int = 200
    endless: bool = False  # is the document
    sent: int = 0  # bytes of it

    @property
    def requests(self) -> list[str]:
        return [line.decode() for one in self.recorder.heard for line, _ in one.requests]

    @property
    def hellos(self) -> list[Hello]:
        return [Hello.parse(one.hello) for one in self.recorder.heard]


class Handler(BaseHTTPRequestHandler):
    """What it answers."""

    protocol_version = "HTTP/1.1"
    shuffler: Shuffler

    def do_GET(self) -> None:
        if not self.shuffler.endless:
            self.answered(b"a signed document", self.shuffler.status)
            return
        self.send_response(200)
        self.end_headers()
        while True:
            self.wfile.write(BLOCK)
            self.shuffler.sent += len(BLOCK)

    def do_OPTIONS(self) -> None:
        self.answered(b"", 204)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answered(REFUSED)

    def answered(self, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        for name, value in self.shuffler.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    """With TLS, whose handshakes do not hold up one another."""

    daemon_threads = True
    context: Any

    def get_request(self) -> tuple[Any, Any]:
        link, address = super().get_request()
        return self.context.wrap_socket(link, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, *_: Any) -> None:
        pass  # a caller that broke off is what some tests are about


@contextmanager
def listening(folder: Path, **recorded: Any) -> Iterator[Shuffler]:
    """One shuffler."""
    shuffler = Shuffler(folder)
    server = Server((HOST, 0), type("Handler", (Handler,), {"shuffler": shuffler}))
    server.context = Pair(folder / "web.pem", folder / "web.key").context()
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        with Recorder(folder, server.server_address[1], folder / "web.pem", **recorded) as shuffler.recorder:
            shuffler.port = shuffler.recorder.port
            yield shuffler
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A certificate, trusted as an authority's."""
    certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "web.pem"))
    return tmp_path


@pytest.fixture
def shuffler(folder: Path) -> Iterator[Shuffler]:
    """One whose port speaks TLS 1.3."""
    with listening(folder) as made:
        yield made


def send(
    shuffler: Shuffler, agent: str = "chrome", *, host: str = HOST, reading: float = 0.0, **more: Any
) -> list[str]:
    """One dummy; the ids of refusals."""
    site = Site((f"https://{host}:{shuffler.port}",), PAGE, (agent,))
    outcome = submit_by_web(site, (CARD,), PARTS[:1], seconds=60.0, rng=Randomness(b"r" * 32), reading=reading, **more)
    return [one.error_id for one in outcome.refusals]


CHROME: Final = (
    "Host Connection Pragma Cache-Control User-Agent Accept Origin Sec-Fetch-Site Sec-Fetch-Mode Sec-Fetch-Dest"
    " Accept-Encoding Accept-Language"
)
FIREFOX: Final = (
    "Host User-Agent Accept Accept-Language Accept-Encoding Origin Connection Sec-Fetch-Dest Sec-Fetch-Mode"
    " Sec-Fetch-Site Priority Pragma Cache-Control"
)


@pytest.mark.parametrize(
    ("agent", "named", "headers", "greased"),
    [
        ("chrome", "Chrome/", CHROME, True),
        ("chrome131", "Chrome/131.", CHROME, True),
        ("firefox", "Firefox/", FIREFOX, False),
        ("firefox135", "Firefox/135.", FIREFOX, False),
    ],
)
def test_handshake_and_requests_are_those_of_the_browser_that_is_named(
    shuffler: Shuffler, agent: str, named: str, headers: str, greased: bool
) -> None:
    """tests/e2e/test_web_client.py holds them against a real one."""
    assert send(shuffler, agent) == ["submit.closed"]
    (heard,), (hello,) = shuffler.recorder.heard, shuffler.hellos
    assert (hello.alpn, hello.greased) == (("h2", "http/1.1"), greased)
    assert HYBRID in hello.key_shares
    assert shuffler.requests == THREE
    said = [given for _, given in heard.requests]
    assert " ".join(said[0]) == headers
    assert all(named in given["User-Agent"] for given in said)
    assert all(given["Origin"] == PAGE for given in said)
    assert said[1]["Access-Control-Request-Headers"] == "content-type"
    assert [given.get("content-type") for given in said] == [None, None, "application/x-protobuf"]


def test_every_browser_that_is_offered_has_the_handshake_and_the_name_of_one(shuffler: Shuffler) -> None:
    """What the library calls itself when it imitates a browser of that name is what we call ourselves."""
    for agent, browser in browsers().items():
        assert send(shuffler, agent) == ["submit.closed"], agent
        visit = Curl(cacert=str(shuffler.folder / "web.pem"))
        visit.setopt(CurlOpt.URL, f"https://{HOST}:{shuffler.port}/")
        visit.setopt(CurlOpt.WRITEFUNCTION, len)
        assert visit.impersonate(browser.target) == 0
        visit.perform()
        visit.close()
        ours, its = shuffler.recorder.heard[-2:]
        names = {
            value
            for one in (ours, its)
            for _, given in one.requests
            for name, value in given.items()
            if name.lower() == "user-agent"
        }
        assert names == {browser.agent}
        assert Hello.parse(ours.hello) == Hello.parse(its.hello), agent


def test_nothing_joins_two_dummies_and_one_keeps_its_connection(shuffler: Shuffler) -> None:
    """No cookie, no ticket of TLS; the extension with the ticket would be in the second ClientHello."""
    shuffler.headers.append(("Set-Cookie", "who=you; Path=/"))
    for _ in range(2):
        send(shuffler)
    assert [one.resumes for one in shuffler.hellos] == [False, False]
    assert shuffler.requests == 2 * THREE
    assert all("cookie" not in map(str.lower, given) for one in shuffler.recorder.heard for _, given in one.requests)


def test_a_connection_stays_until_the_shuffler_closes_it(shuffler: Shuffler) -> None:
    def keeping() -> list[threading.Thread]:
        return [one for one in threading.enumerate() if one.name == "left open"]

    before = len(keeping())
    send(shuffler)
    assert len(keeping()) == before + 1
    assert shuffler.recorder.open == 1
    shuffler.recorder.hang_up()
    for one in keeping():
        one.join(60.0)
    assert not keeping()


def test_one_that_reads_for_long_connects_again_and_resumes_as_browsers_do(
    shuffler: Shuffler, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        shuffler.recorder.hang_up()

    monkeypatch.setattr(time, "sleep", sleep)
    assert send(shuffler, reading=40.0) == ["submit.closed"]
    assert slept == [40.0]
    assert [len(one.requests) for one in shuffler.recorder.heard] == [1, 2]
    assert [one.resumes for one in shuffler.hellos] == [False, True]


def test_a_port_with_older_tls_gets_no_part(folder: Path) -> None:
    with listening(folder, newest=ssl.TLSVersion.TLSv1_2) as old, raises("network.no_answer", "shuffler 1", "1.3"):
        send(old)
    assert old.requests == [DOCUMENT]


def test_a_body_is_read_no_further_than_a_message_may_be_long(shuffler: Shuffler) -> None:
    shuffler.endless = True
    with raises("network.unsaid", "shuffler 1"):
        send(shuffler)
    assert shuffler.sent < 8 * MESSAGE_BYTES, "what lies in buffers is little"


def test_a_redirection_is_no_answer(shuffler: Shuffler) -> None:
    shuffler.status, shuffler.headers = 302, [("Location", "/elsewhere")]
    with raises("network.unsaid", "shuffler 1"):
        send(shuffler)
    assert shuffler.requests == [DOCUMENT]


@pytest.mark.parametrize("kind", [tunnel.SOCKS5, tunnel.HTTP])
def test_a_proxy_resolves_names_and_is_blamed_for_what_is_its_fault(
    shuffler: Shuffler, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the environment says of proxies counts neither with one nor without."""
    monkeypatch.setenv("NO_PROXY", "*")
    with Proxy(kind) as proxy:
        assert send(shuffler, host="localhost", proxy=tunnel.Proxy.parse(proxy.url)) == ["submit.closed"]
        assert proxy.asked == [("localhost", shuffler.port)]
        assert [one.source for one in shuffler.recorder.heard] == [proxy.source]
    with raises("proxy.unreachable", proxy.url):
        send(shuffler, proxy=tunnel.Proxy.parse(proxy.url))
    with Proxy(kind, refuse=True) as proxy, raises("proxy.target", proxy.url):
        send(shuffler, host="localhost", proxy=tunnel.Proxy.parse(proxy.url))
    monkeypatch.delenv("NO_PROXY")
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    assert send(shuffler) == ["submit.closed"]
