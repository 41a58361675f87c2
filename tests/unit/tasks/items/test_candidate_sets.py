"""Candidate sets: the best by the product of their items' frequencies, found without looking at all of them."""

import itertools
import math
import time

import numpy as np
import pytest

from peos.tasks.base import Table
from peos.tasks.items.candidates import best_first, candidate_sets
from peos.tasks.items.views import set_of
from peos.tasks.labels import LABELS_LIMIT


def table(labels: list[str], frequency: list[float]) -> Table:
    number = len(labels)
    rows = np.zeros((number, 2))
    return Table(tuple(labels), np.array(frequency), rows[:, 0], rows, rows[:, 0] > 0, number, 1)


@pytest.mark.parametrize("largest", [1, 2, 3, 4])
def test_sets_come_by_falling_products_each_once_and_none_is_left_out(largest: int) -> None:
    rng = np.random.default_rng(largest)
    factors = sorted((rng.random(9) * 0.9).tolist(), reverse=True)
    found = list(best_first(factors, largest))
    every = [one for size in range(1, largest + 1) for one in itertools.combinations(range(9), size)]
    assert sorted(found) == sorted(every)
    products = [math.prod(factors[place] for place in one) for one in found]
    assert products == sorted(products, reverse=True)


@pytest.mark.parametrize("k", [5, 8, 16, 20])
def test_they_are_the_2k_best_of_the_sizes_below_the_logarithm_of_k(k: int) -> None:
    rng = np.random.default_rng(k)
    frequency = rng.random(2 * k).tolist()
    found = candidate_sets(table([str(at) for at in range(2 * k)], frequency), k)
    best = sorted(range(2 * k), key=lambda at: -frequency[at])[:k]
    top = frequency[best[0]]
    sizes = [size for size in range(2, k) if size < math.log2(k)]
    every = sorted(
        (-math.prod(0.9 * frequency[at] / top for at in one), one)
        for s in sizes
        for one in itertools.combinations(best, s)
    )[: 2 * k]
    assert {frozenset(map(int, set_of(label))) for label in found} == {frozenset(one) for _, one in every}
    assert len(found) == min(2 * k, math.comb(k, 2) + (math.comb(k, 3) if k > 8 else 0))


def test_items_that_are_not_there_are_in_no_set() -> None:
    assert candidate_sets(table(["a", "b", "c"], [0.5, 0.0, -0.2]), 16) == ()
    assert candidate_sets(table(["a", "b", "c"], [0.5, 0.1, -0.2]), 16) == ('["a", "b"]',)
    assert candidate_sets(table([], []), 16) == ()
    assert candidate_sets(table(["a", "b"], [0.5, 0.5]), 4) == ()


def test_a_thousand_items_take_no_more_than_two_seconds() -> None:
    """k = 1,024: of 10^24 sets the 2,048 best; in processor time, of which a fiftieth is taken."""
    labels = [str(at) for at in range(2_048)]
    before = time.process_time()
    found = candidate_sets(table(labels, [1 / (at + 20) for at in range(2_048)]), 1_024)
    assert time.process_time() - before < 2.0
    assert len(found) == 2_048


def test_no_more_are_asked_about_than_a_document_can_list() -> None:
    labels = [f"{at:0100d}x" for at in range(400)]
    found = candidate_sets(table(labels, [1 / (at + 20) for at in range(400)]), 400)
    assert found == ()  # two of these names are too long for a label
    shorter = candidate_sets(
        table([f"{at:060d}x" for at in range(1_200)], [1 / (at + 20) for at in range(1_200)]), 1_000
    )
    assert 300 < len(shorter) < 2_000
    assert sum(len(label.encode()) for label in shorter) <= LABELS_LIMIT
