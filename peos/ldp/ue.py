"""Unary encoding with any share of ones, drawn with a coin of 64 bits: OUE among it.

Fields are as in `peos.ldp.fields`; with probability T/2^64 the user's own is redrawn uniformly below τ. So γ = 1 −
T/2^64, and few bits a field suffice: what they round is τ/2^b, and the coin makes up for it. Neighbours: one user's
value is replaced. Trusted: her device alone.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from peos.crypto.randomness import U64, Randomness
from peos.errors import WrongInput
from peos.ldp.base import MAX_ENUMERABLE, UNASKED, Question, checked_parameters, whole_number
from peos.ldp.fields import UnaryFields
from peos.ldp.members import Floats, Grid, local_variance
from peos.ldp.mixture import Coin, checked_epsilon, threshold_for
from peos.ldp.two_level import two_level_oracle

MAX_FIELD_BITS: Final = 16
_NEAR: Final = 1e-3  # of the variance with fields of 16 bits


class UE(UnaryFields):
    """Bits of ones with probability q = τ/2^b, one's own with p = 1 − γ(1 − q).

    `epsilon` is met from below. Without `share` q is next to 1/(e^ε + 1), the one of least variance; without
    `field_bits` b is the least whose variance comes within a thousandth of what b = 16 reaches. Variance of a frequency
    near 0, without fakes, at the best share: 4e^ε/(n (e^ε − 1)²).
    """

    name = "ue"
    short = "unary encoding with a share of ones"
    size_name = "field_bits"
    size_range = (1, MAX_FIELD_BITS)
    _coin_bits: ClassVar[int] = 64  # tests enumerate every random input of narrower twins
    no_theorem = "its reports are shuffled as whole vectors, of which no theorem of the thesis holds"

    def __init__(
        self,
        domain: int,
        epsilon: float,
        share: float | None = None,
        field_bits: int | None = None,
        *,
        question: Question = UNASKED,
    ) -> None:
        asked = checked_epsilon(epsilon)
        if share is not None and not 0.0 < share < 1.0:
            raise WrongInput("mechanism.share", f"the share of ones lies between 0 and 1, not at {share}")
        bits = _enough_bits(asked, share) if field_bits is None else _checked_bits(field_bits)
        τ = _tau(asked, share, bits)
        match = Fraction(τ, 2**bits)
        self._set(domain, threshold_for(asked, match, coin_bits=self._coin_bits), τ, bits, question)

    @classmethod
    def described(cls) -> str:
        """A bit for every value, and a coin for her own."""
        return (
            f"{cls.short} ({cls.name}): each device sends one bit for every value, set with a fixed probability, that "
            "of the user's answer with a higher one"
        )

    @classmethod
    def build(cls, domain: int, epsilon: float, size: int = 0) -> "UE":
        """With `size` bits a field."""
        return cls(domain, epsilon, field_bits=size or None)

    @classmethod
    def is_proposed(cls, *, shuffled: bool) -> bool:  # noqa: ARG003 - never
        """No: it is local hashing with ideal functions, at many times the bytes."""
        return False

    @classmethod
    def grid(cls, domain: int, sizes: NDArray[np.int64], local: Floats) -> Grid:  # noqa: ARG003 - nearly the same
        """q = 1/(e^ε_l + 1), and positions are independent."""
        q = 1 / (np.exp(local) + 1)
        return Grid(q, q, q)

    @classmethod
    def from_parameters(cls, domain: int, parameters: Mapping[str, int], question: Question = UNASKED) -> Self:
        """The mechanism that a collection document describes by {"threshold": T, "tau": τ, "field_bits": b}."""
        ranges = {
            "threshold": (1, 2**cls._coin_bits - 1),
            "tau": (1, 2**MAX_FIELD_BITS - 1),
            "field_bits": (1, MAX_FIELD_BITS),
        }
        given = checked_parameters(cls.name, parameters, ranges)
        bits = given["field_bits"]
        τ = whole_number(given["tau"], f"the tau of fields of {bits} bits", least=1, most=2**bits - 1)
        mechanism = cls.__new__(cls)
        mechanism._set(domain, given["threshold"], τ, bits, question)
        return mechanism

    def _set(self, domain: object, threshold: int, τ: int, bits: int, question: Question) -> None:
        self.domain = whole_number(domain, "the domain of unary encoding", least=2, most=MAX_ENUMERABLE)
        self.tau, self.field_bits, self.question = τ, bits, question
        self.words = -(-self.domain * bits // 64)
        self._coin = Coin(threshold, self.share, self._coin_bits)
        self._oracle = two_level_oracle(self.gamma, self.share, self.share, self.share)

    @property
    def gamma(self) -> Fraction:
        """γ = 1 − T/2^64."""
        return self._coin.gamma

    @property
    def epsilon_local(self) -> float:
        """ln(1 + T/(2^64 − T)·2^b/τ), rounded up."""
        return self._coin.epsilon

    @property
    def parameters(self) -> Mapping[str, int]:
        """{"threshold": T, "tau": τ, "field_bits": b}."""
        return {"threshold": self._coin.threshold, "tau": self.tau, "field_bits": self.field_bits}

    @property
    def shown(self) -> Mapping[str, int]:
        """{"tau": τ, "field_bits": b}."""
        return {"tau": self.tau, "field_bits": self.field_bits}

    def randomize(self, values: NDArray[np.int64], rng: Randomness | None = None) -> U64:
        """(n, w): ε_l-private reports; protocol.md §2."""
        rng = self._rng(rng)
        values = self._values(values)
        words = rng.uint64((len(values), self.words))
        told = rng.below(np.full(len(values), self.tau, dtype=np.uint64))
        tells = self._coin.tells(len(values), rng)
        blanket = rng.uint64(len(values)) >> np.uint64(64 - self.field_bits)
        # Both are drawn for everyone, so that the work done says nothing of the coin.
        self.redraw(words, values, np.where(tells, told, blanket))
        return words


class OUE(UE):
    """Optimised unary encoding (Wang et al. 2017): the share of ones next to 1/(e^ε + 1)."""

    short = "optimised unary encoding"

    def __init__(
        self, domain: int, epsilon: float, field_bits: int | None = None, *, question: Question = UNASKED
    ) -> None:
        super().__init__(domain, epsilon, field_bits=field_bits, question=question)


def _checked_bits(field_bits: object) -> int:
    return whole_number(field_bits, "field_bits", least=1, most=MAX_FIELD_BITS)


def _tau(epsilon: float, share: float | None, bits: int) -> int:
    """The one next to the share that is asked for, or else of the two next to the best the one of less variance."""
    at = 2**bits * (1 / (math.exp(epsilon) + 1) if share is None else share)
    near = (math.floor(at), math.ceil(at)) if share is None else (round(at),)
    possible: list[int] = [min(max(τ, 1), 2**bits - 1) for τ in near]
    return min(possible, key=lambda τ: _variance(epsilon, τ, bits))


def _variance(epsilon: float, τ: int, bits: int) -> float:
    q = np.array([τ / 2**bits])
    return float(local_variance(math.expm1(epsilon), q, q)[0])


def _enough_bits(epsilon: float, share: float | None) -> int:
    """The fewest whose variance is that of 16 within a thousandth."""
    wanted = _variance(epsilon, _tau(epsilon, share, MAX_FIELD_BITS), MAX_FIELD_BITS)
    return next(
        bits
        for bits in range(1, MAX_FIELD_BITS + 1)
        if abs(_variance(epsilon, _tau(epsilon, share, bits), bits) / wanted - 1) <= _NEAR
    )
