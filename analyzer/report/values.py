"""Which values the page shows, largest estimates first if they are too many, and their table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from analyzer.report.words import CERTAIN, FOUND, cut, percentage, places_for, text, whole

SHOWN: Final = 30  # as many bars as fit one sheet under the heading; result.json has every value
_LABEL: Final = 60  # characters of a label in the table
_PLACES: Final = 5  # at most, so that a row fits a phone
_PLACES_BESIDE_TRUTH: Final = 3
_FINE: Final = 3  # from that many on, a phone shows the table in smaller letters


@dataclass(frozen=True)
class Value:
    """One possible answer and what was found of it, as shares of the users."""

    label: str
    frequency: float
    stderr: float
    low: float
    high: float
    truth: float | None
    found: bool | None  # whether noise alone would hardly give it so many supports; None where it was not looked at


@dataclass(frozen=True)
class Selection:
    """What is shown, and what there is to say of the rest."""

    shown: tuple[Value, ...]
    left_out: int
    largest_left: float
    found_left: int
    found: int | None
    typical_error: float
    places: int

    @property
    def domain(self) -> int:
        """All values, shown or not."""
        return len(self.shown) + self.left_out


def select(found: Mapping[str, Any]) -> Selection:
    """All values in their own order, or the largest estimates if there are too many."""
    truths: Sequence[float | None] = found["truth"] or [None] * len(found["labels"])
    significant: Sequence[bool | None] = found.get("significant") or [None] * len(found["labels"])
    columns = (found["labels"], found["frequency"], found["stderr"], found["interval95"], truths, significant)
    values = [
        Value(str(label), frequency, stderr, low, high, truth, is_found)
        for label, frequency, stderr, (low, high), truth, is_found in zip(*columns, strict=True)
    ]
    shown, rest = values, []
    if len(values) > SHOWN:
        ordered = sorted(values, key=lambda value: -value.frequency)
        shown, rest = ordered[:SHOWN], ordered[SHOWN:]
    return Selection(
        shown=tuple(shown),
        left_out=len(rest),
        largest_left=rest[0].frequency if rest else 0.0,
        found_left=sum(bool(value.found) for value in rest),
        found=None if significant[0] is None else sum(bool(value.found) for value in values),
        typical_error=median(value.stderr for value in values),
        places=min(places_for(value.stderr for value in values), _PLACES_BESIDE_TRUTH if found["truth"] else _PLACES),
    )


def left_out(selection: Selection) -> str:
    """A paragraph on what is not shown; nothing if everything is."""
    if not selection.left_out:
        return ""
    what = "value is" if selection.left_out == 1 else "values are"
    named = whole(selection.found_left) if selection.found_left else "none"
    judged = (
        "" if selection.found is None else f"; {named} of them {'is' if selection.found_left == 1 else 'are'} found"
    )
    return (
        f'<p class="left-out"><strong>{whole(selection.left_out)} more {what} not shown.</strong> Shown are the '
        f"{len(selection.shown)} largest estimates of {whole(selection.domain)}. The largest of those left out is "
        f"estimated at {percentage(selection.largest_left, selection.places)} %{judged}. The largest of many noisy "
        "estimates tend to be somewhat too high. result.json has every value.</p>"
    )


def about_found(selection: Selection) -> str:
    """What it claims of a value that it is found, and what it does not."""
    return (
        f"<strong>{_claimed(selection)}</strong> So many reports support a found value that noise would hardly explain "
        "it, however many values there are. A value that is not found may have been given all the same, by too few for "
        "it to stand out; and if it is drawn or listed among the largest, that may be noise. Each interval is for one "
        "value alone: of a hundred about five miss."
    )


def _claimed(selection: Selection) -> str:
    if selection.found is None:
        return "This result does not say which values are found."
    return f"{CERTAIN[:1].upper()}{CERTAIN[1:]}."


def table(selection: Selection) -> str:
    """The same numbers as the drawing."""
    places, truth = selection.places, selection.shown[0].truth is not None
    head = ["Value", "Estimate, %", "Standard error", "95 % interval from", "to"]
    head += ["Truth, %"] if truth else []
    head += ["Found"]
    cells = "".join(f'<th scope="col">{one}</th>' for one in head)
    rows = "".join(_row(value, places) for value in selection.shown)
    kind = "values fine" if places >= _FINE else "values"
    return (
        f'<table class="{kind}"><caption>The same numbers. Percentages of the users that were counted, rounded to '
        f"{places} {'digit' if places == 1 else 'digits'} after the point; standard errors in percentage points. "
        "Found: noise alone would hardly bring it so many reports.</caption>"
        f"<thead><tr>{cells}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _row(value: Value, places: int) -> str:
    short = cut(value.label, _LABEL)
    title = f' title="{text(value.label)}"' if short != value.label else ""
    numbers = [value.frequency, value.stderr, value.low, value.high, *([] if value.truth is None else [value.truth])]
    cells = "".join(f"<td>{percentage(number, places)}</td>" for number in numbers)
    kind = "" if value.found else ' class="noise"'
    return f'<tr{kind}><th scope="row"{title}><bdi>{text(short)}</bdi></th>{cells}<td>{FOUND[value.found]}</td></tr>'
