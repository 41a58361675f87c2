"""Which values the page shows, largest estimates first if they are too many, and their table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from analyzer.report.words import cut, percentage, places_for, text, whole

SHOWN: Final = 30  # as many bars as fit one sheet under the heading; result.json has every value
_LABEL: Final = 60  # characters of a label in the table
_PLACES: Final = 5  # at most, so that a row fits a phone
_PLACES_BESIDE_TRUTH: Final = 3
_FINE: Final = 3  # from that many on, a phone shows the table in smaller letters
_TAIL: Final = 0.025  # of intervals of a value that nobody gave, this share lies above zero


@dataclass(frozen=True)
class Value:
    """One possible answer and what was found of it, as shares of the users."""

    label: str
    frequency: float
    stderr: float
    low: float
    high: float
    truth: float | None

    @property
    def told_from_zero(self) -> bool:
        """Whether its own interval leaves zero out."""
        return self.low > 0


@dataclass(frozen=True)
class Selection:
    """What is shown, and what there is to say of the rest."""

    shown: tuple[Value, ...]
    left_out: int
    largest_left: float
    told_left: int
    told: int
    typical_error: float
    places: int

    @property
    def domain(self) -> int:
        """All values, shown or not."""
        return len(self.shown) + self.left_out


def select(found: Mapping[str, Any]) -> Selection:
    """All values in their own order, or the largest estimates if there are too many."""
    truths: Sequence[float | None] = found["truth"] or [None] * len(found["labels"])
    columns = (found["labels"], found["frequency"], found["stderr"], found["interval95"], truths)
    values = [
        Value(str(label), frequency, stderr, low, high, truth)
        for label, frequency, stderr, (low, high), truth in zip(*columns, strict=True)
    ]
    shown, rest = values, []
    if len(values) > SHOWN:
        ordered = sorted(values, key=lambda value: -value.frequency)
        shown, rest = ordered[:SHOWN], ordered[SHOWN:]
    return Selection(
        shown=tuple(shown),
        left_out=len(rest),
        largest_left=rest[0].frequency if rest else 0.0,
        told_left=sum(value.told_from_zero for value in rest),
        told=sum(value.told_from_zero for value in values),
        typical_error=median(value.stderr for value in values),
        places=min(places_for(value.stderr for value in values), _PLACES_BESIDE_TRUTH if found["truth"] else _PLACES),
    )


def left_out(selection: Selection) -> str:
    """A paragraph on what is not shown; nothing if everything is."""
    if not selection.left_out:
        return ""
    what = "value is" if selection.left_out == 1 else "values are"
    told = whole(selection.told_left) if selection.told_left else "none"
    return (
        f'<p class="left-out"><strong>{whole(selection.left_out)} more {what} not shown.</strong> Shown are the '
        f"{len(selection.shown)} largest estimates of {whole(selection.domain)}. The largest of those left out is "
        f"estimated at {percentage(selection.largest_left, selection.places)} %; {told} of them "
        "can be told from zero. The largest of many noisy estimates tend to be somewhat too high. result.json has "
        "every value.</p>"
    )


def by_chance(selection: Selection) -> str:
    """How far one may trust that a value is told from zero, when there are many."""
    expected = _TAIL * selection.domain
    here = (
        "" if expected < 1 else f" Among {whole(selection.domain)} values that may be up to {whole(round(expected))}."
    )
    return (
        "Each interval is for one value alone: of a hundred values that nobody gave, two or three would seem to lie "
        f"above zero all the same.{here}"
    )


def table(selection: Selection) -> str:
    """The same numbers as the drawing."""
    places, truth = selection.places, selection.shown[0].truth is not None
    head = ["Value", "Estimate, %", "Standard error", "95 % interval from", "to"]
    head += ["Truth, %"] if truth else []
    head += ["Told from zero"]
    cells = "".join(f'<th scope="col">{one}</th>' for one in head)
    rows = "".join(_row(value, places) for value in selection.shown)
    kind = "values fine" if places >= _FINE else "values"
    return (
        f'<table class="{kind}"><caption>The same numbers. Percentages of the users that were counted, rounded to '
        f"{places} {'digit' if places == 1 else 'digits'} after the point; standard errors in percentage points."
        f"</caption><thead><tr>{cells}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _row(value: Value, places: int) -> str:
    short = cut(value.label, _LABEL)
    title = f' title="{text(value.label)}"' if short != value.label else ""
    numbers = [value.frequency, value.stderr, value.low, value.high, *([] if value.truth is None else [value.truth])]
    cells = "".join(f"<td>{percentage(number, places)}</td>" for number in numbers)
    told, kind = ("yes", "") if value.told_from_zero else ("no", ' class="untold"')
    return f'<tr{kind}><th scope="row"{title}><bdi>{text(short)}</bdi></th>{cells}<td>{told}</td></tr>'
