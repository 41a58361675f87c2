"""Hidden tables, run through every random input of a narrow twin: their law is the claimed one, for every record."""

import itertools
import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from peos.crypto.randomness import Randomness
from peos.ldp import from_parameters
from peos.ldp.grouped_tables import GroupedTables
from tests.raising import raises
from tests.unit.ldp.enumeration import Enumeration

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "grouped_tables.json").read_text())
CASES = [((2,), (1,)), ((2, 2), (1, 1)), ((2, 2), (1, 3)), ((2, 4), (2, 1)), ((2, 3), (1, 1)), ((3, 2), (1, 2))]


class Narrow(GroupedTables):
    """Numbers of 6 bits, which 5 and 7 slots share unevenly, and coins of 5."""

    _bits = 6
    _coin_bits = 5


def law(mechanism: GroupedTables, record: Sequence[int]) -> dict[int, Fraction]:
    """Of the report of a record, over all draws: which slot, which of its words, the coin, a uniform word."""
    slots = sum(size * weight for size, weight in zip(mechanism.tables, mechanism.weights, strict=True))
    preimages = {-(-(slot + 1) * 2**6 // slots) - -(-slot * 2**6 // slots) for slot in range(slots)}
    source = Enumeration(
        [("below", sum(mechanism.weights)), ("below", int(np.lcm.reduce(list(preimages)))), ("top", 5), ("top", 6)]
    )
    words = mechanism.randomize(np.array([record] * source.rows), source)
    assert source.finished()
    found, counts = np.unique(words[:, 0], return_counts=True)
    return {int(one): Fraction(int(count), source.rows) for one, count in zip(found, counts, strict=True)}


@pytest.mark.parametrize(("tables", "weights"), CASES, ids=str)
def test_a_report_is_uniform_with_probability_gamma_else_a_word_of_a_cell_of_hers(
    tables: tuple[int, ...], weights: tuple[int, ...]
) -> None:
    mechanism = Narrow(tables, 2.0, weights=weights)
    words = np.arange(2**6, dtype=np.uint64)[:, np.newaxis]
    of_table, cells = mechanism.decode(words)
    shares = np.array(
        [np.count_nonzero((of_table == table) & (cells == cell)) for table, cell in zip(of_table, cells, strict=True)]
    )
    told = []
    for record in itertools.product(*(range(size) for size in tables)):
        found = law(mechanism, record)
        told.append(found)
        assert set(found) == set(range(2**6)), "every pattern is likely under every record"
        for word, table in enumerate(of_table.tolist()):
            hers = cells[word] == record[table]
            rest = found[word] - mechanism.gamma / 2**6
            assert (rest > 0) == hers
        for table, weight in enumerate(weights):
            here = sum(
                (chance - mechanism.gamma / 2**6 for word, chance in found.items() if of_table[word] == table),
                Fraction(0),
            )
            assert here == (1 - mechanism.gamma) * Fraction(weight, sum(weights)), "tables are drawn by weight"
    assert np.all(shares > 0)
    worst = max(float(one[word] / other[word]) for one, other in itertools.permutations(told, 2) for word in one)
    assert worst == pytest.approx(np.exp(mechanism.epsilon_local), rel=1e-12), "never above, and reached"


def test_what_is_drawn_is_the_same_for_every_record() -> None:
    """The stream is where it would be for any other record; with 2^k slots, where no draw has to be repeated."""
    mechanism, after = GroupedTables((4, 6), 3.0, weights=(1, 2)), set()
    for record in ((0, 0), (3, 5), (1, 4)):
        rng = Randomness(bytes(32))
        mechanism.randomize(np.array([record] * 50), rng)
        after.add(rng.bytes(32))
    assert len(after) == 1


@pytest.mark.parametrize("vector", VECTORS["words"], ids=lambda vector: f"{len(vector['tables'])}-{vector['word']}")
def test_words_are_the_cells_of_the_vectors(vector: dict[str, Any]) -> None:
    mechanism = GroupedTables(vector["tables"], 2.0, weights=vector["weights"])
    word = np.array([[vector["word"]]], np.uint64)
    table, cell = mechanism.decode(word)
    assert (int(table[0]), int(cell[0])) == (vector["table"], vector["cell"])
    tally = mechanism.tally(word)
    assert tally.sum() == mechanism.counts_of(tally, int(table[0]))[cell[0]] == 1


def test_a_document_makes_the_same_mechanism_and_refuses_what_is_none() -> None:
    made = GroupedTables((4, 4, 16), 3.0, weights=(1, 1, 2))
    again = from_parameters(made.name, made.domain, made.parameters)
    assert again == made
    assert again.epsilon_local == made.epsilon_local <= 3.0
    assert made.of((8, 8)).epsilon_local <= made.epsilon_local
    for change, domain, id_ in (
        ({"weight_1": 0}, 24, "mechanism.range"),
        ({"cells_1": 1}, 24, "mechanism.range"),
        ({"weight_4": 1}, 24, "mechanism.parameters"),
        ({"cells_1": 5}, 24, "mechanism.cells"),
        ({"weight_3": 2**24}, 24, "mechanism.range"),
        ({}, 25, "mechanism.cells"),
    ):
        with raises(id_):
            from_parameters(made.name, domain, {**made.parameters, **change})
    with raises("mechanism.range"):
        GroupedTables((), 1.0)
    with raises("mechanism.table_weights"):
        GroupedTables((2, 2), 1.0, weights=(1,))
    with raises("mechanism.table_cells"):
        made.randomize(np.zeros((3, 2), np.int64))
    with raises("mechanism.table_cell"):
        made.randomize(np.array([[0, 0, 15], [0, 4, 0]]))
    with raises("mechanism.counts"):
        made.estimate(np.zeros(3, np.int64), 10)


RUNS = 1_500


@pytest.mark.parametrize(
    ("tables", "weights", "users", "fakes", "epsilon"),
    [
        ((16,) * 6, (1,) * 6, 6_000, 0, 4.0),
        ((16,) * 6, (1,) * 6, 6_000, 3_000, 2.5),
        ((4, 16, 40), (1, 1, 1), 3_000, 1_500, 4.0),
        ((4, 16, 40), (3, 1, 2), 3_000, 1_500, 6.0),
        ((16,), (1,), 2_000, 500, 3.0),
    ],
    ids=str,
)
def test_estimates_are_unbiased_with_the_stated_error_and_coverage(
    tables: tuple[int, ...], weights: tuple[int, ...], users: int, fakes: int, epsilon: float
) -> None:
    """From real reports, in each table of each kind; cells that no user, a tenth and most of the users have."""
    mechanism = GroupedTables(tables, epsilon, weights=weights)
    rng = Randomness(b"\x07" * 32)
    column = np.where(np.arange(users) < users // 10, 1, np.where(np.arange(users) < users // 4, 2, 3))
    cells = np.stack([column] * len(tables), axis=1)
    truth = np.array([0, 0.1, 0.15, 0.75])
    found, covered, variances = [], [], []
    for _ in range(RUNS // 5):
        words = np.concatenate((mechanism.randomize(cells, rng), rng.uint64((fakes, 1))))
        estimate = mechanism.estimate(mechanism.tally(words), users, fakes)
        found.append([one.frequency[:4] for one in estimate.tables])
        ends = [one.interval()[:4] for one in estimate.tables]
        covered.append([(end[:, 0] <= truth) & (truth <= end[:, 1]) for end in ends])
        variances.append([one.oracle.variance(one.reports, users, fakes, truth) for one in estimate.tables])
    every, spread = np.array(found), np.std(found, axis=0)
    z = (every.mean(axis=0) - truth) / (spread / np.sqrt(len(every)))
    assert np.abs(z).max() < 5.2, ("unbiased", z)
    ratio = (every.var(axis=0) / np.mean(variances, axis=0)).mean(axis=0)
    assert np.all(np.abs(ratio - 1) < 0.3 / np.sqrt(len(tables)) + 0.03), ("the stated variance", ratio)
    rates = np.mean(covered, axis=(0, 1))
    assert np.all(np.abs(rates - 0.95) < 0.03), ("coverage", rates)


def test_cells_that_no_user_has_are_hardly_ever_found() -> None:
    mechanism, users, rng = GroupedTables((64,) * 4, 3.0), 4_000, Randomness(b"\x08" * 32)
    cells = np.zeros((users, 4), np.int64)
    wrong, right = 0, 0
    for _ in range(200):
        found = mechanism.estimate(mechanism.tally(mechanism.randomize(cells, rng)), users).significant()
        found = found.reshape(4, 64)
        right += bool(np.all(found[:, 0]))
        wrong += bool(np.any(found[:, 1:]))
    assert right == 200
    assert wrong <= 22, "5 % of 200, three standard deviations above"
