"""Who may ask the console: the name it is reached under, a form's word and the operator's token decide."""

import asyncio
import http.client
import re
import socket
import ssl
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any
from urllib.parse import urlencode

import pytest

from analyzer.config import read
from analyzer.console.serve import names, run
from analyzer.console.sessions import LASTS, Sessions
from peos.collection.lifecycle import State
from peos.crypto.randomness import Randomness
from peos.localcluster import free_port
from peos.net.certificates import make_certificate
from peos.net.local import serve_local
from peos.net.logs import Log
from peos.net.observer import Observer
from peos.net.web import Pair
from tests.raising import raises
from tests.unit.analyzer.site import HOST, Site
from tests.unit.analyzer.test_console import ASKED, until
from tests.unit.analyzer.test_serving import Serving
from tests.unit.analyzer.world import World
from tests.web_certificates import certificate

TOKEN = b"a token of this test, long enough"
ROOT = Path(__file__).parents[3]
FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "", "[::2]:8080"])
def test_a_name_that_was_pointed_here_gets_no_page(site: Site, host: str) -> None:
    for path in ("/", "/console.js", "/collections/fruit/result.json"):
        heard = site.get(path, host=host)
        assert (heard.status, heard.refused) == (403, "console.host")
    assert site.post("/new", {**ASKED, "do": "create"}, host=host).refused == "console.host"


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost:9000", "LOCALHOST", "[::1]:8080"])
def test_this_machines_own_names_get_pages(site: Site, host: str) -> None:
    assert site.get("/", host=host).status == 200


def test_a_form_without_the_word_of_its_session_does_nothing(site: Site, behind: Serving) -> None:
    site.get("/new")
    others, site.cookie = site.word, ""
    site.get("/new")
    assert others != site.word
    asked = urlencode({**ASKED, "do": "create"})
    for word in ("", "0" * 64, others):
        for path in ("/new", "/plan", "/collections/fruit/go-on", "/logout"):
            heard = site.ask("POST", path, f"word={word}&{asked}".encode(), content_type=FORM)
            assert (heard.status, heard.refused) == (403, "console.form"), path
    assert behind.workspace.store.all() == []


@pytest.mark.parametrize(
    ("headers", "id_"),
    [
        ({"origin": "http://evil.example"}, "console.origin"),
        ({"origin": "null"}, "console.origin"),
        ({"origin": f"https://{HOST}"}, "console.origin"),
        ({"sec_fetch_site": "cross-site"}, "console.origin"),
        ({"sec_fetch_site": "same-site"}, "console.origin"),
        ({"content_type": "text/plain"}, "console.form"),
        ({"content_type": "application/json"}, "console.form"),
        ({"cookie_is_lost": "yes"}, "console.form"),
    ],
)
def test_a_form_of_another_site_does_nothing(site: Site, behind: Serving, headers: dict[str, str], id_: str) -> None:
    site.get("/new")
    body = f"word={site.word}&do=create&name=trees".encode()
    if "cookie_is_lost" in headers:
        site.cookie = ""
    heard = site.ask("POST", "/new", body, **{"content_type": FORM, **headers})
    assert (heard.status, heard.refused) == (403, id_)
    assert behind.workspace.store.all() == []


def test_a_form_that_is_too_long_is_refused(site: Site) -> None:
    assert site.ask("POST", "/new", b"a" * (1 << 21), content_type=FORM).refused == "encoding.too_long"


@pytest.fixture
def guarded(world: World, behind: Serving) -> Iterator[Site]:
    assert behind
    made = Site(world, token=TOKEN, is_secure=True)
    yield made
    made.close()


