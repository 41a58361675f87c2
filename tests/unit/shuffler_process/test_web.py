"""The port for browsers: the answers of the port for users, and what only a web has: origins, proxies, slow bodies."""

import asyncio
import http.client
import socket
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from peos.collection.cards import Card
from peos.collection.lifecycle import State
from peos.collection.membership import MembershipProof, MembershipRequest
from peos.collection.membership import ask as ask_membership
from peos.crypto.randomness import Randomness
from peos.errors import NotYet, Unknown
from peos.net.limits import MESSAGE_BYTES, Limits
from peos.net.logs import Log
from peos.net.observer import Observer
from peos.net.web import Pair, RunningWeb, serve_web
from peos.net.web_submit import Site, submit_by_web
from peos.wire.methods import SUBMIT
from peos.wire.submissions import encode_membership_request, encode_part
from shuffler.web import PARTS, PROOFS, WebPort, forwarded
from shuffler.web_config import Web
from tests.raising import raises
from tests.unit.collection.made import SHUFFLERS, receipt_of, ticket
from tests.unit.shuffler_process.played import run
from tests.unit.shuffler_process.test_user_service import PARTS as MADE
from tests.unit.shuffler_process.test_user_service import Late, port
from tests.web_certificates import certificate

PAGE: Final = "https://app.example"
PROXY: Final = "127.0.0.1"
SIGNED: Final = b"a signed document"
CARD: Final = Card("org-1", bytes(32), "", b"")
DOCUMENT: Final = f"/v1/collections/{MADE[0].collection.hex()}"
OPEN: Final = Limits.for_users(50, 20)


class Heard(NamedTuple):
    """What came back."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def refused(self) -> str:
        """The id of the refusal."""
        return str(SUBMIT.decode_response(self.body).error_id)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """A certificate and its key as files."""
    folder = tmp_path_factory.mktemp("pair")
    certificate(folder)
    return Pair(folder / "web.pem", folder / "web.key")


@asynccontextmanager
async def listening(
    pair: Pair | None = None,
    *,
    proxies: tuple[str, ...] = (PROXY,),
    limits: Limits = OPEN,
    silence: float = 30.0,
    state: State | None = State.OPEN,
) -> AsyncIterator[tuple[RunningWeb, Late]]:
    """A port for browsers before a port for users whose intake the test settles."""
    users, intake = port(state)

    async def describe(digest: bytes) -> tuple[bytes, bool]:
        if digest != MADE[0].collection:
            raise Unknown("collection.unknown_here", "this shuffler knows no such collection")
        return SIGNED, state is State.CLOSED

    async def prove(_: object) -> MembershipProof:
        raise NotYet("freeze.not_frozen", "the list is not frozen yet")

    web, observer = Web("127.0.0.1:0", pair, (PAGE,), proxies), Observer(Log("test"))
    here = WebPort(
        web, describe, users.submit, prove, limits=limits, silence=silence, observer=observer, meter=lambda *_: None
    )
    running = await serve_web(here.application, web.address, pair, observer=observer, limits=OPEN, proxies=web.callers)
    try:
        yield running, intake
    finally:
        await running.stop(0.1)


def ask(
    running: RunningWeb, method: str, path: str, body: bytes = b"", *, tls: ssl.SSLContext | None = None, **headers: str
) -> Heard:
    """One request, on a connection of its own."""
    made: http.client.HTTPConnection = (
        http.client.HTTPSConnection("127.0.0.1", running.port, timeout=20, context=tls)
        if tls
        else http.client.HTTPConnection("127.0.0.1", running.port, timeout=20)
    )
    try:
        made.request(method, path, body or None, {name.replace("_", "-"): value for name, value in headers.items()})
        response = made.getresponse()
        return Heard(response.status, response.read(), dict(response.getheaders()))
    finally:
        made.close()


async def asked(*args: Any, **headers: Any) -> Heard:
    """The same beside what else runs here."""
    return await asyncio.to_thread(ask, *args, **headers)


def unverified() -> ssl.SSLContext:
    """A caller that takes any certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def test_a_document_and_the_answer_to_a_part_are_those_of_the_port_for_users(pair: Pair) -> None:
    async def test() -> None:
        async with listening(pair, proxies=()) as (running, intake):
            document = await asked(running, "GET", DOCUMENT, tls=unverified())
            assert (document.status, document.body) == (200, SIGNED)
            intake.offered = 2  # it refuses every third at once; of acknowledgements tests/e2e knows
            refused = await asked(running, "POST", PARTS, encode_part(MADE[1]), tls=unverified())
            assert (refused.status, refused.refused) == (200, "submit.closed")

    run(test())


