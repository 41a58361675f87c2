"""The mixture that every k-ary mechanism draws, in integers (privacy.md §0).

With probability T / 2^64 a report encodes the user's answer, otherwise it is a uniformly random word. Part of the word
is a number z of b bits, and names one of k cells, y = ⌊z·k / 2^b⌋; an answer is encoded as a uniform preimage of its
cell. No float takes part in a draw, so the guarantee computed from T, k and b holds exactly for what is sent.
"""

import decimal
import math
from fractions import Fraction
from numbers import Real
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.crypto.randomness import U64, Randomness
from peos.errors import WrongInput

MIN_EPSILON: Final = 1e-6
"""The smallest ε_l: p − q is about ε/k, and from p and q as doubles it keeps ten digits down to here."""
MAX_EPSILON: Final = 24.0
"""The largest ε_l. Up to it 1 − T/2^64 keeps more than 2^29 steps, so that T meets any ε asked to 10⁻⁹ and the
variance p(1 − p), from p as a double, is right to 10⁻⁵. No shuffled collection of fewer than 10^10 users gains by more.
"""

# A hundred digits: 2^64 is twenty, an ε of 10⁻²⁰ loses another twenty, and the rest decides every rounding.
_DIGITS: Final = decimal.Context(prec=100, rounding=decimal.ROUND_HALF_EVEN)
_LOW_HALF: Final = np.uint64(0xFFFFFFFF)
_HALF: Final = np.uint64(32)


