"""One item of each user's set, padded and sampled, then randomised: the thesis' PSFO (§5.2), in a shuffle as well.

A set of fewer than ℓ items is filled up with distinct dummies; one of its max(|v|, ℓ) slots is drawn, and given to a
randomiser over d items and ℓ dummies. Padding and sampling are part of the mechanism, since both privacy results rest
on them. A report supports an item as the randomiser's does, so that frequencies are those of items among users:
unbiased for sets of at most ℓ items, and with an item of a longer set counted as ℓ/|v|.

**ε_l.** Randomised response tells a user's slot by a word of density at most K = 2^64/⌊2^64/k⌋/ℓ relative to a uniform
one, k = d + ℓ, so ε_l = ln(1 + (1−γ)/γ·K) (theorem 5.2.1, in integers). That rests on *distinct* dummies: with a single
one the empty set would be given away by K·ℓ. A hash function may put a whole set into one cell, so there ε_l is that of
the hash (theorem 5.2.2).

**In a shuffle** (privacy.md §2) δ is the mean of a convex function of Σ s(x_i) over uniform words x_i, with s = const +
(1−γ)(a − e^ε·b), a and b the densities that two sets' words have at x. Both are in [0, K] and have mean 1.
- *Randomised response.* φ(a − e^ε·b) is convex in (a, b) for convex φ, and at the corners of [0, K]² it is no larger
  than (a/K)·φ(K) + (b/K)·φ(−e^ε·K) + (1 − (a + b)/K)·φ(0): equal at three of them, and at (K, K) by majorisation. So
  it is nowhere larger; the mean of that is φ's where a word matches v with probability 1/K, v' with 1/K, and never
  both. The collection is accounted for as one of such words, whatever the sizes of the two sets.
- *Hashing.* a and b are means, over the slots of either set, of the densities of one hashed value each, the same for
  all x_i. So δ is at most the mean of what it is for two values, and none of these is above local hashing's.

Neighbours: one user's set is replaced by any other. Trusted: her device alone.
"""

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from peos.crypto.randomness import U64, Randomness
from peos.errors import WrongInput
from peos.estimate.frequency import FrequencyOracle
from peos.ldp.base import MAX_ENUMERABLE, UNASKED, Counts, PureMechanism, Question, checked_parameters, whole_number
from peos.ldp.blanket import Blanket, even_blanket
from peos.ldp.grr import GRR
from peos.ldp.local_hash import MAX_CELLS, LocalHash
from peos.ldp.members import Floats, Grid
from peos.ldp.mixture import MAX_EPSILON, checked_epsilon, logarithm_up, threshold_for
from peos.ldp.olh import OLH
from peos.ldp.two_level import TwoLevel

MOST_SLOTS: Final = 10_000
"""ℓ at most; a list has no more items than that."""


