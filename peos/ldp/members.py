"""The members of a family of mechanisms, as arrays: what a planner compares before it builds one of them.

A report is two-level (privacy.md §0): uniform with probability γ = 1/(1 + (e^(ε_l) − 1)·match), else
uniform among the patterns that match the value. Accuracy and the accounting of a shuffle follow from ε_l, the chance of
a match and how often two values are matched by the same report.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Grid:
    """Of each size (a row) at each ε_l (a column), or what broadcasts to that."""

    match: Floats  # a uniform report matches a value
    collision: Floats  # a report that tells one value matches another: as estimates have it
    least_collision: Floats  # the least of it that privacy may count on
    support: Floats | None = None  # a uniform report supports what is estimated: `match` where that is the value itself
    tells: float = 1.0  # the share of her reports that tell it, if she tells one of several

    def variance(self, share: Floats, users: int, fakes: Floats | int) -> Floats:
        """Of each member with that γ the variance of a frequency near 0."""
        u = self.match if self.support is None else self.support
        q = (1 - share) * self.collision + share * u
        distance = (1 - share) * (1 - self.collision) * self.tells
        return np.asarray((users * q * (1 - q) + fakes * u * (1 - u)) / (users * distance) ** 2)


@dataclass(frozen=True)
class Members:
    """Numbers of cells k to choose from, with μ (support of a uniform word) and c (collision probability) of each."""

    cells: NDArray[np.int64]
    support: Floats
    collision: Floats


def local_variance(gain: float, match: Floats, collision: Floats) -> Floats:
    """q(1 − q)/(p − q)² of each member with E − 1 = `gain`: n times the variance of a frequency near 0, unshuffled."""
    share = 1 / (1 + gain * match)
    q = (1 - share) * collision + share * match
    return np.asarray(q * (1 - q) / ((1 - share) * (1 - collision)) ** 2)
