"""The schedule: counts that protocol.md §3 states, and the property that the whole shuffle rests on."""

from itertools import combinations

import pytest

from peos.shuffle.schedule import MAX_SHUFFLERS, Deliver, HandOver, Hide, Leave, Schedule
from tests.raising import raises


@pytest.mark.parametrize(
    ("shufflers", "rounds", "passes", "vectors", "colluders"),
    [(3, 3, 2, 3, 1), (4, 4, 2, 5, 1), (5, 10, 3, 13, 2), (7, 35, 4, 48, 3)],
)
def test_rounds_passes_and_vectors(shufflers: int, rounds: int, passes: int, vectors: int, colluders: int) -> None:
    schedule = Schedule(shufflers)
    assert len(schedule.rounds) == rounds
    assert len(schedule.passes) == passes
    assert schedule.explicit_vectors == vectors
    assert schedule.colluders == colluders


@pytest.mark.parametrize("shufflers", range(3, MAX_SHUFFLERS + 1))
def test_every_tolerated_coalition_misses_a_round_and_no_larger_one_does(shufflers: int) -> None:
    schedule = Schedule(shufflers)
    everyone = range(1, shufflers + 1)
    for size in range(shufflers + 1):
        for coalition in combinations(everyone, size):
            misses = any(not set(coalition) & set(hiders) for hiders in schedule.rounds)
            assert misses == (size <= schedule.colluders), coalition


@pytest.mark.parametrize("shufflers", range(3, MAX_SHUFFLERS + 1))
def test_scripts_fit_together(shufflers: int) -> None:
    """What one script sends another expects; a leaver had a vector, and a last hider has one."""
    schedule = Schedule(shufflers)
    scripts = {who: schedule.script(who) for who in range(1, shufflers + 1)}
    seeds, vectors, expected_seeds, expected_vectors = set(), set(), set(), set()
    for who, script in scripts.items():
        holds_vector = who != 1
        for action in script:
            match action:
                case Leave(round_, seeded, explicit):
                    assert holds_vector
                    assert explicit != schedule.holder(round_)
                    holds_vector = not explicit  # a leaving holder keeps the remainder, for the ciphertexts
                    seeds |= {(who, hider, round_) for hider in seeded}
                    vectors |= {(who, explicit, round_)} if explicit else set()
                case Hide(round_, hiders, seeds_from, vectors_from):
                    assert hiders == schedule.hiders(round_)
                    holds_vector = True
                    expected_seeds |= {(leaver, who, round_) for leaver in seeds_from}
                    expected_vectors |= {(leaver, who, round_) for leaver in vectors_from}
                case HandOver(receiver=receiver):
                    assert holds_vector
                    assert receiver == who + 1
                    holds_vector = False
                case Deliver():
                    assert holds_vector
    assert (seeds, vectors) == (expected_seeds, expected_vectors)


@pytest.mark.parametrize("shufflers", range(3, MAX_SHUFFLERS + 1))
def test_a_new_holder_brings_nothing_with_it(shufflers: int) -> None:
    """It was no hider in the round before, so that nothing but masks and parts is ever in an accumulator."""
    schedule = Schedule(shufflers)
    for number in range(2, len(schedule.rounds) + 1):
        if schedule.holder(number) != schedule.holder(number - 1):
            assert schedule.holder(number) not in schedule.hiders(number - 1)


@pytest.mark.parametrize("shufflers", range(3, MAX_SHUFFLERS + 1))
def test_a_leaving_holder_seeds_every_next_hider(shufflers: int) -> None:
    """So that each of them holds something that only an honest holder and itself know (see tests/security/linear)."""
    schedule = Schedule(shufflers)
    for holder, over in schedule.passes:
        if over.receiver:
            assert (holder, Leave(over.round + 1, schedule.hiders(over.round + 1), 0)) in schedule.leaves


def test_hops_count_the_passes() -> None:
    assert [over.hop for _, over in Schedule(7).passes] == [1, 2, 3, 4]


@pytest.mark.parametrize("shufflers", [0, 1, 2, MAX_SHUFFLERS + 1])
def test_too_few_or_too_many_are_refused(shufflers: int) -> None:
    with raises("plan.shufflers"):
        Schedule(shufflers)
