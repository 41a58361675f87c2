"""One hidden question of several to each user: which of her keys is hashed is part of the seed that she draws.

A task asks group j for the key of view j: the first 16 bits of a text and the next 8, say. Here the 2^32 seeds are
divided among the groups by weight, so that a uniform seed is a group and a hash function in one; then it is local
hashing over keys (`peos.ldp.key_hash`). A report is one 64-bit word, every pattern of it is a valid report, and only
her device knows before it is opened which group it answers: all users and all fakes hide her, not those of a group.

Only candidates are ever evaluated; there is no domain to count over. A record that has no key in a group answers all
the same, with a uniform word, which supports any candidate as often as another key's report does.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import ClassVar, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from peos.crypto.randomness import U64, Randomness
from peos.errors import WrongInput
from peos.estimate.grouped import GroupedOracle, GroupEstimate, GroupSizes
from peos.ldp.base import UNASKED, Counts, Question, checked_parameters, whole_number
from peos.ldp.blanket import Blanket, even_blanket, least_collision, most_collision
from peos.ldp.key_hash import EXT_BITS, MOST_BITS, PAIRS_A_SECOND, KeyHash
from peos.ldp.local_hash import locally_best_d_prime
from peos.ldp.members import Floats, Grid
from peos.ldp.mixture import Mixture, checked_epsilon, largest_threshold
from peos.ldp.two_level import OneCoin

MOST_GROUPS: Final = 64
_PIECE: Final = (
    1 << 27
)  # pairs of a report and a candidate: a few hundredths of a second, half of one where cores are busy
_MOST_WEIGHT: Final = 1 << 16
_NATS: Final = 120.0  # e^-120 for each of 2^28 candidates with each of 2^64 keys that are held leaves 10^-24
_SIGMAS: Final = 18  # of c over the seeds: e^-162 for each of 2^168 pairs of keys leaves 10^-19


class Keys(NamedTuple):
    """(users, groups) of each: what every group would be sent. Where nothing `fits`, a uniform word is."""

    parents: U64
    exts: U64
    fits: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Candidates:
    """The keys that a group's reports are counted at: every parent with every ext, or each with its own (`paired`)."""

    parents: U64
    exts: U64
    paired: bool = False

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.parents) * (1 if self.paired else len(self.exts))


def counted(hashes: KeyHash, candidates: Candidates, seeds: U64, answers: NDArray[np.int64]) -> Counts:
    """(candidates,): how many reports (seed, y) of one group support each."""
    count = hashes.pair_counts if candidates.paired else hashes.support_counts
    return count(seeds, answers, candidates.parents, candidates.exts).reshape(-1)


