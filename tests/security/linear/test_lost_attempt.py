"""Reading users on numbers: c last hiders and the analyzer work out a lost attempt, and compare it with the next.

All that the members lack is the vector of the only other last hider. They take it that it joined from zero, and redo its
rounds from then on with every stream that they know. Then they lose the attempt, add to one of their frozen shares
another amount for each user, and let the next attempt deliver. A word of the first that comes out of the second with a
user's amount added to it is hers.

The secret is each user's answer to a question with two answers, the first bit of her word: a fair coin, which the
coalition guesses where no word fits. Its advantage is 2·Pr[right] − 1, bounded by Clopper and Pearson's intervals from
all users, at 99.9 % on each side.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binomtest

from peos.crypto import sharing
from peos.crypto.kdf import StreamKey
from peos.crypto.randomness import U64, Randomness
from peos.shuffle.effects import Mix
from peos.shuffle.messages import Step
from peos.shuffle.schedule import Schedule
from peos.shuffle.vectors import Vector
from tests.security.linear.glass import output, plain_words, replay_on_numbers
from tests.security.linear.knowledge import derived, named
from tests.security.linear.recording import Arrival, Recording, record
from tests.security.linear.variants import FoldingSchedule

USERS = 1000
RUNS = 20
FEW = 2  # where the attack succeeds
LAST_HIDERS = pytest.mark.parametrize("members", [(3, 4), (3, 5), (4, 5, 6), (4, 5, 7), (4, 6, 7)], ids=str)


@dataclass(frozen=True)
class Reading:
    """The words of a lost attempt as a coalition makes them out, and the streams that it had to leave out."""

    words: U64
    left_out: frozenset[StreamKey]


def read(recording: Recording, members: tuple[int, ...], arrivals: list[Arrival[Vector]], *given: StreamKey) -> Reading:
    """Add up the last hiders' vectors of attempt 1; `given` are streams that the coalition was told of."""
    schedule, coalition = recording.schedule, frozenset(members)
    known = named(coalition, recording) | derived(coalition, recording) | {*given}
    held = {arrival.name: plain_words(arrival.vector) for arrival in arrivals if arrival.receiver in coalition}
    (honest,) = set(schedule.last) - coalition
    holder, end = members[0], len(schedule.rounds)
    assert holder == schedule.last[0]
    mixes = [task for who, task in recording.asked if who == honest and isinstance(task, Mix) and task.out[:2] == "1/"]
    joined = max(at for at, task in enumerate(mixes) if task.source is None)
    vector, left_out = np.zeros(USERS, np.uint64), set()
    for task in mixes[joined:]:
        left_out |= {*task.streams, *task.plus, *task.minus} - known
        number = task.out.rsplit("/")[-1]
        for arrived in task.vectors:
            leaver = arrived.split("/")[1].removeprefix("from ")
            vector += held[f"1/part/{number}, made by {leaver}"]
        vector += total(known & {*task.streams})
        assert task.permutation in known
        vector = vector[task.permutation.stream().permutation(USERS)]
        vector += total(known & {*task.plus}) - total(known & {*task.minus})
    (source,) = [over.source for who, over in schedule.passes if who == holder]
    handed = held[f"attempt 1, round {end - 1}, handover, from {source} to {holder}"]
    vector += handed[mixes[-1].permutation.stream().permutation(USERS)]
    own = [held[f"1/round/{end}, made by {who}"] for who in members]
    return Reading(sharing.combine([vector, *own]), frozenset(left_out))


def total(streams: frozenset[StreamKey] | set[StreamKey]) -> U64:
    """The sum of some streams."""
    return sum((key.stream().uint64(USERS) for key in streams), np.zeros(USERS, np.uint64))
