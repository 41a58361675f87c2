"""Encryptions of zero for DGK: h^r, by exponentiation or from window tables over h (protocol.md §5).

One base serves all rows of the tables here, unlike in Paillier's: all zeros, users' and shufflers', lie in the group
that h generates, so there is no coset of it that a zero could fail to reach.
"""

from typing import Final

import gmpy2
import numpy as np
from gmpy2 import mpz

from peos.chunks import chunks
from peos.crypto.randomness import Randomness
from peos.crypto.schemes import packing, windows
from peos.crypto.schemes.base import Packed, ZeroSource
from peos.crypto.schemes.fixed_base import table

# At 3072 bits a power of 640 bits costs 1.36 ms and a zero from tables of 8 bits 0.17 ms, so that these (0.045 s, 9 MB)
# pay from about 40 zeros; tables of 12 bits (94 MB) take 0.46 s more and save 0.041 ms a zero: from about 11,000.
TABLES_PAY_FROM: Final = 40
WIDE_TABLES_PAY_FROM: Final = 11_000


def window_width(expected: int) -> int:
    """The width in bits of the tables that serve `expected` zeros soonest; 0 for none at all."""
    if expected < TABLES_PAY_FROM:
        return 0
    return 8 if expected < WIDE_TABLES_PAY_FROM else 12


class PowerZeros(ZeroSource):
    """h^r with r uniform below 2^bits."""

    def __init__(self, modulus: mpz, h: mpz, rng: Randomness, *, bits: int) -> None:
        self._n, self._h, self._rng, self._bits = modulus, h, rng, bits

    def zeros(self, count: int) -> Packed:
        """`count` encryptions of zero from fresh exponents."""
        size = self._n.bit_length() // 8
        out = np.empty((count, size), dtype=np.uint8)
        for block in chunks(count, packing.BLOCK):
            exponents = [self._rng.bits(self._bits) for _ in range(block.stop - block.start)]
            out[block] = packing.pack(gmpy2.powmod_exp_list(self._h, exponents, self._n), size)
        return out


class WindowZeros(ZeroSource):
    """The same from tables, with r uniform below a power of two that is no smaller."""

    def __init__(self, modulus: mpz, h: mpz, rng: Randomness, *, bits: int, width: int) -> None:
        self._n, self._rng = modulus, rng
        self.width = width
        self._table = table(h, width, max(windows.LEAST_ROWS, -(-bits // width)), modulus)

    def zeros(self, count: int) -> Packed:
        """`count` encryptions of zero from fresh digits of their exponents."""
        size = self._n.bit_length() // 8
        out = np.empty((count, size), dtype=np.uint8)
        for block in chunks(count, packing.BLOCK):
            drawn = windows.digits(len(self._table), self.width, block.stop - block.start, self._rng).tolist()
            out[block] = packing.pack(windows.products(self._table, drawn, self._n), size)
        return out
