"""Estimates to post-process: of any frequencies, and of Zipf's law as the thesis has it (1.5, d = 1024, n = 10⁶)."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from peos.estimate.frequency import Estimate, FrequencyOracle, estimate_frequencies

USERS = 1_000_000
DOMAIN = 1024
EVEN = FrequencyOracle(p=0.625, q=0.375, u=0.375)  # p + q = 1


def olh(epsilon: float) -> FrequencyOracle:
    """Local hashing into round(e^ε + 1) cells."""
    cells = round(math.exp(epsilon)) + 1
    q = 1 / cells
    return FrequencyOracle(p=math.exp(epsilon) / (math.exp(epsilon) + cells - 1), q=q, u=q)


def of(
    frequency: Sequence[float] | NDArray[np.float64], oracle: FrequencyOracle = EVEN, users: int = 1000, fakes: int = 0
) -> Estimate:
    """An estimate of just these frequencies, whatever counts would bring them."""
    given = np.asarray(frequency, dtype=float)
    return Estimate(given, np.ones(len(given)), users, fakes, oracle, np.zeros(len(given), dtype=np.int64))


def zipf() -> NDArray[np.float64]:
    weights = np.arange(1, DOMAIN + 1.0) ** -1.5
    return np.asarray(weights / weights.sum())


def drawn(seed: int, oracle: FrequencyOracle) -> tuple[Estimate, NDArray[np.float64]]:
    """A collection of Zipf's law, each count by its exact law; and the truth."""
    rng = np.random.default_rng(seed)
    holders = rng.multinomial(USERS, zipf())
    counts = rng.binomial(holders, oracle.p) + rng.binomial(USERS - holders, oracle.q)
    return estimate_frequencies(oracle, counts, users=USERS, fakes=0), holders / USERS
