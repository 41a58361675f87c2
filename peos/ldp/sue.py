"""Symmetric unary encoding in fields of a few bits (basic RAPPOR, thesis §9.3.1), drawn as privacy.md §0 says.

Neighbours: one user's value is replaced, and two positions change. Trusted: her device alone.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from peos.crypto.randomness import U64, Randomness
from peos.errors import WrongInput
from peos.estimate.frequency import FrequencyOracle
from peos.ldp.base import MAX_ENUMERABLE, UNASKED, Question, checked_parameters, whole_number
from peos.ldp.fields import UnaryFields
from peos.ldp.members import Floats, Grid
from peos.ldp.mixture import checked_epsilon, logarithm_up, power_of_e

MAX_FIELD_BITS: Final = 16


class SUE(UnaryFields):
    """Each position's bit kept with probability 1 − q', flipped with q' = τ/2^b; ε_l = 2 ln((1 − q')/q').

    `epsilon` is met from below, by the smallest τ that keeps to it. Without `field_bits`, b is the smallest whose
    variance comes within 5 % of what b = 16 reaches: words, and with them ciphertexts, grow with b, while the variance
    hardly falls once τ/2^b is close to 1/(e^(ε/2) + 1). Fakes do not change the comparison, since they add the same
    multiple of q'(1 − q') for every b. Variance of a frequency near 0, without fakes:
    e^(ε/2) / (n (e^(ε/2) − 1)²).
    """

    name = "sue"
    short = "unary encoding"
    no_theorem = (
        "unary reports are shuffled as whole vectors, for which theorem 9.3.1 is false: it treats each position apart"
    )

    def __init__(
        self, domain: int, epsilon: float, field_bits: int | None = None, *, question: Question = UNASKED
    ) -> None:
        asked = checked_epsilon(epsilon)
        half = Fraction(asked) / 2
        bits = frugal_field_bits(half) if field_bits is None else _checked_field_bits(field_bits)
        τ = smallest_tau(half, bits)
        if τ >= 2 ** (bits - 1):
            lowest = _epsilon(2 ** (bits - 1) - 1, bits)
            raise WrongInput(
                "mechanism.fields",
                f"fields of {bits} bits cannot keep epsilon to {asked}: {lowest:.4g} is the least they allow",
                hint="use wider fields, up to 16 bits" if bits < MAX_FIELD_BITS else "ask for a larger epsilon",
            )
        self._set(domain, τ, bits, question)

    @classmethod
    def described(cls) -> str:
        """A bit for every value, flipped or not."""
        return (
            f"{cls.short} ({cls.name}): each device sends one bit for every value, each of them flipped with a fixed "
            "probability"
        )

    @classmethod
    def build(cls, domain: int, epsilon: float, size: int = 0) -> "SUE":  # noqa: ARG003 - ε_l decides its fields
        """With the fields that its ε_l needs."""
        return cls(domain, epsilon)

    @classmethod
    def is_proposed(cls, *, shuffled: bool) -> bool:
        """Not in a shuffle: a whole vector is there local hashing with d' = e^(ε_l/2) + 1, at many times the bytes."""
        return not shuffled

    @classmethod
    def grid(cls, domain: int, sizes: NDArray[np.int64], local: Floats) -> Grid:  # noqa: ARG003 - see `build`
        """q' = 1/(e^(ε_l/2) + 1), and positions are independent."""
        q = 1 / (np.exp(local / 2) + 1)
        return Grid(q, q, q)

    @classmethod
    def from_parameters(cls, domain: int, parameters: Mapping[str, int], question: Question = UNASKED) -> Self:
        """The mechanism that a collection document describes by {"tau": τ, "field_bits": b}."""
        ranges = {"tau": (1, 2 ** (MAX_FIELD_BITS - 1) - 1), "field_bits": (2, MAX_FIELD_BITS)}
        given = checked_parameters(cls.name, parameters, ranges)
        bits = given["field_bits"]
        τ = whole_number(given["tau"], f"the tau of fields of {bits} bits", least=1, most=2 ** (bits - 1) - 1)
        mechanism = cls.__new__(cls)
        mechanism._set(domain, τ, bits, question)
        return mechanism

    def _set(self, domain: object, τ: int, bits: int, question: Question) -> None:
        self.domain = whole_number(domain, "the domain of SUE", least=2, most=MAX_ENUMERABLE)
        self.tau, self.field_bits = τ, bits
        self.words = -(-self.domain * bits // 64)
        self.question = question
        q = τ / 2**bits
        self._oracle = FrequencyOracle(p=1 - q, q=q, u=q)

    @property
    def gamma(self) -> Fraction:
        """γ = τ/(2^b − τ): a report is a uniform word, or else one whose own field is uniform below τ."""
        return Fraction(self.tau, 2**self.field_bits - self.tau)

    @property
    def epsilon_local(self) -> float:
        """2 ln((2^b − τ)/τ), rounded up."""
        return _epsilon(self.tau, self.field_bits)

    @property
    def parameters(self) -> Mapping[str, int]:
        """{"tau": τ, "field_bits": b}."""
        return {"tau": self.tau, "field_bits": self.field_bits}

    def randomize(self, values: NDArray[np.int64], rng: Randomness | None = None) -> U64:
        """(n, w): ε_l-private reports; privacy.md §0."""
        rng = self._rng(rng)
        values = self._values(values)
        words = rng.uint64((len(values), self.words))
        self.redraw(words, values, self.drawn(len(values), rng))
        return words

    def drawn(self, count: int, rng: Randomness) -> U64:
        """(n,): fields of a value's own position, below τ with probability 1 − q' and uniform on either side."""
        τ, whole = np.uint64(self.tau), np.uint64(2**self.field_bits)
        ones = rng.uint64(count) >> np.uint64(64 - self.field_bits) >= τ
        below = rng.below(np.full(count, τ))
        above = τ + rng.below(np.full(count, whole - τ))
        # Both are drawn for everyone, so that the work done says nothing of her bit.
        return np.where(ones, below, above)


def _epsilon(τ: int, bits: int) -> float:
    return logarithm_up(Fraction(2**bits - τ, τ) ** 2)


def smallest_tau(exponent: Fraction, bits: int) -> int:
    """The smallest τ with ln((2^b − τ)/τ) ≤ `exponent`: ⌈2^b / (e^exponent + 1)⌉."""
    return math.ceil((1 << bits) / (1 + Fraction(power_of_e(exponent))))


def frugal_field_bits(exponent: Fraction) -> int:
    """The fewest bits whose variance is within 5 % of what 16 reach; 16 where not even they will do."""
    best = smallest_tau(exponent, MAX_FIELD_BITS)
    if best >= 2 ** (MAX_FIELD_BITS - 1):
        return MAX_FIELD_BITS  # refused there, with the least ε that any field allows
    limit = Fraction(105, 100) * _variance(best, MAX_FIELD_BITS)
    return next(
        bits
        for bits in range(2, MAX_FIELD_BITS + 1)
        if (τ := smallest_tau(exponent, bits)) < 2 ** (bits - 1) and _variance(τ, bits) <= limit
    )


def _variance(τ: int, bits: int) -> Fraction:
    """q'(1 − q') / (1 − 2q')², the variance of one report's part in a frequency near 0."""
    q = Fraction(τ, 2**bits)
    return q * (1 - q) / (1 - 2 * q) ** 2


def _checked_field_bits(field_bits: object) -> int:
    return whole_number(field_bits, "field_bits", least=2, most=MAX_FIELD_BITS)
