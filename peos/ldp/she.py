"""Summation with histogram encoding (Wang et al. 2017): Laplace noise on each cell of a histogram of one value.

Cells are whole numbers, sixteenths, and the noise is drawn from a table of integers that add up to 2^64: so ε follows
from the table, and no float takes part in a draw. It is for the local model alone: cell by cell it is unary encoding
(SUE) processed further, which is never worse, and a uniform word, which every fake is, would stand out among sums of
noise. Neighbours: one user's value is replaced. Trusted: her device alone.
"""

import decimal
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from peos.chunks import chunks
from peos.crypto.randomness import U64, Randomness
from peos.errors import WrongInput
from peos.estimate.frequency import Floats, Frequencies
from peos.ldp.base import UNASKED, Counts, Mechanism, Question, no_collection, whole_number
from peos.ldp.mixture import MAX_EPSILON, checked_epsilon, logarithm_up, power_of_e

MAX_DOMAIN: Final = 1 << 20
LEAST_EPSILON: Final = 0.02  # below, the noise would not fit a cell of 16 bits
STEPS: Final = 16  # a cell's 1
_UNIT: Final = 2**32  # ε is a whole number of its parts
_SPARED: Final = (1e-9, 2e-10)  # of ε and of 1/ε, for what rounding the table takes
_TAIL: Final = 24 * math.log(2)  # a cell is clamped where 2^-24 of the noise lies beyond
_COINS: Final = 2**64
_GUIDE_BITS: Final = 16  # of a coin, which nearly always decide
_CHUNK: Final = 1 << 20  # cells drawn at a time
_DIGITS: Final = decimal.Context(prec=60, rounding=decimal.ROUND_HALF_EVEN)


class Noise:
    """Pr[noise = x] = N(x)/2^64 for x = −R − 16 … R + 16, in proportion to e^(−ε|x|/32); the ends have all beyond."""

    def __init__(self, epsilon: Fraction) -> None:
        self.range = math.floor(_TAIL * 2 * STEPS / epsilon)
        self.reach = self.range + STEPS
        α = _DIGITS.divide(decimal.Decimal(1), power_of_e(epsilon / (2 * STEPS)))
        whole = _DIGITS.divide(decimal.Decimal(_COINS), _DIGITS.add(1, α))
        at, side = whole, list[int]()  # at: 2^64·Pr[noise ≥ x]
        for _ in range(self.reach):
            at = _DIGITS.multiply(at, α)
            side.append(int((_DIGITS.multiply(at, _DIGITS.subtract(1, α))).to_integral_value()))
        side[-1] = int(at.to_integral_value())
        self.table = [*reversed(side), _COINS - 2 * sum(side), *side]

    def law(self, one: int) -> list[int]:
        """2^64·Pr[cell = y] for y = −R … R of a cell that holds 0 or 1: shifted, and clamped to the range."""
        first = STEPS * (1 - one)  # where the table has the noise that leads to −R
        last = first + 2 * self.range
        head, tail = sum(self.table[: first + 1]), sum(self.table[last:])
        return [head, *self.table[first + 1 : last], tail]

    @cached_property
    def epsilon(self) -> float:
        """ln of the worst ratio of one cell times the worst of the other, rounded up: two of them change."""
        zero, one = self.law(0), self.law(1)
        up = max(Fraction(b, a) for a, b in zip(zero, one, strict=True))
        down = max(Fraction(a, b) for a, b in zip(zero, one, strict=True))
        return logarithm_up(up * down)

    def moments(self, one: int) -> tuple[float, float]:
        """Mean and variance of a cell, in sixteenths."""
        law = self.law(one)
        mean = Fraction(sum(n * y for n, y in zip(law, range(-self.range, self.range + 1), strict=True)), _COINS)
        square = Fraction(sum(n * y * y for n, y in zip(law, range(-self.range, self.range + 1), strict=True)), _COINS)
        return float(mean), float(square - mean * mean)

    @cached_property
    def _starts(self) -> U64:
        """The first coin of each x."""
        return np.cumsum([0, *self.table[:-1]], dtype=np.uint64)

    @cached_property
    def _guide(self) -> NDArray[np.int16]:
        """x by a coin's top bits, or where they do not decide a number beyond all."""
        low = np.arange(2**_GUIDE_BITS, dtype=np.uint64) << np.uint64(64 - _GUIDE_BITS)
        first, last = self._at(low), self._at(low | np.uint64(2 ** (64 - _GUIDE_BITS) - 1))
        return np.where(first == last, first, self.reach + 1).astype(np.int16)

    def _at(self, coins: U64) -> NDArray[np.int64]:
        return np.searchsorted(self._starts, coins, side="right") - 1 - self.reach

    def of_coins(self, top: NDArray[np.uint16], rng: Randomness) -> NDArray[np.int16]:
        """x of coins whose top bits are given; the others are drawn where they matter."""
        found = self._guide[top]
        open_ = np.nonzero(found > self.reach)
        rest = rng.uint64(len(open_[0])) >> np.uint64(_GUIDE_BITS)
        coins = top[open_].astype(np.uint64) << np.uint64(64 - _GUIDE_BITS) | rest
        found[open_] = self._at(coins).astype(np.int16)
        return found


@lru_cache(maxsize=8)
def noise_of(parts: int) -> Noise:
    """The table of ε = `parts`/2^32."""
    return Noise(Fraction(parts, _UNIT))


@dataclass(frozen=True, eq=False)
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
        self._parts = math.floor((asked - _SPARED[0] * asked - _SPARED[1] / asked) * _UNIT)
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
