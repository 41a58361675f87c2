"""Linking on numbers: users who chose their shares, one shuffler of 3 and the analyzer against the order of two rows.

Users come in pairs that carry the same word, so the output itself shows where the two rows of a pair are; which of
them is which is a fair coin for each pair, independently, because the permutations are uniform. The coalition bets.
Its advantage is 2·Pr[right] − 1, bounded by Clopper and Pearson's intervals from the pairs, at 99.9 % on each side.

The rounds are (1,2), (1,3), (2,3). Shuffler 2 misses round 2: it knows what went in and sees the ciphertexts that come
out. Shuffler 1 misses round 3: it made the ciphertexts that go in, and the analyzer sees what comes out.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binomtest

from peos.crypto.kdf import StreamKey
from peos.crypto.randomness import U64, Randomness
from peos.shuffle.attempt import Attempt
from peos.shuffle.effects import Split
from peos.shuffle.schedule import Schedule
from peos.shuffle.vectors import Vector
from tests.security.linear.forms import Index, composed
from tests.security.linear.glass import output, plain_words, replay_on_numbers
from tests.security.linear.recording import ANALYZER, Arrival, Recording, record
from tests.security.linear.variants import FoldingSchedule, Splitting, SplittingSchedule, Unmasked

pytestmark = pytest.mark.full  # `make security` runs it too

PAIRS = 1000
RUNS = 20

Held = dict[str, U64]


@dataclass(frozen=True)
class Crossing:
    """What a shuffler takes to enter the round that it misses, and what it sees leave it."""

    missed: int
    entering: U64
    leaving: U64


@dataclass(frozen=True)
class Attack:
    """What one shuffler makes of what it holds, the analyzer's deliveries included, and of the users' shares."""

    who: int
    look: Callable[[Recording, Held, list[U64]], Crossing]


def of(key: StreamKey) -> Index:
    return key.stream().permutation(2 * PAIRS)


def without_masks(recording: Recording, held: Held, shares: list[U64]) -> Crossing:
    """Nobody masks. The ciphertexts that 1 hands over enter round 3; 2 adds the stream whose seed it had from 1."""
    del shares  # it knows its own work, so it needs no users on its side
    (split,) = [task for who, task in recording.asked if who == 1 and isinstance(task, Split)]
    entering = held["1/pass/1, made by 1"] + split.streams[0].stream().uint64(2 * PAIRS)
    return Crossing(3, entering, held["attempt 1, round 3, delivery, from 2 to 0"])


def without_masks_and_seeds(recording: Recording, held: Held, shares: list[U64]) -> Crossing:
    """Nobody masks, and 1 sends no seeds: two streams, both known to 2, are all that is added before round 2.

    Shuffler 3 sent a stream to 1 and the rest to 2, who knows share 3; shuffler 2 sent a stream to 1 itself.
    """
    from_three = shares[2] - held["attempt 1, round 1, piece, from 3 to 2"]
    (split,) = [task for who, task in recording.asked if who == 2 and isinstance(task, Split)]
    first = of(recording.output_permutations[0])
    entering = (shares[0] + from_three)[first] + split.streams[0].stream().uint64(2 * PAIRS)
    return Crossing(2, entering, held["attempt 1, round 2, handover, from 1 to 2"])


def without_accumulator(recording: Recording, held: Held, shares: list[U64]) -> Crossing:
    """A holder adds nothing: what 1 hands over to 2 is share 1 itself."""
    first = of(recording.output_permutations[0])
    return Crossing(2, shares[0][first], held["attempt 1, round 2, handover, from 1 to 2"])


UNMASKED = Attack(1, without_masks)
UNMASKED_UNSEEDED = Attack(2, without_masks_and_seeds)
NOTHING_ADDED = Attack(2, without_accumulator)


def bet(recording: Recording, arrivals: list[Arrival[Vector]], shares: list[U64], attack: Attack) -> Index:
    """Which user each row of the output is, −1 where the coalition cannot say."""
    held = {one.name: plain_words(one.vector) for one in arrivals if one.receiver in {attack.who, ANALYZER}}
    crossing = attack.look(recording, held, shares)
    rounds = recording.output_permutations
    before = composed(rounds[: crossing.missed - 1], of, 2 * PAIRS)
    place = {int(word): at for at, word in enumerate(crossing.entering)}
    user = np.array([before[place[int(word)]] if int(word) in place else -1 for word in crossing.leaving])
    return user[composed(rounds[crossing.missed :], of, 2 * PAIRS)]


def advantage(
    schedule: Schedule, attempt_type: type[Attempt], attack: Attack, rng: Randomness
) -> tuple[float, float, str]:
    """Bounds from below and above on the coalition's advantage, and the evidence."""
    right = 0
    for _ in range(RUNS):
        words = np.repeat(rng.uint64(PAIRS), 2)
        chosen = [rng.uint64(2 * PAIRS) for _ in range(2)]
        shares = [words - chosen[0] - chosen[1], *chosen]
        recording = record(schedule, rng, attempt_type=attempt_type)
        arrivals = replay_on_numbers(recording, shares, rng)
        order = composed(recording.output_permutations, of, 2 * PAIRS)
        assert np.array_equal(output(arrivals), words[order])
        user, coins = bet(recording, arrivals, shares, attack), rng.uint64(PAIRS) & np.uint64(1)
        rows = np.argsort(order // 2, kind="stable").reshape(PAIRS, 2)[:, 0]  # where each pair comes out first
        guess = np.where(user[rows] >= 0, user[rows] % 2, coins.astype(np.intp))
        right += int(np.sum(guess == order[rows] % 2))
    interval = binomtest(right, RUNS * PAIRS).proportion_ci(0.998)
    return 2 * interval.low - 1, 2 * interval.high - 1, f"{right} of {RUNS * PAIRS} pairs told apart"


@pytest.mark.parametrize(
    ("schedule", "attempt_type", "attack"),
    [
        (Schedule(3), Unmasked, UNMASKED),
        (FoldingSchedule(3), Unmasked, UNMASKED_UNSEEDED),
        (SplittingSchedule(3), Splitting, NOTHING_ADDED),
    ],
    ids=["unmasked", "unmasked and unseeded", "nothing added"],
)
def test_users_who_chose_their_shares_are_linked_in_the_broken_variants(
    schedule: Schedule, attempt_type: type[Attempt], attack: Attack, rng: Randomness
) -> None:
    low, _, evidence = advantage(schedule, attempt_type, attack, rng)
    assert low > 0.5, f"advantage at least {low:.4f}: {evidence}"


@pytest.mark.parametrize(
    "attack",
    [UNMASKED, UNMASKED_UNSEEDED, NOTHING_ADDED],
    ids=["as if unmasked", "as if unmasked and unseeded", "as if nothing were added"],
)
def test_users_who_chose_their_shares_are_not_linked_in_the_protocol(attack: Attack, rng: Randomness) -> None:
    _, high, evidence = advantage(Schedule(3), Attempt, attack, rng)
    assert high < 0.05, f"advantage at most {high:.4f}: {evidence}"
