"""The page of a real run in a real browser: its numbers, its width on a phone and a desk, and what it asks for.

Screenshots are left in the test's folder: `pytest -m browser --basetemp=FOLDER tests/e2e/test_report_page.py`.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.town import command
from tests.unit.analyzer.pages import disagreements, made, shown_number

if TYPE_CHECKING:
    from tests.e2e.browser import Browser

pytestmark = pytest.mark.browser

SCREENS = {"phone": (390, 844), "desk": (1280, 900)}
USERS = 150
LABEL = "<script>document.title='run'</script> and a name that goes on for longer than any phone is wide"

CELLS = "[...document.querySelectorAll('{table} tbody tr')].map(row => [...row.cells].map(cell => cell.innerText))"
TOO_WIDE = """[...document.querySelectorAll('body *')].filter(one => one.checkVisibility()
    && one.getBoundingClientRect().width > 0
    && (one.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5
        || one.getBoundingClientRect().left < -0.5)).map(one => one.outerHTML.slice(0, 90))"""
HIDDEN = """[...document.querySelectorAll('svg.chart .label')].filter(one => one.checkVisibility()
    && one.getBoundingClientRect().left < one.parentNode.getBoundingClientRect().left - 0.5).length"""
LABELS = """[...document.querySelectorAll('svg.chart .row')].map(row =>
    [...row.querySelectorAll('.label')].filter(one => one.checkVisibility()).length)"""
BROKEN = """[...document.querySelectorAll('.values td, .tiles dd, .figures span')].filter(one => {
    const range = document.createRange(); range.selectNodeContents(one);
    return new Set([...range.getClientRects()].map(box => Math.round(box.bottom / 4))).size > 1
    }).map(one => one.innerText)"""
DRAWN = """[...document.querySelectorAll('svg.chart .row')].map(row => {
    const place = kind => { const box = row.querySelector(kind).getBoundingClientRect(); return [box.left, box.right] };
    return [row.querySelector('title').textContent, place('.bar'), place('.interval'), place('.truth')] })"""
TICKS = """[...document.querySelectorAll('svg.chart .tick')].map(tick => { const box = tick.getBoundingClientRect();
    return [tick.textContent, (box.left + box.right) / 2] })"""


@dataclass
class Shown:
    """A folder with result.json and report.html, and a browser."""

    folder: Path
    browser: "Browser"

    @property
    def page(self) -> Path:
        return self.folder / "report.html"

    @property
    def result(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "result.json").read_text(encoding="utf-8"))
        return found


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Browser"]:
    """One browser for all tests here."""
    from tests.e2e.browser import browser

    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory, seen: "Browser") -> Shown:
    """What `peos demo` leaves."""
    out = tmp_path_factory.mktemp("demo")
    labels = (
        part for one in ("nobody", "a dog", "a cat", "both", "=1+1", "<b>a fish</b>") for part in ("--label", one)
    )
    asked = ("--users", USERS, *labels, "--fakes", 30, "--eps-server", 4, "--eps-users", 4, "--seed", 1)
    ran = command("demo", *asked, "--mechanism", "sue", "--out", out)
    assert ran.code == 0, ran.err
    assert str(out / "report.html") in ran.out
    return Shown(out, seen)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("screen", SCREENS)
def test_the_page_of_a_real_run_says_what_result_json_says(
    demo: Shown, tmp_path: Path, screen: str, theme: str
) -> None:
    width, height = SCREENS[screen]
    browser, found = demo.browser, demo.result
    browser.open(demo.page, width=width, height=height, theme=theme)
    browser.picture(tmp_path / f"{screen}-{theme}.png")

    rows = browser.ask(CELLS.format(table=".values"))
    caption = browser.ask("document.querySelector('.values caption').innerText")
    assert len(rows) == 6
    assert disagreements(rows, caption, found) == []
    assert browser.ask("document.querySelector('.digest').innerText") == found["digest"]
    assert browser.ask("document.querySelector('.tiles dd').innerText") == str(USERS)
    epsilons = browser.ask("[...document.querySelectorAll('.epsilon')].map(one => one.innerText)")
    assert float(epsilons[2]) == pytest.approx(found["guarantees"]["local"], abs=1e-4)
    outcomes = [row[1] for row in browser.ask(CELLS.format(table=".checks"))]
    assert outcomes == ["holds"] * len(found["checks"])
    costs = {row[0]: row[1:] for row in browser.ask(CELLS.format(table=".costs"))}
    for number in (1, 2, 3):
        row = next(one for one in found["cost"] if one["party"] == f"shuffler-{number}")
        assert "not measured" not in costs[f"shuffler {number} (shuffler-{number})"]
        assert shown_number(costs[f"shuffler {number} (shuffler-{number})"][0]) == pytest.approx(
            row["seconds"],
            abs=0.0501,  # a half may be rounded either way
        )
    assert costs["users"][2] == "not measured"

    _in_place(browser, found)
    assert (
        browser.ask("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        == [browser.ask("innerWidth") if screen == "phone" else browser.ask("document.documentElement.clientWidth")] * 2
    )
    assert browser.ask(TOO_WIDE) == []
    assert browser.requested() == [demo.page.as_uri()]
    assert browser.complaints() == []
    ground = browser.ask("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, ground[4:-1].split(","))) < 200) == (theme == "dark"), ground


def _fits(browser: "Browser") -> None:
    assert browser.ask("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    assert browser.ask(TOO_WIDE) == []
    assert browser.ask(HIDDEN) == 0, "a label is cut at its end, with an ellipsis, and nowhere else"
    labels = browser.ask(LABELS)
    assert labels == [1] * len(labels), "on every screen a row has one label, and not the other screen's"
    assert browser.ask(BROKEN) == []


def _in_place(browser: "Browser", found: dict[str, Any]) -> None:
    """As rendered, every bar, interval and truth lies where the scale's own numbers say, to two pixels."""
    (first, at_first), *_, (last, at_last) = [(shown_number(text), at) for text, at in browser.ask(TICKS)]
    pixel = (last - first) / (at_last - at_first) / 100
    for said, bar, interval, truth in browser.ask(DRAWN):
        place = found["labels"].index(said.partition(":")[0])
        ends = [first / 100 + (at - at_first) * pixel for at in (*bar, *interval, sum(truth) / 2)]
        estimate = found["frequency"][place]
        wanted = [*sorted((0.0, estimate)), *found["interval95"][place], found["truth"][place]]
        assert ends == pytest.approx(wanted, abs=2 * pixel), (said, ends, wanted)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize(
    ("domain", "users", "shrunk", "truth"),
    [(2, 60, 1, True), (3000, 10**6, 1, False), (50, 5000, 10**4, False), (50, 5000, 100, True)],
)
def test_long_labels_many_values_and_fine_numbers_fit_without_scrolling_sideways(
    seen: "Browser", tmp_path: Path, screen: str, theme: str, domain: int, users: int, shrunk: int, truth: bool
) -> None:
    from analyzer.report import page

    found = made(domain, users=users, truth=truth)
    found["stderr"] = [one / shrunk for one in found["stderr"]]  # as of very many users: more digits are shown
    found["labels"] = [f"{LABEL} {value}" for value in range(domain)]
    found["collection"] |= {"question": LABEL * 3, "shufflers": [LABEL, "x" * 300, "漢字" * 90]}
    file = tmp_path / "report.html"
    file.write_text(page(found), encoding="utf-8")
    width, height = SCREENS[screen]
    seen.open(file, width=width, height=height, theme=theme)
    seen.picture(tmp_path / f"{screen}-{theme}.png")
    _fits(seen)
    assert seen.ask("document.scripts.length") == 0
    assert seen.ask("document.title").startswith("<script>")
    assert seen.requested() == [file.as_uri()]
    assert seen.complaints() == []


