"""Support counts without reports: where users times values are too many, each value's count is drawn by itself.

Of n users n_v have the value v, and their reports support it with probability p each, the others' with q, all
independently: S_v = Bin(n_v, p) + Bin(n − n_v, q). For unary encoding the values' counts are independent as well, so
this draws from the very law of a real repeat. For local hashing they are not, but each has the right law, and with it
the expected MSE is right. Drawn by inversion from the project's generator, to 2^-53.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc
from scipy.stats import binom

from experiments.measuring import Floats, variance_by_value
from experiments.populations import Counts
from peos.crypto.randomness import Randomness
from peos.estimate.frequency import FrequencyOracle, estimate_frequencies

_SIGMAS: Final = 12
_CLOSE_TO_FEW: Final = 60  # beyond mean and deviations: with few hits the tail is Poisson's


@lru_cache(maxsize=4096)
def _distribution(trials: int, chance: float) -> tuple[int, Floats]:
    """The least count that is drawn, and Pr[Bin ≤ k] from there on."""
    mean, deviation = trials * chance, (trials * chance * (1 - chance)) ** 0.5
    low = max(0, int(mean - _SIGMAS * deviation - _CLOSE_TO_FEW))
    high = min(trials, int(mean + _SIGMAS * deviation + _CLOSE_TO_FEW))
    below: Floats = binom.cdf(np.arange(low, high + 1), trials, chance)
    below[-1] = 1.0
    return low, below


def binomials(trials: int, chance: float, shape: tuple[int, ...], rng: Randomness) -> NDArray[np.int64]:
    """Independent draws of Bin(trials, chance)."""
    low, below = _distribution(trials, chance)
    uniform = (rng.uint64(shape) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return low + np.searchsorted(below, uniform, side="right")


def counts_by_position(p: float, q: float, truth: Counts, repeats: int, rng: Randomness) -> NDArray[np.int64]:
    """(repeats, d): support counts, each value's drawn by itself."""
    users = int(truth.sum())
    counts = np.empty((repeats, len(truth)), dtype=np.int64)
    # Values that equally many users have share their law, and by Zipf's law most do.
    distinct, which = np.unique(truth, return_inverse=True)
    order = np.argsort(which, kind="stable")
    ends = np.searchsorted(which[order], np.arange(len(distinct) + 1))
    for at, holders in enumerate(distinct.tolist()):
        columns = order[ends[at] : ends[at + 1]]
        shape = (repeats, len(columns))
        counts[:, columns] = binomials(holders, p, shape, rng) + binomials(users - holders, q, shape, rng)
    return counts


def by_position(oracle: FrequencyOracle, truth: Counts, repeats: int, rng: Randomness) -> Iterator[Floats]:
    """Estimates from counts that were drawn value by value."""
    users = int(truth.sum())
    for counts in counts_by_position(oracle.p, oracle.q, truth, repeats, rng):
        yield estimate_frequencies(oracle, counts, users=users, fakes=0).frequency


def chance_of_counts(oracle: FrequencyOracle, counts: Counts, truth: Counts) -> float:
    """How likely counts are to stray from the shortcut's law as much, either way: chi-square, one degree a value."""
    users = int(truth.sum())
    mean = truth * oracle.p + (users - truth) * oracle.q
    variance = variance_by_value(oracle, truth) * (users * (oracle.p - oracle.q)) ** 2
    strayed = float(np.sum((counts - mean) ** 2 / variance))
    above = float(chdtrc(len(truth), strayed))
    return 2 * min(above, 1 - above)