def test_nothing_is_shown_without_the_token(guarded: Site, behind: Serving, world: World) -> None:
    world.open(behind.workspace)
    for path in ("/", "/collections/fruit", "/collections/fruit/result.json", "/budgets", "/events"):
        heard = guarded.get(path)
        assert (heard.status, heard.headers["location"], heard.body) == (303, "/login", b"")
    for path in ("/new", "/plan", "/collections/fruit/go-on", "/logout"):
        assert guarded.post(path, ASKED).refused == "console.login"
    before = guarded.cookie
    wrong = guarded.post("/login", {"token": "a token of this test, long enougH"})
    assert (wrong.status, "not the operator's token" in wrong.text) == (403, True)
    assert guarded.post("/login", {"token": TOKEN.decode()}).headers["location"] == "/"
    assert guarded.cookie != before, "an id that was known before the login is worth nothing after it"
    assert guarded.get("/collections/fruit").status == 200
    kept = guarded.cookie
    guarded.cookie = before
    assert guarded.get("/").status == 303
    guarded.cookie = kept
    assert guarded.get("/login").headers["location"] == "/"
    guarded.get("/new")
    assert guarded.post("/logout").headers["location"] == "/login"
    guarded.cookie = kept
    assert guarded.get("/").status == 303, "the cookie of a session that has ended"


def test_a_session_ends_by_itself(guarded: Site) -> None:
    guarded.post("/login", {"token": TOKEN.decode()})
    guarded.now += LASTS - 1
    assert guarded.get("/").status == 200
    guarded.now += 2
    assert guarded.get("/").status == 303


def test_cookies_are_for_no_script_and_no_other_site(guarded: Site, site: Site) -> None:
    for one, is_secure in ((guarded, True), (site, False)):
        set_ = one.get("/login" if is_secure else "/").headers["set-cookie"]
        assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(set_.split("; "))
        assert ("Secure" in set_.split("; ")) is is_secure
        assert "set-cookie" not in one.get("/login" if is_secure else "/").headers, "once"


@pytest.mark.parametrize("cookie", ["", "x", "ab.cd", "é", '"', "a=b; c", "." * 5000])
def test_cookies_that_this_process_did_not_make_are_no_sessions(cookie: str) -> None:
    sessions = Sessions(TOKEN, Randomness(b"\x01" * 32), lambda: 0.0)
    entered = sessions.enter(TOKEN.decode())
    assert entered is not None
    assert sessions.of(sessions.cookie(entered)).is_in
    assert not sessions.of(cookie).is_in
    assert not sessions.of(f"{entered.id}.{cookie}").is_in
    assert sessions.of(cookie).fresh
    assert "id" not in repr(entered)
    other = Sessions(TOKEN, Randomness(b"\x02" * 32), lambda: 0.0)
    assert not other.of(sessions.cookie(entered)).is_in, "a restart ends all"


def test_pages_that_watch_hear_of_changes_and_are_counted(site: Site, behind: Serving, world: World) -> None:
    world.open(behind.workspace)

    async def watch() -> tuple[list[bytes], int]:
        came: list[bytes] = []
        changed, gone = asyncio.Event(), asyncio.Event()

        async def receive() -> dict[str, str]:
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(event: Any) -> None:
            if event["type"] == "http.response.start":
                assert dict(event["headers"])[b"content-type"] == b"text/event-stream"
            elif event["body"].startswith(b"data:"):
                came.append(event["body"])
                changed.set()

        watching = asyncio.ensure_future(site.console(site.scope("GET", "/events", {}), receive, send))
        await asyncio.wait_for(changed.wait(), 60)
        changed.clear()
        behind.workspace.store.move(behind.workspace.kept("fruit").digest, State.ABORTED, "as a test")
        while b"as a test" not in b"".join(came).lower():
            await asyncio.wait_for(changed.wait(), 60)
            changed.clear()
        others = [
            asyncio.ensure_future(site.console(site.scope("GET", "/events", {}), receive, send)) for _ in range(31)
        ]
        while site.console.watchers <= len(others):
            await asyncio.sleep(0.02)
        starts: list[int] = []

        async def count(event: Any) -> None:
            if event["type"] == "http.response.start":
                starts.append(event["status"])

        await site.console(site.scope("GET", "/events", {}), receive, count)
        gone.set()
        await asyncio.gather(watching, *others)
        assert site.console.watchers == 0
        return came, starts[0]

    came, refused = world.loop.run(watch())
    assert b'class="state open"' in came[0]
    assert refused == 503
    assert any(b'class="state aborted"' in one for one in came)


