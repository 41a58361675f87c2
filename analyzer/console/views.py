"""What pages show of the serving process's answers: sentences, groups, charts."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from markupsafe import Markup

from analyzer.report.formatting import cut
from peos.drawing import Line, chart_over_time

_SECONDS: Final = ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))
_TITLE: Final = 40  # letters, of a population's name on a phone
_OVER: Final = ("published", "aborted")


def lasted(seconds: float) -> str:
    """A duration in its two largest units."""
    left, said = max(0, int(seconds)), []
    for length, unit in _SECONDS:
        count, left = divmod(left, length)
        if count:
            said.append(f"{count:,} {unit}{'s' if count > 1 else ''}")
    return " ".join(said[:2]) or "a moment"


def date(moment: float | None) -> str:
    """A moment, in UTC."""
    return "" if moment is None else datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M UTC")


def waiting(found: Mapping[str, Any] | None) -> str:
    """What is waited for, from whom, how far it is and since when."""
    if found is None:
        return ""
    whom = f" from {', '.join(found['from'])}" if found["from"] else ""
    done, total = found["done"], found["total"]
    far = f", {done:,} of {'at least ' if done > total else ''}{total:,}" if total else ""
    return f"waiting for {found['step']}{whom}{far}, for {lasted(found['seconds'])}"


def share(found: Mapping[str, Any] | None) -> tuple[int, int] | None:
    """How far, where it is counted."""
    if found is None or not found["total"]:
        return None
    return min(found["done"], found["total"]), found["total"]


def grouped(overview: Mapping[str, Any]) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """Collections that are not rounds of a study: those under way first, the newest first."""
    single = sorted((one for one in overview["collections"] if not one["study"]), key=lambda one: -one["since"])
    live = [one for one in single if one["state"] not in _OVER]
    over = [one for one in single if one["state"] in _OVER]
    return [(title, group) for title, group in (("Under way", live), ("Over", over)) if group]


def budget_chart(book: Mapping[str, Any], now: float) -> Markup:
    """What a population has given away over time, as the project's drawer has it; its budget as a line across."""
    points: Sequence[Mapping[str, Any]] = book["points"]
    stairs = [(points[0]["at"], 0.0)]
    for one in points:
        stairs += [(one["at"], stairs[-1][1]), (one["at"], one["spent"])]
    stairs.append((now, stairs[-1][1]))
    lines = [
        Line("spent", tuple(stairs[1:])),
        Line("budget", ((points[0]["at"], book["budget"]), (now, book["budget"]))),
    ]
    title = f"ε spent by {cut(book['shown'], _TITLE)}"
    # The drawer escapes every text that it is given.
    return Markup(chart_over_time(title, "ε", lines, name=f"spent-{book['number']}"))  # noqa: S704