@pytest.mark.parametrize("state", [State.OPEN, State.CLOSED])
def test_a_page_may_read_whether_a_collection_has_closed(state: State) -> None:
    async def test() -> None:
        async with listening(state=state) as (running, _):
            document = await asked(running, "GET", DOCUMENT, origin=PAGE)
            assert (document.status, document.body) == (200, SIGNED)
            said = {name for name in ("peos-closed", "access-control-expose-headers") if name in document.headers}
            assert bool(said) is (state is State.CLOSED)
            if said:
                assert document.headers["access-control-expose-headers"] == "peos-closed"

    run(test())


def test_a_dummy_comes_as_a_browsers_report_does(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for, looked at, posted; a certificate that is not an authority's is refused."""

    async def test() -> None:
        async with listening(pair, proxies=()) as (running, intake):
            site = Site((f"https://127.0.0.1:{running.port}",), PAGE)

            def sent(origin: str = PAGE, reading: float = 0.0) -> list[str]:
                given = replace(site, origin=origin), (CARD,), MADE[:1]
                outcome = submit_by_web(*given, seconds=20.0, rng=Randomness(b"r" * 32), reading=reading)
                return [one.error_id for one in outcome.refusals]

            with raises("network.no_answer", "shuffler 1"):
                await asyncio.to_thread(sent)
            monkeypatch.setenv("SSL_CERT_FILE", str(pair.certificate))
            assert await asyncio.to_thread(sent, "https://other.example") == ["web.origin"]
            assert intake.offered == 0
            intake.offered = 2  # it refuses every third at once; of acknowledgements tests/e2e knows
            assert await asyncio.to_thread(sent) == ["submit.closed"]
            slept: list[float] = []
            monkeypatch.setattr(time, "sleep", slept.append)
            for reading in (3.0, 40.0):  # over the same connection, and over another when the server has closed it
                intake.offered = 2
                assert await asyncio.to_thread(sent, PAGE, reading) == ["submit.closed"]
            assert slept == [3.0, 40.0], "between the document and the part"

    run(test())


def test_a_proof_is_asked_for_with_the_bytes_of_the_port_for_users(pair: Pair) -> None:
    part, key = MADE[0], ticket("user 0").key
    signature = ask_membership(key, part.collection, part.row)
    receipt = receipt_of(SHUFFLERS[1], part)
    asking = MembershipRequest(part.collection, part.row, part.user_key, receipt, signature)

    async def test() -> None:
        async with listening(pair, proxies=()) as (running, _):
            body = encode_membership_request(asking)
            heard = await asked(running, "POST", PROOFS, body, tls=unverified())
            assert (heard.status, heard.refused) == (503, "freeze.not_frozen")
            heard = await asked(running, "POST", PROOFS, body[:-1], tls=unverified())
            assert (heard.status, heard.refused) == (400, "encoding.unreadable")

    run(test())


def test_older_tls_is_refused(pair: Pair) -> None:
    async def test() -> None:
        old = unverified()
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        async with listening(pair, proxies=()) as (running, _):
            with pytest.raises(ssl.SSLError):
                await asked(running, "GET", DOCUMENT, tls=old)

    run(test())


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "id_"),
    [
        ("GET", f"/v1/collections/{'0' * 64}", b"", 404, "collection.unknown_here"),
        ("GET", "/v1/collections/short", b"", 404, "web.route"),
        ("GET", PARTS, b"", 404, "web.route"),
        ("POST", PARTS, b"", 400, "encoding.empty"),
        ("POST", PARTS, b"no part", 400, "encoding.unreadable"),
        ("POST", PARTS, encode_part(MADE[0]) + b"\x08\x01", 400, "encoding.not_canonical"),
        ("POST", PARTS, bytes(MESSAGE_BYTES + 1), 400, "encoding.too_long"),
    ],
)
def test_refusals_are_those_of_the_table(method: str, path: str, body: bytes, status: int, id_: str) -> None:
    async def test() -> None:
        async with listening() as (running, intake):
            heard = await asked(running, method, path, body)
            assert (heard.status, heard.refused, intake.offered) == (status, id_, 0)

    run(test())


