"""The criterion a second time, by other means: ranks modulo a prime, on two concrete pairs of worlds.

With p prime and all unknowns uniform modulo p, view = L·z + o. Two views are distributed alike iff the columns of L and
L' span one space and o − o' lies in it: iff rank L = rank L' = rank (L | L' | o − o'). The pairs are

(a) one choice of the permutations, two splittings of the same words, equal in the coalition's own shares;
(b) two choices of the permutations, all rows carrying one word, whose shares differ from row to row and are known.
"""

import numpy as np
import pytest
from numpy.typing import NDArray

from peos.crypto.randomness import Randomness
from peos.shuffle.attempt import Attempt
from peos.shuffle.schedule import Schedule
from tests.security.linear.forms import Integers
from tests.security.linear.knowledge import coalitions
from tests.security.linear.recording import record
from tests.security.linear.variants import Splitting, SplittingSchedule, Unmasked
from tests.security.linear.view import View
from tests.security.linear.worlds import Worlds

PRIME = 2**31 - 1
ROWS = 2


def rank(matrix: Integers) -> int:
    """Modulo PRIME; products stay below 2^62."""
    work, found = matrix % PRIME, 0
    for column in range(work.shape[1]):
        pivots = found + np.flatnonzero(work[found:, column])
        if not pivots.size:
            continue
        work[[found, pivots[0]]] = work[[pivots[0], found]]
        work[found] = work[found] * pow(int(work[found, column]), -1, PRIME) % PRIME
        below = slice(found + 1, None)
        work[below] = (work[below] - work[below, column, None] * work[found]) % PRIME
        found += 1
    return found


def alike(here: View, there: View, offset: Integers) -> bool:
    joint = np.concatenate((here.hidden, there.hidden, offset[:, None]), axis=1)
    return rank(here.hidden) == rank(there.hidden) == rank(joint)


def drawn(count: int, rng: Randomness) -> NDArray[np.int64]:
    return rng.below(np.full(count, PRIME, np.uint64)).astype(np.int64)


def tells_splittings_apart(view: View, rng: Randomness) -> bool:
    change = drawn(view.others.shape[1], rng)
    return not alike(view, view, view.others @ change % PRIME)


def tells_permutations_apart(here: View, there: View, rng: Randomness) -> bool:
    fixed, others = drawn(here.fixed.shape[1], rng), drawn(here.others.shape[1], rng)
    fixed[here.words] = fixed[here.words.start]
    offset = (here.fixed - there.fixed) @ fixed + (here.others - there.others) @ others
    return not alike(here, there, offset % PRIME)


@pytest.mark.parametrize("shufflers", [3, 4, 5])
@pytest.mark.parametrize(
    ("schedule_type", "attempt_type", "splittings"),
    [(Schedule, Attempt, False), (Schedule, Unmasked, False), (SplittingSchedule, Splitting, True)],
    ids=["protocol", "unmasked", "splitting"],
)
def test_ranks_modulo_a_prime_flag_the_same_coalitions(
    shufflers: int, schedule_type: type[Schedule], attempt_type: type[Attempt], splittings: bool, rng: Randomness
) -> None:
    worlds = Worlds(record(schedule_type(shufflers), rng, attempt_type=attempt_type), ROWS)
    suspects = coalitions(worlds.recording.schedule)
    seen = {coalition: worlds.knowledge(coalition) for coalition in suspects}
    views = {coalition: View.of(worlds.base, seen[coalition]) for coalition in suspects}
    by_splitting = {coalition for coalition in suspects if tells_splittings_apart(views[coalition], rng)}
    assert bool(by_splitting) == splittings
    by_order = {
        coalition
        for key in worlds.recording.rounds
        for other in worlds.others(key)
        for coalition in suspects
        if key not in seen[coalition].permutations
        and tells_permutations_apart(views[coalition], View.of(other, seen[coalition]), rng)
    }
    assert by_splitting | by_order == worlds.leaks(suspects, rng).keys()
    assert bool(by_order) == (attempt_type is not Attempt)
