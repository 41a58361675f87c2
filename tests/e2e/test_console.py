"""The console in a real browser, before real processes: a collection from the form to the result.

Screenshots are left in the test's folder: `pytest -m browser --basetemp=FOLDER tests/e2e/test_console.py`.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from peos.localcluster import HOST, LocalCluster, free_port
from tests.e2e.test_report_page import SCREENS, TOO_WIDE
from tests.e2e.town import Town, here, until

if TYPE_CHECKING:
    from tests.e2e.browser import Browser

pytestmark = [pytest.mark.browser, pytest.mark.node, pytest.mark.full]

FOCUSED: Final = "a[href], button, select, textarea, input:not([type=hidden]):not([hidden])"
RESULT: Final = "document.querySelector('#live a[href$=\"/result\"]') !== null"
STATE: Final = "document.querySelector('#live .state').innerText"
FILLED: Final = {
    "name": "fruit",
    "question": "Which fruit?",
    "labels": "an apple\na pear\n<b>a plum</b>",
    "users": "30",
    "eps_server": "",
    "eps_local": "24",
    "minimum": "10",
    "fakes": "0",
    "mechanism": "grr",
    "scheme": "jl",
    "closes_in": "1h",
}


@dataclass
class Console:
    """A town, its console and a browser."""

    town: Town
    browser: "Browser"
    origin: str
    folder: Path

    def visit(self, path: str) -> None:
        self.browser.visit(self.origin + path)

    def text(self) -> str:
        return str(self.browser.ask("document.body.innerText"))

    def waits_for(self, words: str) -> None:
        until(lambda: words in self.text(), words)


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    from tests.e2e.browser import browser  # needs selenium

    folder, port = tmp_path_factory.mktemp("console"), free_port()
    with LocalCluster(folder / "town") as cluster:
        cluster.init(most_eps_local=32.0)
        assert cluster.analyzer is not None
        config = cluster.analyzer.config
        text = config.read_text(encoding="utf-8").replace("[listen]", f'[listen]\nconsole = "{HOST}:{port}"')
        config.write_text(f"{text}[budget]\nepsilon = 100.0\ndelta = 1e-6\n", encoding="utf-8")
        cluster.start()
        # Its own copy names a passphrase file that is not there: it has no key, and needs none.
        own = config.with_name("console.toml")
        lines = [line for line in text.splitlines() if not line.startswith("passphrase_file")]
        own.write_text("\n".join(['passphrase_file = "not-there"', *lines]) + "\n", encoding="utf-8")
        with _running(own, folder / "console.log"), browser(folder / "profile") as chromium:
            made = Console(Town(cluster, run=here), chromium, f"http://{HOST}:{port}", folder)
            until(lambda: _answers(made), "the console")
            yield made


@contextmanager
def _running(config: Path, log: Path) -> Iterator[None]:
    command = [sys.executable, "-m", "analyzer", "console", "--config", str(config), "--log", str(log)]
    with subprocess.Popen(command) as process:  # noqa: S603 - our own command
        try:
            yield
            assert process.poll() is None, "it ran all the time"
        finally:
            process.terminate()
            assert process.wait(60) == 0


def _answers(console: Console) -> bool:
    try:
        console.visit("/")
    except Exception as error:
        if "ERR_CONNECTION_REFUSED" not in str(error):
            raise
        return False
    return "Collections and studies" in console.text()


def _fill(console: Console, given: dict[str, str]) -> None:
    for name, value in given.items():
        console.browser.ask(f"document.getElementById({json.dumps(name)}).value = {json.dumps(value)}")
    console.browser.ask("document.getElementById('users').dispatchEvent(new Event('input', {bubbles: true}))")


def test_a_collection_from_the_form_to_the_result(console: Console) -> None:
    console.visit("/new")
    _fill(console, FILLED)
    console.waits_for("standard error of a rare answer")
    _slide(console)
    console.browser.ask("document.querySelector('button[value=create]').click()")
    until(lambda: str(console.browser.ask("location.pathname")) == "/collections/fruit", "the collection's page")
    until(lambda: console.browser.ask(STATE) == "open", "open, without a reload")
    console.waits_for("shuffler 3")
    console.town.invitation("fruit").write_bytes(_downloaded(console, "/collections/fruit/invitation"))
    console.browser.ask("window.stays = true")
    console.town.answer("fruit", [value % 3 for value in range(30)])
    until(lambda: _reports(console) >= 30, "thirty reports on the page")
    console.town.freeze("fruit")
    until(lambda: console.browser.ask(RESULT), "a link to the result")
    assert console.browser.ask("window.stays") is True, "the page was never loaded again"
    assert json.loads(_downloaded(console, "/collections/fruit/result.json"))["users"] == 30
    console.visit("/collections/fruit/result")
    assert "<b>a plum</b>" in console.text()
    console.visit("/collections/fruit/statement")
    assert "For the 30 users who were counted" in console.text()
    console.browser.print(console.folder / "statement.pdf")
    assert console.browser.complaints() == []


def _slide(console: Console) -> None:
    """By the keyboard: the slider moves its number, and the plan follows."""
    number = "document.getElementById('eps_local').value"
    before = console.browser.ask(number)
    console.browser.ask("document.querySelector('[data-of=eps_local]').focus()")
    console.browser.key("ArrowLeft")
    until(lambda: console.browser.ask(number) != before, "another number")
    console.browser.ask(f"document.getElementById('eps_local').value = {before}")
    console.browser.ask("document.getElementById('eps_local').dispatchEvent(new Event('input', {bubbles: true}))")


def _reports(console: Console) -> int:
    cells = "[...document.querySelectorAll('#live table td:nth-child(3)')].map(cell => cell.innerText)"
    return min((int(cell.replace(",", "")) for cell in console.browser.ask(cells) if cell.isdigit()), default=0)


def _downloaded(console: Console, path: str) -> bytes:
    found: Any = console.browser.run(
        "const data = await (await fetch(given[0])).arrayBuffer(); return [...new Uint8Array(data)];", path
    )
    return bytes(found)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("screen", SCREENS)
def test_every_page_fits_and_axe_finds_nothing(console: Console, screen: str, theme: str) -> None:
    width, height = SCREENS[screen]
    console.browser.screen(width=width, height=height, theme=theme)
    for path in ("/", "/new", "/budgets", "/collections/fruit", "/nothing"):
        console.visit(path)
        console.browser.ask("document.fonts.ready")
        assert console.browser.ask(TOO_WIDE) == [], path
        assert console.browser.barriers() == [], path
        name = path.strip("/").replace("/", "-") or "overview"
        console.browser.picture(console.folder / f"{name}-{screen}-{theme}.png")


def test_every_link_and_field_is_reached_by_the_keyboard(console: Console) -> None:
    console.visit("/new")
    wanted = console.browser.ask(f"[...document.querySelectorAll('{FOCUSED}')].length")
    seen = set()
    for _ in range(wanted + 2):
        console.browser.key("Tab")
        seen.add(
            console.browser.ask(
                "(({outerHTML, id}) => id + outerHTML.slice(0, 80))(document.activeElement ?? document.body)"
            )
        )
    assert len(seen - {""}) >= wanted
