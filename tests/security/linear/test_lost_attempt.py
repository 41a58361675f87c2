"""Reading a victim on numbers: c last hiders and the analyzer work out a lost attempt, and compare it with the next.

All that the members lack is the vector of the one other last hider. They take it that it joined from zero, and redo its
rounds from then on with every stream that they know. Then they lose the attempt, add something to the frozen share that
one of them has of the victim's report, and let the next attempt deliver. The victim's word is the word of the first
attempt that comes out of the second with this added to it; if no word fits, or several do, they cannot say.

One run, one victim. The advantage is the chance of naming her word of 64 bits; the output alone gives a guess among all
its rows, which is not counted. It is bounded by Clopper and Pearson's intervals, at 99.9 % on each side.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binomtest

from peos.crypto import sharing
from peos.crypto.kdf import StreamKey
from peos.crypto.randomness import U64, Randomness
from peos.shuffle.effects import Mix, Split
from peos.shuffle.schedule import Schedule
from peos.shuffle.vectors import Vector
from tests.full import full
from tests.security.linear.glass import output, plain_words, replay_on_numbers
from tests.security.linear.knowledge import Coalition, derived, named
from tests.security.linear.recording import Arrival, Recording, attempt_of, record
from tests.security.linear.variants import FoldingSchedule

USERS = 20
RUNS = 140  # 0 of 140 bounds the advantage by 0.0482 from above
FEW = 14  # and 14 of 14 by 0.61 from below
CAN = {  # without a leaving holder's seeds, these can read a lost attempt (see test_undelivered)
    5: [frozenset({3, 4}), frozenset({3, 5})],
    7: [frozenset({4, 5, 6}), frozenset({4, 5, 7}), frozenset({4, 6, 7})],
}


@dataclass(frozen=True)
class Reading:
    """The words of a lost attempt as a coalition makes them out, and the streams that it had to leave out."""

    words: U64
    left_out: frozenset[StreamKey]


def read(
    recording: Recording, coalition: Coalition, arrivals: list[Arrival[Vector]], *, told: Iterable[StreamKey] = ()
) -> Reading:
    """Add up the last hiders' vectors of attempt 1. `told` are streams that a party betrayed."""
    schedule, left_out = recording.schedule, set[StreamKey]()
    known = {*named(coalition, recording), *derived(coalition, recording), *told}
    held = {arrival.name: plain_words(arrival.vector) for arrival in arrivals if arrival.receiver in coalition}

    def streams(keys: Iterable[StreamKey]) -> U64:
        left_out.update(key for key in keys if key not in known)
        return sharing.combine([_zero(), *(key.stream().uint64(USERS) for key in keys if key in known)])

    (other,) = set(schedule.last) - coalition
    mixes = [task for who, task in recording.asked if who == other and isinstance(task, Mix) and attempt_of(task) == 1]
    joined = max(at for at, task in enumerate(mixes) if task.source is None)
    vector = _zero()
    for task in mixes[joined:]:
        assert task.permutation in known, "a member hides in each of these rounds"
        _, number = recording.rounds[task.permutation]
        for leaver in [who for who, leave in schedule.leaves if (leave.round, leave.explicit) == (number, other)]:
            vector += held[f"1/part/{number}, made by {leaver}"]
        vector = (vector + streams(task.streams))[task.permutation.stream().permutation(USERS)]
        vector += streams(task.plus) - streams(task.minus)
    (handed,) = [held[name] for name in held if name.startswith("attempt 1") and "handover" in name]
    last = len(schedule.rounds)
    members = [held[f"1/round/{last}, made by {who}"] for who in coalition]
    words = sharing.combine([vector, handed[mixes[-1].permutation.stream().permutation(USERS)], *members])
    return Reading(words, frozenset(left_out))


def _zero() -> U64:
    return np.zeros(USERS, np.uint64)


def advantages(schedule: Schedule, runs: int, rng: Randomness) -> dict[Coalition, tuple[float, float, str]]:
    """For each of the coalitions, bounds on its advantage from below and above, and the evidence."""
    suspects = CAN[schedule.shufflers]
    (member, *_) = frozenset.intersection(*suspects)
    named_right = dict.fromkeys(suspects, 0)
    for _ in range(runs):
        words, added = rng.uint64(USERS), _zero()
        (victim,) = rng.below(np.array([USERS], np.uint64))
        added[victim] = rng.uint64(1)[0]
        shares = sharing.split(words, schedule.shufflers, rng)
        recording = record(schedule, rng, lost=1)
        arrivals = replay_on_numbers(recording, shares, rng)
        shares[member - 1] += added
        delivered = output(replay_on_numbers(recording, shares, rng))
        assert np.array_equal(np.sort(delivered), np.sort(words + added))
        for coalition in suspects:
            lost = read(recording, coalition, arrivals).words
            fitting = lost[np.isin(lost + added[victim], delivered)]
            named_right[coalition] += fitting.tolist() == [words[victim]]
    intervals = {coalition: binomtest(right, runs).proportion_ci(0.998) for coalition, right in named_right.items()}
    return {
        coalition: (low, high, f"{sorted(coalition)}: {named_right[coalition]} of {runs}, so {low:.3f} to {high:.3f}")
        for coalition, (low, high) in intervals.items()
    }


@pytest.mark.parametrize("shufflers", [5, full(7)])
def test_a_victim_is_read_where_a_leaving_holder_sends_no_seeds(shufflers: int, rng: Randomness) -> None:
    for low, _, evidence in advantages(FoldingSchedule(shufflers), FEW, rng).values():
        assert low > 0.5, evidence


@pytest.mark.parametrize("shufflers", [full(5), pytest.param(7, marks=pytest.mark.long)])
def test_a_victim_is_not_read_in_the_protocol(shufflers: int, rng: Randomness) -> None:
    for _, high, evidence in advantages(Schedule(shufflers), RUNS, rng).values():
        assert high < 0.05, evidence


@pytest.mark.parametrize("coalition", [*CAN[5], *CAN[7]], ids=lambda coalition: "".join(map(str, sorted(coalition))))
def test_all_that_hides_a_lost_attempt_is_the_seed_that_the_holder_before_sent(
    coalition: Coalition, rng: Randomness
) -> None:
    """Without it nothing that they make out is a word, with it everything: the attack fails for no other reason."""
    (shufflers,) = (number for number, suspects in CAN.items() if coalition in suspects)
    schedule, words = Schedule(shufflers), rng.uint64(USERS)
    recording = record(schedule, rng, lost=1)
    arrivals = replay_on_numbers(recording, sharing.split(words, shufflers, rng), rng)
    reading = read(recording, coalition, arrivals)
    assert not np.intersect1d(reading.words, words).size
    (key,) = reading.left_out
    holder_before = schedule.last[0] - 1
    assert [who for who, task in recording.asked if isinstance(task, Split) and key in task.streams] == [holder_before]
    betrayed = read(recording, coalition, arrivals, told=[key])
    assert np.array_equal(np.sort(betrayed.words), np.sort(words))
