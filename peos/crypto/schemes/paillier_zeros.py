"""Encryptions of zero for Paillier: exact N-th powers, or window tables when many are needed (protocol.md §5)."""

from typing import Final

import gmpy2
import numpy as np
from gmpy2 import mpz

from peos.chunks import chunks
from peos.crypto.randomness import Randomness
from peos.crypto.schemes import packing, windows
from peos.crypto.schemes.base import KEY_BITS_FLOOR, Packed, ZeroSource
from peos.crypto.schemes.moduli import random_unit
from peos.crypto.schemes.nth_powers import nth_powers

# At 3072 bits an N-th power costs about 17.4 ms and a zero from tables 0.27 ms, so that tables of 10 bits (1.6 s) pay
# from about 92 zeros, and those of 12 bits (0.9 s more, 0.027 ms less a zero) from about 33,000. Tables of 8 bits take
# hardly less time to build than those of 10: they need more rows, and each row costs an N-th power. Under shorter keys,
# as tests have them, that power costs less and the other entries of its row hardly: 105, 172 and 700 zeros at 2048,
# 1024 and 512 bits.
WIDE_TABLES_PAY_FROM: Final = 33_000


def tables_pay_from(bits: int) -> int:
    """From how many zeros on tables pay, of a key of that many bits."""
    beyond: float = 31 * (3072 / bits) ** 1.7
    return windows.rows_for(10) + round(beyond)


def window_width(expected: int, bits: int = KEY_BITS_FLOOR) -> int:
    """The width in bits of the tables that serve `expected` zeros soonest; 0 for none at all."""
    if expected < tables_pay_from(bits):
        return 0
    return 10 if expected < WIDE_TABLES_PAY_FROM else 12


class PowerZeros(ZeroSource):
    """x^N mod N² with x uniform in Z_N*: a uniform encryption of zero under any key, which no computation undoes."""

    def __init__(self, modulus: mpz, rng: Randomness) -> None:
        self._n = modulus
        self._rng = rng

    def zeros(self, count: int) -> Packed:
        """`count` encryptions of zero, each uniform and independent of all others."""
        n, size = self._n, self._n.bit_length() // 4
        out = np.empty((count, size), dtype=np.uint8)
        for block in chunks(count, packing.BLOCK):
            units = [random_unit(n, self._rng) for _ in range(block.stop - block.start)]
            out[block] = packing.pack(nth_powers(units, n), size)
        return out


class WindowZeros(ZeroSource):
    """Π_j y_j^{i_j}, y_j = x_j^N: a fresh random base x_j for every row j of the tables, 640 bits of exponent.

    Why not one base, squared up from row to row as in ordinary fixed-base tables: all its powers lie in one cyclic
    group. With h = (x²)^N they are squares mod p and mod q, so c and c·z have the same Legendre symbols: the key
    holder, who knows p and q, follows two bits of every report through the shuffle, and tells fakes, always (+, +),
    from users. Likewise for every small factor of p − 1 and q − 1: a coset that h cannot leave is a tag. With
    independent bases every digit whose base lies outside a subgroup of small index ℓ moves the product through its
    cosets; all bases lie inside with probability ℓ^-54 or less, and the many that do not make the coset uniform. For
    large ℓ it is the 640 bits that hide, computationally and if the key was honestly made (what that means is said at
    PaillierPublicKey.zero_source).

    How an entry is kept: y = a(1 + bN) mod N² with a < N, b < N. In a product the b's add up, and multiplying by an
    a of half the length costs little more than half as much as multiplying by y.
    """

    def __init__(self, modulus: mpz, rng: Randomness, *, width: int) -> None:
        self._n = modulus
        self._square = modulus * modulus
        self._rng = rng
        self.width = width
        self._factors: windows.Table = []
        self._slopes: windows.Table = []
        for base in self._bases(windows.rows_for(width)):
            factors, slopes = _split_powers(base, width, modulus)
            self._factors.append(factors)
            self._slopes.append(slopes)

    def _bases(self, count: int) -> list[mpz]:
        """The bases y_j of the rows: N-th powers of independent uniform units."""
        units = [random_unit(self._n, self._rng) for _ in range(count)]
        return nth_powers(units, self._n)

    def zeros(self, count: int) -> Packed:
        """`count` encryptions of zero from fresh digits."""
        n, square, size = self._n, self._square, self._n.bit_length() // 4
        out = np.empty((count, size), dtype=np.uint8)
        for block in chunks(count, packing.BLOCK):
            drawn = windows.digits(len(self._factors), self.width, block.stop - block.start, self._rng).tolist()
            factors = windows.products(self._factors, drawn, square)
            slopes = windows.sums(self._slopes, drawn)
            out[block] = packing.pack(
                [(u + n * (u * b % n)) % square for u, b in zip(factors, slopes, strict=True)],
                size,
            )
        return out


def _split_powers(base: mpz, width: int, n: mpz) -> tuple[list[mpz], list[mpz]]:
    """The a's and b's of base^i = a_i(1 + b_i N) mod N², for i in [0, 2^width).

    With a_1 a_i = a_{i+1} + sN:  base^{i+1} = (a_{i+1} + sN)(1 + (b_1 + b_i)N) = a_{i+1}(1 + (b_1 + b_i + s/a_{i+1})N).
    """
    slope, first = gmpy2.f_divmod(base, n)
    inverse = gmpy2.invert(first, n)
    slope = slope * inverse % n
    factors, slopes = [mpz(1)], [mpz(0)]
    a, b, a_inverse = mpz(1), mpz(0), mpz(1)
    for _ in range((1 << width) - 1):
        carried, a = gmpy2.f_divmod(a * first, n)
        a_inverse = a_inverse * inverse % n
        b = (b + slope + carried * a_inverse) % n
        factors.append(a)
        slopes.append(b)
    return factors, slopes