OPENS = """
import asyncio, os, sys
opened = []
sys.addaudithook(lambda event, given: event in ("open", "sqlite3.connect") and opened.append(os.fsdecode(given[0])))
from pathlib import Path
from analyzer.config import read
from analyzer.console.serve import run
from peos.net.logs import Log

async def main():
    stop = asyncio.Event()
    running = asyncio.ensure_future(run(read(Path(sys.argv[1])), Log("console"), stop=stop))
    reader = await asyncio.to_thread(sys.stdin.readline)  # the test has what it wanted
    stop.set()
    await running

asyncio.run(main())
print("opened", *(one for one in opened if os.path.abspath(one).startswith(sys.argv[2])), sep="\\n")
"""


@pytest.mark.full
def test_the_process_opens_no_key_no_store_and_no_passphrase(world: World, behind: Serving) -> None:
    """In a process of its own, over HTTP; the interpreter's own audit says what it opens."""
    world.open(behind.workspace)
    assert not (world.folder / "passphrase").exists()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = world.folder / "console.toml"
    config.write_text(world.file.read_text(encoding="utf-8").replace("127.0.0.1:8080", f"127.0.0.1:{port}"))
    command = [sys.executable, "-c", OPENS, str(config), str(world.folder)]
    with Popen(command, stdin=PIPE, stdout=PIPE, text=True, cwd=ROOT) as process:  # noqa: S603 - the words above
        try:
            until(lambda: _page(port, "/") is not None)
            for path in ("/", "/collections/fruit", "/collections/fruit/statement", "/budgets", "/new"):
                assert _page(port, path), path
            out, _ = process.communicate("\n", timeout=60)
        finally:
            process.kill()
    opened = out.partition("opened")[2].split()
    assert opened == [str(config)], "its configuration, and nothing else of the analyzer's"


def _page(port: int, path: str) -> bytes | None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        assert response.status == 200, response.read()
        return response.read()
    except ConnectionError:
        return None
    finally:
        connection.close()


def test_the_socket_is_open_to_its_owner_and_group_alone(world: World, behind: Serving) -> None:
    assert behind
    path = world.config.console_socket
    assert stat.S_IMODE(path.stat().st_mode) == 0o660
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_socket_that_was_left_is_replaced_and_anything_else_is_not(tmp_path: Path, world: World) -> None:
    observer = Observer(Log("tests.console"))
    left = tmp_path / "left.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(left))
    port = world.loop.run(serve_local(left, [], observer=observer))
    world.loop.run(port.stop(0.1))
    assert not left.exists()
    file = tmp_path / "file"
    file.write_text("mine")
    with raises("config.console_socket", "file"):
        world.loop.run(serve_local(file, [], observer=observer))
    assert file.read_text() == "mine"
    with raises("config.console_socket", "100"):
        world.loop.run(serve_local(tmp_path / ("long" * 40), [], observer=observer))


