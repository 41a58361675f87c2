"""Additive secret sharing over Z_{2^64}, word by word.

Any r − 1 of the r shares are independent and uniform whatever the secret: the first r − 1 are drawn, the last is the
difference. Unsigned numpy arithmetic wraps, which is exactly addition in Z_{2^64}.
"""

from collections.abc import Sequence

import numpy as np

from peos.crypto.randomness import U64, Randomness


def split(words: U64, parties: int, rng: Randomness) -> list[U64]:
    """`parties` vectors that sum to `words`, all but one of them drawn from `rng`."""
    drawn = [rng.uint64(words.shape) for _ in range(parties - 1)]
    return [words - combine(drawn) if drawn else words.copy(), *drawn]


def combine(shares: Sequence[U64]) -> U64:
    """The secret behind a full set of shares."""
    total = np.zeros_like(shares[0])
    for share in shares:
        total += share
    return total