@dataclass(frozen=True, eq=False)
class Sets:
    """Each user's set of items: ascending numbers, one user's after another's, and how many each has."""

    items: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, sets: Sequence[Iterable[int]]) -> "Sets":
        """Of any collections of whole numbers, duplicates removed."""
        rows = [sorted(set(one)) for one in sets]
        flat = np.fromiter((item for row in rows for item in row), np.int64)
        return cls(flat, np.array([len(row) for row in rows], np.int64))

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def owners(self) -> NDArray[np.intp]:
        """(items,): whose each item is."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


class Sampled(PureMechanism):
    """What both ways to randomise a sampled item share; `randomiser` does it, over the items and the dummies."""

    size_name = "d_prime"
    no_theorem = "no theorem of the thesis is about a shuffle of sampled items"
    words = 1
    slots: int  # ℓ
    randomiser: TwoLevel
    family_slots: ClassVar[int] = 1  # of the members that a planner compares

    @classmethod
    @abstractmethod
    def _make_randomiser(cls, cells: int, parameters: Mapping[str, int], question: Question) -> TwoLevel:
        """Over so many values, by the integers of a document but for ℓ."""

    @classmethod
    @abstractmethod
    def _ranges(cls) -> Mapping[str, tuple[int, int]]:
        """Of these integers."""

    @classmethod
    def padding_to(cls, slots: int) -> type[Self]:
        """The family of those that pad to `slots`, for a planner to choose from."""
        return type(cls.__name__, (cls,), {"family_slots": slots})

    @classmethod
    def is_proposed(cls, *, shuffled: bool) -> bool:  # noqa: ARG003 - in neither
        """No question over a list of values is asked with it."""
        return False

    @classmethod
    def from_parameters(cls, domain: int, parameters: Mapping[str, int], question: Question = UNASKED) -> Self:
        """The mechanism of a document: its randomiser's integers, and ℓ as "slots"."""
        items, ranges = _items(domain), {**cls._ranges(), "slots": (1, MOST_SLOTS)}
        given = checked_parameters(cls.name, parameters, ranges)
        mechanism = cls.__new__(cls)
        mechanism._set(items, _slots(given.pop("slots"), items), given, question)
        return mechanism

    def _set(self, items: int, slots: int, parameters: Mapping[str, int], question: Question) -> None:
        self.domain, self.slots, self.question = items, slots, question
        self.randomiser = self._make_randomiser(items + slots, parameters, question)
        self.cells = self.randomiser.cells
        of_one = self.randomiser.oracle
        tells = (of_one.p - of_one.q) / slots
        self._oracle = FrequencyOracle(of_one.q + tells, of_one.q, of_one.u, slack=of_one.slack)

    @property
    def gamma(self) -> Fraction:
        """γ of the randomiser."""
        return self.randomiser.gamma

    @property
    def oracle(self) -> FrequencyOracle:
        """p of an item in a set of at most ℓ; q and u are the randomiser's."""
        return self._oracle

    @property
    def parameters(self) -> Mapping[str, int]:
        """The randomiser's, and {"slots": ℓ}."""
        return {**self.randomiser.parameters, "slots": self.slots}

    @property
    def shown(self) -> Mapping[str, int]:
        """The randomiser's, and {"slots": ℓ}."""
        return {**self.randomiser.shown, "slots": self.slots}

    def require_asked(self, asked: Sequence[tuple[str, int]]) -> None:
        """One view that gives a set of as many items."""
        if [*asked] != [("set", self.domain)]:
            raise WrongInput(
                "mechanism.views",
                f"{self.name} of {self.domain} items answers one question about a set of as many",
                hint="ask with views that fit the mechanism",
            )

    def randomize(self, values: Sets, rng: Randomness | None = None) -> U64:  # type: ignore[override] # sets, no numbers
        """(n, 1): ε_l-private reports."""
        rng = self._rng(rng)
        return self.randomiser.randomize(self.sampled(values, rng), rng)

    def encode(self, values: Sets, rng: Randomness) -> U64:  # type: ignore[override] # as above
        """(n, 1): reports that tell a drawn slot. Not private by themselves."""
        return self.randomiser.encode(self.sampled(values, rng), rng)

    def sampled(self, sets: Sets, rng: Randomness) -> NDArray[np.int64]:
        """Of each user one of her max(|v|, ℓ) slots, all equally likely."""
        self._check(sets)
        return self.at(sets, rng.below(np.maximum(sets.sizes, self.slots).astype(np.uint64)).astype(np.int64))

    def at(self, sets: Sets, drawn: NDArray[np.int64]) -> NDArray[np.int64]:
        """What is in each one's drawn slot: an item in the first |v|, after them the dummies d, d + 1, …"""
        starts, dummy = np.cumsum(sets.sizes) - sets.sizes, drawn >= sets.sizes
        items = np.append(sets.items, 0)  # for sets at the end that are empty
        return np.where(dummy, self.domain + drawn - sets.sizes, items[np.where(dummy, 0, starts + drawn)])

    def support_counts(self, words: U64, candidates: NDArray[np.int64] | None = None) -> Counts:
        """How many reports support each item, or each candidate among them."""
        if candidates is None:
            return self.randomiser.support_counts(words)[: self.domain]
        return self.randomiser.support_counts(words, self._values(candidates))

    def steps(self, reports: int) -> float:
        """The randomiser's."""
        return self.randomiser.steps(reports)

    def _check(self, sets: Sets) -> None:
        """An item that is there twice would be sent twice as often as ε_l allows."""
        items, owners = sets.items, sets.owners
        if len(owners) != len(items) or np.any(items < 0) or np.any(items >= self.domain):
            raise WrongInput("mechanism.items", f"a set holds items of 0 … {self.domain - 1}, as many as its size says")
        if np.any((items[1:] <= items[:-1]) & (owners[1:] == owners[:-1])):
            raise WrongInput("mechanism.items_order", "each item of a set is there once, and they ascend")


