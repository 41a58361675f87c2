"""The estimates as a drawing: a bar from zero to each, its 95 % interval as a line, and marks for the truth if it is
known and for what post-processing made of the estimate, which has no interval.

Here are the places of everything; report.html draws. Across, every place is a share of the width, so that one drawing
fits a phone, a desk and paper with letters that keep their size. Nothing is cut off at zero: an estimate below it is a
bar to the left.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from analyzer.report.formatting import cut, percentage
from analyzer.report.values import Selection, Value

_PITCH: Final = 20  # pixels from row to row
_BAR: Final = 10
_CAP: Final = 4  # half the height of an interval's ends
_TOP: Final = 24  # for the scale
_LABELS: Final = 28  # per cent of the width
_SHORT_LABELS: Final = 10
_SHORT: Final = 4  # letters
_RIGHT: Final = 4  # per cent, for half of the scale's last number
_NARROW: Final = 13  # letters of a label on a phone
_WIDE: Final = 32
_TICKS: Final = 5
_MARGIN: Final = 0.02  # of the scale, beyond what is drawn
_LEAST_SPAN: Final = 1e-9


@dataclass(frozen=True)
class Tick:
    """A line of the scale with its number."""

    at: str
    text: str
    is_zero: bool


@dataclass(frozen=True)
class Row:
    """One value: its labels for a phone and for a desk, and its places in per cent of the plot's width."""

    title: str
    labels: tuple[tuple[str, str], ...]
    top: int
    start: str
    length: str
    low: str
    high: str
    truth: str | None
    processed: str | None
    is_found: bool


@dataclass(frozen=True)
class Drawing:
    """Measures of the drawing in report.html: heights in pixels, widths in per cent."""

    ticks: tuple[Tick, ...]
    rows: tuple[Row, ...]
    height: int
    left: int
    has_truth: bool
    has_processed: bool
    top: int = _TOP
    pitch: int = _PITCH
    bar: int = _BAR
    cap: int = _CAP
    middle: int = _PITCH // 2

    @property
    def width(self) -> int:
        """Of the plot."""
        return 100 - _RIGHT - self.left


def drawing(selection: Selection) -> Drawing:
    """The figure of a selection."""
    scale = _Scale(selection)
    is_short = all(len(value.label) <= _SHORT for value in selection.shown)
    return Drawing(
        ticks=tuple(scale.ticks()),
        rows=tuple(_row(value, place, scale, selection.places) for place, value in enumerate(selection.shown)),
        height=_TOP + _PITCH * len(selection.shown) + 6,
        left=_SHORT_LABELS if is_short else _LABELS,
        has_truth=selection.has_truth,
        has_processed=selection.shown[0].processed is not None,
    )


class _Scale:
    """Where a share of the users lies across the plot, in per cent of its width."""

    def __init__(self, selection: Selection) -> None:
        ends = [0.0]
        for value in selection.shown:
            marks = (value.truth, value.processed)
            ends += [value.frequency, value.low, value.high, *(mark for mark in marks if mark is not None)]
        span = max(max(ends) - min(ends), _LEAST_SPAN)
        self.low = min(ends) - (_MARGIN * span if min(ends) < 0 else 0.0)
        self.high = min(ends) + (1 + _MARGIN) * span

    def __call__(self, share: float) -> float:
        return 100 * (share - self.low) / (self.high - self.low)

    def at(self, share: float) -> str:
        """As an attribute's value."""
        return f"{self(share):.3f}%"

    def ticks(self) -> Iterator[Tick]:
        """Round shares, few enough for a phone, with the digits that their percentages need."""
        rough = 100 * (self.high - self.low) / _TICKS
        power = math.floor(math.log10(rough))
        step = next(round_ for factor in (1, 2, 5, 10) if (round_ := factor * 10.0**power) >= rough)
        first, last = math.ceil(100 * self.low / step), math.floor(100 * self.high / step)
        places = max(0, -math.floor(math.log10(step) + 1e-9))
        for share in (place * step / 100 for place in range(first, last + 1)):
            yield Tick(self.at(share), f"{percentage(share, places)} %", share == 0)


def _row(value: Value, place: int, scale: _Scale, places: int) -> Row:
    start, end = sorted((scale(0.0), scale(value.frequency)))
    narrow, wide = cut(value.label, _NARROW), cut(value.label, _WIDE)
    return Row(
        title=_said(value, places),
        labels=(("", wide),) if narrow == wide else ((" narrow", narrow), (" wide", wide)),
        top=_TOP + _PITCH * place,
        start=f"{start:.3f}%",
        length=f"{end - start:.3f}%",
        low=scale.at(value.low),
        high=scale.at(value.high),
        truth=None if value.truth is None else scale.at(value.truth),
        processed=None if value.processed is None else scale.at(value.processed),
        is_found=bool(value.found),
    )


def _said(value: Value, places: int) -> str:
    """A row in words: what is shown when it is pointed at, the whole label with it."""
    judged = {True: "; found", False: "; not found, it may be noise", None: ""}[value.found]
    truth = "" if value.truth is None else f"; truth {percentage(value.truth, places)} %"
    after = "" if value.processed is None else f"; after post-processing {percentage(value.processed, places)} %"
    estimate, low, high = (percentage(one, places) for one in (value.frequency, value.low, value.high))
    return f"{value.label}: {estimate} %, 95 % interval {low} to {high} %{after}{truth}{judged}"
