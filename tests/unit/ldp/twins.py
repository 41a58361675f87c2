"""A narrow twin or two of every two-level mechanism, small enough to run through each of its random inputs.

`tests/unit/ldp/test_twins.py` holds each against what it claims to send, `tests/unit/privacy/test_exact_outcomes.py`
against what a shuffle of it claims, and both see that no mechanism of the registry is without one.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from peos.ldp import THE, UE, HadamardResponse, PureMechanism, Question, RandomMatrixProjection, SubsetSelection
from tests.unit.ldp.enumeration import Law, encoding_law, law

Draws = list[tuple[str, int]]


class NarrowHadamard(HadamardResponse):
    """Rows of 4 bits, two bits for signs, and coins of 5."""

    _bits = 6
    _row_bits = 4
    _coin_bits = 5


class NarrowSubset(SubsetSelection):
    """Multiples of 3 bits, a circle of 2^4 numbers, and coins of 5."""

    _row_bits = 3
    _bits = 4
    _coin_bits = 5


@dataclass(frozen=True)
class Twin:
    """A mechanism with what it draws for an encoding, and for a report."""

    mechanism: PureMechanism
    told: Draws
    sent: Draws
    pattern_bits: int

    def __str__(self) -> str:
        return repr(self.mechanism)

    @cached_property
    def laws(self) -> list[Law]:
        """Of a report of each value."""
        return [law(self.mechanism, value, self.sent, blanket_mask=self._mask) for value in self._values]

    def encodings(self) -> list[Law]:
        """Of the encoding of each value."""
        return [encoding_law(self.mechanism, value, self.told, mask=self._mask) for value in self._values]

    def supports(self) -> NDArray[np.bool_]:
        """(patterns, domain): what each pattern supports, as it is counted."""
        patterns = np.arange(2**self.pattern_bits, dtype=np.uint64)[:, np.newaxis]
        counts = [self.mechanism.support_counts(pattern[np.newaxis]) for pattern in patterns]
        return np.asarray(np.stack(counts) == 1)

    @property
    def chance(self) -> Fraction:
        """Of each pattern, of a fake."""
        return Fraction(1, 2**self.pattern_bits)

    @property
    def _values(self) -> range:
        return range(self.mechanism.domain)

    @property
    def _mask(self) -> int:
        return (1 << self.pattern_bits) - 1


def hadamard(domain: int, epsilon: float, signs: int, kind: type[NarrowHadamard] = NarrowHadamard) -> Twin:
    """Rows are uneven for every m, 2^4 being no multiple of 2^m − 1 but for m = 1, 2 and 4."""
    told: Draws = [("top", 6)]
    return Twin(kind(domain, epsilon, signs), told, [*told, ("top", 5), ("top", 6)], 6)


def subset(domain: int, epsilon: float, size: int, kind: type[NarrowSubset] = NarrowSubset, wider: int = 0) -> Twin:
    """Multiples are uneven for P = 7, places for every P but 2."""
    made = kind(domain, epsilon, size)
    told: Draws = [("top", 3), ("below", made.window + wider)]
    return Twin(made, told, [*told, ("top", 5), ("top", 7)], 7)


class NarrowUE(UE):
    """Coins of 5 bits."""

    _coin_bits = 5


def ue(domain: int, epsilon: float, share: float, field_bits: int, kind: type[NarrowUE] = NarrowUE) -> Twin:
    """Positions of a single word."""
    made, bits = kind(domain, epsilon, share, field_bits), domain * field_bits
    told: Draws = [("low", bits), ("below", made.tau)]
    return Twin(made, told, [*told, ("top", 5), ("top", field_bits)], bits)


class NarrowTHE(THE):
    """Coins of 5 bits."""

    _coin_bits = 5


def the(domain: int, nominal: float, field_bits: int, kind: type[NarrowTHE] = NarrowTHE) -> Twin:
    """At the best threshold."""
    made, bits = kind(domain, nominal, field_bits=field_bits), domain * field_bits
    told: Draws = [("low", bits), ("below", made.tau)]
    return Twin(made, told, [*told, ("top", 5), ("top", field_bits)], bits)


class NarrowProjection(RandomMatrixProjection):
    """Rows of 4 bits, one bit between row and sign, and coins of 5."""

    _row_bits = 4
    _low_bits = 2
    _coin_bits = 5


def rmp(domain: int, epsilon: float, salted: str, kind: type[NarrowProjection] = NarrowProjection) -> Twin:
    """Of 16 rows not every salt makes two values share the signs of eight: epochs are given that do."""
    told: Draws = [("top", 6)]
    made = kind(domain, epsilon, question=Question(epoch=salted))
    return Twin(made, told, [*told, ("top", 5), ("top", 6)], 6)


TWINS: dict[str, list[Twin]] = {
    "hadamard": [hadamard(2, 1.0, 1), hadamard(4, 1.5, 1), hadamard(4, 2.5, 2), hadamard(5, 0.7, 1), hadamard(8, 2, 2)],
    "subset": [subset(2, 1.0, 1), subset(5, 1.5, 1), subset(5, 0.8, 2), subset(7, 1.2, 3), subset(6, 2.0, 2)],
    "rmp": [rmp(2, 1.0, "13"), rmp(3, 1.5, "68"), rmp(4, 2.0, "680")],
    "ue": [
        *(ue(2, 1.0, 0.3, 3), ue(2, 1.5, 0.7, 3), ue(3, 1.2, 0.25, 2), ue(4, 2.0, 0.5, 1)),
        *(the(2, 1.0, 3), the(3, 2.0, 2), the(2, 4.0, 4)),
    ],
}
EVERY = [twin for twins in TWINS.values() for twin in twins]
