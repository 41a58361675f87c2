"""Curves against n as an SVG file of our own, both axes by their logarithms; and the points as a table beside."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from xml.sax.saxutils import escape

Points = Sequence[tuple[float, float]]
_WIDTH, _HEIGHT = 720, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 78, 24, 44, 86
_STYLES: Final = (("#0b5fa5", ""), ("#b3541e", "9 4"), ("#2f7d4f", "12 3 2 3"))
"""Told apart by their dashes as well, for print and for eyes that see few colours."""


def drawing(curves: Mapping[str, Points], title: str, across: str, up: str) -> str:
    """The SVG: one line and its points for each of up to three curves."""
    xs = sorted({x for points in curves.values() for x, _ in points})
    ys = sorted({y for points in curves.values() for _, y in points})
    x = _Axis(xs[0], xs[-1], _LEFT, _WIDTH - _RIGHT)
    y = _Axis(ys[0], ys[-1], _HEIGHT - _BOTTOM, _TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" font-family="sans-serif" font-size="12" role="img" aria-labelledby="title">',
        f'<title id="title">{escape(title)}</title>',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="24" font-size="14">{escape(title)}</text>',
        *_grid(xs, ys, x, y),
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2:.0f}" y="{_HEIGHT - _BOTTOM + 38}" text-anchor="middle">'
        f"{escape(across)}</text>",
        f'<text x="18" y="{(_TOP + _HEIGHT - _BOTTOM) / 2:.0f}" text-anchor="middle" '
        f'transform="rotate(-90 18 {(_TOP + _HEIGHT - _BOTTOM) / 2:.0f})">{escape(up)}</text>',
    ]
    for at, ((name, points), (colour, dashes)) in enumerate(zip(curves.items(), _STYLES, strict=False)):
        stroke = f'fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"'
        places = [f"{x(a):.1f},{y(b):.1f}" for a, b in points]
        parts.append(f'<polyline points="{" ".join(places)}" {stroke}/>')
        parts += [
            f'<circle cx="{place.split(",")[0]}" cy="{place.split(",")[1]}" r="3" fill="{colour}"/>' for place in places
        ]
        left, low = _LEFT + at * 200, _HEIGHT - 18
        parts.append(
            f'<line x1="{left}" x2="{left + 36}" y1="{low}" y2="{low}" stroke="{colour}" stroke-width="2" '
            f'stroke-dasharray="{dashes}"/><text x="{left + 44}" y="{low + 4}">{escape(name)}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


class _Axis:
    """From a value to its place in pixels."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self._low = math.log(low / 1.3)
        self._span = math.log(high * 1.3) - self._low
        self._start, self._end = start, end

    def __call__(self, value: float) -> float:
        return self._start + (self._end - self._start) * (math.log(value) - self._low) / self._span


def _grid(xs: Sequence[float], ys: Sequence[float], x: _Axis, y: _Axis) -> Iterator[str]:
    bottom = _HEIGHT - _BOTTOM
    for value in xs:
        at = f"{x(value):.1f}"
        yield f'<line x1="{at}" x2="{at}" y1="{_TOP}" y2="{bottom}" stroke="#e4e4e4"/>'
        yield f'<text x="{at}" y="{bottom + 17}" text-anchor="middle">{value:,.0f}</text>'
    lowest, highest = math.floor(math.log10(ys[0])), math.ceil(math.log10(ys[-1]))
    digits = (1, 2, 5) if highest - lowest <= 3 else (1,)  # more would be a crowd
    for value in (digit * 10.0**power for power in range(lowest, highest + 1) for digit in digits):
        if ys[0] / 1.3 <= value <= ys[-1] * 1.3:
            at = f"{y(value):.1f}"
            yield f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{at}" y2="{at}" stroke="#e4e4e4"/>'
            yield f'<text x="{_LEFT - 8}" y="{float(at) + 4:.1f}" text-anchor="end">{value:g}</text>'


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Values separated by commas, a line a row."""
    return "".join(",".join(map(str, row)) + "\n" for row in (header, *rows))
