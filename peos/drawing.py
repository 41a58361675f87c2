"""Lines over two logarithmic axes, or over time from 0 on, as an SVG file that needs no other file.

Used by `peos plan --plot`, the experiments, the benchmarks and the console. The report page draws for itself: bars over
a share of its width are another thing.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from xml.sax.saxutils import escape

_WIDTH, _PLOT_HEIGHT = 820, 400
_LEFT, _RIGHT, _TOP = 92, 28, 48
_LINE: Final = 22  # of the legend
_WIDEST: Final = 7.2  # of a figure or letter, on the average of a label
_COLUMNS: Final = 3
_TICKS: Final = 7  # at most, of an even axis
_DAY: Final = 86_400
_STEPS: Final = (60, 600, 3600, 6 * 3600, *(days * _DAY for days in (1, 2, 7, 14, 30, 90, 365, 1000, 3650)))
_COLOURS: Final = ("#0b5fa5", "#b3541e", "#2f7d4f", "#7a3b8f", "#5b5b5b", "#a8872a")
_DASHES: Final = ("", "9 4", "2 4", "12 3 2 3")  # so that no two lines are told apart by their colour alone


@dataclass(frozen=True)
class Line:
    """A name and its points, by rising x; all numbers above 0."""

    name: str
    points: tuple[tuple[float, float], ...]


class _Axis:
    """From a value to its place in pixels, by the logarithm."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        low, high = min(values) / 1.08, max(values) * 1.08
        self._low, self._span = math.log(low), math.log(high / low)
        self._start, self._end = start, end
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        digits = range(1, 10) if high / low <= 8 else (1, 2, 5) if high / low <= 200 else (1,)
        self.ticks = [tick for power in powers for d in digits if low <= (tick := d * 10.0**power) <= high]

    def __call__(self, value: float) -> float:
        return self._start + (self._end - self._start) * (math.log(value) - self._low) / self._span


class _Even(_Axis):
    """From a value to its place in pixels, each step as wide as the next."""

    def __init__(self, low: float, high: float, start: float, end: float, steps: Sequence[float]) -> None:
        self._low, self._span = low, max(high - low, steps[0])
        self._start, self._end = start, end
        step = next((step for step in steps if self._span / step <= _TICKS), steps[-1])
        first, last = math.ceil(low / step), math.floor((low + self._span) / step)
        self.ticks = [place * step for place in range(first, last + 1)]

    def __call__(self, value: float) -> float:
        return self._start + (self._end - self._start) * (value - self._low) / self._span


def chart_over_time(title: str, down: str, lines: Sequence[Line], *, name: str) -> str:
    """Lines whose x are seconds since 1970, UTC, and whose y begin at 0; `name` tells it from others on a page."""
    points = [point for line in lines for point in line.points]
    times, most = [point[0] for point in points], max(point[1] for point in points)
    power = 10.0 ** math.floor(math.log10(most / _TICKS))
    x = _Even(min(times), max(times), _LEFT, _WIDTH - _RIGHT, _STEPS)
    y = _Even(0.0, most * 1.08, _TOP + _PLOT_HEIGHT, _TOP, [power * factor for factor in (1, 2, 5, 10, 20)])
    return _drawn(
        title, "", down, lines, x, y, name=name, moment=_date if max(times) - min(times) >= 2 * _DAY else _hour
    )


def chart(title: str, across: str, down: str, lines: Sequence[Line], *, mark: float | None = None) -> str:
    """The SVG's text; lines without points are left out. `mark` is an x that a vertical line shows."""
    x = _Axis([point[0] for line in lines for point in line.points], _LEFT, _WIDTH - _RIGHT)
    y = _Axis([point[1] for line in lines for point in line.points], _TOP + _PLOT_HEIGHT, _TOP)
    return _drawn(title, across, down, lines, x, y, mark=mark)


def _drawn(
    title: str,
    across: str,
    down: str,
    lines: Sequence[Line],
    x: _Axis,
    y: _Axis,
    *,
    mark: float | None = None,
    name: str = "title",
    moment: Callable[[float], str] | None = None,
) -> str:
    lines = [line for line in lines if line.points]
    bottom = _TOP + _PLOT_HEIGHT
    height = bottom + 62 + _LINE * -(-len(lines) // _COLUMNS)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'font-family="sans-serif" font-size="12" role="img" aria-labelledby="{name}">',
        f'<title id="{name}">{escape(title)}</title>',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="26" font-size="14">{escape(title)}</text>',
        *_grid(x, y, bottom, moment or _number),
        *_labels(across, down, bottom),
    ]
    if mark is not None:
        parts.append(
            f'<line x1="{x(mark):.1f}" x2="{x(mark):.1f}" y1="{_TOP}" y2="{bottom}" stroke="#999999" '
            'stroke-dasharray="1 3"/>'
        )
    for at, line in enumerate(lines):
        places = [(f"{x(one):.1f}", f"{y(other):.1f}") for one, other in line.points]
        parts.append(f'<polyline points="{" ".join(",".join(place) for place in places)}" {_stroke(at)}/>')
        parts += [f'<circle cx="{cx}" cy="{cy}" r="2.5" fill="{_colour(at)}"/>' for cx, cy in places]
    parts += [*_legend(lines, bottom + 66), "</svg>", ""]
    return "\n".join(parts)


def _colour(at: int) -> str:
    return _COLOURS[at % len(_COLOURS)]


def _stroke(at: int) -> str:
    # The second round of colours takes other dashes than the first.
    dashes = _DASHES[(at + at // len(_COLOURS)) % len(_DASHES)]
    return f'fill="none" stroke="{_colour(at)}" stroke-width="1.8" stroke-dasharray="{dashes}"'


def _grid(x: _Axis, y: _Axis, bottom: float, across: Callable[[float], str]) -> Iterator[str]:
    for tick in x.ticks:
        yield f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{_TOP}" y2="{bottom}" stroke="#e4e4e4"/>'
        label = across(tick)
        place = min(x(tick), _WIDTH - _WIDEST / 2 * len(label))  # else one at the end would make the page wider
        yield f'<text x="{place:.1f}" y="{bottom + 17}" text-anchor="middle">{label}</text>'
    for tick in y.ticks:
        yield f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="#e4e4e4"/>'
        yield f'<text x="{_LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{_number(tick)}</text>'


def _date(tick: float) -> str:
    return datetime.fromtimestamp(tick, UTC).strftime("%Y-%m-%d")


def _hour(tick: float) -> str:
    return datetime.fromtimestamp(tick, UTC).strftime("%d %b %H:%M")


def _number(tick: float) -> str:
    return f"{tick:,.0f}" if 1 <= tick < 1e7 else f"{tick:g}"


def _labels(across: str, down: str, bottom: float) -> Iterator[str]:
    middle, centre = (_TOP + bottom) / 2, (_LEFT + _WIDTH - _RIGHT) / 2
    yield f'<text x="{centre}" y="{bottom + 38}" text-anchor="middle">{escape(across)}</text>'
    yield (f'<text x="18" y="{middle}" text-anchor="middle" transform="rotate(-90 18 {middle})">{escape(down)}</text>')


def _legend(lines: Sequence[Line], top: float) -> Iterator[str]:
    width = (_WIDTH - _LEFT - _RIGHT) // _COLUMNS
    for at, line in enumerate(lines):
        x, y = _LEFT + at % _COLUMNS * width, top + at // _COLUMNS * _LINE
        yield f'<line x1="{x}" x2="{x + 34}" y1="{y}" y2="{y}" {_stroke(at)}/>'
        yield f'<text x="{x + 40}" y="{y + 4}">{escape(line.name)}</text>'
