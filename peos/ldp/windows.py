"""The windows of subset selection: P places on a circle of 2^b numbers, and arcs of them (protocol.md §2)."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.chunks import chunks
from peos.crypto.randomness import U64
from peos.ldp.hashing import inverses

Counts = NDArray[np.int64]

_MAX_TABLE: Final = 4096  # the largest P with a table of all pairs, 128 MB
_CHUNK: Final = 1 << 16  # reports worked at a time: about ten vectors of half a megabyte


@dataclass(frozen=True)
class Circle:
    """Place r is the number ⌊r·2^b/P⌋, and a window the `window` numbers up to its end s."""

    prime: int
    window: int
    bits: int

    @property
    def size(self) -> int:
        """k, about how many places a window holds."""
        return round(Fraction(self.window * self.prime, 2**self.bits))

    def shared(self) -> tuple[Fraction, int]:
        """How many windows hold two places that are δ apart, over all δ ≠ 0, and how far off it may be for any pair.

        Windows δ places apart share w − δ·2^b/P numbers or, the places being rounded, one more or less.
        """
        near = self.window * self.prime >> self.bits
        mean = 2 * (near * self.window - Fraction(2**self.bits * near * (near + 1), 2 * self.prime))
        return mean, 2 * (near + 1)

    def steps(self, reports: int) -> float:
        """About k a report, and a^(P − 2); or, where P is small, a table of P²."""
        walked = float(reports) * (self.size + 2 * self.prime.bit_length())
        return min(walked, reports + 2.0 * self.prime**2) if self.prime <= _MAX_TABLE else walked

    def places(self, multiples: U64, ranks: U64) -> U64:
        """⌊(a·z mod P)·2^b/P⌋, the two broadcast together."""
        return (multiples * ranks % np.uint64(self.prime) << np.uint64(self.bits)) // np.uint64(self.prime)

    def holds(self, multiples: U64, ends: U64, ranks: U64) -> NDArray[np.bool_]:
        """Whether each window holds the place of a·z, all broadcast together."""
        away = ends - self.places(multiples, ranks) & np.uint64(2**self.bits - 1)
        held: NDArray[np.bool_] = away < np.uint64(self.window)
        return held

    def support_counts(self, multiples: U64, ends: U64) -> Counts:
        """(P,): for how many reports (a, s) the window holds the place of a·z, for each z."""
        by_table = self.prime <= _MAX_TABLE and len(ends) * self.size > self.prime**2
        return self._by_table(multiples, ends) if by_table else self._walked(multiples, ends)

    def _arcs(self, ends: U64) -> tuple[Counts, Counts]:
        """From where (negative: from behind 0) up to which of the P places each window reaches."""
        last = ends.view(np.int64)

        def up_to(number: Counts) -> Counts:
            # ⌊r·2^b/P⌋ is at most s for each r below (s + 1)P/2^b.
            return -(-(number + 1) * self.prime >> self.bits)

        return up_to(last - self.window), up_to(last)

    def _by_table(self, multiples: U64, ends: U64) -> Counts:
        table = np.zeros((self.prime, self.prime + 1), dtype=np.int64)
        for chunk in chunks(len(ends), _CHUNK):
            row = multiples[chunk].view(np.int64)
            first, end = self._arcs(ends[chunk])
            np.add.at(table, (row, np.where(first < 0, first + self.prime, first)), 1)
            np.add.at(table, (row, end), -1)
            np.add.at(table[:, 0], row[first < 0], 1)
        np.cumsum(table, axis=1, out=table)
        ranks, counts = np.arange(self.prime), np.zeros(self.prime, dtype=np.int64)
        for a in range(1, self.prime):
            counts += table[a, a * ranks % self.prime]
        return counts

    def _walked(self, multiples: U64, ends: U64) -> Counts:
        """Of each report z = a⁻¹r mod P for every place r of its window."""
        counts, prime = np.zeros(self.prime, dtype=np.int64), np.uint64(self.prime)
        for chunk in chunks(len(ends), _CHUNK):
            first, end = self._arcs(ends[chunk])
            stride, left = inverses(multiples[chunk], self.prime), end - first
            at = (first % self.prime).view(np.uint64) * stride % prime
            for step in range(int(left.max())):
                np.add.at(counts, at.view(np.int64) if step < int(left.min()) else at[left > step].view(np.int64), 1)
                at = (at + stride) % prime
        return counts
