"""Summation with histogram encoding (Wang et al. 2017): Laplace noise on each cell of a histogram of one value.

Cells are whole numbers, sixteenths, and the noise is drawn from a table of integers that add up to 2^64: so ε follows
from the table, and no float takes part in a draw. It is for the local model alone: cell by cell it is unary encoding
(SUE) processed further, which is never worse, and a uniform word, which every fake is, would stand out among sums of
noise. Neighbours: one user's value is replaced. Trusted: her device alone.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from peos.chunks import chunks
from peos.crypto.randomness import U64, Randomness
from peos.errors import WrongInput
from peos.estimate.frequency import Floats, Frequencies
from peos.ldp.base import UNASKED, Counts, Mechanism, Question, no_collection, whole_number
from peos.ldp.laplace import STEPS, UNIT, noise_of
from peos.ldp.mixture import MAX_EPSILON, checked_epsilon

MAX_DOMAIN: Final = 1 << 20
LEAST_EPSILON: Final = 0.02  # below, the noise would not fit a cell of 16 bits
_SPARED: Final = (1e-9, 2e-10)  # of ε and of 1/ε, for what rounding the table takes
_CHUNK: Final = 1 << 20  # cells drawn at a time


@dataclass(frozen=True, eq=False, repr=False)
class SumEstimate(Frequencies):
    """Means of cells: of many users they are normal."""

    def interval(self, level: float = 0.95) -> Floats:
        """(domain, 2): f̂ ± z·stderr."""
        z = NormalDist().inv_cdf((1 + level) / 2) * self.stderr
        return np.stack((self.frequency - z, self.frequency + z), axis=1)


class SHE(Mechanism):
    """Every cell of (0, …, 1, …, 0) with noise of variance 8/ε², within 0.13 % up to ε = 4.

    `epsilon` is met from below.
    """

    name = "she"
    short = "summation with histogram encoding"
    local_only = (
        "summation with histogram encoding (she) is for the local model alone: uniform fakes would stand out among "
        "sums of noise, and unary encoding (sue) is never worse"
    )

    def __init__(self, domain: int, epsilon: float, *, question: Question = UNASKED) -> None:
        asked = checked_epsilon(epsilon)
        if asked < LEAST_EPSILON:
            raise WrongInput(
                "mechanism.epsilon",
                f"epsilon lies between {LEAST_EPSILON:g} and {MAX_EPSILON:g} for summation, not at {asked}",
            )
        self.domain = whole_number(domain, "the domain of summation", least=2, most=MAX_DOMAIN)
        self.question, self.words = question, -(-self.domain // 4)
        self._parts = math.floor((asked - _SPARED[0] * asked - _SPARED[1] / asked) * UNIT)
        self.noise = noise_of(self._parts)
        (self._zero, self._of_zero), (self._one, self._of_one) = self.noise.moments(0), self.noise.moments(1)

    @classmethod
    def described(cls) -> str:
        """A histogram with noise."""
        return f"{cls.short} ({cls.name}): each device sends a number for every value, noise and the user's own one"

    @classmethod
    def from_parameters(
        cls,
        domain: int,  # noqa: ARG003 - whatever it is
        parameters: Mapping[str, int],  # noqa: ARG003 - whatever they are
        question: Question = UNASKED,  # noqa: ARG003 - whatever it is
    ) -> Self:
        """Refused: no document may have it."""
        raise no_collection(cls)

    @classmethod
    def build(cls, domain: int, epsilon: float, size: int = 0) -> "SHE":  # noqa: ARG003 - it has none
        """The only one that there is."""
        return cls(domain, epsilon)

    @property
    def gamma(self) -> Fraction:
        """0: no report is a uniform pattern."""
        return Fraction(0)

    @property
    def epsilon_local(self) -> float:
        """That of the table, rounded up."""
        return self.noise.epsilon

    @property
    def parameters(self) -> Mapping[str, int]:
        """{"epsilon": ε·2^32}."""
        return {"epsilon": self._parts}

    def randomize(self, values: NDArray[np.int64], rng: Randomness | None = None) -> U64:
        """(n, ⌈d/4⌉): ε-private cells of 16 bits, the first in the lowest ones."""
        rng = self._rng(rng)
        values = self._values(values)
        words = np.empty((len(values), self.words), dtype="<u8")
        cells = words.view("<i2")
        most = self.noise.range
        for chunk in chunks(len(values), max(1, _CHUNK // cells.shape[1])):
            own = values[chunk]
            noise = self.noise.of_coins(rng.uint64((len(own), self.words)).view(np.uint16), rng)
            noise[np.arange(len(own)), own] += STEPS
            np.clip(noise, -most, most, out=cells[chunk])
        return words.astype(np.uint64, copy=False)

    def tally(self, words: U64) -> Counts:
        """(domain,): the sum of each cell."""
        cells = np.ascontiguousarray(self._words(words)).astype("<u8", copy=False).view("<i2")
        sums: Counts = cells.sum(axis=0, dtype=np.int64)[: self.domain]
        return sums

    def estimate(self, tally: Counts, users: int, fakes: int = 0) -> SumEstimate:
        """Unbiased frequencies; of reports with fakes among them there are none."""
        if fakes:
            raise no_collection(type(self))
        frequency = np.asarray((tally - users * self._zero) / (users * (self._one - self._zero)))
        at = np.clip(frequency, 0.0, 1.0)
        return SumEstimate(frequency, self._variance(at, users), users, 0)

    def variance(self, users: int, fakes: int = 0, frequency: float = 0.0) -> float:
        """Exact variance of one estimated frequency whose true value is `frequency`."""
        if fakes:
            raise no_collection(type(self))
        return float(self._variance(np.float64(frequency), users))

    def _variance(self, frequency: Floats | np.float64, users: int) -> Floats:
        of_cells = frequency * self._of_one + (1 - frequency) * self._of_zero
        return np.asarray(of_cells / (users * (self._one - self._zero) ** 2))
