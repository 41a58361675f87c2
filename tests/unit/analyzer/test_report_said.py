"""What the report page says first and how: one line of what was found, the largest first, nothing raw."""

from typing import Any

import pytest
from rich.console import Console

from analyzer.report import page
from analyzer.result import show
from peos.estimate.frequency import BEYOND
from peos.privacy.guarantees import power
from tests.unit.analyzer.pages import Element, cells, made, read


def shown(found: dict[str, Any]) -> Element:
    """The page, read."""
    return read(page(found))


def test_the_largest_estimates_come_first_on_the_page_as_in_the_table_of_the_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = made(5)
    found["frequency"] = [0.1, 0.4, 0.1, 0.5, -0.01]
    found["labels"] = ["a", "b", "c", "d", "e"]
    body = shown(found)
    assert [row[0] for row in cells(body.one("table", "values"))] == ["d", "b", "a", "c", "e"], "of equals the first"
    drawn = [row.one("title").text.partition(":")[0] for row in body.one("svg", "chart").all("g", "row")]
    assert drawn == ["d", "b", "a", "c", "e"]
    show(found, Console(width=200))
    printed = capsys.readouterr().out
    assert [line.split()[0] for line in printed.splitlines()[2:7]] == ["d", "b", "a", "c", "e"]
    assert BEYOND in printed
    show(found | {"frequency": [0.1, 0.4, 0.1, 0.5, 0.0]}, Console(width=200))
    assert BEYOND not in capsys.readouterr().out


def test_one_line_says_what_was_found_and_stays_between_nothing_and_everything() -> None:
    found = made(4, frequency=[1.07, 0.2, -0.03, 0.05], significant=[True, True, False, False])
    found["interval95"] = [[0.79, 1.2], [0.1, 0.3], [-0.1, 0.05], [0.0, 0.1]]
    found["stderr"] = [0.1] * 4
    found["labels"][0] = "a cat"
    body = shown(found)
    assert body.one("p", "headline").text == "a cat: 100 % (79 to 100); 1: 20 % (10 to 30)"
    assert "The true share lies between 0 and 100 %" in body.one("p", "beyond").text
    fine = made(4, frequency=[0.1234] * 4, significant=[True] * 4, stderr=[1e-4] * 4, interval95=[[0.1232, 0.1236]] * 4)
    body = shown(fine)
    assert body.one("p", "headline").text.startswith("0: 12.34 % (12.32 to 12.36); ")
    assert body.one("p", "headline").text.endswith("; …"), "four are found"
    assert not list(body.all("p", "beyond"))
    rare = made(4, frequency=[0.004] * 4, significant=[True] * 4, stderr=[1e-3] * 4, interval95=[[0.002, 0.006]] * 4)
    assert shown(rare).one("p", "headline").text.startswith("0: 0.4 % (0.2 to 0.6); "), "a small share is no 0 %"
    nothing = made(3, significant=[False] * 3)
    assert shown(nothing).one("p", "headline").text == "No value is found: none stands out from the noise."


@pytest.mark.parametrize(
    ("chance", "said"), [(1e-6, "10⁻⁶"), (2.5e-7, "2.5 × 10⁻⁷"), (1e-12, "10⁻¹²"), (0.05, "0.05"), (0.0, "0")]
)
def test_a_small_probability_is_a_power_of_ten(chance: float, said: str) -> None:
    assert power(chance) == said


def test_nothing_raw_is_on_the_page() -> None:
    found = made(12)
    found["parameters"]["scheme"] = "jl"
    found["collection"]["epoch"] = ""
    rows = {row.one("dt").text: row.one("dd").text for row in shown(found).one("dl", "facts").all("div")}
    assert "Epoch" not in rows
    assert rows["Encryption"] == "Joye-Libert; a shuffle of encrypted shares (PEOS)"
    assert rows["Parameters"].startswith("ε = 4.0000 of each user's own randomness, δ = 10⁻⁶")
