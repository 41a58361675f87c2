"""What exact accounting needs to know of a mechanism: how a uniform report looks to two values (privacy.md §2).

A report is uniform with probability γ, else it tells the value v: its density, relative to a uniform report's, is then
1/(the probability of a match) where it matches v, and 0 elsewhere. So of a uniform report only this matters: whether
it matches v, v', both or neither. Where the cells do not divide the words evenly these numbers are not the same for
all values; the ones kept here are on the private side of each, which privacy.md §2 shows to be safe for all v ≠ v'.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from peos.ldp import GRR, SUE, LocalHash
from peos.ldp.base import Mechanism

_SEED_BITS: Final = 32
_SIGMAS: Final = 12


@dataclass(frozen=True)
class Blanket:
    """γ, and the chances of a uniform report; each float is within a rounding of its exact value."""

    share: float  # γ
    gain: float  # E − 1, E = e^(ε_l): at most
    own: float  # a uniform report matches v: at most
    other: float  # it matches v': at least
    both: float  # it matches v and v': at least
    uneven: float  # m/(m + 1) with m the smallest preimage of a cell, 1 where all are the same
    local: float  # ε_l


def blanket_of(mechanism: Mechanism) -> Blanket | None:
    """The blanket of a shuffled report; None for a mechanism that nothing is known of."""
    if isinstance(mechanism, GRR):
        return _of_cells(mechanism, bits=64, collision=0.0)
    if isinstance(mechanism, LocalHash):
        return _of_cells(mechanism, bits=32, collision=least_collision(mechanism.collision_probability))
    if isinstance(mechanism, SUE):
        return _of_unary(mechanism)
    return None


def least_collision(expected: Fraction) -> float:
    """c − 12√(c/2^32): under at least so many of the 2^32 seeds any two values meet (privacy.md §2).

    The fewer collisions, the larger δ: a report that matches both values hides more than one that matches either. With
    the seeds' functions drawn at random some pair of 2^24 values falls below with probability 10^-16 (Chernoff).
    """
    c = float(expected)
    return max(0.0, c - _SIGMAS * math.sqrt(c / 2.0**_SEED_BITS))


def _of_cells(mechanism: GRR | LocalHash, *, bits: int, collision: float) -> Blanket:
    γ, k, words = mechanism.blanket, mechanism.cells, 2**bits
    smallest = words // k
    largest = smallest + (words % k != 0)
    other = Fraction(smallest, words)
    return Blanket(
        share=float(γ),
        gain=float((1 - γ) / γ / other),
        own=float(Fraction(largest, words)),
        other=float(other),
        both=float(collision * other),
        uneven=float(Fraction(smallest, largest)),
        local=mechanism.epsilon_local,
    )


def _of_unary(mechanism: SUE) -> Blanket:
    """A whole vector: a uniform one has a 1 at each position with probability q', independently."""
    γ, q = mechanism.blanket, Fraction(mechanism.tau, 2**mechanism.field_bits)
    return Blanket(
        share=float(γ),
        gain=float((1 - γ) / γ / q),
        own=float(q),
        other=float(q),
        both=float(q * q),
        uneven=1.0,
        local=mechanism.epsilon_local,
    )