@dataclass(frozen=True, eq=False)
class GroupedReports:
    """The reports of one collection, by group."""

    mechanism: "GroupedHash"
    users: int
    fakes: int
    _groups: NDArray[np.intp]
    _seeds: U64
    _answers: NDArray[np.int64]
    _summed: Callable[..., Counts] | None = None
    _progress: Callable[[int, int, int], None] | None = None

    def shared(
        self, summed: Callable[..., Counts], progress: Callable[[int, int, int], None] | None = None
    ) -> "GroupedReports":
        """The same, counted in pieces of at most a second; see `SharedReports`."""
        return replace(self, _summed=summed, _progress=progress)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many reports each group has."""
        return tuple(np.bincount(self._groups, minlength=self.mechanism.domain).tolist())

    def estimate(self, group: int = 0, candidates: Candidates | None = None) -> GroupEstimate:
        """Of each candidate."""
        if candidates is None:
            raise WrongInput("task.candidates", "reports of keys are counted at candidates, and none were named")
        here = self._groups == group
        seeds, answers = self._seeds[here], self._answers[here]
        if self._summed is None:
            counts = self.mechanism.support_counts(seeds, answers, candidates)
        else:
            size = candidates.size
            pairs = len(seeds) * size
            counts = self._summed(
                partial(counted, self.mechanism.hashes, candidates),
                (seeds, answers),
                size,
                pieces=max(1, -(-pairs // _PIECE)),
                seconds=pairs / PAIRS_A_SECOND,
                progress=None if self._progress is None else partial(self._progress, group),
            )
        oracle, reports = self.mechanism.oracle, len(seeds)
        return GroupEstimate.of(oracle, counts, reports=reports, users=self.users, fakes=self.fakes)


class GroupedHash(OneCoin):
    """With probability 1 − γ a uniform seed σ and the hash of the key of σ's group, else a uniformly random word.

    Group j of g has the seeds from W_(j−1) to W_j, its integer weight's share of 2^32. Two different keys meet under a
    share 1/d' ± 18√(1/(d'·2^32)) of the seeds. Records that agree in some groups meet more often, which hides more.
    """

    _mixture: Mixture
    name = "grouped_hash"
    short = "hashing of keys in hidden groups"
    size_name = "d_prime"
    size_range = (2, 2**MOST_BITS)
    words = 1
    _seed_bits: ClassVar[int] = 32  # tests enumerate every random input of narrower twins
    _bits: ClassVar[int] = 32
    _coin_bits: ClassVar[int] = 64

    def __init__(self, weights: Sequence[int], epsilon: float, d_prime: int, *, question: Question = UNASKED) -> None:
        cells = _cells(d_prime)
        threshold = largest_threshold(checked_epsilon(epsilon), cells, bits=self._bits, coin_bits=self._coin_bits)
        self._set(_weights(weights), threshold, cells, question)

    @classmethod
    def described(cls) -> str:
        """A group and a hash function, and what they make of her record, or anything."""
        return (
            f"{cls.short} ({cls.name}): each device draws one of the questions and a hash function, keeps "
            "to itself which, and sends the hash of its answer to that question or, with a fixed probability, anything"
        )

    @classmethod
    def is_proposed(cls, *, shuffled: bool) -> bool:  # noqa: ARG003 - in neither
        """No question over a list of values is asked with it."""
        return False

    @classmethod
    def build(cls, domain: int, epsilon: float, size: int = 0) -> "GroupedHash":
        """Of one group, with `size` for d'. Its domain is how many groups there are."""
        return cls([1] * domain, epsilon, size or locally_best_d_prime(epsilon))

    @classmethod
    def sizes_to_try(cls, domain: int, limit: float) -> NDArray[np.int64]:  # noqa: ARG003 - any size fits any keys
        """Every power of two."""
        return 2 ** np.arange(1, MOST_BITS + 1)

    @classmethod
    def grid(cls, domain: int, sizes: NDArray[np.int64], local: Floats) -> Grid:  # noqa: ARG003 - neither matters
        """1/d' twice, and the least that the seeds' functions may have of it."""
        met = 1.0 / sizes[:, np.newaxis]
        least = np.array([[least_collision(Fraction(1, int(cells)), sigmas=_SIGMAS)] for cells in sizes])
        return Grid(met, met, least)

    @classmethod
    def from_parameters(cls, domain: int, parameters: Mapping[str, int], question: Question = UNASKED) -> Self:
        """The mechanism that a document describes by {"threshold": T, "cells": d', "weight_1": …, …}."""
        groups = whole_number(domain, "the number of groups", least=1, most=MOST_GROUPS)
        ranges = {"threshold": (1, 2**cls._coin_bits - 1), "cells": cls.size_range}
        ranges |= {_weight(group): (1, _MOST_WEIGHT) for group in range(groups)}
        given = checked_parameters(cls.name, parameters, ranges)
        mechanism = cls.__new__(cls)
        weights = tuple(given[_weight(group)] for group in range(groups))
        mechanism._set(weights, given["threshold"], _cells(given["cells"]), question)
        return mechanism

    @property
    def _pattern_bits(self) -> int:
        return self._seed_bits + self._bits

    def _set(self, weights: tuple[int, ...], threshold: int, cells: int, question: Question) -> None:
        self.weights, self.domain, self.cells, self.question = weights, len(weights), cells, question
        self._mixture = Mixture(threshold, cells, self._bits, self._coin_bits)
        whole, seeds = sum(weights), 2**self._seed_bits
        ends = [sum(weights[: group + 1]) * seeds // whole for group in range(len(weights))]
        self._ends = np.array(ends, dtype=np.uint64)
        self._shares: Floats = np.diff(np.array([0, *ends])) / seeds
        self.hashes = KeyHash(cells.bit_length() - 1, salt=int.from_bytes(self.digest[:8], "little"))
        γ, met = self.gamma, Fraction(1, cells)
        self.oracle = GroupedOracle(
            p=float(1 - γ + γ * met),
            u=float(met),
            slack=float(1 - γ) * most_collision(met, self._seed_bits, nats=_NATS),
        )

    def weighted(self, weights: Sequence[int]) -> "GroupedHash":
        """The same for groups of these weights: nothing of its privacy depends on them."""
        made = type(self).__new__(type(self))
        made._set(_weights(weights), self._mixture.threshold, self.cells, self.question)
        return made

    @property
    def blanket(self) -> Blanket:
        """As of local hashing: the group is hidden like the rest of the seed (privacy.md §2)."""
        least = least_collision(Fraction(1, self.cells), sigmas=_SIGMAS)
        met = Fraction(1, self.cells)
        return even_blanket(self.gamma, met, Fraction(least) * met, self.epsilon_local)

    @property
    def parameters(self) -> Mapping[str, int]:
        """{"threshold": T, "cells": d', "weight_1": …, …}."""
        weights = {_weight(group): weight for group, weight in enumerate(self.weights)}
        return {"threshold": self._mixture.threshold, "cells": self.cells, **weights}

    @property
    def shares(self) -> Floats:
        """By the groups' weights."""
        return self._shares

    @property
    def shown(self) -> Mapping[str, int]:
        """{"d_prime": d', "groups": g}."""
        return {"d_prime": self.cells, "groups": self.domain}

    # What a user does.

    def require_asked(self, asked: Sequence[tuple[str, int]]) -> None:
        """A key of each group."""
        if [given for given, _ in asked] != ["key"] * self.domain:
            raise WrongInput(
                "mechanism.views",
                f"{self.name} with {self.domain} groups answers as many questions, each for a key of the record",
                hint="ask with views that fit the mechanism",
            )

    def gathered(self, answers: Sequence[Keys]) -> Keys:
        """One column a group."""
        return Keys(*(np.stack(one, axis=1) for one in zip(*answers, strict=True)))

    def encode(self, keys: Keys, rng: Randomness) -> U64:
        """(n, 1): for each user a uniform seed, and a uniform preimage of its hash of the key of its group.

        The same draws and the same work for every record, whether it fits or not.
        """
        shape = (len(keys.parents), self.domain)
        if {np.shape(one) for one in keys} != {shape}:
            raise WrongInput("mechanism.keys", f"each user has a key for each of the {self.domain} groups, or none")
        users = np.arange(len(keys.parents))
        seeds = rng.uint64(users.shape) >> np.uint64(64 - self._seed_bits)
        groups = self.group_of(seeds)
        exts = keys.exts[users, groups]
        if np.any(exts >> np.uint64(EXT_BITS)):
            raise WrongInput("mechanism.ext", f"what follows a prefix is a number of at most {EXT_BITS} bits")
        cells = self.hashes.hash(seeds, keys.parents[users, groups], exts)
        numbers = self._mixture.preimages(cells, rng)
        anything = rng.uint64(users.shape) >> np.uint64(64 - self._bits)
        numbers = np.where(keys.fits[users, groups], numbers, anything)
        return (seeds << np.uint64(self._bits) | numbers)[:, np.newaxis]

    # What the analyzer does.

    def group_of(self, seeds: U64) -> NDArray[np.intp]:
        """Which group each seed belongs to."""
        return np.searchsorted(self._ends, seeds, side="right")

    def decode(self, words: U64) -> tuple[NDArray[np.intp], U64, NDArray[np.int64]]:
        """(group, seed, y) of each report; every word has all three."""
        flat = self._words(words)[:, 0]
        seeds = flat >> np.uint64(self._bits)
        return self.group_of(seeds), seeds, self._mixture.cell_of(flat & np.uint64(2**self._bits - 1))

    def support_counts(self, seeds: U64, answers: NDArray[np.int64], candidates: Candidates) -> Counts:
        """How many reports (seed, y) of one group support each candidate."""
        return counted(self.hashes, candidates, seeds, answers)

    def reports(self, words: U64, users: int, fakes: int) -> GroupedReports:
        """By group."""
        return GroupedReports(self, users, fakes, *self.decode(words))

    def tally(self, words: U64) -> Counts:
        """(groups,): how many reports each group has. What its reports support is asked for at candidates."""
        return np.bincount(self.decode(words)[0], minlength=self.domain).astype(np.int64)

    def estimate(self, tally: Counts, users: int, fakes: int = 0) -> GroupSizes:
        """The share of the reports that each group has."""
        return GroupSizes.of(tally, self.shares, users, fakes)

    def variance(self, users: int, fakes: int = 0, frequency: float = 0.0) -> float:
        """Of one frequency, estimated from the reports of the smallest group."""
        share = float(self.shares.min())
        return float(self.oracle.variance(round(share * (users + fakes)), users, fakes, np.float64(frequency)))

    def steps(self, reports: int) -> float:
        """One a report and candidate; how many candidates there are is the task's to say."""
        return float(reports)


def _weight(group: int) -> str:
    return f"weight_{group + 1}"


def _weights(weights: Sequence[int]) -> tuple[int, ...]:
    whole_number(len(weights), "the number of groups", least=1, most=MOST_GROUPS)
    return tuple(whole_number(weight, "a group's weight", least=1, most=_MOST_WEIGHT) for weight in weights)


def _cells(d_prime: object) -> int:
    cells = whole_number(d_prime, "d_prime", least=2, most=2**MOST_BITS)
    if cells & (cells - 1):
        raise WrongInput("mechanism.power_of_two", f"d_prime is a power of two where keys are hashed, not {cells}")
    return cells
