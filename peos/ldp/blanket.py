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

_SEED_BITS: Final = 32
_SIGMAS: Final = 12
_NATS: Final = 72.0  # e^-72 for each of 2^47 pairs of values leaves 10^-17


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


def even_blanket(γ: Fraction, match: Fraction, both: Fraction, local: float) -> Blanket:
    """The blanket where a uniform report matches every value with the same probability, and two by `both` at least."""
    chance, least = float(match), float(both)
    if least > both:
        least = math.nextafter(least, 0.0)
    return Blanket(float(γ), float((1 - γ) / γ / match), own=chance, other=chance, both=least, uneven=1.0, local=local)


def blanket_of_cells(γ: Fraction, cells: int, bits: int, collision: float, local: float, *, own: int = 1) -> Blanket:
    """The blanket where a number of `bits` bits names one of k cells, and two values share one by `collision`.

    `own` of the cells tell a value, each as often as the others.
    """
    numbers = 2**bits
    smallest = numbers // cells
    largest = smallest + (numbers % cells != 0)
    other = Fraction(own * smallest, numbers)
    return Blanket(
        share=float(γ),
        gain=float((1 - γ) / γ / other),
        own=float(Fraction(own * largest, numbers)),
        other=float(other),
        both=float(collision * other),
        uneven=float(Fraction(smallest, largest)),
        local=local,
    )


def least_collision(expected: Fraction, *, sigmas: int = _SIGMAS) -> float:
    """c − 12√(c/2^32): under at least so many of the 2^32 seeds any two values meet (privacy.md §2).

    The fewer collisions, the larger δ: a report that matches both values hides more than one that matches either. With
    the seeds' functions drawn at random some pair of 2^24 values falls below with probability 10^-16 (Chernoff).
    """
    c = float(expected)
    return max(0.0, c - sigmas * math.sqrt(c / 2.0**_SEED_BITS))


def most_collision(expected: Fraction, seed_bits: int = _SEED_BITS, *, nats: float = _NATS) -> float:
    """How much above c any pair of values may meet, over the seeds that there are (Bernstein; privacy.md §4)."""
    c, seeds = float(expected), 2.0**seed_bits
    return (nats / 3 + math.sqrt(nats * nats / 9 + 2 * c * seeds * nats)) / seeds