def test_on_paper_it_is_a_few_pages(demo: Shown, tmp_path: Path) -> None:
    demo.browser.open(demo.page, width=1280, height=900, theme="light")
    demo.browser.print(tmp_path / "report.pdf")
    paper = (tmp_path / "report.pdf").read_bytes()
    assert paper.startswith(b"%PDF")
    assert 2 <= paper.count(b"/Type /Page\n") <= 5


def test_a_page_that_is_too_wide_or_asks_for_something_would_be_seen(seen: "Browser", tmp_path: Path) -> None:
    file = tmp_path / "planted.html"
    planted = "<meta name=viewport content=width=device-width><p style='width:600px'>wide</p><img src='planted.png'>"
    planted += "<table class=values><td style='width: 1ch; overflow-wrap: anywhere'>0.123</table>"
    file.write_text(planted, encoding="utf-8")
    seen.open(file, width=390, height=844, theme="light")
    assert seen.ask("document.documentElement.scrollWidth") > 390
    assert len(seen.ask(TOO_WIDE)) == 1
    assert seen.ask(BROKEN) == ["0.123"]
    assert (tmp_path / "planted.png").as_uri() in seen.requested()
    assert seen.complaints()
    policy = "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'\">"
    file.write_text(policy + planted, encoding="utf-8")
    seen.open(file, width=390, height=844, theme="light")
    assert any("Content Security Policy" in line for line in seen.complaints()), (
        "a breach would be among the complaints"
    )
