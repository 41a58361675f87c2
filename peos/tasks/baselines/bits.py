"""Records of binary attributes as whole numbers, bit i for attribute i, and tables over some of the attributes.

A table over k attributes has 2^k cells; bit j of a cell's place is the j-th attribute as asked.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np

from peos.tasks.baselines.base import Floats, Ints


def subsets(d: int, sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """All sets of attributes of these sizes."""
    return [one for size in sizes for one in combinations(range(d), size)]


def masks(sets: Sequence[Sequence[int]]) -> Ints:
    """Each set as a number."""
    return np.array([sum(1 << one for one in attributes) for attributes in sets], np.int64)


def parity(records: Ints, mask: Ints | int) -> Ints:
    """1 where an odd number of the attributes of the mask are set."""
    return np.asarray(np.bitwise_count(records & mask).astype(np.int64) & 1)


def cells_of(records: Ints, attributes: Sequence[int]) -> Ints:
    """Which cell of the table over these attributes each record is in."""
    found = np.zeros(np.shape(records), np.int64)
    for place, attribute in enumerate(attributes):
        found |= (records >> attribute & 1) << place
    return found


def cells_in(records: Ints, sets: Sequence[tuple[int, ...]], tables: Ints) -> Ints:
    """Which cell each record is in, of its own one of these tables, all of the same size."""
    attributes = np.array(sets)[tables]
    bits = records[:, np.newaxis] >> attributes & 1
    return np.asarray(bits @ (1 << np.arange(attributes.shape[1])))


def table_of(records: Ints, attributes: Sequence[int]) -> Floats:
    """The true table."""
    return np.asarray(np.bincount(cells_of(records, attributes), minlength=2 ** len(attributes)) / len(records))


def summed(table: Floats, over: Sequence[int], attributes: Sequence[int]) -> Floats:
    """The table over some of the attributes of another, in their own order."""
    where = cells_of(np.arange(len(table)), [list(over).index(one) for one in attributes])
    return np.asarray(np.bincount(where, weights=table, minlength=2 ** len(attributes)), np.float64)


def coefficients(d: int, k: int) -> int:
    """|T|: sets of 1 to k attributes."""
    return sum(comb(d, size) for size in range(1, k + 1))


@lru_cache(maxsize=16)
def hadamard(k: int) -> Floats:
    """(2^k, 2^k): (−1)^(number of attributes that two sets share)."""
    every = np.arange(2**k)
    return np.asarray(1.0 - 2.0 * parity(every[:, np.newaxis], every))


def distance(table: Floats, truth: Floats) -> float:
    """Total variation (Definition 3.4)."""
    return float(np.abs(table - truth).sum()) / 2
