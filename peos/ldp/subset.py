"""Subset selection by windows: a random multiple of the values on a circle, and a window of it (protocol.md §2).

P is the smallest prime that is at least d. The top 32 bits t of a word give a = 1 + ⌊t(P − 1)/2^32⌋, the low 32 bits s
the end of the window: the report supports each x with (s − ⌊(a·π(x) mod P)·2^32/P⌋) mod 2^32 < w, about k = wP/2^32 of
the values. Given a true value, another is supported with probability (k − 1)/(P − 1): a balanced design, that no
two-level mechanism with as many supports is better than. Neighbours: one user's value is replaced. Trusted: her device
alone.
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
from peos.ldp.base import UNASKED, Counts, Question, checked_parameters, whole_number
from peos.ldp.blanket import Blanket, even_blanket
from peos.ldp.hashing import permutation, prime_from
from peos.ldp.members import Floats, Grid, local_variance
from peos.ldp.mixture import Coin, checked_epsilon, threshold_for
from peos.ldp.two_level import TwoLevel, two_level_oracle
from peos.ldp.windows import Circle

MAX_DOMAIN: Final = 1 << 20  # beyond, 2^32 numbers would fall on the places too unevenly
_CHUNK: Final = 1 << 16
_FEW: Final = 8  # sizes up to here are all tried by a planner, larger ones in steps of a sixth
_STEP: Final = 7 / 6


class SubsetSelection(TwoLevel):
    """Any number of supports, of which GRR has one and local hashing d/d'; without a salt.

    `epsilon` is met from below. Without `size`, k is the one of least variance where nothing is shuffled, next to
    d/(e^ε + 1). Variance of a frequency near 0, without fakes: that of local hashing with match k/P and collision
    (k − 1)/(P − 1).
    """

    name = "subset"
    short = "subset selection"
    size_name = "size"
    size_range = (1, MAX_DOMAIN // 2)
    no_theorem = "the theorem of the thesis is not claimed for windows, which overlap"
    words = 1
    _row_bits: ClassVar[int] = 32  # tests enumerate every random input of narrower twins
    _bits: ClassVar[int] = 32
    _coin_bits: ClassVar[int] = 64

    def __init__(self, domain: int, epsilon: float, size: int | None = None, *, question: Question = UNASKED) -> None:
        asked, domain = checked_epsilon(epsilon), _domain(domain)
        k = _best_size(domain, asked) if size is None else whole_number(size, "size", least=1, most=_most(domain))
        window = k * 2**self._bits // prime_from(domain)
        match = Fraction(window, 2**self._bits)
        self._set(domain, threshold_for(asked, match, coin_bits=self._coin_bits), window, question)

    @classmethod
    def described(cls) -> str:
        """A set of values, with her own among them or drawn evenly."""
        return (
            f"{cls.short} ({cls.name}): each device sends a random set of values that has the user's answer among them "
            "or, with a fixed probability, one drawn evenly from all"
        )

    @classmethod
    def build(cls, domain: int, epsilon: float, size: int = 0) -> "SubsetSelection":
        """With `size` for k."""
        return cls(domain, epsilon, size=size or None)

    @classmethod
    def sizes_to_try(cls, domain: int, limit: float) -> NDArray[np.int64]:
        """All small ones, larger ones in steps and, where `limit` binds, the best for it; none if it does not fit."""
        if domain > MAX_DOMAIN:
            return np.zeros(0, dtype=np.int64)
        most = _most(domain)
        large = {round(_FEW * _STEP**i) for i in range(1, math.ceil(math.log(max(most / _FEW, 1), _STEP)))}
        tried = {*range(1, _FEW + 1), *large, most, _best_size(domain, limit)}
        return np.array(sorted(k for k in tried if k <= most))

    @classmethod
    def grid(cls, domain: int, sizes: NDArray[np.int64], local: Floats) -> Grid:  # noqa: ARG003 - ε_l does not matter
        """k/P and (k − 1)/(P − 1), which places of uneven size change by P/2^32 at most."""
        prime, k = prime_from(domain), np.minimum(sizes, _most(domain))[:, np.newaxis].astype(float)
        collision = (k - 1) / max(prime - 1, 1)
        return Grid(k / prime, collision, collision * (1 - 2 * prime / 2.0**cls._bits))

    @classmethod
    def from_parameters(cls, domain: int, parameters: Mapping[str, int], question: Question = UNASKED) -> Self:
        """The mechanism that a collection document describes by {"threshold": T, "window": w}."""
        domain = _domain(domain)
        prime = prime_from(domain)
        widest = _most(domain) * 2**cls._bits // prime
        ranges = {"threshold": (1, 2**cls._coin_bits - 1), "window": (2**cls._bits // prime, widest)}
        given = checked_parameters(cls.name, parameters, ranges)
        mechanism = cls.__new__(cls)
        mechanism._set(domain, given["threshold"], given["window"], question)
        return mechanism

    def _set(self, domain: int, threshold: int, window: int, question: Question) -> None:
        self.domain, self.window, self.question = domain, window, question
        self.circle = Circle(prime_from(domain), window, self._bits)
        self.cells = self.size = self.circle.size
        match = Fraction(window, 2**self._bits)
        self._mixture = Coin(threshold, match, self._coin_bits)
        # The places of two values are a·(π − π') apart, which is every distance once, each by ⌊2^32/(P − 1)⌋ numbers t
        # or one more.
        shared, off = self.circle.shared()
        multiples, drawn = max(self.circle.prime - 1, 1), 2**self._row_bits
        self._both = max(Fraction(0), (shared - off) * (drawn // multiples) / (drawn * 2**self._bits))
        most = (shared + off) * -(-drawn // multiples) / (drawn * window)
        self._oracle = two_level_oracle(self.gamma, match, shared / (multiples * window), most)

    @property
    def blanket(self) -> Blanket:
        """Two values are in as few of the windows together as any two may be: a fraction that no salt decides."""
        return even_blanket(self.gamma, self._mixture.match, self._both, self.epsilon_local)

    @property
    def parameters(self) -> Mapping[str, int]:
        """{"threshold": T, "window": w}."""
        return {"threshold": self._mixture.threshold, "window": self.window}

    @property
    def shown(self) -> Mapping[str, int]:
        """{"size": k}."""
        return {"size": self.size}

    @property
    def _pattern_bits(self) -> int:
        return self._row_bits + self._bits

    @cached_property
    def _ranks(self) -> U64:
        return permutation(self.domain)

    def encode(self, values: NDArray[np.int64], rng: Randomness) -> U64:
        """(n, 1): for each value a uniform multiple, and a uniform one of the windows with its place."""
        values = self._values(values)
        t = rng.uint64(values.shape) >> np.uint64(64 - self._row_bits)
        places = self.circle.places(self._multiples(t), self._ranks[values])
        ends = places + rng.below(np.full(values.shape, self.window, dtype=np.uint64)) & np.uint64(2**self._bits - 1)
        return (t << np.uint64(self._bits) | ends)[:, np.newaxis]

    def decode(self, words: U64) -> tuple[U64, U64]:
        """(a, s) of each report; every word has both."""
        flat = self._words(words)[:, 0]
        return self._multiples(flat >> np.uint64(self._bits)), flat & np.uint64(2**self._bits - 1)

    def support_counts(self, words: U64, candidates: NDArray[np.int64] | None = None) -> Counts:
        """How many reports support each value, or each of a few candidates by evaluation."""
        words = self._words(words)
        among = None if candidates is None else self._values(candidates)
        if among is not None and len(among) < self.size:
            counts = np.zeros(len(among), dtype=np.int64)
            for chunk in chunks(len(words), _CHUNK):
                multiples, ends = self.decode(words[chunk])
                for at, rank in enumerate(self._ranks[among]):
                    counts[at] += np.count_nonzero(self.circle.holds(multiples, ends, rank))
            return counts
        counts = self.circle.support_counts(*self.decode(words))[self._ranks.view(np.int64)]
        return counts if among is None else counts[among]

    def steps(self, reports: int) -> float:
        """As the circle has it."""
        return self.circle.steps(reports)

    def _multiples(self, t: U64) -> U64:
        return (t * np.uint64(max(self.circle.prime - 1, 1)) >> np.uint64(self._row_bits)) + np.uint64(1)


def _domain(domain: object) -> int:
    return whole_number(domain, "the domain of subset selection", least=2, most=MAX_DOMAIN)


def _most(domain: int) -> int:
    return (domain + 1) // 2


def _best_size(domain: int, epsilon: float) -> int:
    prime = prime_from(domain)
    about = prime / (math.exp(epsilon) + 1)
    near = np.unique(np.clip(math.floor(about) + np.arange(-2, 4), 1, _most(domain)))
    variance = local_variance(math.expm1(epsilon), near / prime, (near - 1) / max(prime - 1, 1))
    return int(near[np.argmin(variance)])
