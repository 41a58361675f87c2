"""Appended unary encoding, the competitor AUE of thesis §9.3.4: a one-hot vector, each position incremented at random.

With probability p = 1 − 200 ln(4/δ)/(ε_c² n) each position of each user's vector grows by one. The sum over users is
(ε_c, δ)-private once shuffled; a single report is not private at all, so who sees it unshuffled sees the value.
"""

import math
from collections.abc import Iterator

import numpy as np

from experiments.measuring import Floats
from experiments.populations import Counts, values_of
from peos.crypto.randomness import Randomness

_CHUNK = 1 << 22  # positions drawn at a time
_BITS = 32


def increment(epsilon: float, users: int, delta: float) -> float:
    """p, in steps of 2^-32."""
    exact = 1 - 200 * math.log(4 / delta) / (epsilon**2 * users)
    return float(round(exact * 2**_BITS)) / 2.0**_BITS


def real_counts(p: float, truth: Counts, rng: Randomness) -> Counts:
    """The sums over all users' vectors, each position of each drawn."""
    values, domain = values_of(truth), len(truth)
    threshold = np.uint32(round(p * 2**_BITS))
    counts = np.bincount(values, minlength=domain)
    rows = max(1, _CHUNK // domain) // 2 * 2 or 2
    for start in range(0, len(values), rows):
        present = min(rows, len(values) - start)
        words = rng.uint64(-(-present * domain // 2)).astype("<u8", copy=False).view("<u4")[: present * domain]
        counts += np.count_nonzero(words.reshape(present, domain) < threshold, axis=0)
    return counts


def real(p: float, truth: Counts, repeats: int, rng: Randomness) -> Iterator[Floats]:
    """Estimates from every user's own vector."""
    users = int(truth.sum())
    for _ in range(repeats):
        yield (real_counts(p, truth, rng) - users * p) / users


def variance_by_value(p: float, truth: Counts) -> Floats:
    """p(1 − p)/n, whatever the frequency."""
    return np.full(len(truth), p * (1 - p) / int(truth.sum()))
