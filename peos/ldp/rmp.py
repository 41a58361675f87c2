"""Random matrix projection (Bassily and Smith 2015): one entry of a random matrix of signs (protocol.md §2).

The top 32 bits of a word are a row r, its lowest bit is a sign; those between mean nothing. The report supports each v
at which the row has that sign, the lowest bit of SplitMix64(salt + r·2^32 + v). It is counted by evaluating every sign,
and is here for comparison. Neighbours: one user's value is replaced. Trusted: her device alone.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from peos.chunks import chunks
from peos.crypto.randomness import U64, Randomness
from peos.ldp.base import MAX_ENUMERABLE, UNASKED, Counts, Question, checked_parameters, whole_number
from peos.ldp.blanket import Blanket, even_blanket, least_collision, most_collision
from peos.ldp.hashing import splitmix64
from peos.ldp.members import Floats, Grid
from peos.ldp.mixture import Coin, checked_epsilon, threshold_for
from peos.ldp.two_level import TwoLevel, two_level_oracle

_HALF: Final = Fraction(1, 2)
_CHUNK: Final = 1 << 15  # so that what is made of a chunk stays in the nearest caches


class RandomMatrixProjection(TwoLevel):
    """Two values have the same sign in half of the rows, ± 12√(½/2^32) as the salt happens to expand them.

    `epsilon` is met from below. Variance of a frequency near 0, without fakes: ((e^ε + 1)/(e^ε − 1))²/n.
    """

    name = "rmp"
    short = "random matrix projection"
    no_theorem = "the theorem of the thesis is not claimed for signs that a salt decides"
    words = 1
    cells = 2
    _row_bits: ClassVar[int] = 32  # tests enumerate every random input of narrower twins
    _low_bits: ClassVar[int] = 32
    _coin_bits: ClassVar[int] = 64

    def __init__(self, domain: int, epsilon: float, *, question: Question = UNASKED) -> None:
        self._set(domain, threshold_for(checked_epsilon(epsilon), _HALF, coin_bits=self._coin_bits), question)

    @classmethod
    def described(cls) -> str:
        """A row, and a sign of it."""
        return (
            f"{cls.short} ({cls.name}): each device draws a row of random signs, one for every value, and sends its "
            "number with the sign at the user's answer or, with a fixed probability, with a sign drawn evenly"
        )

    @classmethod
    def build(cls, domain: int, epsilon: float, size: int = 0) -> "RandomMatrixProjection":  # noqa: ARG003 - it has none
        """The only one that there is."""
        return cls(domain, epsilon)

    @classmethod
    def is_proposed(cls, *, shuffled: bool) -> bool:  # noqa: ARG003 - never
        """No: Hadamard response with one sign is as exact, and is counted by a fast transform."""
        return False

    @classmethod
    def grid(cls, domain: int, sizes: NDArray[np.int64], local: Floats) -> Grid:  # noqa: ARG003 - the same for all
        """A half, and a half."""
        half = np.full((1, 1), 0.5)
        return Grid(half, half, np.full((1, 1), least_collision(_HALF)))

    @classmethod
    def from_parameters(cls, domain: int, parameters: Mapping[str, int], question: Question = UNASKED) -> Self:
        """The mechanism that a collection document describes by {"threshold": T}."""
        given = checked_parameters(cls.name, parameters, {"threshold": (1, 2**cls._coin_bits - 1)})
        mechanism = cls.__new__(cls)
        mechanism._set(domain, given["threshold"], question)
        return mechanism

    def _set(self, domain: int, threshold: int, question: Question) -> None:
        self.domain = whole_number(domain, "the domain of random matrix projection", least=2, most=MAX_ENUMERABLE)
        self.question = question
        self._mixture = Coin(threshold, _HALF, self._coin_bits)
        self._salt = np.uint64(int.from_bytes(self.digest[:8], "little"))
        most = _HALF + Fraction(most_collision(_HALF, self._row_bits))
        self._oracle = two_level_oracle(self.gamma, _HALF, _HALF, most)

    @property
    def blanket(self) -> Blanket:
        """Two values share their sign in as few of the rows as any two may."""
        both = Fraction(least_collision(_HALF)) * _HALF
        return even_blanket(self.gamma, _HALF, both, self.epsilon_local)

    @property
    def _pattern_bits(self) -> int:
        return self._row_bits + self._low_bits

    def encode(self, values: NDArray[np.int64], rng: Randomness) -> U64:
        """(n, 1): uniform words, with the sign of the value for their lowest bit."""
        values = self._values(values)
        words = rng.uint64(values.shape) >> np.uint64(64 - self._pattern_bits)
        return (words >> np.uint64(1) << np.uint64(1) | self.signs(self._rows(words), values))[:, np.newaxis]

    def decode(self, words: U64) -> tuple[U64, U64]:
        """(r, sign) of each report; every word has both."""
        flat = self._words(words)[:, 0]
        return self._rows(flat), flat & np.uint64(1)

    def signs(self, rows: U64, values: NDArray[np.int64]) -> U64:
        """The sign of each row at each value, the two broadcast together."""
        states = (np.atleast_1d(rows) << np.uint64(32)) + np.asarray(values).astype(np.uint64)
        return splitmix64(states + self._salt, 1) & np.uint64(1)

    def support_counts(self, words: U64, candidates: NDArray[np.int64] | None = None) -> Counts:
        """How many reports have each candidate's, or each value's, sign: by evaluating it."""
        words = self._words(words)
        among = np.arange(self.domain) if candidates is None else self._values(candidates)
        counts = np.zeros(len(among), dtype=np.int64)
        for chunk in chunks(len(words), _CHUNK):
            rows, told = self.decode(words[chunk])
            for at in range(len(among)):
                counts[at] += np.count_nonzero(self.signs(rows, among[at : at + 1]) == told)
        return counts

    def _rows(self, words: U64) -> U64:
        return words >> np.uint64(self._low_bits)
