"""A drawing over time: every point at its place, from 0 on, and texts as texts."""

import re
import xml.etree.ElementTree as ET
from datetime import UTC, datetime

import pytest

from peos.drawing import Line, chart_over_time

DAY = 86_400.0
SINCE = datetime(2026, 3, 1, tzinfo=UTC).timestamp()
SVG = "{http://www.w3.org/2000/svg}"


def drawn(*lines: Line, title: str = "spent") -> ET.Element:
    return ET.fromstring(chart_over_time(title, "ε", lines, name="one"))  # noqa: S314 - likewise


def test_points_lie_where_their_time_and_number_say() -> None:
    svg = drawn(Line("spent", ((SINCE, 0.0), (SINCE + 5 * DAY, 1.0), (SINCE + 10 * DAY, 2.0))))
    places = [(float(one.attrib["cx"]), float(one.attrib["cy"])) for one in svg.iter(f"{SVG}circle")]
    (left, bottom), (middle, half), (right, top) = places
    assert middle - left == pytest.approx(right - middle, abs=0.2)
    assert bottom - half == pytest.approx(half - top, abs=0.2)
    ticks = {
        one.text: float(one.attrib["y"]) - 4
        for one in svg.iter(f"{SVG}text")
        if re.fullmatch("[0-9.]+", one.text or "")
    }
    assert ticks["0"] == pytest.approx(bottom, abs=0.2)
    assert ticks["1"] == pytest.approx(half, abs=0.2)


@pytest.mark.parametrize("days", [0.0, 0.01, 1.0, 30.0, 900.0, 10_000.0])
def test_there_are_a_few_dates_however_long_it_lasts(days: float) -> None:
    svg = drawn(Line("spent", ((SINCE, 0.3), (SINCE + days * DAY, 0.5))))
    dates = [one.text for one in svg.iter(f"{SVG}text") if re.search("[0-9]{4}-|:[0-9]{2}$", one.text or "")]
    assert 1 <= len(dates) <= 9
    assert len(set(dates)) == len(dates)


@pytest.mark.parametrize("second", [1, 30, 300, 599])
def test_no_label_stands_out_at_the_end_whatever_time_it_is(second: int) -> None:
    """Of a budget of which something was spent a moment ago, with one tick; a label has up to twelve letters."""
    begun = datetime(2031, 1, 1, 10, 0, tzinfo=UTC).timestamp() + second
    drawn = ET.fromstring(chart_over_time("spent", "ε", [Line("one", ((begun, 1.0), (begun + 9, 2.0)))], name="a"))  # noqa: S314
    labels = [one for one in drawn.iter(f"{SVG}text") if re.fullmatch(r"\d\d \w{3} \d\d:\d\d", one.text or "")]
    assert labels
    assert all(float(one.attrib["x"]) + 0.6 * 12 / 2 * len(one.text or "") <= 820 for one in labels)


def test_a_title_is_text() -> None:
    svg = drawn(Line("<b>", ((SINCE, 1.0),)), title="<script>")
    assert svg.find(f"{SVG}title") is not None
    assert [one.tag for one in svg.iter() if one.tag.endswith(("script", "}b"))] == []