def test_only_pages_that_are_named_may_ask() -> None:
    async def test() -> None:
        async with listening() as (running, intake):
            allowed = await asked(running, "GET", DOCUMENT, origin=PAGE)
            assert allowed.headers["access-control-allow-origin"] == PAGE
            before = await asked(running, "OPTIONS", PARTS, origin=PAGE)
            assert (before.status, before.headers["access-control-allow-methods"]) == (204, "GET, POST")
            for method, path in (("OPTIONS", PARTS), ("GET", DOCUMENT), ("POST", PARTS)):
                other = await asked(running, method, path, encode_part(MADE[0]), origin="https://other.example")
                assert (other.status, other.refused, intake.offered) == (403, "web.origin", 0)
                assert "access-control-allow-origin" not in other.headers
            assert "access-control-allow-origin" not in (await asked(running, "GET", DOCUMENT)).headers

    run(test())


def test_without_a_certificate_only_the_proxy_may_connect() -> None:
    async def test() -> None:
        async with listening(proxies=("192.0.2.1",)) as (running, intake):
            heard = await asked(running, "POST", PARTS, encode_part(MADE[0]))
            assert (heard.status, heard.refused, intake.offered) == (403, "web.not_by_proxy", 0)

    run(test())


@pytest.mark.parametrize(
    ("chain", "address"),
    [
        ("198.51.100.7", "198.51.100.7"),
        ("10.1.1.1, 198.51.100.7", "198.51.100.7"),  # what the caller itself wrote stands in front
        ("10.1.1.1, 198.51.100.7, 127.0.0.1", "198.51.100.7"),
        ("2001:db8::1", "20010db800000000"),
        ("127.0.0.1", ""),
        ("", ""),
        ("10.1.1.1, someone", ""),
    ],
)
def test_the_last_address_that_is_no_proxy_counts(chain: str, address: str) -> None:
    assert forwarded(chain, frozenset({PROXY})) == address


@pytest.mark.parametrize(("proxies", "status"), [((PROXY,), 200), ((), 503)], ids=["by a proxy", "by no proxy"])
def test_requests_are_counted_by_the_address_that_a_proxy_forwards(
    pair: Pair, proxies: tuple[str, ...], status: int
) -> None:
    async def test() -> None:
        async with listening(pair, proxies=proxies, limits=Limits.for_users(50, 1)) as (running, intake):
            body, tls = encode_part(MADE[0]), unverified()
            waiting = asyncio.ensure_future(
                asked(running, "POST", PARTS, body, tls=tls, x_forwarded_for="198.51.100.1")
            )
            while not intake.open:
                await asyncio.sleep(0.01)
            same = await asked(running, "GET", DOCUMENT, tls=tls, x_forwarded_for="198.51.100.1")
            assert (same.status, same.refused) == (503, "web.full")
            other = await asked(running, "GET", DOCUMENT, tls=tls, x_forwarded_for="198.51.100.2")
            assert other.status == status
            waiting.cancel()

    run(test())


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async def test() -> None:
        async with listening(silence=0.2) as (running, intake):

            def slowly() -> bytes:
                with socket.create_connection(("127.0.0.1", running.port), timeout=20) as link:
                    link.sendall(b"POST /v1/parts HTTP/1.1\r\nhost: here\r\ncontent-length: 100\r\n\r\nabc")
                    with link.makefile("rb") as answer:
                        head = b"".join(iter(answer.readline, b"\r\n"))
                        return head + answer.read(int(head.split(b"content-length: ")[1].split(b"\r")[0]))

            heard = await asyncio.to_thread(slowly)
            assert heard.startswith(b"HTTP/1.1 503")
            assert b"web.too_slow" in heard
            assert intake.offered == 0

    run(test())


def test_files_that_are_no_certificate_are_refused(tmp_path: Path) -> None:
    (tmp_path / "web.pem").write_text("no certificate")

    async def test() -> None:
        with raises("config.web_certificate"):
            async with listening(Pair(tmp_path / "web.pem", tmp_path / "missing.key")):
                pass

    run(test())


def test_without_its_server_the_port_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("peos.net.web.import_module", missing)

    async def test() -> None:
        with raises("config.web_extra"):
            async with listening():
                pass

    run(test())
