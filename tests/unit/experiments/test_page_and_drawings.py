"""docs/reproduction.md is what the kept results say, and the kept drawings are theirs."""

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from types import ModuleType

import pytest

from experiments import (
    chapter_3,
    chapter_5,
    chapter_8,
    designs,
    figure_9_3,
    mechanisms,
    table_9_1,
    table_9_2,
    the_claim,
)
from experiments.page import CHAPTERS, NAMES, PAGE, kept, render
from experiments.report import DIFFERS, RESULTS, Result
from experiments.running import keyed
from peos.drawing import Line, chart

DRAW: dict[str, Callable[[Result], str]] = {
    "table_9_1": table_9_1.draw,
    "table_9_2": table_9_2.draw,
    "figure_9_3": figure_9_3.draw,
    "the_claim": the_claim.draw,
    "designs": designs.draw,
    **{name: chapter_5.FIGURES[name].drawn for name in CHAPTERS["chapter_5"] if chapter_5.FIGURES[name].down},
    **{name: figure.drawn for name, figure in (chapter_3.FIGURES | chapter_8.FIGURES).items() if figure.down},
}


def result_of(name: str) -> Result:
    found = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return Result(found["name"], found["paper"], tuple(found["rows"]), tuple(found["notes"]))


def test_the_page_is_made_from_the_results() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(kept()), "python -m experiments.page writes it anew"


def test_a_changed_result_changes_the_page() -> None:
    results = kept()
    rows = results[1]["rows"]
    assert isinstance(rows, list)
    rows[4]["verdict"] = DIFFERS
    assert render(results) != PAGE.read_text(encoding="utf-8")
    assert "**differs**" in render(results).split("## ", 1)[1]


def test_what_is_two_or_seven_times_off_is_explained_and_what_is_missing_is_said() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name, verdict in (("AUE", "**explained**: a factor of two"), ("RAP_R", "**explained**: a factor of seven")):
        (line,) = (one for one in page.splitlines() if one.startswith(f"| {name} performs similarly to SOLH"))
        assert verdict in line
    missing = [line for line in page.splitlines() if "| not yet reproduced: " in line]
    assert [line[2:12] for line in missing] == ["table 9.3:"]


@pytest.mark.parametrize("name", NAMES)
def test_kept_results_are_of_full_runs_and_their_flag_is_their_rows(name: str) -> None:
    text = (RESULTS / f"{name}.json").read_text(encoding="utf-8")
    assert result_of(name).text() == text
    assert json.loads(text)["agree"]
    assert "few users" not in text


def test_table_9_1_comes_out_again_as_it_is_kept() -> None:
    assert table_9_1.run(False, keyed("table_9_1")) == result_of("table_9_1")


@pytest.mark.long
@pytest.mark.parametrize("module", [the_claim, figure_9_3, table_9_2], ids=lambda module: module.__name__)
def test_a_full_run_comes_out_again_as_it_is_kept(module: ModuleType) -> None:
    """Some ten minutes of one core together: pytest -m long tests/unit/experiments/test_page_and_drawings.py."""
    name = module.__name__.removeprefix("experiments.")
    assert module.run(False, keyed(name)) == result_of(name)


@pytest.mark.parametrize("name", DRAW)
def test_kept_drawings_show_the_results_and_need_nothing_beside_themselves(name: str) -> None:
    text = (RESULTS / f"{name}.svg").read_text(encoding="utf-8")
    assert text == DRAW[name](result_of(name))
    root = ElementTree.fromstring(text)  # noqa: S314  # our own file
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert text.count("http") == 1, "the name of the format alone"
    assert "href" not in text
    assert "nan" not in text
    assert len(root.findall(".//{*}polyline")) >= 2


def test_the_page_of_mechanisms_says_what_the_mechanisms_and_the_kept_designs_say() -> None:
    page = mechanisms.PAGE.read_text(encoding="utf-8")
    assert page == mechanisms.written(page), "python -m experiments.mechanisms writes it anew"
    assert (mechanisms.DOCS / mechanisms.VARIANCE).read_text(encoding="utf-8") == mechanisms.against_epsilon()


@pytest.mark.full
def test_the_drawing_of_mechanisms_in_a_shuffle_comes_out_again() -> None:
    assert (mechanisms.DOCS / mechanisms.SHUFFLED).read_text(encoding="utf-8") == mechanisms.against_limit()


def test_a_chart_puts_larger_numbers_further_right_and_higher_and_names_every_line() -> None:
    points = ((0.1, 1e-9), (0.3, 1e-8), (1.0, 1e-3))
    drawn = chart("a < b", "across", "down", [Line("one & only", points), Line("left out", ())])
    root = ElementTree.fromstring(drawn)  # noqa: S314  # made above
    circles = root.findall(".//{*}circle")
    x, y = ([float(circle.attrib[name]) for circle in circles] for name in ("cx", "cy"))
    assert x == sorted(x)
    assert y == sorted(y, reverse=True)
    # By the logarithm: 0.1 to 0.3 and 0.3 to 1 are ln 3 and ln(10/3) long.
    assert (x[1] - x[0]) / (x[2] - x[0]) == pytest.approx(0.4771, abs=2e-3)
    words = [text.text for text in root.findall(".//{*}text")]
    assert {"a < b", "across", "down", "one & only"} <= set(words)
    assert "left out" not in words


def test_lines_are_told_apart_by_more_than_colour() -> None:
    drawn = chart("t", "x", "y", [Line(str(k), ((1.0, 1.0 + k), (2.0, 2.0 + k))) for k in range(12)])
    root = ElementTree.fromstring(drawn)  # noqa: S314  # made above
    looks = [(p.attrib["stroke"], p.attrib["stroke-dasharray"]) for p in root.findall(".//{*}polyline")]
    assert len(set(looks)) == 12
