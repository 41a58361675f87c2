"""Covers of pairs and triples, and the thesis' rule for the local model at its printed values."""

import math
from itertools import combinations

import pytest

from peos.tasks.marginals.choice import choose, choose_local
from peos.tasks.marginals.design import cover, cover_by_cells
from peos.tasks.planning import Asked, planned_tables
from tests.raising import raises

CASES = [(8, 3, 4, 14), (8, 2, 4, 6), (16, 2, 8, 6), (32, 2, 8, 20), (16, 3, 8, 14), (16, 3, 4, 140), (16, 2, 4, 20)]


@pytest.mark.parametrize(("attributes", "strength", "size", "most"), CASES)
def test_covers_of_known_size_are_reached(attributes: int, strength: int, size: int, most: int) -> None:
    blocks = cover(attributes, strength, size)
    assert len(blocks) <= most
    _require_cover(blocks, attributes, strength)
    assert max(map(len, blocks)) <= size


@pytest.mark.parametrize("attributes", [2, 3, 5, 7, 10, 13, 25])
@pytest.mark.parametrize("strength", [1, 2, 3])
def test_every_cover_covers(attributes: int, strength: int) -> None:
    for size in range(strength, min(attributes, 6) + 1):
        blocks = cover(attributes, strength, size)
        _require_cover(blocks, attributes, strength)
        assert max(map(len, blocks)) <= size
        assert len(blocks) <= math.comb(attributes, strength)


def test_mixed_sizes_are_covered_by_cells_and_what_is_larger_stands_alone() -> None:
    sizes = (2, 10, 8, 3, 12, 2, 100, 90)
    for cells in (4, 64, 256, 4_096):
        for strength in (2, 3):
            blocks = cover_by_cells(sizes, strength, cells)
            _require_cover(blocks, len(sizes), strength)
            for block in blocks:
                product = math.prod(sizes[one] for one in block)
                assert product <= cells or len(block) == strength


def _require_cover(blocks: tuple[tuple[int, ...], ...], attributes: int, strength: int) -> None:
    found = {one for block in blocks for one in combinations(block, strength)}
    assert found >= {*combinations(range(attributes), min(strength, attributes))}


def test_algorithm_2_of_the_thesis_at_its_anchors() -> None:
    assert choose_local(2**16, 8, 3, 2.0) == (14, 4)
    assert [choose_local(2**16, 8, 3, epsilon)[1] for epsilon in (0.2, 0.6, 1.0, 1.4)] == [2, 2, 2, 2]
    assert [choose_local(2**18, 16, 3, epsilon)[1] for epsilon in (1.0, 1.2)] == [2, 3]
    assert [choose_local(2**18, 16, 6, epsilon)[1] for epsilon in (1.4, 1.6)] == [2, 3]
    assert [choose_local(2**18, 16, ways, 1.5)[1] for ways in (3, 5, 7, 8, 10)] == [3, 3, 3, 2, 2]
    assert choose_local(2**16, 16, 6, 0.2)[0] == 65, "m = θn"


@pytest.mark.full
def test_in_a_shuffle_few_large_tables_are_chosen_and_the_limit_on_epsilon_local_is_seen_to_bind() -> None:
    asked = Asked(users=2**16, delta=1e-6, eps_server=1.0, eps_local=8.0)
    found = choose((2,) * 16, 3, asked)
    assert (len(found.blocks), max(map(len, found.blocks))) == (6, 8)
    assert found.plan.guarantees.server.epsilon <= 1.0
    assert found.in_words().startswith("6 tables of 8 attributes, of at most 256 cells; ε_l 7.5")
    assert [note.partition(":")[0] for note in found.notes] == ["next best"]
    bound = choose((2,) * 16, 3, Asked(users=2**16, delta=1e-6, eps_server=0.2, eps_local=5.0))
    assert bound.plan.guarantees.local <= 5.0
    assert any(note.startswith("eps_local = 5 binds") for note in bound.notes)
    assert max(map(len, bound.blocks)) < 8, "smaller tables, and more of them"


def test_tables_of_different_sizes_keep_to_the_targets() -> None:
    for asked in (
        Asked(users=20_000, delta=1e-6, eps_server=0.5),
        Asked(users=20_000, delta=1e-6, eps_server=0.5, eps_users=1.0, eps_local=6.0),
    ):
        found = planned_tables(asked, (20, 48, 36))
        assert found.guarantees.server.epsilon <= 0.5
        assert asked.eps_users is None or found.guarantees.users.epsilon <= asked.eps_users
        assert asked.eps_local is None or found.guarantees.local <= asked.eps_local


def test_targets_that_leave_nothing_are_refused_by_the_one_that_binds() -> None:
    with raises("marginals.useless", "eps_server", kind=None):
        choose((2,) * 4, 2, Asked(users=300, delta=1e-6, eps_server=0.05))
