"""The exact law of a randomiser, from the very code that makes reports, on all values of its random inputs.

`Enumeration` stands in for the random stream. The i-th draw of a run is given a digit of its own; one row of the batch
is one combination of digits, and the batch holds them all, so that counting the rows that gave a report is the
report's exact probability. Narrow twins of the mechanisms (few bits in place of 64 and 32) keep the batch small.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from peos.crypto.randomness import U64, Randomness
from peos.ldp import GRR, LocalHash
from peos.ldp.base import PureMechanism

Law = Mapping[tuple[int, ...], Fraction]


class NarrowGRR(GRR):
    """GRR with words of 6 bits and coins of 5."""

    _bits = 6
    _coin_bits = 5


class NarrowLocalHash(LocalHash):
    """Local hashing with seeds of 3 bits, numbers of 4 and coins of 5."""

    _seed_bits = 3
    _bits = 4
    _coin_bits = 5


class Enumeration(Randomness):
    """Runs through all combinations of the draws: `draws[i]` is ("top", b), ("low", b) or ("below", multiple).

    "top" answers `uint64` with b bits at the top of the word, as coins and numbers are taken from it, and "low" with b
    bits at its bottom, the rest being filled with what must not matter. "below" answers `below` by the digit modulo
    the bound, uniform exactly if the multiple is one of every bound; it is checked to be.
    """

    def __init__(self, draws: Sequence[tuple[str, int]]) -> None:
        super().__init__(bytes(32))
        self._draws = list(draws)
        sizes = [size if kind == "below" else 2**size for kind, size in draws]
        self.rows = math.prod(sizes)
        rows = np.arange(self.rows, dtype=np.uint64)
        self._digits = []
        for size in sizes:
            self._digits.append(rows % np.uint64(size))
            rows = rows // np.uint64(size)

    def uint64(self, shape: int | Sequence[int]) -> U64:
        """The next digit, as `bits` bits of a word; the other bits are arbitrary."""
        kind, bits = self._draws.pop(0)
        junk = super().uint64(self.rows)
        digit = self._digits.pop(0)
        if kind == "top":
            word = digit << np.uint64(64 - bits) | junk >> np.uint64(bits)
        else:
            assert kind == "low"
            word = digit | junk << np.uint64(bits)
        return word.reshape(shape)

    def below(self, bounds: U64) -> U64:
        """The next digit modulo each bound."""
        kind, multiple = self._draws.pop(0)
        assert kind == "below"
        assert not np.any(np.uint64(multiple) % bounds), "the enumeration would not be uniform"
        return self._digits.pop(0) % bounds

    def finished(self) -> bool:
        """Every digit was asked for."""
        return not self._draws


def law(
    mechanism: PureMechanism, value: int, draws: Sequence[tuple[str, int]], *, blanket_mask: int = 2**64 - 1
) -> Law:
    """Pr[report = word] of `randomize(value)`; bits outside `blanket_mask` (padding) are dropped."""
    source = Enumeration(draws)
    words = mechanism.randomize(np.full(source.rows, value, dtype=np.int64), source)
    assert source.finished()
    return _law(words, source.rows, blanket_mask)


def encoding_law(
    mechanism: PureMechanism, value: int, draws: Sequence[tuple[str, int]], *, mask: int = 2**64 - 1
) -> Law:
    """Pr[report = word] of `encode(value)`."""
    source = Enumeration(draws)
    words = mechanism.encode(np.full(source.rows, value, dtype=np.int64), source)
    assert source.finished()
    return _law(words, source.rows, mask)


def worst_ratio(laws: Sequence[Law]) -> float:
    """The largest Pr[report | v] / Pr[report | v'], infinite if a report betrays that v' is impossible."""
    reports = set().union(*laws)
    worst = 1.0
    for report in reports:
        chances = [one.get(report, Fraction(0)) for one in laws]
        worst = max(worst, float(max(chances) / min(chances)) if min(chances) else math.inf)
    return worst


def _law(words: U64, rows: int, mask: int) -> Law:
    assert words.shape[1] == 1, "the twins that are enumerated fit in one word"
    reports, counts = np.unique(words[:, 0] & np.uint64(mask), return_counts=True)
    return {(int(report),): Fraction(int(count), rows) for report, count in zip(reports, counts, strict=True)}