def test_over_tls_with_a_token_it_is_reached_under_its_certificates_name(world: World, behind: Serving) -> None:
    """The listener itself, on a socket, as `peos analyzer console` starts it; a caller who trusts the certificate."""
    world.open(behind.workspace)
    certificate(world.folder)
    port, token = free_port(), world.folder / "token"
    token.touch(mode=0o600)
    token.write_bytes(TOKEN)
    more = f'console = "127.0.0.1:{port}"\nconsole_certificate = "web.pem"\nconsole_key = "web.key"\n'
    text = world.file.read_text(encoding="utf-8")
    assert 'console = "127.0.0.1:8080"' in text
    text = text.replace('console = "127.0.0.1:8080"', f'{more}console_token_file = "token"')
    world.file.write_text(text, encoding="utf-8")
    trusting = ssl.create_default_context(cafile=str(world.folder / "web.pem"))

    async def serving() -> None:
        stop = asyncio.Event()
        running = asyncio.ensure_future(run(read(world.file), Log("tests.console"), stop=stop))
        try:
            await asyncio.to_thread(until_it_listens, port)
            await asyncio.to_thread(log_in)
        finally:
            stop.set()
            await running

    def asked(method: str, path: str, body: str = "", cookie: str = "") -> tuple[http.client.HTTPResponse, str]:
        link = http.client.HTTPSConnection("127.0.0.1", port, context=trusting, timeout=30)
        try:
            headers = {"Content-Type": FORM, "Origin": f"https://127.0.0.1:{port}", "Cookie": cookie}
            link.request(method, path, body.encode(), headers)
            heard = link.getresponse()
            return heard, heard.read().decode()
        finally:
            link.close()

    def log_in() -> None:
        heard, _ = asked("GET", "/collections/fruit")
        assert (heard.status, heard.headers["location"]) == (303, "/login")
        heard, page = asked("GET", "/login")
        set_ = heard.headers["set-cookie"]
        assert {"Secure", "HttpOnly", "SameSite=Strict"} <= {part.strip() for part in set_.split(";")}
        cookie, found = set_.partition(";")[0], re.search(r'name="word" value="([0-9a-f]+)"', page)
        assert found is not None
        wrong, _ = asked("POST", "/login", urlencode({"word": found[1], "token": "x" * len(TOKEN)}), cookie)
        assert wrong.status == 403
        right, _ = asked("POST", "/login", urlencode({"word": found[1], "token": TOKEN.decode()}), cookie)
        assert (right.status, right.headers["location"]) == (303, "/")
        heard, page = asked("GET", "/collections/fruit", cookie=right.headers["set-cookie"].partition(";")[0])
        assert (heard.status, "fruit" in page) == (200, True)
        with pytest.raises(ssl.SSLError), socket.create_connection(("127.0.0.1", port)) as raw:
            ssl.create_default_context().wrap_socket(raw, server_hostname="127.0.0.1")  # who does not trust it

    asyncio.run(serving())


def until_it_listens(port: int) -> None:
    def listens() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    until(listens)


def test_a_console_that_is_not_configured_or_whose_token_is_weak_does_not_start(world: World) -> None:
    with raises("config.no_console", "listen.console"):
        world.loop.run(run(read(world.file), Log("tests.console")))
    token = world.folder / "token"
    token.touch(mode=0o600)
    token.write_text("short")
    text = world.file.read_text(encoding="utf-8")
    more = 'console = "127.0.0.1:8080"\nconsole_token_file = "token"\n'
    world.file.write_text(text.replace("[listen]", f"[listen]\n{more}"), encoding="utf-8")
    with raises("config.console_token", "5", "24"):
        world.loop.run(run(read(world.file), Log("tests.console")))
    token.chmod(0o644)
    with raises("config.passphrase_open", "console_token_file"):
        world.loop.run(run(read(world.file), Log("tests.console")))


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ('console = "0.0.0.0:8080"', "0.0.0.0:8080"),
        ('console = "console.example:8080"', "console.example:8080"),
        ('console = "0.0.0.0:8080"\nconsole_certificate = "a"\nconsole_key = "b"', "no token"),
        ('console = "0.0.0.0:8080"\nconsole_token_file = "a"', "no certificate"),
        ('console = "127.0.0.1:8080"\nconsole_certificate = "a"', "listen.console_key"),
        ('console_token_file = "a"', "listen.console_token_file"),
        ('console_socket = "a"', "listen.console_socket"),
    ],
)
def test_others_than_this_machine_reach_it_by_tls_and_token_alone(world: World, more: str, says: str) -> None:
    text = world.file.read_text(encoding="utf-8").replace("[listen]", f"[listen]\n{more}")
    world.file.write_text(text, encoding="utf-8")
    with raises("config.console", says):
        read(world.file)


def test_the_names_of_the_certificate_are_those_it_is_reached_under(tmp_path: Path) -> None:
    made = make_certificate("console", Randomness(b"c" * 32))
    files = Pair(tmp_path / "c.pem", tmp_path / "c.key")
    files.certificate.write_bytes(made.pem)
    assert all(name == name.lower() and name for name in names(files))
