"""The exact test sees what it must see: each variant that is wrong in one place, and exactly which coalitions gain.

A coalition smaller than c may gain where a larger one around it does; the counts of exactly c colluders are stated
beside the whole sets.
"""

import numpy as np
import pytest

from peos.crypto import sharing
from peos.crypto.randomness import Randomness
from peos.shuffle.attempt import Attempt
from peos.shuffle.schedule import Schedule
from tests.security.linear.forms import FormBench
from tests.security.linear.glass import output, replay_on_numbers
from tests.security.linear.knowledge import Coalition, coalitions
from tests.security.linear.recording import record
from tests.security.linear.variants import (
    FoldingSchedule,
    PermutingOnly,
    Repeating,
    Reusing,
    Splitting,
    SplittingSchedule,
    Unmasked,
    WithoutCoins,
)
from tests.security.linear.worlds import Worlds

pytestmark = pytest.mark.full  # `make security` runs it too

ROWS = 2


def leaking(
    schedule: Schedule,
    rng: Randomness,
    *,
    attempt_type: type[Attempt] = Attempt,
    bench_type: type[FormBench] = FormBench,
    lost: int = 0,
) -> dict[Coalition, str]:
    recording = record(schedule, rng, attempt_type=attempt_type, lost=lost)
    return Worlds(recording, ROWS, bench_type=bench_type).leaks(coalitions(schedule), rng)


def sets(*members: int) -> set[Coalition]:
    """Each number's digits, as a coalition."""
    return {frozenset(map(int, str(number))) for number in members}


@pytest.mark.parametrize(
    ("schedule", "whole", "smaller"),
    [
        (Schedule(3), sets(1), set()),
        (Schedule(4), sets(1), set()),
        (Schedule(5), sets(12), sets(2)),
        (Schedule(7), sets(123), sets(3, 13, 23)),
        (FoldingSchedule(3), sets(1, 2), set()),
        (FoldingSchedule(4), sets(1, 2), set()),
        (FoldingSchedule(5), sets(12, 13), sets(2, 3)),
        (FoldingSchedule(7), sets(123, 124), sets(3, 4, 13, 14, 23, 24)),
    ],
)
def test_without_masks_the_last_round_leaks_and_the_last_two_without_a_leaving_holders_seeds(
    schedule: Schedule, whole: set[Coalition], smaller: set[Coalition], rng: Randomness
) -> None:
    """Those who miss the last round have seen all that enters it.

    What leaves the round before was made noise by a holder's seeds, if it sends any; earlier, by others who leave.
    """
    found = leaking(schedule, rng, attempt_type=Unmasked)
    assert found.keys() == whole | smaller, found


@pytest.mark.parametrize(("shufflers", "of_size_c"), [(3, 1), (4, 1), (5, 6), (7, 27)])
def test_a_holder_that_splits_its_accumulator_shows_every_later_holder_the_users_shares(
    shufflers: int, of_size_c: int, rng: Randomness
) -> None:
    """Ciphertexts to which nothing was added decrypt to what users encrypted, in an order that links them.

    So a coalition gains iff a member holds after a tenure in which there was a round without members.
    """
    schedule = SplittingSchedule(shufflers)
    found = leaking(schedule, rng, attempt_type=Splitting)
    expected = {
        coalition
        for coalition in coalitions(schedule)
        for number, hiders in enumerate(schedule.rounds, start=1)
        if coalition.isdisjoint(hiders) and any(schedule.holder(number) < who <= schedule.last[0] for who in coalition)
    }
    assert found.keys() == expected, found
    assert sum(len(coalition) == schedule.colluders for coalition in found) == of_size_c


@pytest.mark.parametrize("shufflers", [3, 4, 5, 7])
def test_one_delivery_alone_does_not_show_why_a_leaving_holder_sends_seeds(shufflers: int, rng: Randomness) -> None:
    assert not leaking(FoldingSchedule(shufflers), rng)


@pytest.mark.parametrize(
    ("shufflers", "expected"),
    [
        *((3, set()), (4, set()), (5, sets(34, 35)), (6, set())),
        pytest.param(7, sets(456, 457, 467), marks=pytest.mark.long),  # 20 s: `pytest -m long tests/security/linear`
    ],
)
def test_without_a_leaving_holders_seeds_a_lost_attempt_and_the_next_link_rows(
    shufflers: int, expected: set[Coalition], rng: Randomness
) -> None:
    """To those who know the words of the lost attempt, in its order (see test_undelivered)."""
    found = leaking(FoldingSchedule(shufflers), rng, lost=1)
    assert found.keys() == expected, found


@pytest.mark.parametrize(
    "variant",
    [(Schedule, Unmasked), (SplittingSchedule, Splitting), (FoldingSchedule, Attempt), (Schedule, Reusing)],
    ids=["unmasked", "splitting", "folding", "reusing"],
)
@pytest.mark.parametrize("shufflers", [3, 4, 5])
def test_these_variants_give_the_right_words_all_the_same(
    shufflers: int, variant: tuple[type[Schedule], type[Attempt]], rng: Randomness
) -> None:
    recording = record(variant[0](shufflers), rng, attempt_type=variant[1])
    words = rng.uint64(50)
    arrivals = replay_on_numbers(recording, sharing.split(words, shufflers, rng), rng)
    assert np.array_equal(np.sort(output(arrivals)), np.sort(words))


@pytest.mark.parametrize("shufflers", [3, 4])
def test_masks_of_a_lost_attempt_used_again_link_rows(shufflers: int, rng: Randomness) -> None:
    """The difference of two vectors under one mask shows whether their permutations agree.

    For shuffler 3: 2 leaves and sends it what remains of its vector. Who else gains depends on how the permutations
    that it knows happen to agree.
    """
    found = leaking(Schedule(shufflers), rng, attempt_type=Reusing, lost=1)
    assert frozenset({3}) in found, found


@pytest.mark.parametrize("shufflers", [3, 4])
def test_contributions_used_again_are_harmless_while_every_label_names_the_attempt(
    shufflers: int, rng: Randomness
) -> None:
    assert not leaking(Schedule(shufflers), rng, attempt_type=Repeating, lost=1)


@pytest.mark.parametrize("bench_type", [WithoutCoins, PermutingOnly])
@pytest.mark.parametrize("shufflers", [3, 4, 5, 7])
def test_a_pass_that_does_not_rerandomise_or_does_not_mask_shows_all_to_everybody(
    shufflers: int, bench_type: type[FormBench], rng: Randomness
) -> None:
    """The analyzer needs no shuffler to link: every coalition gains, the empty one too."""
    schedule = Schedule(shufflers)
    found = leaking(schedule, rng, bench_type=bench_type)
    assert found.keys() == set(coalitions(schedule)), found


@pytest.mark.parametrize("shufflers", [3, 4, 5])
def test_a_coalition_of_c_plus_one_knows_every_permutation(shufflers: int, rng: Randomness) -> None:
    worlds = Worlds(record(shufflers, rng), ROWS)
    schedule = worlds.recording.schedule
    for coalition in coalitions(schedule, schedule.colluders + 1):
        assert worlds.knowledge(coalition).permutations == worlds.recording.rounds.keys(), sorted(coalition)
    for coalition in coalitions(schedule):
        assert worlds.knowledge(coalition).permutations < worlds.recording.rounds.keys(), sorted(coalition)
