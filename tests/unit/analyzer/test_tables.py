"""Tables of a study's answer on its page: what is shown, how dark, and with which errors."""

import re
from typing import Any

from analyzer.report import page
from analyzer.report.tables import SHADES, tables
from tests.unit.analyzer.pages import made

ONE: dict[str, Any] = {
    "attributes": ["smokes"],
    "cells": [["no", "<b>yes</b>"]],
    "frequency": [0.75, 0.25],
    "stderr": [0.012, 0.012],
    "interval95": [[0.73, 0.77], [0.23, 0.27]],
}
TWO: dict[str, Any] = {
    "attributes": ["smokes", "region"],
    "cells": [["no", "yes"], ["north", "south", "west"]],
    "frequency": [[0.4, 0.2, 0.1], [0.2, 0.1, -0.002]],
    "stderr": [[0.01] * 3] * 2,
    "interval95": [[[0.0, 1.0]] * 3] * 2,
    "errors": "simulated",
    "covered": False,
}


def test_one_attribute_is_a_list_and_two_are_a_map() -> None:
    first, second = tables({"tables": [ONE, TWO]})
    assert (first.title, first.head) == ("smokes", ("smokes", "Share, %"))
    assert [(label, [cell.share for cell in cells]) for label, cells in first.lines] == [
        ("no", ["75.0"]),
        ("<b>yes</b>", ["25.0"]),
    ]
    assert second.head == ("smokes", "north", "south", "west")
    assert [cell.share for cell in second.lines[1][1]] == ["20.0", "10.0", "−0.2"]
    assert [cell.shade for cell in second.lines[0][1]] == [SHADES - 1, 4, 2]
    assert second.lines[1][1][2].shade == 0, "nothing is lighter than nothing"
    assert "simulated" in second.note
    assert "No table" in second.note


def test_the_page_has_them_escaped_and_a_look_for_every_shade() -> None:
    shown = page(made(4) | {"tables": [ONE, TWO]})
    assert "<b>yes" not in shown
    assert "&lt;b&gt;yes" in shown
    used = set(re.findall(r'class="(shade\d)"', shown))
    assert used
    assert all(f".{shade} {{" in shown for shade in (f"shade{number}" for number in range(SHADES)))


def test_a_result_without_tables_has_no_section_of_them() -> None:
    assert "<h2>Tables</h2>" not in page(made(4))
