"""Local hashing: a random hash function of the value, sent through randomised response (thesis §9.3.2).

With d' set to the optimum of the shuffled model this is the thesis' SOLH, at d' near e^ε + 1 it is OLH. One word holds
a seed (high 32 bits) and a number z (low 32 bits) that tells the answer y = ⌊z·d' / 2^32⌋; the report supports every
x with H_seed(x) = y (protocol.md §2). Neighbours: one user's value is replaced. Trusted: her device alone.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from peos.chunks import chunks
from peos.crypto.randomness import U64, Randomness
from peos.errors import WrongInput
from peos.estimate.frequency import FrequencyOracle
from peos.ldp.base import MAX_ENUMERABLE, UNASKED, Counts, Question, checked_parameters, whole_number
from peos.ldp.blanket import Blanket, blanket_of_cells, least_collision, most_collision
from peos.ldp.hashing import HashFamily
from peos.ldp.members import Floats, Grid, Members
from peos.ldp.mixture import Mixture, checked_epsilon, largest_threshold
from peos.ldp.two_level import TwoLevel

MAX_CELLS: Final = 1 << 16  # beyond, 2^32 numbers z would fall on the cells too unevenly
_CHUNK: Final = 1 << 20  # reports decoded at a time, two vectors of 8 MB


class LocalHash(TwoLevel):
    """With probability 1 − γ a uniform seed and H_seed(value), else a uniformly random word.

    q rests on c_P, the chance that two values meet under uniform (a, b). Over the 2^32 seeds that there are, as the
    salt happens to expand them, the share of seeds under which two given values meet is c_P ± 12√(c_P / 2^32)
    (privacy.md §2); ε_l does not depend on it.

    Without `d_prime` it is the power of two of least variance in the local model, next to e^ε + 1 and at most 2^16:
    right for reports that are not shuffled. What is best in a shuffled collection depends on its guarantees, and is
    the planner's to say. Variance of a frequency near 0, without fakes, for ideal hashing:
    (e^ε + d' − 1)² / (n (e^ε − 1)² (d' − 1)).
    """

    _mixture: Mixture
    name = "solh"
    short = "local hashing"
    size_name = "d_prime"
    size_range = (2, MAX_CELLS)
    words = 1
    _seed_bits: ClassVar[int] = 32  # tests enumerate every random input of narrower twins
    _bits: ClassVar[int] = 32
    _coin_bits: ClassVar[int] = 64

    def __init__(
        self, domain: int, epsilon: float, d_prime: int | None = None, *, question: Question = UNASKED
    ) -> None:
        domain = _domain(domain)
        asked = checked_epsilon(epsilon)
        cells = locally_best_d_prime(asked) if d_prime is None else _cells(d_prime)
        self._set(domain, largest_threshold(asked, cells, bits=self._bits, coin_bits=self._coin_bits), cells, question)

    @classmethod
    def described(cls) -> str:
        """A hash function, and what it makes of her value, or anything."""
        return (
            f"{cls.short} ({cls.name}): each device draws a hash function, and sends it with the hash of the user's "
            "answer or, with a fixed probability, with a hash value drawn evenly"
        )

    @classmethod
    def build(cls, domain: int, epsilon: float, size: int = 0) -> "LocalHash":
        """With `size` for d'."""
        return cls(domain, epsilon, d_prime=size or None)

    @classmethod
    def sizes_to_try(cls, domain: int, limit: float) -> NDArray[np.int64]:
        """Every power of two below the domain's size and, where `limit` binds, the best d' for it, e^ε_l + 1."""
        most = min(MAX_CELLS, max(domain, 3) - 1)
        powers = {1 << j for j in range(1, most.bit_length())}
        at_limit = round(math.exp(min(limit, math.log(MAX_CELLS)))) + 1
        return np.array(sorted(powers | ({at_limit} if at_limit <= most else set())))

    @classmethod
    def grid(cls, domain: int, sizes: NDArray[np.int64], local: Floats) -> Grid:  # noqa: ARG003 - ε_l does not matter
        """1/d', c_P, and the least that the seeds' functions may have of it."""
        expected = [HashFamily(domain, int(cells), salt=0).collision_probability for cells in sizes]
        collision = np.array([[float(c)] for c in expected])
        return Grid(1.0 / sizes[:, np.newaxis], collision, np.array([[least_collision(c)] for c in expected]))

    @classmethod
    def theorem_members(cls, domain: int, size: int = 0) -> Members | None:
        """The d' asked for, or every one below the domain's size (GRR is better from there on) and at most 2^16."""
        if size:
            cells = np.array([size])
            collision = np.array([float(HashFamily(domain, size, salt=0).collision_probability)])
        else:
            cells = np.arange(2, min(max(domain, 3), MAX_CELLS + 1), dtype=np.int64)
            # Below the domain's size all d' share one prime, and c_P of protocol.md §2 is a formula over the vector.
            prime = HashFamily(domain, 2, salt=0).prime
            few, longer = prime // cells, prime % cells
            pairs = longer * (few + 1) * few + (cells - longer) * few * (few - 1)
            collision = pairs / (float(prime) * (prime - 1))
        return Members(cells, (2**32 // cells) / 2.0**32, collision)

    @classmethod
    def from_parameters(cls, domain: int, parameters: Mapping[str, int], question: Question = UNASKED) -> Self:
        """The mechanism that a collection document describes by {"threshold": T, "cells": d'}."""
        ranges = {"threshold": (1, 2**cls._coin_bits - 1), "cells": (2, MAX_CELLS)}
        given = checked_parameters(cls.name, parameters, ranges)
        mechanism = cls.__new__(cls)
        mechanism._set(_domain(domain), given["threshold"], given["cells"], question)
        return mechanism

    def _set(self, domain: int, threshold: int, cells: int, question: Question) -> None:
        self.domain = domain
        self.cells = cells
        self.question = question
        self._mixture = Mixture(threshold, cells, self._bits, self._coin_bits)
        self.family = HashFamily(domain, cells, salt=int.from_bytes(self.digest[:8], "little"))
        γ, match = self._mixture.gamma, self.family.match_probability(self._bits)
        self._oracle = FrequencyOracle(
            p=float(1 - γ + γ * match),
            q=float((1 - γ) * self.family.collision_probability + γ * match),
            u=float(match),
            slack=float(1 - γ) * most_collision(self.family.collision_probability, self._seed_bits),
        )

    @property
    def d_prime(self) -> int:
        """d', the answers that a report tells apart."""
        return self.cells

    @property
    def blanket(self) -> Blanket:
        """Two values meet under as few of the seeds as any two may."""
        met = least_collision(self.collision_probability)
        return blanket_of_cells(self.gamma, self.cells, self._bits, met, self.epsilon_local)

    @property
    def theorem_support(self) -> Fraction:
        """⌊2^32/d'⌋/2^32."""
        return self._mixture.match

    @property
    def _pattern_bits(self) -> int:
        return self._seed_bits + self._bits

    @property
    def parameters(self) -> Mapping[str, int]:
        """{"threshold": T, "cells": d'}."""
        return {"threshold": self._mixture.threshold, "cells": self.cells}

    @property
    def shown(self) -> Mapping[str, int]:
        """{"d_prime": d'}."""
        return {"d_prime": self.cells}

    @property
    def collision_probability(self) -> Fraction:
        """c_P of protocol.md §2."""
        return self.family.collision_probability

    def encode(self, values: NDArray[np.int64], rng: Randomness) -> U64:
        """(n, 1): for each value a uniform seed and a uniform preimage of its hash."""
        values = self._values(values)
        seeds = rng.uint64(values.shape) >> np.uint64(64 - self._seed_bits)
        numbers = self._mixture.preimages(self.family.hash(seeds, values), rng)
        return (seeds << np.uint64(self._bits) | numbers)[:, np.newaxis]

    def decode(self, words: U64) -> tuple[U64, NDArray[np.int64]]:
        """(seed, y) of each report; every word has both."""
        flat = self._words(words)[:, 0]
        numbers = flat & np.uint64(2**self._bits - 1)
        return flat >> np.uint64(self._bits), self._mixture.cell_of(numbers)

    def hash(self, seeds: U64, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """H_seed(value), the two broadcast together: for evaluation at candidates."""
        wide = np.asarray(seeds)
        if wide.dtype != np.uint64 or np.any(wide >> np.uint64(self._seed_bits)):
            raise WrongInput("mechanism.seeds", f"seeds are uint64 numbers of {self._seed_bits} bits")
        given = np.asarray(values)
        return self.family.hash(wide, self._values(given.reshape(-1)).reshape(given.shape))

    def support_counts(self, words: U64, candidates: NDArray[np.int64] | None = None) -> Counts:
        """How many reports (seed, y) have H_seed(x) = y, in P/d' steps a report or, for few candidates, one each."""
        words = self._words(words)
        among = None if candidates is None else self._values(candidates)
        if among is not None and len(among) * self.cells < self.family.prime:
            return self._met(words, among)
        counts = np.zeros(self.domain, dtype=np.int64)
        for chunk in chunks(len(words), _CHUNK):
            counts += self.family.support_counts(*self.decode(words[chunk]))
        return counts if among is None else counts[among]

    def steps(self, reports: int) -> float:
        """P/d' a report."""
        return reports * max(1.0, self.family.prime / self.cells)

    def _met(self, words: U64, candidates: NDArray[np.int64]) -> Counts:
        """`support_counts` by evaluation at each candidate."""
        counts = np.zeros(len(candidates), dtype=np.int64)
        for chunk in chunks(len(words), _CHUNK):
            seeds, answers = self.decode(words[chunk])
            a, b = self.family.coefficients(seeds)
            for place in range(len(candidates)):
                met = self.family.evaluate(a, b, candidates[place : place + 1]) == answers
                counts[place] += np.count_nonzero(met)
        return counts


def locally_best_d_prime(epsilon: float) -> int:
    """The power of two, 2 … 2^16, of least variance at this ε when nothing is shuffled."""
    gain = math.exp(epsilon) - 1
    powers = [1 << j for j in range(1, 17)]
    return min(powers, key=lambda cells: (gain + cells) ** 2 / (cells - 1))


def _domain(domain: object) -> int:
    return whole_number(domain, "the domain of local hashing", least=2, most=MAX_ENUMERABLE)


def _cells(d_prime: object) -> int:
    return whole_number(d_prime, "d_prime", least=2, most=MAX_CELLS)
