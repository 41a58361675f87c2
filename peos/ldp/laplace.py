"""Laplace noise in whole steps, from a table of integers that add up to 2^64: no float takes part in a draw.

Cells hold 0 or 1, which is 16 steps, and are clamped to a range beyond which 2^-24 of the noise lies.
"""

import decimal
import math
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.crypto.randomness import U64, Randomness
from peos.ldp.mixture import logarithm_up, power_of_e

STEPS: Final = 16  # a cell's 1
UNIT: Final = 2**32  # ε is a whole number of its parts
_TAIL: Final = 24 * math.log(2)  # a cell is clamped where 2^-24 of the noise lies beyond
_COINS: Final = 2**64
_GUIDE_BITS: Final = 16  # of a coin, which nearly always decide
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
    return Noise(Fraction(parts, UNIT))
