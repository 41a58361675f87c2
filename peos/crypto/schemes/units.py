"""Uniform units of Z_N by the hundred."""

from typing import Final

import gmpy2
import numpy as np
from gmpy2 import mpz

from peos.chunks import chunks
from peos.crypto.randomness import Randomness
from peos.crypto.schemes import packing

_GCD_BATCH: Final = 64


def random_units(count: int, modulus: mpz, rng: Randomness) -> list[mpz]:
    """`count` independent uniform elements of Z_N*, drawn by rejection. The length of N is a whole number of bytes."""
    size = modulus.bit_length() // 8
    found: list[mpz] = []
    while len(found) < count:
        missing = count - len(found)
        drawn = np.frombuffer(rng.bytes(size * missing), dtype=np.uint8).reshape(missing, size)
        below = [x for x in packing.integers(drawn) if x < modulus]
        for batch in chunks(len(below), _GCD_BATCH):
            found += _units(below[batch], modulus)
    return found


def _units(batch: list[mpz], modulus: mpz) -> list[mpz]:
    """Those of a batch that are units: all of them, if their product is one."""
    together = mpz(1)
    for x in batch:
        together = together * x % modulus
    if gmpy2.gcd(together, modulus) == 1:
        return batch
    return [x for x in batch if gmpy2.gcd(x, modulus) == 1]
