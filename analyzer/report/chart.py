"""The estimates as a drawing: a bar from zero to each, its 95 % interval as a line, the truth as a mark if it "
"is known.

Across, every place is a share of the width, so that one drawing fits a phone, a desk and paper with letters that keep
their size. Nothing is cut off at zero: an estimate below it is a bar to the left.
"""

import math
from collections.abc import Iterator
from typing import Final

from analyzer.report.values import Selection, Value
from analyzer.report.words import cut, percentage, text

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


def drawing(selection: Selection) -> str:
    """The figure, with its legend as the caption."""
    scale = _Scale(selection)
    height = _TOP + _PITCH * len(selection.shown) + 6
    left = _SHORT_LABELS if all(len(value.label) <= _SHORT for value in selection.shown) else _LABELS
    rows = "".join(_row(value, place, scale, selection.places, left) for place, value in enumerate(selection.shown))
    about = (
        f"Estimated frequencies of {len(selection.shown)} values with 95 % intervals; the table below has the numbers."
    )
    inside = f'<title id="chart-title">{about}</title>{"".join(_ticks(scale, height, left))}{rows}'
    return (
        f'<figure><p class="soft">{_subject(selection)}</p>'
        f'<svg class="chart" role="img" aria-labelledby="chart-title" width="100%" height="{height}">{inside}</svg>'
        f"<figcaption>{_legend(selection)}</figcaption></figure>"
    )


def _subject(selection: Selection) -> str:
    order = "the largest estimates first" if selection.left_out else "in the order of the question"
    return f"The share of the users counted that each answer has, {order}."


class _Scale:
    """Where a share of the users lies across the plot, in per cent of its width."""

    def __init__(self, selection: Selection) -> None:
        ends = [0.0]
        for value in selection.shown:
            ends += [value.frequency, value.low, value.high, *([] if value.truth is None else [value.truth])]
        span = max(max(ends) - min(ends), _LEAST_SPAN)
        self.low = min(ends) - (_MARGIN * span if min(ends) < 0 else 0.0)
        self.high = min(ends) + (1 + _MARGIN) * span

    def __call__(self, share: float) -> float:
        return 100 * (share - self.low) / (self.high - self.low)

    def at(self, share: float) -> str:
        """As an attribute's value."""
        return f"{self(share):.3f}%"

    def ticks(self) -> tuple[list[float], int]:
        """Round shares, few enough for a phone, and the digits that their percentages need."""
        rough = 100 * (self.high - self.low) / _TICKS
        power = math.floor(math.log10(rough))
        step = next(round_ for factor in (1, 2, 5, 10) if (round_ := factor * 10.0**power) >= rough)
        first, last = math.ceil(100 * self.low / step), math.floor(100 * self.high / step)
        places = max(0, -math.floor(math.log10(step) + 1e-9))
        return [place * step / 100 for place in range(first, last + 1)], places


def _ticks(scale: _Scale, height: int, left: int) -> Iterator[str]:
    shares, places = scale.ticks()
    yield f'<svg x="{left}%" y="0" width="{100 - _RIGHT - left}%" height="{height}" overflow="visible">'
    for share in shares:
        at, kind = scale.at(share), "zero" if share == 0 else "grid"
        yield f'<line class="{kind}" x1="{at}" x2="{at}" y1="{_TOP - 4}" y2="{height}"/>'
        yield f'<text class="tick" x="{at}" y="{_TOP - 10}">{percentage(share, places)} %</text>'
    yield "</svg>"


def _row(value: Value, place: int, scale: _Scale, places: int, left: int) -> str:
    top, middle = _TOP + _PITCH * place, _PITCH / 2
    start, end = sorted((scale(0.0), scale(value.frequency)))
    low, high = scale.at(value.low), scale.at(value.high)
    bar = (
        f'<rect class="{"bar" if value.found else "bar noise"}" x="{start:.3f}%" '
        f'width="{end - start:.3f}%" y="{middle - _BAR / 2:g}" height="{_BAR}"/>'
    )
    interval = f'<line class="interval" x1="{low}" x2="{high}" y1="{middle:g}" y2="{middle:g}"/>' + "".join(
        f'<line class="interval" x1="{at}" x2="{at}" y1="{middle - _CAP:g}" y2="{middle + _CAP:g}"/>'
        for at in (low, high)
    )
    truth = "" if value.truth is None else _diamond(scale.at(value.truth), middle)
    return (
        f'<g class="row"><title>{_said(value, places)}</title>'
        f'<svg x="0" y="{top}" width="{left - 2}%" height="{_PITCH}">{_label(value.label, middle)}</svg>'
        f'<svg x="{left}%" y="{top}" width="{100 - _RIGHT - left}%" height="{_PITCH}" overflow="visible">'
        f"{bar}{interval}{truth}</svg></g>"
    )


def _diamond(at: str, middle: float) -> str:
    return f'<svg x="{at}" y="{middle:g}" overflow="visible"><path class="truth" d="M0-6 5 0 0 6-5 0Z"/></svg>'


def _label(label: str, middle: float) -> str:
    """The label as far as there is room: one text for a phone, and where it makes a difference one for a desk."""
    narrow, wide = cut(label, _NARROW), cut(label, _WIDE)
    kinds = [("", wide)] if narrow == wide else [(" narrow", narrow), (" wide", wide)]
    return "".join(
        f'<text class="label{kind}" x="100%" y="{middle + 4:g}">{text(shown)}</text>' for kind, shown in kinds
    )


def _said(value: Value, places: int) -> str:
    """A row in words: what is shown when it is pointed at, the whole label with it."""
    judged = {True: "; found", False: "; not found, it may be noise", None: ""}[value.found]
    truth = "" if value.truth is None else f"; truth {percentage(value.truth, places)} %"
    numbers = [percentage(one, places) for one in (value.frequency, value.low, value.high)]
    return f"{text(value.label)}: {numbers[0]} %, 95 % interval {numbers[1]} to {numbers[2]} %{truth}{judged}"


def _legend(selection: Selection) -> str:
    keys = [
        ('<rect class="bar" x="1" y="3" width="22" height="10"/>', "estimate of a value that is found"),
        ('<rect class="bar noise" x="1" y="3" width="22" height="10"/>', "not found: it may be noise"),
        (
            '<line class="interval" x1="2" x2="22" y1="8" y2="8"/><line class="interval" x1="2" x2="2" y1="4" '
            'y2="12"/>'
            '<line class="interval" x1="22" x2="22" y1="4" y2="12"/>',
            "95 % interval",
        ),
    ]
    if selection.shown[0].truth is not None:
        keys.append(('<path class="truth" d="M12 2 17 8 12 14 7 8Z"/>', "truth"))
    return "".join(
        f'<span class="key"><svg aria-hidden="true" width="24" height="16">{shape}</svg> {meaning}</span>'
        for shape, meaning in keys
    )
