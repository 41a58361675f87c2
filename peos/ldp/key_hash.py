"""Hash functions of keys too many to list: a prefix and what follows it, to d' = 2^b cells by multiply-shift.

A key is (parent, ext): the prefix of a text that is known so far, and its next few bits. For a seed σ
    h(parent) = (A₁·x₁ + A₂·x₂ + B mod 2^64) ≫ (64 − b),  t(ext) = (A₃·ext + B' mod 2^64) ≫ (64 − b),
    H(parent, ext) = (h + t) mod 2^b,
with x₁ and x₂ the halves of the parent and A₁, A₂, A₃, B, B' the first five words of SplitMix64 from salt + σ. With
uniform coefficients h and t are each pairwise independent (Dietzfelbinger 1996), so two keys meet with probability
2^-b exactly: where the parents differ h makes their sum uniform, where they are the same t does.

A report is (σ, y) and supports every key with H_σ = y. For all parents and exts at once t of an ext is computed once a
report, and a candidate costs one comparison of 16 bits.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.chunks import chunks
from peos.crypto.randomness import U64
from peos.ldp.hashing import splitmix64

MOST_BITS: Final = 16  # of d'
EXT_BITS: Final = 20  # what follows a prefix, at most
PAIRS_A_SECOND: Final = 2e9  # of a report and a candidate, on one core: half of what an idle one was seen to do
_ROWS: Final = 255  # reports whose matches are added up in one byte
_COLUMNS: Final = 1024  # exts at a time: a block of 16-bit numbers that stays near the processor
_SORTED_FROM: Final = 24  # parents: from so many on, sorting a report's t(ext) once is worth it
_MANY_CELLS: Final = 1 << 12  # and where so few exts are in each of d' cells
_LOW: Final = np.uint64(0xFFFFFFFF)
_HALF: Final = np.uint64(32)
Counts = NDArray[np.int64]
U16 = NDArray[np.uint16]


@dataclass(frozen=True)
class KeyHash:
    """The functions to 2^`bits` cells, one for each seed; `salt` sets one collection's apart."""

    bits: int
    salt: int

    def hash(self, seeds: U64, parents: U64, exts: U64) -> NDArray[np.int64]:
        """H_seed(parent, ext), all three of one shape or broadcast together."""
        a1, a2, a3, b, b_ext = self._coefficients(seeds)
        of_parent = (a1 * (parents >> _HALF) + a2 * (parents & _LOW) + b) >> self._shift
        of_ext = (a3 * exts + b_ext) >> self._shift
        return ((of_parent + of_ext) & np.uint64(2**self.bits - 1)).astype(np.int64)

    def support_counts(self, seeds: U64, answers: NDArray[np.int64], parents: U64, exts: U64) -> Counts:
        """(parents, exts): how many reports support each parent with each ext."""
        counts = np.zeros((len(parents), len(exts)), dtype=np.int64)
        if len(parents) >= _SORTED_FROM and len(exts) * 4 >= 2**self.bits >= _MANY_CELLS:
            self._count_sorted(counts, seeds, answers, parents, exts)
            return counts
        # Written over again and again: memory that is asked for anew would cost more than what is worked in it.
        width = min(len(exts), _COLUMNS)
        wide, of_exts = np.empty((_ROWS, width), np.uint64), np.empty((_ROWS, width), np.uint16)
        met = np.empty((_ROWS, width), np.bool_)
        for chunk in chunks(len(seeds), _ROWS):
            a3, b_ext, wanted = self._prepared(seeds[chunk], answers[chunk], parents)
            rows = len(wanted)
            for columns in chunks(len(exts), width):
                block = np.s_[:rows, : len(exts[columns])]
                np.multiply(a3[:, np.newaxis], exts[columns], out=wide[block])
                wide[block] += b_ext[:, np.newaxis]
                wide[block] >>= self._shift
                of_exts[block] = wide[block]
                for parent in range(len(parents)):
                    np.equal(of_exts[block], wanted[:, parent, np.newaxis], out=met[block])
                    counts[parent, columns] += np.add.reduce(met[block].view(np.uint8), axis=0, dtype=np.uint8)
        return counts

    def pair_counts(self, seeds: U64, answers: NDArray[np.int64], parents: U64, exts: U64) -> Counts:
        """How many reports support each key (parents[i], exts[i])."""
        heads, head_of = np.unique(parents, return_inverse=True)
        tails, tail_of = np.unique(exts, return_inverse=True)
        counts = np.zeros(len(parents), dtype=np.int64)
        for chunk in chunks(len(seeds), _ROWS):
            a3, b_ext, wanted = self._prepared(seeds[chunk], answers[chunk], heads)
            of_exts = ((a3[:, np.newaxis] * tails + b_ext[:, np.newaxis]) >> self._shift).astype(np.uint16)
            for columns in chunks(len(parents), _COLUMNS):
                met = of_exts[:, tail_of[columns]] == wanted[:, head_of[columns]]
                counts[columns] += np.add.reduce(met.view(np.uint8), axis=0, dtype=np.uint8)
        return counts

    def _prepared(self, seeds: U64, answers: NDArray[np.int64], parents: U64) -> tuple[U64, U64, U16]:
        """A₃ and B' of each report, and (reports, parents): the t(ext) that it supports after each parent."""
        a1, a2, a3, b, b_ext = self._coefficients(seeds)
        of_parents = a1[:, np.newaxis] * (parents >> _HALF) + a2[:, np.newaxis] * (parents & _LOW) + b[:, np.newaxis]
        wanted = (answers[:, np.newaxis].astype(np.uint64) - (of_parents >> self._shift)).astype(np.uint16)
        return a3, b_ext, wanted & np.uint16(2**self.bits - 1)

    def _count_sorted(self, counts: Counts, seeds: U64, answers: NDArray[np.int64], parents: U64, exts: U64) -> None:
        """Each report's exts in the order of t, where the few that a parent wants lie together."""
        ends = np.zeros(2**self.bits + 1, dtype=np.int64)
        for chunk in chunks(len(seeds), _ROWS):
            for a3, b_ext, wanted in zip(*self._prepared(seeds[chunk], answers[chunk], parents), strict=True):
                of_exts = ((a3 * exts + b_ext) >> self._shift).astype(np.uint16)
                order = np.argsort(of_exts, kind="stable")  # by radix
                np.cumsum(np.bincount(of_exts, minlength=2**self.bits), out=ends[1:])
                first = ends[wanted]
                lengths = ends[wanted.astype(np.int64) + 1] - first
                of_parent = np.repeat(np.arange(len(lengths)), lengths)
                skipped = first - np.concatenate(([0], np.cumsum(lengths)[:-1]))
                counts[of_parent, order[np.arange(len(of_parent)) + skipped[of_parent]]] += 1

    @property
    def _shift(self) -> np.uint64:
        return np.uint64(64 - self.bits)

    def _coefficients(self, seeds: U64) -> tuple[U64, ...]:
        states = seeds + np.uint64(self.salt)
        return tuple(splitmix64(states, output) for output in (1, 2, 3, 4, 5))
