"""Hadamard response, the competitor Had of thesis §9.6.1: a user tells one noisy entry of a Hadamard matrix.

She draws a row j of the K × K matrix, K the power of two above d, and reports (j, H[j, v + 1]), the sign flipped with
probability 1/(e^ε + 1). Column 0 is constant and stays unused. Local model only: ε_l = ε, one user's value replaced.
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from experiments.measuring import Floats
from experiments.populations import Counts, values_of
from peos.crypto.randomness import Randomness


def rows_of(domain: int) -> int:
    """K, the smallest power of two above d."""
    return 1 << domain.bit_length()


def transform(signals: Floats) -> Floats:
    """H·signals for Sylvester's matrix H[j, x] = (−1)^(bits common to j and x), in K log K steps."""
    result, half = signals.astype(np.float64), 1
    while half < len(result):
        pairs = result.reshape(-1, 2, half)
        result = np.stack((pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]), axis=1).reshape(-1)
        half *= 2
    return result


def negative(rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where H[row, column] is −1: an odd number of common bits."""
    common = rows & columns
    for shift in (16, 8, 4, 2, 1):
        common ^= common >> shift
    return (common & 1).astype(np.bool_)


def estimates(epsilon: float, domain: int, truth: Counts, repeats: int, rng: Randomness) -> Iterator[Floats]:
    """Estimates from every user's own report."""
    values = values_of(truth)
    rows = rows_of(domain)
    flip = np.uint64(math.ceil(2**64 / (math.exp(epsilon) + 1)))
    telling = 1 - 2 * float(flip) / 2**64
    for _ in range(repeats):
        drawn = (rng.uint64(len(values)) & np.uint64(rows - 1)).astype(np.int64)
        minus = negative(drawn, values + 1) ^ (rng.uint64(len(values)) < flip)
        sums = np.bincount(drawn, weights=1.0 - 2.0 * minus, minlength=rows).astype(np.float64)
        yield transform(sums)[1 : domain + 1] / (len(values) * telling)


def variance_by_value(epsilon: float, truth: Counts) -> Floats:
    """(1/c² − f²)/n with c = (e^ε − 1)/(e^ε + 1): that of local hashing with d' = 2 where f is small."""
    users, telling = int(truth.sum()), math.tanh(epsilon / 2)
    return np.asarray((telling**-2 - (truth / users) ** 2) / users)
