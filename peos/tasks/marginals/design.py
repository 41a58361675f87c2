"""Which tables to ask: blocks of attributes that together cover every pair of them, or every k-set.

In one shuffled collection the number of tables costs, not their size: each user's report is of one of the t tables, so
that sampling and noise grow with t, while at a given ε_c the noise in a cell is nearly the same for tables of any size
(privacy.md §2). So tables are as large as the share of uniform reports allows, and as few as cover.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import combinations
from typing import Final

import numpy as np

Block = tuple[int, ...]

MOST_SETS: Final = 20_000  # sets that a cover is looked for
_MOST_GREEDY: Final = 2_000  # beyond it a greedy cover takes seconds, and is only looked for where no other is known
_ORDERS: Final = 8  # in which attributes are tried


@cache
def cover(attributes: int, strength: int, size: int) -> tuple[Block, ...]:
    """Few blocks of at most `size` of the attributes, such that each set of `strength` of them is in one."""
    if size >= attributes:
        return (tuple(range(attributes)),)
    found, sets = list(_designs(attributes, strength, size)), math.comb(attributes, strength)
    if sets <= _MOST_GREEDY or not found:
        orders = _ORDERS if sets <= _MOST_GREEDY else 1
        found += [_greedy((2,) * attributes, strength, 2**size, order) for order in range(orders)]
    return min(found, key=len)


def cover_by_cells(sizes: Sequence[int], strength: int, cells: int) -> tuple[Block, ...]:
    """The same where attributes have different numbers of values: blocks of at most so many cells.

    A set that is larger by itself is a block of its own.
    """
    if len({*sizes}) == 1:
        size = max(strength, _most(sizes[0], cells))
        return cover(len(sizes), strength, size)
    return min((_greedy(tuple(sizes), strength, cells, order) for order in range(_ORDERS)), key=len)


def _most(values: int, cells: int) -> int:
    size = 1
    while values ** (size + 1) <= cells:
        size += 1
    return size


def _designs(attributes: int, strength: int, size: int) -> Iterator[tuple[Block, ...]]:
    """Covers that are known: all subsets, planes, quadruples, and covers of groups of attributes."""
    if math.comb(attributes, size) <= MOST_SETS and size == strength:
        yield tuple(combinations(range(attributes), size))
    if strength == 2:
        for order in (2, 3, 4, 5, 7, 8):
            if order <= size and attributes <= order**2:
                yield _pruned(_plane(order), attributes)
    if strength == 3 and size >= 4:
        points = 1 << (attributes - 1).bit_length()
        if points <= 64:
            yield _pruned(_quadruples(points), attributes)
    for group in range(2, size // strength + 1):
        groups = -(-attributes // group)
        wide = cover(groups, strength, size // group)
        yield _pruned(([one * group + at for one in block for at in range(group)] for block in wide), attributes)


def _plane(order: int) -> Iterator[list[int]]:
    """Lines of the affine plane over the field of that order: two points are on one line."""
    for slope in range(order):
        for offset in range(order):
            yield [x * order + _sum(_product(slope, x, order), offset, order) for x in range(order)]
    for x in range(order):
        yield [x * order + y for y in range(order)]


def _sum(one: int, other: int, order: int) -> int:
    return one ^ other if order in (4, 8) else (one + other) % order


def _product(one: int, other: int, order: int) -> int:
    if order not in (4, 8):
        return one * other % order
    degree, found = order.bit_length() - 1, 0
    for bit in range(degree):
        found ^= (one << bit) * (other >> bit & 1)
    for bit in range(2 * degree - 2, degree - 1, -1):  # by x² + x + 1, or x³ + x + 1
        found ^= (0b111 if order == 4 else 0b1011) << (bit - degree) if found >> bit & 1 else 0
    return found


def _quadruples(points: int) -> Iterator[list[int]]:
    """Four points of which the fourth is the exclusive or of three: these are in no other."""
    for one, two, three in combinations(range(points), 3):
        if (last := one ^ two ^ three) > three:
            yield [one, two, three, last]


def _pruned(blocks: Iterable[Sequence[int]], attributes: int) -> tuple[Block, ...]:
    """Without attributes that there are not, and without blocks that are within others."""
    given = sorted({frozenset(one for one in block if one < attributes) for block in blocks}, key=len, reverse=True)
    kept: list[frozenset[int]] = []
    for block in given:
        if not any(block <= other for other in kept):
            kept.append(block)
    return tuple(sorted(tuple(sorted(block)) for block in kept))


def _greedy(sizes: tuple[int, ...], strength: int, cells: int, order: int) -> tuple[Block, ...]:
    """Block after block, each grown by the attribute that covers most; ties fall by `order`.

    An attribute gains one for each set that it completes, and a little for those that it brings nearer.
    """
    attributes = len(sizes)
    turn = np.array([(place * (2 * order + 1) + order * order) % 97 for place in range(attributes)]) / 1e3
    left = np.array(list(combinations(range(attributes), strength)), dtype=np.intp)
    blocks = []
    while len(left):
        often = np.bincount(left.reshape(-1), minlength=attributes) + turn
        block = np.zeros(attributes, dtype=np.bool_)
        block[left[np.argmax(often[left].sum(axis=1))]] = True
        while True:
            room = cells // math.prod(size for size, within in zip(sizes, block.tolist(), strict=True) if within)
            free = np.array([not within and size <= room for size, within in zip(sizes, block.tolist(), strict=True)])
            if not np.any(free):
                break
            missing = ~block[left]
            nearness = missing * 1e-3 ** (missing.sum(axis=1, keepdims=True) - 1.0)
            gains = np.bincount(left.reshape(-1), weights=nearness.reshape(-1), minlength=attributes)
            block[np.argmax(np.where(free, gains / np.log(sizes) + turn * 1e-9, -1.0))] = True
        left = left[~block[left].all(axis=1)]
        blocks.append(tuple(np.flatnonzero(block).tolist()))
    return tuple(sorted(blocks))
