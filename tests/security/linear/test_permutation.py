"""Given every permutation that up to c shufflers know, the order of the output is still uniform; c + 1 know it.

The permutations are those of the real machines' stream keys, on 3 rows. For each coalition the order of the output is
counted against the order that the permutations it knows would give alone: independence and uniformity by one χ².
"""

from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from peos.crypto.kdf import StreamKey
from peos.crypto.randomness import Randomness
from peos.shuffle.schedule import Schedule
from tests.full import full
from tests.security.linear.forms import Index, composed
from tests.security.linear.knowledge import Coalition, coalitions, named
from tests.security.linear.recording import record

ALPHA = 1e-6  # over all coalitions for r = 3, 4, 5 together
RUNS = 600
FEW = 200  # where one exception would be enough
ORDERS = {order: number for number, order in enumerate(permutations(range(3)))}
TESTS = sum(len(coalitions(Schedule(shufflers))) for shufflers in (3, 4, 5))


def orders(shufflers: int, suspects: list[Coalition], runs: int, rng: Randomness) -> dict[Coalition, NDArray[np.int64]]:
    """For each coalition, how often each order came out (columns) where it expected each (rows)."""
    tables = {coalition: np.zeros((6, 6), np.int64) for coalition in suspects}
    for _ in range(runs):
        recording = record(shufflers, rng)
        each = {key: key.stream().permutation(3) for key in recording.output_permutations}
        came = composed(recording.output_permutations, each.__getitem__, 3)
        for coalition, table in tables.items():
            known = named(coalition, recording)

            def guessed(
                key: StreamKey, known: frozenset[StreamKey] = known, each: dict[StreamKey, Index] = each
            ) -> Index:
                return each[key] if key in known else np.arange(3)

            expected = composed(recording.output_permutations, guessed, 3)
            table[ORDERS[tuple(expected.tolist())], ORDERS[tuple(came.tolist())]] += 1
    return tables


def p_value(table: NDArray[np.int64]) -> float:
    """Of the order being uniform whatever was expected."""
    rows = table[table.sum(axis=1) > 0]
    mean = rows.sum(axis=1, keepdims=True) / 6
    return float(chi2.sf(np.sum((rows - mean) ** 2 / mean), 5 * len(rows)))


@pytest.mark.parametrize("shufflers", [3, full(4), full(5)])
def test_the_order_is_uniform_to_every_coalition_of_up_to_c(shufflers: int, rng: Randomness) -> None:
    for coalition, table in orders(shufflers, coalitions(Schedule(shufflers)), RUNS, rng).items():
        found = p_value(table)
        assert found > ALPHA / TESTS, f"{sorted(coalition)}: p = {found:.2g} of {RUNS} runs\n{table}"


@pytest.mark.parametrize("shufflers", [3, full(4), full(5)])
def test_the_order_is_known_to_every_coalition_of_c_plus_one(shufflers: int, rng: Randomness) -> None:
    schedule = Schedule(shufflers)
    for coalition, table in orders(shufflers, coalitions(schedule, schedule.colluders + 1), FEW, rng).items():
        assert np.trace(table) == FEW, f"{sorted(coalition)}: {np.trace(table)} of {FEW} runs\n{table}"
        assert p_value(table) < ALPHA / TESTS, "the test for uniformity sees it, too"
