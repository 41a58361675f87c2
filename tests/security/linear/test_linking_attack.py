"""Linking on numbers: users who chose their shares, shuffler 2 of 3 and the analyzer against the order of two rows.

Users come in pairs that carry the same word, so the output itself shows where the two rows of a pair are; which of
them is which is a fair coin for each pair, independently, because the permutations are uniform. The coalition bets.
Its advantage is 2·Pr[right] − 1, bounded by Clopper and Pearson's intervals from the pairs, at 99.9 % on each side.

Shuffler 2 misses round 2 of (1,2), (1,3), (2,3). It knows what went in, and it sees the ciphertexts that come out.
"""

from collections.abc import Callable

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
from tests.security.linear.recording import Arrival, Recording, record
from tests.security.linear.variants import Splitting, SplittingSchedule, Unmasked

PAIRS = 1000
RUNS = 20
ME = 2

Expected = Callable[[Recording, dict[str, U64], list[U64]], U64]


def of(key: StreamKey) -> Index:
    return key.stream().permutation(2 * PAIRS)


def without_masks(recording: Recording, held: dict[str, U64], shares: list[U64]) -> U64:
    """The ciphertexts' words as they enter round 2, if nobody masks: two streams, both known, are all that was added.

    Shuffler 3 sent a stream to 1 and the rest to 2, who knows share 3; shuffler 2 sent a stream to 1 itself.
    """
    from_three = shares[2] - held["attempt 1, round 1, part, from 3 to 2"]
    (split,) = [task for who, task in recording.asked if who == ME and isinstance(task, Split)]
    first = of(recording.output_permutations[0])
    return (shares[0] + from_three)[first] + split.streams[0].stream().uint64(2 * PAIRS)


def without_accumulator(recording: Recording, held: dict[str, U64], shares: list[U64]) -> U64:  # noqa: ARG001 - Expected
    """The ciphertexts' words as they enter round 2, if a holder adds nothing: share 1 itself."""
    return shares[0][of(recording.output_permutations[0])]


def bet(recording: Recording, arrivals: list[Arrival[Vector]], shares: list[U64], expected: Expected) -> Index:
    """Which user each row of the output is, −1 where the coalition cannot say."""
    held = {arrival.name: plain_words(arrival.vector) for arrival in arrivals if arrival.receiver == ME}
    first, _, last = recording.output_permutations
    entering = expected(recording, held, shares)
    place = {int(word): at for at, word in enumerate(entering)}
    leaving = held["attempt 1, round 2, handover, from 1 to 2"]
    user = np.array([of(first)[place[int(word)]] if int(word) in place else -1 for word in leaving])
    return user[of(last)]


def advantage(
    schedule: Schedule, attempt_type: type[Attempt], expected: Expected, rng: Randomness
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
        user, coins = bet(recording, arrivals, shares, expected), rng.uint64(PAIRS) & np.uint64(1)
        rows = np.argsort(order // 2, kind="stable").reshape(PAIRS, 2)[:, 0]  # where each pair comes out first
        guess = np.where(user[rows] >= 0, user[rows] % 2, coins.astype(np.intp))
        right += int(np.sum(guess == order[rows] % 2))
    interval = binomtest(right, RUNS * PAIRS).proportion_ci(0.998)
    return 2 * interval.low - 1, 2 * interval.high - 1, f"{right} of {RUNS * PAIRS} pairs told apart"


@pytest.mark.parametrize(
    ("schedule", "attempt_type", "expected"),
    [(Schedule(3), Unmasked, without_masks), (SplittingSchedule(3), Splitting, without_accumulator)],
)
def test_users_who_chose_their_shares_are_linked_in_the_broken_variants(
    schedule: Schedule, attempt_type: type[Attempt], expected: Expected, rng: Randomness
) -> None:
    low, _, evidence = advantage(schedule, attempt_type, expected, rng)
    assert low > 0.5, f"advantage at least {low:.4f}: {evidence}"


@pytest.mark.parametrize("expected", [without_masks, without_accumulator])
def test_users_who_chose_their_shares_are_not_linked_in_the_protocol(expected: Expected, rng: Randomness) -> None:
    _, high, evidence = advantage(Schedule(3), Attempt, expected, rng)
    assert high < 0.05, f"advantage at most {high:.4f}: {evidence}"