class SampledGRR(Sampled):
    """Randomised response over items and dummies, with ε' = ln(1 + ℓ(e^ε − 1)) in place of ε.

    Variance of a frequency near 0, without fakes: (ℓe^ε + d − 1)/(n(e^ε − 1)²) (thesis (5.1)).
    """

    name = "sampled_grr"
    short = "randomised response of a sampled item"
    size_name = ""
    _kind: ClassVar[type[GRR]] = GRR

    def __init__(self, domain: int, slots: int, epsilon: float, *, question: Question = UNASKED) -> None:
        items = _items(domain)
        slots, asked = _slots(slots, items), checked_epsilon(epsilon)
        inside = math.log1p(slots * math.expm1(asked))
        if inside > MAX_EPSILON:
            raise WrongInput(
                "mechanism.epsilon_inside",
                f"with {slots} slots an epsilon of {asked:g} is one of {inside:.1f} inside, and at most "
                f"{MAX_EPSILON:g} can be drawn",
                hint="ask for a smaller epsilon",
            )
        cells, bits = items + slots, self._kind._bits
        match = Fraction(slots * (2**bits // cells), 2**bits)
        threshold = threshold_for(asked, match, coin_bits=self._kind._coin_bits)
        self._set(items, slots, {"threshold": threshold}, question)

    @classmethod
    def described(cls) -> str:
        """An item, or any."""
        return (
            f"{cls.short} ({cls.name}): each device draws one item of the user's set, filled up with dummies, and "
            "sends it or, with a fixed probability, an item or dummy drawn evenly from all"
        )

    @classmethod
    def build(cls, domain: int, epsilon: float, size: int = 0) -> "SampledGRR":  # noqa: ARG003 - ℓ is the family's
        """The only one of its family."""
        return SampledGRR(domain, cls.family_slots, epsilon)

    @classmethod
    def grid(cls, domain: int, sizes: NDArray[np.int64], local: Floats) -> Grid:  # noqa: ARG003 - see `build`
        """A uniform report supports an item with probability 1/k, and ℓ times as many match a set."""
        slots, none = cls.family_slots, np.zeros((1, 1))
        support = np.array([[1 / (domain + slots)]])
        return Grid(slots * support, none, none, support=support, tells=1 / slots)

    @classmethod
    def _make_randomiser(cls, cells: int, parameters: Mapping[str, int], question: Question) -> TwoLevel:
        return cls._kind.from_parameters(cells, parameters, question)

    @classmethod
    def _ranges(cls) -> Mapping[str, tuple[int, int]]:
        return {"threshold": (1, 2**cls._kind._coin_bits - 1)}

    @property
    def match(self) -> Fraction:
        """1/K: ℓ⌊2^64/k⌋/2^64."""
        return self.slots * self.randomiser._mixture.match

    @property
    def epsilon_local(self) -> float:
        """ln(1 + (1−γ)/γ·K), rounded up."""
        return logarithm_up(1 + (1 - self.gamma) / self.gamma / self.match)

    @property
    def blanket(self) -> Blanket:
        """A word matches a set with probability 1/K, and two sets never."""
        return even_blanket(self.gamma, self.match, Fraction(0), self.epsilon_local)


class SampledHash(Sampled):
    """Local hashing of a drawn slot: nothing is gained by drawing, and an item's estimate has ℓ times the noise.

    Variance of a frequency near 0, without fakes, for ideal hashing: 4ℓ²e^ε/(n(e^ε − 1)²) (thesis (5.2)).
    """

    name = "sampled_hash"
    short = "local hashing of a sampled item"
    size_range = (2, MAX_CELLS)
    _kind: ClassVar[type[LocalHash]] = LocalHash

    def __init__(
        self, domain: int, slots: int, epsilon: float, d_prime: int | None = None, *, question: Question = UNASKED
    ) -> None:
        items = _items(domain)
        slots, asked = _slots(slots, items), checked_epsilon(epsilon)
        cells = OLH._cells_at(asked) if d_prime is None else d_prime
        self._set(items, slots, self._kind(items + slots, asked, cells).parameters, question)

    @classmethod
    def described(cls) -> str:
        """A hash function, and what it makes of one of her items, or anything."""
        return (
            f"{cls.short} ({cls.name}): each device draws one item of the user's set, filled up with dummies, and a "
            "hash function, and sends it with the hash of the item or, with a fixed probability, with a hash value "
            "drawn evenly"
        )

    @classmethod
    def build(cls, domain: int, epsilon: float, size: int = 0) -> "SampledHash":
        """With `size` for d'."""
        return SampledHash(domain, cls.family_slots, epsilon, size or None)

    @classmethod
    def sizes_to_try(cls, domain: int, limit: float) -> NDArray[np.int64]:
        """As local hashing."""
        return LocalHash.sizes_to_try(domain + cls.family_slots, limit)

    @classmethod
    def grid(cls, domain: int, sizes: NDArray[np.int64], local: Floats) -> Grid:
        """As local hashing, with an item in one report of ℓ."""
        found = LocalHash.grid(domain + cls.family_slots, sizes, local)
        return Grid(found.match, found.collision, found.least_collision, tells=1 / cls.family_slots)

    @classmethod
    def _make_randomiser(cls, cells: int, parameters: Mapping[str, int], question: Question) -> TwoLevel:
        return cls._kind.from_parameters(cells, parameters, question)

    @classmethod
    def _ranges(cls) -> Mapping[str, tuple[int, int]]:
        return {"threshold": (1, 2**cls._kind._coin_bits - 1), "cells": (2, MAX_CELLS)}

    @property
    def epsilon_local(self) -> float:
        """The hash's."""
        return self.randomiser.epsilon_local

    @property
    def blanket(self) -> Blanket | None:
        """The hash's."""
        return self.randomiser.blanket


def epsilon_inside(epsilon: float, slots: int, delta: float) -> float:
    """The ε' of hashing that is (ε, δ)-LDP with one of ℓ slots drawn: theorem 5.5.1 of the thesis, for table 5.2.

    Of a set no more than ℓ' slots meet in a cell but with probability δ, for ideal functions to ⌈e^ε' + 1⌉ cells; with
    the smallest such ℓ' it is ln(ℓ/ℓ'·(e^ε − 1) + 1). The proof throws ℓ slots: it says nothing of sets of more than ℓ
    items. Of the local model, never claimed in a shuffle, and no mechanism here is drawn by it.
    """
    gain = Fraction(math.expm1(checked_epsilon(epsilon)))
    together = next(
        met
        for met in range(1, slots + 1)
        if Fraction(math.comb(slots, met + 1), math.ceil(slots * gain / met + 2) ** met) <= Fraction(delta)
    )
    return math.log1p(slots * gain / together)


def _items(domain: object) -> int:
    return whole_number(domain, "the number of items", least=1, most=MAX_ENUMERABLE - MOST_SLOTS)


def _slots(slots: object, items: int) -> int:
    """More slots than items would be dummies that no set leaves."""
    return whole_number(slots, "the number of slots", least=1, most=min(items, MOST_SLOTS))
