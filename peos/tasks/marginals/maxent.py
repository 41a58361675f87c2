"""A table of any attributes from tables of overlapping ones: of all that agree with them the one of most entropy.

Where a block has all of the attributes its marginal is the answer. Elsewhere iterative proportional fitting (Deming and
Stephan 1940) starts from the uniform table and scales it to each marginal over what the question has in common with a
block, maximal such sets only, again and again: the limit has the largest entropy of all tables with these marginals, so
that what no table was asked about is as independent as the others allow.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from peos.tasks.marginals.consistency import Floats, Overlaps
from peos.tasks.marginals.design import Block

_SWEEPS: Final = 200
_CLOSE: Final = 1e-7


def marginal(overlaps: Overlaps, tables: Sequence[Floats], attributes: Sequence[int]) -> Floats:
    """(runs, values of the first attribute asked, …): shares, from fitted tables."""
    asked = tuple(sorted(attributes))
    found = _covered(overlaps, tables, asked)
    if found is None:
        found = _scaled(overlaps, tables, asked)
    return np.moveaxis(found, [1 + asked.index(one) for one in attributes], range(1, len(asked) + 1))


def covering(overlaps: Overlaps, attributes: Sequence[int]) -> tuple[int, ...]:
    """The tables that have all of them."""
    return tuple(at for at, block in enumerate(overlaps.blocks) if {*attributes} <= {*block})


def _covered(overlaps: Overlaps, tables: Sequence[Floats], asked: Block) -> Floats | None:
    """The mean of those that have them all, which agree nearly; None if none has."""
    held = covering(overlaps, asked)
    if not held:
        return None
    found = [_over(overlaps, tables[at], overlaps.blocks[at], asked) for at in held]
    return np.asarray(np.mean(found, axis=0))


def _scaled(overlaps: Overlaps, tables: Sequence[Floats], asked: Block) -> Floats:
    constraints = []
    shared = {frozenset(asked) & frozenset(block) for block in overlaps.blocks}
    for one in sorted((one for one in shared if one and not any(one < other for other in shared)), key=sorted):
        part = tuple(sorted(one))
        wanted = _covered(overlaps, tables, part)
        assert wanted is not None, "a block has it"
        kept = tuple(overlaps.sizes[each] if each in one else 1 for each in asked)
        gone = tuple(axis for axis, each in enumerate(asked, start=1) if each not in one)
        constraints.append((gone, wanted.reshape(len(wanted), *kept)))
    found = np.full((len(tables[0]), *overlaps.shape(asked)), 1 / overlaps.cells(asked))
    for _ in range(_SWEEPS):
        farthest = 0.0
        for gone, wanted in constraints:
            present = found.sum(axis=gone, keepdims=True)
            farthest = max(farthest, float(np.abs(present - wanted).max()))
            found *= np.divide(wanted, present, out=np.zeros_like(wanted), where=present > 0)
        if farthest < _CLOSE:
            break
    return np.asarray(found / found.sum(axis=tuple(range(1, found.ndim)), keepdims=True))


def _over(overlaps: Overlaps, table: Floats, block: Block, asked: Block) -> Floats:
    return overlaps.summed(table, block, asked).reshape(len(table), *overlaps.shape(asked))
