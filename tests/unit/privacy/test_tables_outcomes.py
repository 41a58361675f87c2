"""Hidden tables against every outcome of tiny collections: the claim is never below the truth, and equal to it.

A record is a cell in each table, a report a table and a cell of it: all that two records can be told apart by.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from peos.crypto.randomness import U64, Randomness
from peos.ldp.blanket import Blanket
from peos.ldp.grouped_tables import GroupedTables
from peos.privacy.exact import bound, least_epsilon
from tests.full import full
from tests.unit.ldp.enumeration import Enumeration
from tests.unit.privacy.outcomes import Law, true_delta, view

Case = tuple[tuple[int, ...], tuple[int, ...]]
EPSILONS = (0.0, 0.2, 0.6, 1.0)
ROUNDING = 1e-13
CASES = [
    ((2, 2), (1, 1)),
    ((2, 2), (1, 3)),
    full(((2, 3), (1, 1))),
    full(((2, 3), (2, 1))),
    full(((2, 2, 2), (1, 1, 1))),
    full(((2, 2, 2), (1, 2, 1))),
]


def laws(tables: tuple[int, ...], weights: tuple[int, ...], epsilon: float = 1.5) -> tuple[list[Law], Law, Blanket]:
    """A report's law for every record, a fake's, and what the accounting makes of it."""
    mechanism = GroupedTables(tables, epsilon, weights=weights)
    γ, own = mechanism.gamma, sum(weights)
    slots = sum(size * weight for size, weight in zip(tables, weights, strict=True))
    fake: Law = {
        (table, cell): Fraction(weight, slots)
        for table, (size, weight) in enumerate(zip(tables, weights, strict=True))
        for cell in range(size)
    }
    records = itertools.product(*(range(size) for size in tables))
    found: list[Law] = [
        {
            (table, cell): γ * chance + (1 - γ) * (record[table] == cell) * Fraction(weights[table], own)
            for (table, cell), chance in fake.items()
        }
        for record in records
    ]
    blanket = mechanism.blanket
    assert blanket.own == pytest.approx(own / slots)
    return found, fake, blanket


@pytest.mark.parametrize("fakes", [0, 1])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_data_of_the_others_exceeds_the_claim(case: Case, fakes: int) -> None:
    """The analyzer alone, two other users with every pair of records, every pair of the victim's, both directions."""
    found, fake, blanket = laws(*case)
    bounds = [bound(blanket, 2, fakes, epsilon, cut=1e-30) for epsilon in EPSILONS]
    largest = [0.0] * len(EPSILONS)
    for others in itertools.combinations_with_replacement(found, 2):
        views = [view([*others, *[fake] * fakes, law]) for law in found]
        for one, other in itertools.permutations(views, 2):
            for at, epsilon in enumerate(EPSILONS):
                truth = true_delta(one, other, epsilon)
                assert truth <= bounds[at] + ROUNDING, (epsilon, truth, bounds[at])
                largest[at] = max(largest[at], truth)
    assert largest[0] > 0.5 * bounds[0], ("the bound is no empty one", largest, bounds)


@pytest.mark.parametrize("fakes", [1, 2])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_against_all_other_users_the_claim_is_the_truth(case: Case, fakes: int) -> None:
    """Reached by records that differ in every table."""
    found, fake, blanket = laws(*case)
    views = [view([fake] * fakes + [law]) for law in found]
    for epsilon in EPSILONS:
        truth = max(true_delta(one, other, epsilon) for one, other in itertools.permutations(views, 2))
        assert math.isclose(truth, bound(blanket, 0, fakes, epsilon, cut=1e-30), rel_tol=3e-6)


class Assigned(GroupedTables):
    """The analyzer says which table each user answers, in turn, so that it is public: wrong."""

    _bits = 6
    _coin_bits = 10

    def randomize(self, values: np.ndarray, rng: Randomness | None = None) -> U64:
        """Her cell of her table, or any cell of that one."""
        rng = self._rng(rng)
        table = np.arange(len(values)) % len(self.tables)
        cells = self._cells(values)[np.arange(len(values)), table]
        words = np.uint64(2**6 // self.domain) * (self._first_slot[table] + cells).astype(np.uint64)
        uniform = rng.below(np.array(self.tables, np.uint64)[table]) + self._first_slot[table].astype(np.uint64)
        tells = self._mixture.tells(len(values), rng)
        return np.where(tells, words, np.uint64(2**6 // self.domain) * uniform)[:, np.newaxis]


def test_a_table_that_is_public_hides_less_than_is_claimed() -> None:
    """Four users, two tables in turn: the victim hides behind one other user, where three are claimed."""
    mechanism = Assigned((2, 2), 1.5)
    laws: dict[tuple[int, ...], Law] = {}
    for record in itertools.product(range(2), repeat=2):
        # Every draw of a user whose turn is the second table: rows of the first one are left out.
        source = Twice([("below", 2), ("top", 10)])
        words = mechanism.randomize(np.array([record] * source.rows), source)[1::2]
        table, cells = mechanism.decode(words)
        assert set(table.tolist()) == {1}
        chances = np.bincount(cells, minlength=2)
        laws[record] = {(1, cell): Fraction(int(chances[cell]), len(words)) for cell in range(2)}
    claimed = bound(mechanism.blanket, 3, 0, 0.2, cut=1e-30)
    views = [view([laws[0, 0], law]) for law in (laws[0, 0], laws[1, 1])]
    truth = max(true_delta(one, other, 0.2) for one, other in itertools.permutations(views, 2))
    assert truth > 1.1 * claimed, (truth, claimed)
    hidden = {record: _hidden(record) for record in ((0, 0), (1, 1))}
    views = [view([hidden[0, 0]] * 3 + [hidden[record]]) for record in hidden]
    assert true_delta(views[0], views[1], 0.2) <= claimed


class Twice(Enumeration):
    """Each combination of the draws in two rows, one after the other."""

    def __init__(self, draws: list[tuple[str, int]]) -> None:
        super().__init__(draws)
        self._digits = [np.repeat(digits, 2) for digits in self._digits]
        self.rows *= 2


def _hidden(record: tuple[int, ...]) -> Law:
    return laws((2, 2), (1, 1))[0][record[0] * 2 + record[1]]


def test_hidden_tables_have_fifty_times_less_noise_than_public_ones() -> None:
    """n = 2^18, 66 tables of 16 cells, ε_c = .5: the users of one table would need sixty times the noise."""
    users, tables, cells, delta, epsilon = 2**18, 66, 16, 1e-6, 0.5

    def noise(*, hidden: bool) -> float:
        """The variance that blank reports cause in a cell, at the largest ε_l with the claim."""
        low, high = 0.5, 12.0
        while high - low > 1e-3:
            middle = (low + high) / 2
            blanket = GroupedTables([cells] * tables, middle).blanket
            others = users - 1 if hidden else users // tables - 1
            low, high = (middle, high) if least_epsilon(blanket, others, 0, delta) <= epsilon else (low, middle)
        γ = float(GroupedTables([cells] * tables, low).gamma)
        return γ / cells * tables / ((1 - γ) ** 2 * users)

    public, hidden = noise(hidden=False), noise(hidden=True)
    assert public >= 50 * hidden, (public, hidden)
