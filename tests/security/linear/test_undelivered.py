"""Before the last hiders deliver, no coalition of up to c may know the words, decryption key or not.

Otherwise "at most one output" does not bind it: it reads the words of an attempt, loses that attempt, adds one to its
own share of a victim's row and lets the next attempt deliver. The two differ in the victim's word.
"""

import numpy as np
import pytest

from peos.crypto import sharing
from peos.crypto.randomness import U64, Randomness
from peos.shuffle.effects import Mix
from peos.shuffle.vectors import Vector
from tests.security.linear.glass import output, plain_words, replay_on_numbers
from tests.security.linear.knowledge import Coalition, coalitions, derived, named
from tests.security.linear.recording import Arrival, Recording, record
from tests.security.linear.variants import Sharing, SharingSchedule
from tests.security.linear.view import View
from tests.security.linear.worlds import Worlds

# A hider that joins from zero, gets parts from members only and hides beside members ever after holds nothing of its
# own: for c = 2 or 3 such a hider can be the only honest one that delivers.
KNOWN = pytest.mark.xfail(
    reason="c last hiders can work out the vector of the honest one", raises=AssertionError, strict=True
)


def told(recording: Recording) -> dict[tuple[int, ...], str]:
    """Which coalitions know something of the words although nobody delivered."""
    worlds = Worlds(recording, 2)
    found = {}
    for coalition in coalitions(recording.schedule):
        view = View.of(worlds.base, worlds.knowledge(coalition), delivered=False)
        if sentence := view.told() or view.leak():
            found[tuple(sorted(coalition))] = sentence
    return found


@pytest.mark.parametrize("shufflers", [3, 4, pytest.param(5, marks=KNOWN), 6, pytest.param(7, marks=KNOWN)])
def test_nobody_knows_the_words_of_an_attempt_before_its_delivery(shufflers: int, rng: Randomness) -> None:
    found = told(record(shufflers, rng))
    assert not found, found


@pytest.mark.parametrize("shufflers", [3, 4, 5, 6, 7])
def test_nobody_does_if_a_leaving_holder_sends_seeds_to_the_next_hiders_and_adds_the_remainder(
    shufflers: int, rng: Randomness
) -> None:
    found = told(record(SharingSchedule(shufflers), rng, attempt_type=Sharing))
    assert not found, found


@pytest.mark.xfail(reason="shufflers 3 and 4 of 5 can work out the vector of 5", raises=AssertionError, strict=True)
def test_a_coalition_cannot_compare_a_lost_attempt_with_the_next_to_read_a_victims_word(rng: Randomness) -> None:
    users, victim, coalition = 500, 17, frozenset({3, 4})
    words = rng.uint64(users)
    shares = sharing.split(words, 5, rng)
    recording = record(5, rng, lost=1)
    read = words_of_the_lost_attempt(recording, coalition, replay_on_numbers(recording, shares, rng), users)
    shares[3][victim] += np.uint64(1)
    delivered = output(replay_on_numbers(recording, shares, rng))
    assert np.setdiff1d(read, delivered).tolist() != [words[victim]]


def words_of_the_lost_attempt(
    recording: Recording, coalition: Coalition, arrivals: list[Arrival[Vector]], users: int
) -> U64:
    """Shufflers 3 and 4 with the key: redo the rounds of 5, who joined from zero, from streams that they know."""
    known = named(coalition, recording) | derived(coalition, recording)
    joined = ("1/round/8", "1/round/9", "1/round/10")
    rounds = [task for who, task in recording.asked if who == 5 and isinstance(task, Mix) and task.out in joined]
    of_five = np.zeros(users, np.uint64)
    for task in rounds:
        for key in known.intersection(task.streams):
            of_five += key.stream().uint64(users)
        of_five = of_five[task.permutation.stream().permutation(users)]
        for key in known.intersection(task.plus):
            of_five += key.stream().uint64(users)
        for key in known.intersection(task.minus):
            of_five -= key.stream().uint64(users)
    held = {arrival.name: plain_words(arrival.vector) for arrival in arrivals if arrival.receiver in coalition}
    handed = held["attempt 1, round 9, handover, from 2 to 3"][rounds[-1].permutation.stream().permutation(users)]
    words: U64 = handed + held["1/round/10, made by 3"] + held["1/round/10, made by 4"] + of_five
    return words
