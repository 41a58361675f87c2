"""The planner's curves as a drawing, an SVG file that any browser shows: both axes by their logarithms."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from peos.privacy.curves import Curve

_WIDTH, _HEIGHT = 760, 480
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 24, 44, 118
_STYLES: Final = (
    ("#b3541e", "9 4"),
    ("#0b5fa5", ""),
    ("#5b5b5b", "2 4"),
    ("#2f7d4f", "12 3 2 3"),
)  # told apart by their dashes as well, for print and for eyes that see few colours


def drawing(curves: Sequence["Curve"], title: str, asked: float) -> str:
    """The SVG, with the ε_c that was asked as a line."""
    xs = [x for curve in curves for x, _ in curve.points]
    ys = [y for curve in curves for _, y in curve.points]
    across = _Axis(min(xs), max(xs), _LEFT, _WIDTH - _RIGHT)
    down = _Axis(min(ys), max(ys), _HEIGHT - _BOTTOM, _TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" font-family="sans-serif" font-size="12" role="img" aria-labelledby="title">',
        f'<title id="title">{escape(title)}</title>',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="24" font-size="14">{escape(title)}</text>',
        *_grid(across, down),
        f'<line x1="{across(asked):.1f}" x2="{across(asked):.1f}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}" '
        'stroke="#999999" stroke-dasharray="1 3"/>',
    ]
    for curve, (colour, dashes) in zip(curves, _STYLES, strict=True):
        places = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in curve.points)
        stroke = f'fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"'
        parts.append(f'<polyline points="{places}" {stroke}/>')
    parts += [*_legend(curves), "</svg>", ""]
    return "\n".join(parts)


class _Axis:
    """From a value to its place in pixels, by the logarithm."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self._low = math.log(low / 1.05)
        self._span = math.log(high * 1.05) - self._low
        self._start, self._end = start, end
        self.values = [v for v in _round_numbers(low, high) if low / 1.05 <= v <= high * 1.05]

    def __call__(self, value: float) -> float:
        return self._start + (self._end - self._start) * (math.log(value) - self._low) / self._span


def _round_numbers(low: float, high: float) -> list[float]:
    """1, 2, 5 of every power of ten, or the powers alone where that would be a crowd."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    digits = (1, 2, 5) if last - first <= 3 else (1,)
    return [digit * 10.0**power for power in range(first, last + 1) for digit in digits]


def _grid(across: _Axis, down: _Axis) -> Iterator[str]:
    bottom = _HEIGHT - _BOTTOM
    for value in across.values:
        x = across(value)
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom}" stroke="#e4e4e4"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 17}" text-anchor="middle">{value:g}</text>'
    for value in down.values:
        y = down(value)
        yield f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e4e4e4"/>'
        yield f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>'
    middle = (_TOP + bottom) / 2
    centre = (_LEFT + _WIDTH - _RIGHT) / 2
    yield f'<text x="{centre}" y="{bottom + 38}" text-anchor="middle">ε against the analyzer</text>'
    yield (
        f'<text x="18" y="{middle}" text-anchor="middle" transform="rotate(-90 18 {middle})">'
        "standard error of a frequency</text>"
    )


def _legend(curves: Sequence["Curve"]) -> Iterator[str]:
    for at, (curve, (colour, dashes)) in enumerate(zip(curves, _STYLES, strict=True)):
        x, y = _LEFT + at % 2 * 320, _HEIGHT - 50 + at // 2 * 22
        yield (
            f'<line x1="{x}" x2="{x + 36}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="2" '
            f'stroke-dasharray="{dashes}"/><text x="{x + 44}" y="{y + 4}">{escape(curve.name)}'
            f"{'' if curve.points else ': claims nothing here'}</text>"
        )
