"""The mean squared error over all values, as thesis §9.6.1 defines it, measured by repeats of the real randomisers.

With each measured mean stands what it should come to: the mean over the values of the exact variance; and the
standard error of the measured mean, from the same variances and the fourth moment of an estimate.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from experiments.populations import Counts, values_of
from peos.crypto.randomness import Randomness
from peos.estimate.frequency import FrequencyOracle, variance_of_frequency
from peos.ldp import SUE, LocalHash
from peos.ldp.base import PureMechanism

Floats = NDArray[np.float64]

NORMAL: Final = 3.0
"""The kurtosis of a sum over many users."""

_CHUNK_WORDS: Final = 1 << 21


@dataclass(frozen=True)
class Measurement:
    """The mean of the repeats' MSE, its standard error, the repeats' own deviation, and the expectation."""

    mse: float
    stderr: float
    deviation: float | None
    repeats: int
    expected: float


def measure(
    estimates: Iterable[Floats], truth: Counts, variance: Floats, kurtosis: float = NORMAL, users: int | None = None
) -> Measurement:
    """The MSE of these estimates, one vector a repeat; `variance` is the exact one of each value.

    `users` is n where `truth` is that of some of the values only.
    """
    frequency = truth / (truth.sum() if users is None else users)
    found = np.array([np.mean((estimate - frequency) ** 2) for estimate in estimates])
    spread = math.sqrt((kurtosis - 1) * float(np.sum(variance**2))) / len(truth)
    return Measurement(
        mse=float(found.mean()),
        stderr=spread / math.sqrt(len(found)),
        deviation=float(found.std(ddof=1)) if len(found) > 1 else None,
        repeats=len(found),
        expected=float(variance.mean()),
    )


def mean_of_runs(found: Sequence[float]) -> tuple[float, float, int]:
    """Their mean, its standard error, which one alone has not, and how many they are."""
    each = np.array(found)
    error = float(each.std(ddof=1) / math.sqrt(len(each))) if len(each) > 1 else 0.0
    return float(each.mean()), error, len(each)


def variance_by_value(oracle: FrequencyOracle, truth: Counts) -> Floats:
    """The exact variance of each estimate: linear in the true frequency."""
    users = int(truth.sum())
    none, all_ = (variance_of_frequency(oracle, users=users, fakes=0, frequency=f) for f in (0.0, 1.0))
    return np.asarray(none + (all_ - none) * truth / users)


def real(mechanism: PureMechanism, truth: Counts, repeats: int, rng: Randomness) -> Iterator[Floats]:
    """Estimates from reports: every user randomises and every report is counted."""
    values = values_of(truth)
    for _ in range(repeats):
        counts = real_counts(mechanism, values, rng)
        yield mechanism.estimate(counts, users=len(values)).frequency


def real_counts(mechanism: PureMechanism, values: NDArray[np.int64], rng: Randomness) -> Counts:
    """Support counts of all users' fresh reports, a few megabytes of reports at a time."""
    counts = np.zeros(mechanism.domain, dtype=np.int64)
    rows = max(1, _CHUNK_WORDS // mechanism.words)
    for start in range(0, len(values), rows):
        words = mechanism.randomize(values[start : start + rows], rng)
        counts += mechanism.support_counts(words)
    return counts


def work(mechanism: PureMechanism, users: int) -> float:
    """Elementary steps of one real repeat: additions to counters, or fields drawn."""
    if isinstance(mechanism, LocalHash):
        return float(users) * (mechanism.family.prime / mechanism.cells + 100)
    return float(users) * (mechanism.domain if isinstance(mechanism, SUE) else 60)


def affordable(mechanism: PureMechanism, users: int, steps: float, most: int) -> int:
    """How many repeats `steps` pay for, which may be without end: at least one, at most `most`."""
    return max(1, int(min(most, steps / work(mechanism, users))))
