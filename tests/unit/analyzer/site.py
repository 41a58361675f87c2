"""A console as a browser meets it, in front of an analyzer that serves."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

from analyzer.console.app import COOKIE, Console
from analyzer.console.remote import Remote
from analyzer.console.serve import LOOPBACK
from analyzer.console.sessions import Sessions
from peos.crypto.randomness import Randomness
from peos.net.logs import Log
from peos.net.observer import Observer
from tests.unit.analyzer.pages import Element, read
from tests.unit.analyzer.world import World

HOST: Final = "127.0.0.1:8080"


@dataclass(frozen=True)
class Heard:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def page(self) -> Element:
        """The page, every element of it closed."""
        return read(self.body.decode())

    @property
    def text(self) -> str:
        """What a reader gets of it, white space evened out."""
        return " ".join(self.page.text.split())

    @property
    def refused(self) -> str:
        """The id of the refusal that it shows, and nothing if it shows none."""
        return "".join(one.one("code").text for one in self.page.all("div", "alarm"))


@dataclass
class Site:
    """One browser: it keeps its cookie, and finds the word of the forms on the pages."""

    world: World
    token: bytes | None = None
    is_secure: bool = False
    pause: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(0.01)
    now: float = 1000.0
    cookie: str = ""
    word: str = ""
    console: Console = field(init=False)

    def __post_init__(self) -> None:
        sessions = Sessions(self.token, Randomness(b"\x51" * 32), lambda: self.now)
        self._remote = Remote(self.world.config.console_socket)
        self.console = Console(
            self._remote,
            sessions,
            LOOPBACK,
            is_secure=self.is_secure,
            observer=Observer(Log("tests.console")),
            pause=self.pause,
        )

    def close(self) -> None:
        self.world.loop.run(self._remote.close())

    def get(self, path: str, **headers: str) -> Heard:
        """Load a page."""
        return self.ask("GET", path, b"", **headers)

    def post(self, path: str, form: Mapping[str, str] | None = None, **headers: str) -> Heard:
        """Send a form as the pages do, with the word of the page before."""
        if not self.word:
            self.get("/new" if self.token is None else "/login")
        body = urlencode({"word": self.word, **(form or {})}).encode()
        return self.ask("POST", path, body, content_type="application/x-www-form-urlencoded", **headers)

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> Heard:
        """One request, whatever it is."""
        heard = self.world.loop.run(self._asked(method, path, body, headers))
        if kept := heard.headers.get("set-cookie"):
            self.cookie = kept.partition(";")[0].removeprefix(f"{COOKIE}=")
        if heard.headers["content-type"].startswith("text/html") and heard.body:
            words = [one.attributes["value"] for one in heard.page.all("input") if one.attributes.get("name") == "word"]
            self.word = (words or [self.word])[0]
        return heard

    async def _asked(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Heard:
        sent: list[dict[str, Any]] = []
        came = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> dict[str, Any]:
            if not came:
                await asyncio.Event().wait()
            return came.pop()

        async def send(event: Any) -> None:
            sent.append(event)

        await self.console(self.scope(method, path, headers), receive, send)
        given = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return Heard(sent[0]["status"], given, b"".join(one.get("body", b"") for one in sent[1:]))

    def scope(self, method: str, path: str, headers: Mapping[str, str]) -> dict[str, Any]:
        """A request as a server hands it over."""
        told = {"host": HOST, **{name.replace("_", "-"): value for name, value in headers.items()}}
        if self.cookie:
            told["cookie"] = f"{COOKIE}={self.cookie}"
        encoded = [(name.encode(), value.encode()) for name, value in told.items() if value]
        return {"type": "http", "method": method, "path": path, "headers": encoded, "client": ("127.0.0.1", 1)}
