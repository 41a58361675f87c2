"""Hadamard response with several signs: parities of a random row and of rows that follow from it (protocol.md §2).

The top 40 bits t of a word give the row a = 1 + ⌊t(2^m − 1)/2^40⌋, 2^m ≥ d, and its low j bits the signs y; those
between mean nothing. The report supports each x with y_i = <a·x^i, π(x)> for i = 0 … j − 1, in GF(2^m). Given a
true value, the signs of another are uniform but for the row 0, which is left out: a balanced design, that no two-level
mechanism with as many supports is better than. Neighbours: one user's value is replaced. Trusted: her device alone.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from peos.chunks import chunks
from peos.crypto.randomness import U64, Randomness
from peos.ldp.base import MAX_ENUMERABLE, UNASKED, Counts, Question, checked_parameters, whole_number
from peos.ldp.binary_field import RowFamily
from peos.ldp.blanket import Blanket, even_blanket
from peos.ldp.hashing import permutation
from peos.ldp.members import Floats, Grid, local_variance
from peos.ldp.mixture import Coin, checked_epsilon, threshold_for
from peos.ldp.two_level import TwoLevel, two_level_oracle

MAX_SIGNS: Final = MAX_ENUMERABLE.bit_length() - 1
_CHUNK: Final = 1 << 16


class HadamardResponse(TwoLevel):
    """2^j cells as local hashing has d', without a salt, and counted by a fast transform.

    `epsilon` is met from below. Without `signs`, j is the one of least variance where nothing is shuffled; j = m is
    randomised response over 2^m values. Variance of a frequency near 0, without fakes: that of local hashing with 2^j
    cells that two values share with probability (2^(m−j) − 1)/(2^m − 1).
    """

    name = "hadamard"
    short = "Hadamard response"
    size_name = "signs"
    size_range = (1, MAX_SIGNS)
    no_theorem = "the theorem of the thesis is not claimed for rows that follow from each other"
    words = 1
    _bits: ClassVar[int] = 64  # tests enumerate every random input of narrower twins
    _row_bits: ClassVar[int] = 40
    _coin_bits: ClassVar[int] = 64

    def __init__(self, domain: int, epsilon: float, signs: int | None = None, *, question: Question = UNASKED) -> None:
        asked, degree = checked_epsilon(epsilon), _degree(domain)
        j = _best_signs(degree, asked) if signs is None else _signs(signs, degree)
        self._set(domain, threshold_for(asked, Fraction(1, 2**j), coin_bits=self._coin_bits), j, question)

    @classmethod
    def described(cls) -> str:
        """A row, and a few signs of it."""
        return (
            f"{cls.short} ({cls.name}): each device draws a row of signs with one for every value, and sends its "
            "number with the sign at the user's answer, and a few more found alike, or, with a fixed probability, with "
            "signs drawn evenly"
        )

    @classmethod
    def build(cls, domain: int, epsilon: float, size: int = 0) -> "HadamardResponse":
        """With `size` signs."""
        return cls(domain, epsilon, signs=size or None)

    @classmethod
    def sizes_to_try(cls, domain: int, limit: float) -> NDArray[np.int64]:  # noqa: ARG003 - they are few
        """Every number of signs."""
        return np.arange(1, _degree(domain) + 1)

    @classmethod
    def grid(cls, domain: int, sizes: NDArray[np.int64], local: Floats) -> Grid:  # noqa: ARG003 - ε_l does not matter
        """2^-j and (2^(m−j) − 1)/(2^m − 1), which rows of uneven chance make smaller by 2^(m−40) at most."""
        degree = _degree(domain)
        match = 0.5 ** np.minimum(sizes, degree)[:, np.newaxis]
        collision = (2.0**degree * match - 1) / (2.0**degree - 1)
        return Grid(match, collision, collision * (1 - 2.0 ** (degree - cls._row_bits)))

    @classmethod
    def from_parameters(cls, domain: int, parameters: Mapping[str, int], question: Question = UNASKED) -> Self:
        """The mechanism that a collection document describes by {"threshold": T, "signs": j}."""
        ranges = {"threshold": (1, 2**cls._coin_bits - 1), "signs": (1, MAX_SIGNS)}
        given = checked_parameters(cls.name, parameters, ranges)
        mechanism = cls.__new__(cls)
        mechanism._set(domain, given["threshold"], _signs(given["signs"], _degree(domain)), question)
        return mechanism

    def _set(self, domain: int, threshold: int, signs: int, question: Question) -> None:
        self.domain, self.question = domain, question
        self.degree, self.signs, self.cells = _degree(domain), signs, 2**signs
        self.family = RowFamily(self.degree, signs)
        self._mixture = Coin(threshold, Fraction(1, self.cells), self._coin_bits)
        # Of the 2^m − 1 rows as many give two values the same signs, and each is drawn by ⌊2^40/(2^m − 1)⌋ or one more.
        rows, same, drawn = 2**self.degree - 1, 2 ** (self.degree - signs) - 1, 2**self._row_bits
        self._least = Fraction(same * (drawn // rows), drawn)
        most = Fraction(same * -(-drawn // rows), drawn)
        self._oracle = two_level_oracle(self.gamma, self._mixture.match, Fraction(same, rows), most)

    @property
    def blanket(self) -> Blanket:
        """Two values share their signs under as few of the rows as any two may: a fraction that no salt decides."""
        match = self._mixture.match
        return even_blanket(self.gamma, match, self._least * match, self.epsilon_local)

    @property
    def parameters(self) -> Mapping[str, int]:
        """{"threshold": T, "signs": j}."""
        return {"threshold": self._mixture.threshold, "signs": self.signs}

    @property
    def shown(self) -> Mapping[str, int]:
        """{"signs": j}."""
        return {"signs": self.signs}

    @property
    def _pattern_bits(self) -> int:
        return self._bits

    @cached_property
    def _places(self) -> U64:
        return permutation(self.domain)

    def encode(self, values: NDArray[np.int64], rng: Randomness) -> U64:
        """(n, 1): uniform words, with the signs of the values for their low bits."""
        values = self._values(values)
        words = rng.uint64(values.shape) >> np.uint64(64 - self._bits)
        told = self.family.signs_at(self._rows(words), self._places[values])
        return (words >> np.uint64(self.signs) << np.uint64(self.signs) | told)[:, np.newaxis]

    def decode(self, words: U64) -> tuple[U64, U64]:
        """(a, y) of each report; every word has both."""
        flat = self._words(words)[:, 0]
        return self._rows(flat), flat & np.uint64(self.cells - 1)

    def support_counts(self, words: U64, candidates: NDArray[np.int64] | None = None) -> Counts:
        """How many reports support each value: by the transform of all rows, or along each report's supports."""
        words = self._words(words)
        among = None if candidates is None else self._values(candidates)
        if among is not None and len(among) * self.signs < self.domain:
            return self._met(words, self._places[among])
        counts = self.family.support_counts(*self.decode(words))[self._places.view(np.int64)]
        return counts if among is None else counts[among]

    def steps(self, reports: int) -> float:
        """As the family of rows has it."""
        return self.family.steps(reports)

    def _rows(self, words: U64) -> U64:
        t = words >> np.uint64(self._bits - self._row_bits)
        return (t * np.uint64(2**self.degree - 1) >> np.uint64(self._row_bits)) + np.uint64(1)

    def _met(self, words: U64, places: U64) -> Counts:
        """`support_counts` by evaluation at each candidate."""
        counts = np.zeros(len(places), dtype=np.int64)
        for chunk in chunks(len(words), _CHUNK):
            rows, signs = self.decode(words[chunk])
            for at in range(len(places)):
                counts[at] += np.count_nonzero(self.family.signs_at(rows, places[at : at + 1]) == signs)
        return counts


def _degree(domain: object) -> int:
    """m: the smallest for which there are 2^m ≥ d columns."""
    return (whole_number(domain, "the domain of Hadamard response", least=2, most=MAX_ENUMERABLE) - 1).bit_length()


def _signs(signs: object, degree: int) -> int:
    return whole_number(signs, "the number of signs for so many values", least=1, most=degree)


def _best_signs(degree: int, epsilon: float) -> int:
    match: Floats = np.array([0.5**j for j in range(1, degree + 1)])
    collision: Floats = np.asarray((2.0**degree * match - 1) / (2.0**degree - 1), dtype=np.float64)
    return int(np.argmin(local_variance(math.expm1(epsilon), match, collision))) + 1
