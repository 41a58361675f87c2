"""Tables of overlapping attributes made to agree, and then to be tables of shares (Qardaji, Yang, Li 2014; thesis §6).

For every set A of attributes that blocks have in common, the smaller first, each table's marginal over A is moved to
the mean of all of them, weighted by the inverse of their variances; what is added to a cell of A goes evenly to its
cells. A later step leaves what an earlier one made equal. The empty set comes first: every table sums to one. After it
negative cells go: each table to the nearest table of shares. That unsettles the rest, so both are done a few times.

Tables stand in arrays (runs, values of the first attribute, …): what is done to one is done to simulated ones at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.tasks.marginals.design import Block

Floats = NDArray[np.float64]
Variance = Callable[[int, int], float]
"""Of a cell of table j if it is summed to so many cells."""

ROUNDS: Final = 3


@dataclass(frozen=True)
class Overlaps:
    """Blocks of attributes of these sizes, and what they have in common."""

    blocks: tuple[Block, ...]
    sizes: tuple[int, ...]  # of all attributes

    def shape(self, attributes: Sequence[int]) -> tuple[int, ...]:
        """How many values each has."""
        return tuple(self.sizes[one] for one in attributes)

    def cells(self, attributes: Sequence[int]) -> int:
        """How many cells a table of them has."""
        return int(np.prod(self.shape(attributes), dtype=np.int64))

    @cached_property
    def common(self) -> tuple[tuple[Block, tuple[int, ...]], ...]:
        """Every set that two blocks or more have in common, the smaller first, with the tables that have it."""
        blocks = [frozenset(block) for block in self.blocks]
        found: set[frozenset[int]] = {frozenset()}
        fresh = {one & other for at, one in enumerate(blocks) for other in blocks[:at]}
        while fresh:
            found |= fresh
            fresh = {one & block for one in fresh for block in blocks} - found - {*blocks}
        ordered = sorted(found, key=lambda one: (len(one), sorted(one)))
        held = [(tuple(sorted(one)), tuple(at for at, block in enumerate(blocks) if one <= block)) for one in ordered]
        return tuple((one, at) for one, at in held if len(at) > 1 or not one)

    def summed(self, table: Floats, block: Block, attributes: Sequence[int]) -> Floats:
        """A table's marginal over some of its attributes, in its own order; other axes keep a length of one."""
        gone = tuple(axis for axis, one in enumerate(block, start=1) if one not in attributes)
        return np.asarray(table.sum(axis=gone, keepdims=True))

    def agreed(self, tables: Sequence[Floats], variance: Variance) -> list[Floats]:
        """The tables, moved until they agree on what they have in common."""
        moved = [table.copy() for table in tables]
        for attributes, held in self.common:
            cells = self.cells(attributes)
            shape = (-1, *self.shape(attributes))
            marginals = [self.summed(moved[at], self.blocks[at], attributes) for at in held]
            if attributes:
                weights = np.array([1 / variance(at, cells) for at in held])
                parts = zip(weights / weights.sum(), marginals, strict=True)
                mean = np.sum([weight * marginal.reshape(shape) for weight, marginal in parts], axis=0)
            else:
                mean = np.ones(1)
            for at, marginal in zip(held, marginals, strict=True):
                change = np.broadcast_to(mean, marginal.reshape(shape).shape).reshape(marginal.shape) - marginal
                moved[at] += change * (cells / self.cells(self.blocks[at]))
        return moved

    def fitted(self, tables: Sequence[Floats], variance: Variance, rounds: int = ROUNDS) -> list[Floats]:
        """Agreed, and without negative cells."""
        found = list(tables)
        for _ in range(rounds):
            found = [shares(table) for table in self.agreed(found, variance)]
        return found


def shares(table: Floats) -> Floats:
    """For each run the nearest table (in squares) of cells that are not negative and sum to one."""
    flat = table.reshape(len(table), -1)
    down = -np.sort(-flat, axis=1)
    above = (np.cumsum(down, axis=1) - 1) / np.arange(1, flat.shape[1] + 1)
    kept = np.count_nonzero(down > above, axis=1)
    return np.asarray(np.maximum(flat - above[np.arange(len(flat)), kept - 1, np.newaxis], 0.0).reshape(table.shape))
