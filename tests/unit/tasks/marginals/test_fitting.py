"""Consistency, the step to tables of shares, and maximum entropy, each against what defines it."""

from itertools import pairwise

import numpy as np
import pytest

from peos.tasks.marginals.consistency import Overlaps, shares
from peos.tasks.marginals.design import cover
from peos.tasks.marginals.maxent import covering, marginal
from tests.unit.tasks.marginals.populations import counted, one_factor

RNG = np.random.default_rng(5)
BLOCKS = ((0, 1, 2), (1, 2, 3), (0, 3, 4), (2, 4))
SIZES = (2, 3, 2, 4, 2)


def noisy(overlaps: Overlaps, runs: int = 2) -> list[np.ndarray]:
    return [RNG.normal(1 / overlaps.cells(block), 0.05, (runs, *overlaps.shape(block))) for block in overlaps.blocks]


def test_agreed_tables_have_the_same_marginals_and_sum_to_one() -> None:
    overlaps = Overlaps(BLOCKS, SIZES)
    found = overlaps.agreed(noisy(overlaps), lambda table, cells: (1 + table) / cells)
    for attributes, held in overlaps.common:
        marginals = [overlaps.summed(found[at], BLOCKS[at], attributes).reshape(2, -1) for at in held]
        for one, other in pairwise(marginals):
            assert np.allclose(one, other, atol=1e-12), attributes
    assert all(np.allclose(table.reshape(2, -1).sum(axis=1), 1.0) for table in found)
    again = overlaps.agreed(found, lambda *_: 1.0)
    assert all(np.allclose(one, other) for one, other in zip(found, again, strict=True)), "nothing is left to move"


def test_the_common_marginal_is_the_mean_by_inverse_variances() -> None:
    overlaps = Overlaps(((0, 1), (1, 2)), (2, 3, 2))
    given = noisy(overlaps)
    given = [table / table.reshape(2, -1).sum(axis=1).reshape(2, 1, 1) for table in given]
    found = overlaps.agreed(given, lambda table, _: (1.0, 3.0)[table])
    expected = 0.75 * given[0].sum(axis=1) + 0.25 * given[1].sum(axis=2)
    assert np.allclose(found[0].sum(axis=1), expected)
    assert np.allclose(found[1].sum(axis=2), expected)


def test_the_nearest_shares_are_nearer_than_others() -> None:
    given = RNG.normal(0.1, 0.2, (20, 3, 3))
    found = shares(given)
    assert np.all(found >= 0)
    assert np.allclose(found.sum(axis=(1, 2)), 1.0)
    away = ((given - found) ** 2).sum(axis=(1, 2))
    for _ in range(200):
        other = RNG.dirichlet(np.ones(9), 20).reshape(20, 3, 3)
        between = found + RNG.uniform(0, 0.2) * (other - found)
        assert np.all(((given - between) ** 2).sum(axis=(1, 2)) >= away - 1e-12)


def test_maximum_entropy_keeps_every_marginal_and_gains_what_no_table_knows() -> None:
    cells = one_factor(50_000, 8, seed=3)
    blocks = cover(8, 2, 4)
    overlaps = Overlaps(blocks, (2,) * 8)
    tables = [counted(cells, block)[np.newaxis] for block in blocks]
    asked = (7, 0, 3, 5)
    found = marginal(overlaps, tables, asked)[0]
    assert not covering(overlaps, asked)
    for pair in ((0, 1), (0, 3), (2, 3)):
        gone = tuple(at for at in range(4) if at not in pair)
        names = tuple(asked[at] for at in pair)
        assert np.allclose(found.sum(axis=gone), counted(cells, names), atol=1e-6), names
    entropy = -np.sum(found * np.log(found))
    # Along a direction that leaves all the marginals as they are it can only fall: a 4-way parity.
    parity = np.prod(np.meshgrid(*[[1.0, -1.0]] * 4, indexing="ij"), axis=0)
    for step in (1e-4, -1e-4):
        moved = found + step * parity
        assert -np.sum(moved * np.log(moved)) < entropy
    assert np.allclose(marginal(overlaps, tables, (3, 0))[0], counted(cells, (3, 0))), "axes as asked"


@pytest.mark.parametrize(("attributes", "ways"), [(16, 3), (32, 3)])
def test_one_factor_populations_are_known_from_their_pairs(attributes: int, ways: int) -> None:
    """What maximum entropy misses of k-sets that no table has, without any noise: a twentieth of MISSED at most."""
    cells, rng = one_factor(2**16, attributes, seed=4), np.random.default_rng(6)
    blocks = cover(attributes, 2, 8)
    overlaps = Overlaps(blocks, (2,) * attributes)
    tables = [counted(cells, block)[np.newaxis] for block in blocks]
    missed: list[float] = []
    while len(missed) < 12:
        asked = tuple(rng.choice(attributes, ways, replace=False).tolist())
        if not covering(overlaps, asked):
            missed.append(float(np.sum((marginal(overlaps, tables, asked)[0] - counted(cells, asked)) ** 2)))
    assert np.mean(missed) < 1e-6, missed
