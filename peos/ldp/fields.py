"""Unary reports in fields of a few bits, of which each position of the domain has one (protocol.md §2).

Position i of d is field i: bits ib … ib+b−1 of Σ_j word_j·2^(64j), 1 iff the field, as a number, is below τ. A uniform
word is then Bernoulli(τ/2^b) in each position, so that a fake is a plausible report; plain bits would make it a row of
fair coins, which hides no user (privacy.md §1). Neighbours: one user's value is replaced. Trusted: her device alone.
"""

from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.chunks import chunks
from peos.crypto.randomness import U64, Randomness
from peos.estimate.frequency import FrequencyOracle
from peos.ldp.base import Counts, PureMechanism
from peos.ldp.blanket import Blanket, even_blanket

_CHUNK_ROWS: Final = 1 << 13  # so that one column, and what is made of it, stays in the nearest cache
_AT_ONCE: Final = 1 << 14  # words compared at a time, for the same reason
_MOST: Final = 255  # comparisons added up before they are taken apart


class UnaryFields(PureMechanism):
    """A `PureMechanism` of fields. Subclasses set `tau` and `field_bits`, and say what they make of a user's own."""

    cells = 2  # answers that a position tells apart
    tau: int
    field_bits: int
    _oracle: FrequencyOracle

    @property
    def share(self) -> Fraction:
        """τ/2^b: the chance that a uniform report supports a value."""
        return Fraction(self.tau, 2**self.field_bits)

    @property
    def blanket(self) -> Blanket:
        """A whole vector: a uniform one has a 1 at each position with probability τ/2^b, independently.

        No theorem counts its supports: the analyzer sees which other bits stand in the same vector (privacy.md §1).
        """
        return even_blanket(self.gamma, self.share, self.share**2, self.epsilon_local)

    @property
    def oracle(self) -> FrequencyOracle:
        """q = u = τ/2^b, exact as doubles, and p."""
        return self._oracle

    def encode(self, values: NDArray[np.int64], rng: Randomness) -> U64:
        """(n, w): uniform words but for each user's own field, uniform below τ."""
        values = self._values(values)
        words = rng.uint64((len(values), self.words))
        self.redraw(words, values, rng.below(np.full(len(values), self.tau, dtype=np.uint64)))
        return words

    def decode(self, words: U64) -> NDArray[np.bool_]:
        """(n, d): the bits of each report; every pattern of words has them, and padding is ignored."""
        columns = np.ascontiguousarray(self._words(words).T)
        return np.stack([self._supports(columns, position) for position in range(self.domain)], axis=1)

    def support_counts(self, words: U64, candidates: NDArray[np.int64] | None = None) -> Counts:
        """How many reports have each position set: of many whole words are compared, of a few candidates each field."""
        words = self._words(words)
        among = None if candidates is None else self._values(candidates)
        if among is None or len(among) > self.words:
            counts = self._of_all(words)
            return counts if among is None else counts[among]
        counts = np.zeros(len(among), dtype=np.int64)
        for chunk in chunks(len(words), _CHUNK_ROWS):
            columns = words[chunk].T
            for place, position in enumerate(among.tolist()):
                counts[place] += np.count_nonzero(self._supports(columns, position))
        return counts

    def _of_all(self, words: U64) -> Counts:
        """`support_counts` of the whole domain, by arithmetic on all the fields of a word at a time.

        A word's fields, every second one at a time, stand in lanes of 2b bits: (2^b + τ − 1) − field has bit b set iff
        the field is below τ, and borrows from no other lane. These bits are added up, lane by lane, while there is room
        in the last one, which may be narrower.
        """
        b, fields = self.field_bits, 64 // self.field_bits
        starts = [2 * b * lane for lane in range((fields + 1) // 2)]
        one = sum(1 << start for start in starts)
        ones, masks, tops = np.uint64(one), np.uint64(one * (2**b - 1)), np.uint64(one * (2**b + self.tau - 1))
        width, room = np.uint64(b), min(2 * b, 64 - starts[-1])
        groups = -(-self.domain // fields)
        found = np.zeros((groups, len(starts), 2), dtype=np.int64)
        rows = max(1, _AT_ONCE // self.words)
        for block in chunks(len(words), rows * min(2**room - 1, _MOST)):
            sums = np.zeros((2, min(rows, block.stop - block.start), groups), dtype=np.uint64)
            for chunk in chunks(block.stop, rows, first=block.start):
                groups_of = self._grouped(words[chunk], groups, fields)
                for parity in (0, 1):
                    lanes = groups_of >> width if parity else groups_of.copy()
                    lanes &= masks
                    np.subtract(tops, lanes, out=lanes)
                    lanes >>= width
                    lanes &= ones
                    sums[parity, : len(lanes)] += lanes
            for lane, start in enumerate(starts):
                counted = sums >> np.uint64(start) & np.uint64(2 ** (2 * b) - 1)
                found[:, lane] += counted.sum(axis=1, dtype=np.int64).T
        return found.reshape(groups, -1)[:, :fields].reshape(-1)[: self.domain]

    def _grouped(self, words: U64, groups: int, fields: int) -> U64:
        """(n, groups): words of so many whole fields each, from bit 0 on; what stands above them means nothing."""
        if 64 % self.field_bits == 0:
            return words
        start = np.arange(groups) * (fields * self.field_bits)
        word, offset = start // 64, (start % 64).astype(np.uint64)
        following = np.minimum(word + 1, self.words - 1)
        # Two shifts, each below 64; where the group begins with the word, nothing is taken from the next one.
        rest: U64 = words[:, following] << (np.uint64(63) - offset) << np.uint64(1)
        rest |= words[:, word] >> offset
        return rest

    def _supports(self, columns: U64, position: int) -> NDArray[np.bool_]:
        """Which reports have a position set, from their words as columns (w, n)."""
        word, offset = divmod(position * self.field_bits, 64)
        free = 64 - self.field_bits
        if offset <= free:
            # With the field at the top of the word whatever stands below it cannot decide the comparison with τ.
            field = columns[word] << np.uint64(free - offset)
        else:
            low = columns[word] >> np.uint64(offset) << np.uint64(free)
            field = low | columns[word + 1] << np.uint64(free + 64 - offset)
        supports: NDArray[np.bool_] = field < np.uint64(self.tau << free)
        return supports

    def redraw(self, words: U64, values: NDArray[np.int64], fields: U64) -> None:
        """Put `fields` in place of each user's own field."""
        rows = np.arange(len(values))
        start = values.astype(np.uint64) * np.uint64(self.field_bits)
        word, offset = (start // np.uint64(64)).astype(np.intp), start % np.uint64(64)
        mask = np.uint64(2**self.field_bits - 1)
        words[rows, word] = words[rows, word] & ~(mask << offset) | fields << offset
        # The part beyond the word's end belongs to the next one. Shifting by 63 − offset and once more keeps each
        # shift below 64; where the field ends within the word, nothing is left of it.
        below = np.uint64(63) - offset
        carried, kept = fields >> below >> np.uint64(1), ~(mask >> below >> np.uint64(1))
        following = np.minimum(word + 1, self.words - 1)
        words[rows, following] = words[rows, following] & kept | carried
