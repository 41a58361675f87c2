"""Privacy loss distributions, from above: what several collections together give away (privacy.md §2).

    losses(nodes, deltas, step).repeated(3, cut).epsilon(1e-12)

The greatest convex curve below points of δ(ε), and lines in e^ε between a grid's points, are above δ(ε) for ε of either
sign, so a pair (P, Q) of which they are the truth dominates the collection. Kept is P's probability of each loss
ln(P/Q) on the grid, and δ(ε) = Σ P(x)(1 − e^{ε−x})_+ + P(∞). As nothing is subtracted from the sums of a convolution,
they keep their relative accuracy, and δ = 10^-100 is as good as 10^-3; by Fourier transforms it would be lost in errors
of 10^-15. What the relative errors come to at most is kept too, and added.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from peos.privacy.binomial import Floats

_UNIT: Final = 2.0**-52
_DRAWN: Final = 1e-12  # relative: above the rounding of one distribution's masses
_SPLIT: Final = 1e-9  # of a mass: above what rounding moves from a point of the grid to the one below
_UNDERFLOW: Final = 1e-300  # above all products that are too small for a float
_HALVINGS: Final = 60


@dataclass(frozen=True, eq=False)
class Losses:
    """Masses at (first + i)·step and at infinity, less than `error` of themselves below what they should be."""

    step: float
    first: int
    masses: Floats
    infinite: float
    error: float

    def composed(self, other: "Losses", cut: float) -> "Losses":
        """Both together; masses of up to `cut` at either end are moved up, where they can only count for more."""
        masses = np.convolve(self.masses, other.masses)
        kept = len(masses) - int(np.searchsorted(np.cumsum(masses[::-1]), cut, side="right"))
        low = min(int(np.searchsorted(np.cumsum(masses[:kept]), cut, side="right")), max(kept - 1, 0))
        infinite = self.infinite + other.infinite + float(np.sum(masses[kept:])) + _UNDERFLOW
        error = self.error + other.error + (len(masses) + 8) * _UNIT
        below, masses = float(np.sum(masses[:low])), masses[low:kept]
        masses[:1] += below
        return Losses(self.step, self.first + other.first + low, masses, infinite, error)

    def repeated(self, times: int, cut: float) -> "Losses":
        """As many as that, by squaring; what is cut off adds up to less than `times` cuts at either end."""
        if times == 1:
            return self
        half = self.repeated(times // 2, cut)
        both = half.composed(half, cut)
        return both.composed(self, cut) if times % 2 else both

    def delta(self, epsilon: float) -> float:
        """δ(ε) of the pair, from above."""
        x = self.step * np.arange(self.first, self.first + len(self.masses))
        above = x > epsilon
        found = float(np.sum(self.masses[above] * -np.expm1(epsilon - x[above])))
        return (found + self.infinite) * (1 + self.error + (len(x) + 8) * _UNIT)

    def epsilon(self, delta: float) -> float:
        """The least ε ≥ 0 at which δ(ε) is at most `delta`; infinite if there is none."""
        low, high = 0.0, self.step * max(self.first + len(self.masses), 0)
        if self.delta(high) > delta:
            return math.inf
        if self.delta(low) <= delta:
            return low
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self.delta(middle) <= delta else (middle, high)
        return high * (1 + 2.0**-40)  # above the rounding of the grid


def losses(nodes: Floats, deltas: Floats, step: float) -> Losses:
    """A pair that dominates one with at most those δ at those ε, the first of them 0, the others rising.

    The pair is symmetric, so δ(−ε) = 1 − e^{−ε}(1 − δ(ε)), and P(−x) = e^{−x}P(x). Mass comes where a slope changes: at
    t = e^ε it is t times that change.
    """
    above_1 = np.expm1(nodes)  # t − 1, which keeps its digits where ε is small
    # The line from a point to its mirror image is at this height where t = 1; the curve is not above any of them.
    heights = deltas.copy()
    heights[0] = np.min(deltas + (1 - deltas) * above_1 / (2 + above_1))
    at = _corners(above_1, heights)
    slopes = np.append(np.diff(heights[at]) / np.diff(above_1[at]), 0.0)
    bends = np.diff(slopes) + 16 * _UNIT * (np.abs(slopes[1:]) + np.abs(slopes[:-1]))
    alone = max(0.0, 1 - heights[0] + 2 * slopes[0]) + 16 * _UNIT
    rising = np.zeros(math.ceil(nodes[-1] / step) + 3)
    x, mass = nodes[at[1:]], (1 + above_1[at[1:]]) * bends
    # Each mass goes to its neighbours on the grid so that P and Q keep what they have.
    index = np.floor(x / step).astype(np.intp)
    index += x - index * step >= step  # where the division was rounded down to below a whole number
    over = np.maximum(x - index * step, 0.0)
    np.add.at(rising, index + 1, mass * (np.expm1(-over) / math.expm1(-step) + _SPLIT))
    np.add.at(rising, index, mass * np.exp(-over) * np.maximum(np.expm1(over - step) / math.expm1(-step), 0.0))
    falling = rising * np.exp(-step * np.arange(len(rising)))
    masses = np.concatenate((falling[:0:-1], [alone + 2 * rising[0]], rising[1:]))
    return Losses(step, 1 - len(rising), masses, float(deltas[-1]), _DRAWN)


def _corners(x: Floats, y: Floats) -> list[int]:
    """Which of the points are the corners of the greatest convex function that is nowhere above them."""
    kept: list[int] = []
    for at in range(len(x)):
        while len(kept) > 1 and (y[kept[-1]] - y[kept[-2]]) * (x[at] - x[kept[-2]]) >= (y[at] - y[kept[-2]]) * (
            x[kept[-1]] - x[kept[-2]]
        ):
            kept.pop()
        kept.append(at)
    return kept
