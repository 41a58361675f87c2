"""Least squares on the tree: what all levels say of every cell, the whole being 1 (Hay et al. 2010, weighted).

Each level's counts are unbiased for its nodes, and a node is its children's sum. The linear combination of least
variance is found in two passes. Cells stay below 0 where they came out so: a range adds many of them up, and a step
that makes each of them non-negative shifts the sum of small ones all in the same direction (docs/tasks.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from peos.tasks.ranges.levels import Levels

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TreeFit:
    """How levels 1 to h are put together, of which a node's estimate has `variances[level − 1]`; inf if it has none."""

    levels: Levels
    variances: tuple[float, ...]

    def cells(self, nodes: Sequence[Floats]) -> Floats:
        """What every cell is, from the estimates of the nodes of levels 1 to h."""
        height = self.levels.height
        below = [np.asarray(nodes[-1], np.float64)]
        for level in range(height - 1, 0, -1):
            own = self._own[level]
            mixed = np.where(own > 0.0, own * nodes[level - 1], 0.0) + (1.0 - own) * self._sums(below[0], level)
            below.insert(0, mixed)
        found: Floats = np.ones(1)
        for level in range(height):
            children = below[level]
            off = found - self._sums(children, level)
            found = children + self._shares[level] * self._spread(off, level)
        return found

    def weights(self, wanted: Floats) -> list[Floats]:
        """How each node's estimate counts in Σ wanted·cell; a constant is what then remains (the transpose)."""
        height = self.levels.height
        down = np.asarray(wanted, np.float64)
        direct: list[Floats] = []
        for level in range(height - 1, -1, -1):
            off = self._sums(self._shares[level] * down, level)
            direct.insert(0, down - self._spread(off, level))
            down = off
        found = [direct[0]]
        for level in range(1, height):
            own, above = self._own[level], found[-1]
            found[-1] = own * above
            found.append(direct[level] + self._spread((1.0 - own) * above, level))
        return found

    def _sums(self, children: Floats, level: int) -> Floats:
        return np.add.reduceat(children, self.levels.starts(level))

    def _spread(self, nodes: Floats, level: int) -> Floats:
        """Each node's number for each of its children."""
        return np.repeat(nodes, self.levels.fanout)[: self.levels.sizes[level + 1]]

    @cached_property
    def _variance(self) -> list[Floats]:
        """Of levels 1 to h: a node's variance by itself and all that is below it, up to a factor."""
        finite = [one for one in self.variances if np.isfinite(one)]
        scale = 1.0 / min(finite)
        found = [np.full(self.levels.sizes[-1], self.variances[-1] * scale)]
        for level in range(self.levels.height - 1, 0, -1):
            found.insert(0, 1.0 / (1.0 / (self.variances[level - 1] * scale) + 1.0 / self._sums(found[0], level)))
        return found

    @cached_property
    def _own(self) -> list[Floats]:
        """Of each level the weight of a node's own estimate against its children's sum."""
        scale = 1.0 / min(one for one in self.variances if np.isfinite(one))
        own = [np.zeros(1)]
        for level in range(1, self.levels.height):
            own.append(self._variance[level - 1] / (self.variances[level - 1] * scale))
        return own

    @cached_property
    def _shares(self) -> list[Floats]:
        """Of each level's children the share that each takes of what is off."""
        return [
            variance / self._spread(self._sums(variance, level), level) for level, variance in enumerate(self._variance)
        ]
