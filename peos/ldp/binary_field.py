"""The rows of Hadamard response: GF(2^m) by shift and xor, and the Walsh-Hadamard transform (protocol.md §2).

An element is a number below 2^m whose bits are the coefficients of a polynomial, modulo the smallest irreducible one of
degree m that is odd. <a, b> is the parity of a & b.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.chunks import chunks
from peos.crypto.randomness import U64

Counts = NDArray[np.int64]

_CHUNK: Final = 1 << 16  # reports worked at a time: about ten vectors of half a megabyte
_TABLE: Final = 1 << 23  # entries of the largest table of rows and signs, 64 MB
_ONE = np.uint64(1)


@lru_cache(maxsize=32)
def modulus(degree: int) -> int:
    """The smallest odd number that, as a polynomial of this degree, no polynomial of a lower one divides."""
    lower = range(2, 2 << degree // 2)
    odd = range(1 << degree | 1, 2 << degree, 2)
    return next(each for each in odd if all(_remainder(each, factor) for factor in lower))


def _remainder(polynomial: int, divisor: int) -> int:
    while (excess := polynomial.bit_length() - divisor.bit_length()) >= 0:
        polynomial ^= divisor << excess
    return polynomial


def times_x(a: U64, degree: int) -> U64:
    """The product of a and x."""
    return a << _ONE ^ (a >> np.uint64(degree - 1)) * np.uint64(modulus(degree))


def times(a: U64, b: U64, degree: int) -> U64:
    """The product of a and b, in m steps."""
    product = np.zeros_like(a)
    for bit in range(degree):
        product ^= (b >> np.uint64(bit) & _ONE) * a
        a = times_x(a, degree)
    return product


def inverses(a: U64, degree: int) -> U64:
    """a⁻¹ = a^(2^m − 2), 0 for 0."""
    result = np.ones_like(a)
    for _ in range(degree - 1):
        a = times(a, a, degree)
        result = times(result, a, degree)
    return result if degree > 1 else a.copy()


def parity(words: U64) -> U64:
    """1 where an odd number of bits is set."""
    return (np.bitwise_count(words) & np.uint8(1)).astype(np.uint64)


def transformed(table: Counts) -> Counts:
    """Σ_k (−1)^<i, k>·table[…, k] for every i below the last dimension, a power of two."""
    for _ in range(table.shape[-1].bit_length() - 1):
        even, odd = table[..., 0::2], table[..., 1::2]
        # Each step turns the index by one bit, and m of them bring it back.
        table = np.concatenate((even + odd, even - odd), axis=-1)
    return table


@dataclass(frozen=True)
class RowFamily:
    """Rows a of 2^m columns, and of each the signs y_i = <a·x^i, z> at column z for i below j."""

    degree: int
    signs: int

    @property
    def is_walked(self) -> bool:
        """Whether a report has fewer supports than signs have combinations, so that it is counted along them."""
        return 2 * self.signs > self.degree

    def steps(self, reports: int) -> float:
        """About 2^j or, where these are fewer, 2^(m−j) a report; or a table of rows and signs."""
        m, j = self.degree, self.signs
        if self.is_walked:
            return reports * (m * (m - j + 1) + 2.0 ** (m - j))
        return min(reports * 2.0**j, reports + 2.0 ** (m + j) * (j + 1)) + m * 2.0**m

    def signs_at(self, rows: U64, columns: U64) -> U64:
        """y, the two broadcast together."""
        signs = np.zeros(np.broadcast_shapes(rows.shape, columns.shape), dtype=np.uint64)
        for i, row in enumerate(self._multiples(rows, self.signs)):
            signs |= parity(row & columns) << np.uint64(i)
        return signs

    def support_counts(self, rows: U64, signs: U64) -> Counts:
        """(2^m,): how many reports (a, y) have y for the signs of their row at each column."""
        return self._walked(rows, signs) if self.is_walked else self._by_transform(rows, signs)

    def _multiples(self, rows: U64, count: int) -> Iterator[U64]:
        """a·x^i for i below `count`."""
        for _ in range(count):
            yield rows
            rows = times_x(rows, self.degree)

    def _subsets(self, rows: U64) -> Iterator[tuple[int, U64]]:
        """Every I but the empty one with Σ_{i∈I} a·x^i, each next to the last in Gray's order."""
        multiples, total = list(self._multiples(rows, self.signs)), np.zeros_like(rows)
        for step in range(1, 2**self.signs):
            total = total ^ multiples[(step & -step).bit_length() - 1]
            yield step ^ step >> 1, total

    def _by_transform(self, rows: U64, signs: U64) -> Counts:
        """2^-j·Σ_k (−1)^<k, z>·W[k], W[Σ_{i∈I} a·x^i] being the sum of (−1)^|y & I| over all reports and all I."""
        m, j = self.degree, self.signs
        summed = np.zeros(2**m, dtype=np.int64)
        summed[0] = len(rows)
        if len(rows) >= 2**m and 2 ** (m + j) <= _TABLE:
            told = np.zeros(2 ** (m + j), dtype=np.int64)
            for chunk in chunks(len(rows), max(_CHUNK, len(told))):
                told += np.bincount((rows[chunk] << np.uint64(j) | signs[chunk]).view(np.int64), minlength=len(told))
            spread = transformed(told.reshape(2**m, 2**j))
            for subset, at in self._subsets(np.arange(2**m, dtype=np.uint64)):
                summed[at.view(np.int64)] += spread[:, subset]  # the multiples of all rows are a permutation of them
        else:
            for chunk in chunks(len(rows), _CHUNK):
                for subset, at in self._subsets(rows[chunk]):
                    turned = parity(signs[chunk] & np.uint64(subset)).view(np.int64)
                    np.add.at(summed, at.view(np.int64), 1 - 2 * turned)
        return transformed(summed) >> j

    def _walked(self, rows: U64, signs: U64) -> Counts:
        """Of each report the 2^(m−j) columns z = Σ_k <a⁻¹x^k, w>·2^k with y for the low bits of w."""
        m, j = self.degree, self.signs
        counts = np.zeros(2**m, dtype=np.int64)
        table = inverses(np.arange(2**m, dtype=np.uint64), m) if len(rows) >= 2**m else None
        for chunk in chunks(len(rows), _CHUNK):
            inverse = inverses(rows[chunk], m) if table is None else table[rows[chunk].view(np.int64)]
            steps = np.zeros((m - j, len(inverse)), dtype=np.uint64)
            column = np.zeros_like(inverse)
            for k, multiple in enumerate(self._multiples(inverse, m)):
                column |= parity(multiple & signs[chunk]) << np.uint64(k)
                for free in range(m - j):
                    steps[free] |= (multiple >> np.uint64(j + free) & _ONE) << np.uint64(k)
            np.add.at(counts, column.view(np.int64), 1)
            for step in range(1, 2 ** (m - j)):
                column ^= steps[(step & -step).bit_length() - 1]
                np.add.at(counts, column.view(np.int64), 1)
        return counts