def checked_epsilon(epsilon: object) -> float:
    """ε as asked, or one sentence why it cannot be."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, Real):
        raise WrongInput("mechanism.epsilon", "epsilon is a number")
    asked = float(epsilon)
    if not MIN_EPSILON <= asked <= MAX_EPSILON:
        raise WrongInput(
            "mechanism.epsilon", f"epsilon lies between {MIN_EPSILON:g} and {MAX_EPSILON:g}, not at {asked}"
        )
    return asked


def power_of_e(exponent: Fraction) -> decimal.Decimal:
    """e^exponent to a hundred digits."""
    return _DIGITS.exp(_decimal(exponent))


def logarithm_up(ratio: Fraction) -> float:
    """The smallest double that is no less than ln(ratio): a claimed ε is never below the true one."""
    exact = _DIGITS.next_plus(_DIGITS.ln(_decimal(ratio)))
    nearest = float(exact)
    return nearest if decimal.Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)


def floor_of_share(whole: int, odds: decimal.Decimal) -> int:
    """⌊whole · odds / (1 + odds)⌋."""
    share = _DIGITS.divide(_DIGITS.multiply(decimal.Decimal(whole), odds), _DIGITS.add(decimal.Decimal(1), odds))
    return int(share.to_integral_value(decimal.ROUND_FLOOR))


def largest_threshold(epsilon: float, cells: int, *, bits: int, coin_bits: int = 64) -> int:
    """The largest T whose ε_l is at most `epsilon`, where b bits name one of k cells; 0 if none but 0 will do."""
    return threshold_for(epsilon, Fraction(2**bits // cells, 2**bits), coin_bits=coin_bits)


def threshold_for(epsilon: float, match: Fraction, *, coin_bits: int = 64) -> int:
    """The largest T whose ε_l is at most `epsilon`, where a uniform report matches a value with chance `match`.

    ε_l(T) = ln(1 + T/(2^64 − T)/match) grows with T, so the odds T/(2^64 − T) are rounded down to an integer.
    """
    gain = _DIGITS.subtract(power_of_e(Fraction(epsilon)), decimal.Decimal(1))
    return floor_of_share(2**coin_bits, _DIGITS.divide(gain, _decimal(1 / match)))


class Coin:
    """T, and μ of the value that a uniform report matches least.

    `coin_bits` is 64 wherever reports are made, and fewer where every coin is enumerated.
    """

    def __init__(self, threshold: int, match: Fraction, coin_bits: int = 64) -> None:
        self.threshold, self.match, self.coin_bits = threshold, match, coin_bits
        if not 0 < threshold < 2**coin_bits:
            raise WrongInput(
                "mechanism.threshold", "with this threshold a report would tell nothing of the value, or nothing else"
            )
        # An ε is met from below, so what the smallest one leads to lies a step under it.
        if not MIN_EPSILON / 2 <= self.epsilon <= MAX_EPSILON:
            raise WrongInput(
                "mechanism.threshold_epsilon",
                f"with this threshold epsilon would not lie between {MIN_EPSILON:g} and {MAX_EPSILON:g}",
            )

    @property
    def gamma(self) -> Fraction:
        """γ = 1 − T/2^64."""
        return 1 - Fraction(self.threshold, 2**self.coin_bits)

    @property
    def epsilon(self) -> float:
        """ε_l: a word that few others match is likeliest under its own value, by 1 + (1−γ)/(γμ)."""
        return logarithm_up(1 + Fraction(self.threshold, 2**self.coin_bits - self.threshold) / self.match)

    def tells(self, count: int, rng: Randomness) -> NDArray[np.bool_]:
        """Which of `count` reports encode their answer: true with probability exactly T/2^64."""
        coins = rng.uint64(count) >> np.uint64(64 - self.coin_bits)
        return coins < np.uint64(self.threshold)

    def mixed(self, encoded: U64, pattern_bits: int, rng: Randomness) -> U64:
        """Of each row what is encoded, or uniform words of so many bits, as the coin has it.

        Both are drawn for everyone, so that the work done says nothing of the coin.
        """
        tells = self.tells(len(encoded), rng)
        uniform = rng.uint64(encoded.shape) >> np.uint64(64 - pattern_bits)
        return np.where(tells[:, np.newaxis], encoded, uniform)


class Mixture(Coin):
    """T, k and b. The rarest of the k cells is named by ⌊2^b/k⌋ of the b-bit numbers (protocol.md §2).

    A report that tells names one of the `own` cells of the answer, each as often as the others.
    """

    def __init__(self, threshold: int, cells: int, bits: int, coin_bits: int = 64, *, own: int = 1) -> None:
        self.cells, self.bits = cells, bits
        super().__init__(threshold, Fraction(own * (2**bits // cells), 2**bits), coin_bits)

    def cell_of(self, numbers: U64) -> NDArray[np.int64]:
        """y = ⌊z·k / 2^b⌋ of each number z of b bits."""
        # z stands at the top of the word, so that the cell is the high word of a product of 64 by 32 bits. Its halves
        # cannot overflow: (2^32 − 1)·k + k < 2^64 for k < 2^32.
        aligned = numbers << np.uint64(64 - self.bits)
        cells = np.uint64(self.cells)
        high = (aligned >> _HALF) * cells + ((aligned & _LOW_HALF) * cells >> _HALF)
        return (high >> _HALF).astype(np.int64)

    def preimages(self, answers: NDArray[np.int64], rng: Randomness) -> U64:
        """For each answer y, uniformly one of the numbers that `cell_of` takes to y."""
        cells = answers.astype(np.uint64)
        first = self._first(cells)
        # For the last cell the end, 2^b, wraps to 0, and the difference is right again modulo 2^b.
        sizes = (self._first(cells + np.uint64(1)) - first) & np.uint64(2**self.bits - 1)
        return first + rng.below(sizes)

    def _first(self, cells: U64) -> U64:
        """⌈y·2^b / k⌉ mod 2^b, the smallest number that names cell y: a long division by 32-bit digits."""
        divisor = np.uint64(self.cells)
        upper = cells << _HALF
        digit = (upper % divisor) << _HALF
        floor = (upper // divisor << _HALF) + digit // divisor
        ceiling = floor + (digit % divisor != 0)
        # ⌈⌈x·2^64⌉ / 2^s⌉ = ⌈x·2^(64−s)⌉, so the narrower number follows from the wide one.
        surplus = np.uint64(64 - self.bits)
        narrowed: U64 = (ceiling >> surplus) + (ceiling & np.uint64((1 << (64 - self.bits)) - 1) != 0)
        return narrowed & np.uint64(2**self.bits - 1)


def _decimal(value: Fraction) -> decimal.Decimal:
    return _DIGITS.divide(decimal.Decimal(value.numerator), decimal.Decimal(value.denominator))
