"""Before the last hiders deliver, no coalition of up to c may know the words, decryption key or not.

Otherwise "at most one output" does not bind it: it reads the words of an attempt, loses that attempt, adds something to
its own share of a victim's row and lets the next attempt deliver. The two differ in the victim's word
(`test_lost_attempt` does it).

A hider that joins from zero, gets parts from members only and hides beside members ever after would hold nothing of its
own, and if c members are last hiders it can be the only honest one beside them. That is why a leaving holder sends a
seed to each of the next hiders: where all members are last hiders, the holder before them is honest, so whoever hides
last has one stream at least that no member knows.
"""

import pytest

from peos.crypto.randomness import Randomness
from peos.shuffle.schedule import Schedule
from tests.full import full
from tests.security.linear.knowledge import Coalition, coalitions
from tests.security.linear.recording import record
from tests.security.linear.variants import FoldingSchedule
from tests.security.linear.view import View
from tests.security.linear.worlds import Worlds


def told(schedule: Schedule, suspects: list[Coalition], rows: int, rng: Randomness) -> dict[str, str]:
    """Which coalitions, by their members' digits, know something of the words although no party delivered."""
    worlds = Worlds(record(schedule, rng), rows)
    found = {}
    for coalition in suspects:
        view = View.of(worlds.base, worlds.knowledge(coalition), delivered=False)
        if sentence := view.told() or view.leak():
            found["".join(map(str, sorted(coalition)))] = sentence
    return found


@pytest.mark.parametrize("shufflers", [3, 4, 5, 6, full(7), full(8)])
def test_nobody_knows_the_words_of_an_attempt_before_its_delivery(shufflers: int, rng: Randomness) -> None:
    schedule = Schedule(shufflers)
    found = told(schedule, coalitions(schedule), 2, rng)
    assert not found, found


@pytest.mark.parametrize(
    ("shufflers", "expected"),
    [(3, set()), (4, set()), (5, {"34", "35"}), (6, set()), full(7, {"456", "457", "467"}), full(8, set())],
)
def test_c_last_hiders_do_where_a_leaving_holder_sends_no_seeds(
    shufflers: int, expected: set[str], rng: Randomness
) -> None:
    schedule = FoldingSchedule(shufflers)
    found = told(schedule, coalitions(schedule), 2, rng)
    assert found.keys() == expected, found


@pytest.mark.full
@pytest.mark.parametrize(
    ("schedule", "expected"),
    [(Schedule(9), set()), (FoldingSchedule(9), {"5678", "5679", "5689", "5789"})],
    ids=["protocol", "folding"],
)
def test_it_is_the_same_for_every_coalition_of_4_among_9_on_one_row(
    schedule: Schedule, expected: set[str], rng: Randomness
) -> None:
    """Smaller coalitions see less, and every permutation of one row is known, which only helps to learn of words."""
    found = told(schedule, coalitions(schedule, schedule.colluders), 1, rng)
    assert found.keys() == expected, found
