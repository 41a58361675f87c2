"""The Laplace mechanism, the competitor Lap of thesis §9.6.1: a trusted curator adds noise to the true histogram.

Replacing one user's value moves two counts by one each, so the noise on a count has scale 2/ε. Drawn in floating
point, whose low bits are known to betray true counts: good for comparing errors, not for releasing anything.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from experiments.measuring import Floats
from experiments.populations import Counts
from peos.crypto.randomness import Randomness

KURTOSIS: Final = 6.0


def estimates(epsilon: float, truth: Counts, repeats: int, rng: Randomness) -> Iterator[Floats]:
    """Noisy frequencies."""
    users = int(truth.sum())
    for _ in range(repeats):
        words = rng.uint64(len(truth))
        # The low bit is the sign, the high 53 a uniform number above 0.
        uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        sign = 1.0 - 2.0 * (words & np.uint64(1)).astype(np.float64)
        yield (truth - sign * np.log(uniform) * 2 / epsilon) / users


def variance_by_value(epsilon: float, truth: Counts) -> Floats:
    """2·(2/(εn))² for each value."""
    return np.full(len(truth), 2 * (2 / (epsilon * int(truth.sum()))) ** 2)
