"""Several reports of one user that stay together: the group in the open, and ε divided among parts of her record.

As the papers have SPM (three parts) and HASH (two): she draws a group, tells it, and reports the group's keys and one
that is of no group, each by local hashing at its part of ε. Linked parts are noise all at once with probability γ^3
or γ^2 only, and the group is no secret, so a shuffle hides next to nothing: it is for the local model, to be compared
with. Neighbours: one user's record is replaced. Trusted: her device alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from peos.crypto.randomness import U64, Randomness
from peos.errors import WrongInput
from peos.estimate.frequency import Floats
from peos.estimate.grouped import GroupEstimate, GroupSizes
from peos.ldp.base import UNASKED, Counts, Mechanism, Question, whole_number
from peos.ldp.grouped_hash import Candidates, GroupedHash, Keys

_MOST_GROUPS = 1 << 16
_MOST_PARTS = 8
_HALF = np.uint64(32)


@dataclass(frozen=True, eq=False)
class LinkedReports:
    """The reports, by part: of the part that belongs to no group all, of each other those of one group."""

    mechanism: "LinkedHash"
    words: U64
    users: int
    fakes: int

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many reports each column has."""
        each = np.bincount(self._groups, minlength=self.mechanism.domain).tolist()
        return (*each * (self.mechanism.parts - 1), len(self.words))

    @property
    def _groups(self) -> NDArray[np.int64]:
        return self.mechanism.group_of(self.words)

    def estimate(self, group: int = 0, candidates: Candidates | None = None) -> GroupEstimate:
        """Of each candidate, by one column."""
        if candidates is None:
            raise WrongInput("task.candidates", "reports of keys are counted at candidates, and none were named")
        one, words = self.mechanism.each, self._words_of(group)
        _, seeds, answers = one.decode(words)
        counts = one.support_counts(seeds, answers, candidates)
        return GroupEstimate.of(one.oracle, counts, reports=len(words), users=self.users, fakes=self.fakes)

    def together(self, group: int, firsts: U64, seconds: U64) -> Floats:
        """(firsts, seconds): how frequent they are together, the one in a group's first part, the other in its second.

        Parts are randomised apart, so the mean of (1_x − u)(1_y − u)/(p − u)² is unbiased.
        """
        oracle = self.mechanism.each.oracle
        supports = [
            (self._supports(group + part * self.mechanism.domain, exts) - oracle.u) / (oracle.p - oracle.u)
            for part, exts in enumerate((firsts, seconds))
        ]
        found: Floats = supports[0].T @ supports[1] / max(1, len(supports[0]))
        return found

    def _supports(self, column: int, exts: U64) -> Floats:
        one = self.mechanism.each
        _, seeds, answers = one.decode(self._words_of(column))
        hashed = one.hashes.hash(seeds[:, np.newaxis], np.zeros(1, np.uint64), exts[np.newaxis])
        return np.asarray(hashed == answers[:, np.newaxis], np.float64)

    def _words_of(self, column: int) -> U64:
        part, group = divmod(column, self.mechanism.domain)
        here = self.words[:, 1 + part : 2 + part]
        return here if part == self.mechanism.parts - 1 else here[self._groups == group]


class LinkedHash(Mechanism):
    """A group of `domain`, its `parts` − 1 keys, and one key more: each hashed with ε/parts."""

    name = "linked_hash"
    short = "linked hashing of keys"
    local_only = (
        "a user's linked reports are all noise with probability γ² or γ³ only, so that a shuffle hides next to nothing"
    )
    no_blanket = "her linked reports are all noise with probability γ² or γ³ only"

    def __init__(
        self, groups: int, parts: int, epsilon: float, d_prime: int = 0, *, question: Question = UNASKED
    ) -> None:
        self.domain = whole_number(groups, "the number of groups", least=1, most=_MOST_GROUPS)
        self.parts = whole_number(parts, "the number of linked reports", least=2, most=_MOST_PARTS)
        self.each = GroupedHash.build(1, epsilon / self.parts, d_prime)
        self.words, self.question = 1 + self.parts, question

    @classmethod
    def described(cls) -> str:
        """Parts of her record."""
        return f"{cls.short} ({cls.name}): each device tells which parts of its record it reports, and reports each"

    @classmethod
    def build(cls, domain: int, epsilon: float, size: int = 0) -> "LinkedHash":
        """Of two parts."""
        return cls(domain, 2, epsilon, size)

    @classmethod
    def from_parameters(
        cls,
        domain: int,  # noqa: ARG003 - whatever it is
        parameters: Mapping[str, int],  # noqa: ARG003 - whatever they are
        question: Question = UNASKED,  # noqa: ARG003 - whatever it is
    ) -> Self:
        """No document has it."""
        raise WrongInput("mechanism.local_only", cls.local_only, hint="ask each user for one part")

    @property
    def gamma(self) -> Fraction:
        """That all parts are noise."""
        return self.each.gamma**self.parts

    @property
    def epsilon_local(self) -> float:
        """Of all parts."""
        return self.each.epsilon_local * self.parts

    @property
    def parameters(self) -> Mapping[str, int]:
        """Of a part, and how many there are."""
        return {"parts": self.parts, **self.each.parameters}

    @property
    def shares(self) -> Floats:
        """Of each group."""
        return np.full(self.domain, 1 / self.domain)

    def gathered(self, answers: Sequence[Keys]) -> Keys:
        """One column a group and part, and the last."""
        return Keys(*(np.stack(one, axis=1) for one in zip(*answers, strict=True)))

    def randomize(self, values: Keys, rng: Randomness | None = None) -> U64:  # type: ignore[override] # keys, not numbers
        """(n, 1 + parts): the group, and each part."""
        rng, users = self._rng(rng), np.arange(len(values.parents))
        words = rng.uint64((len(users), 1))
        groups = self.group_of(words)
        columns = [groups + part * self.domain for part in range(self.parts - 1)]
        columns.append(np.full(len(users), (self.parts - 1) * self.domain))
        for column in columns:
            own = (users[:, np.newaxis], column[:, np.newaxis])
            keys = Keys(values.parents[own], values.exts[own], values.fits[own])
            words = np.concatenate((words, self.each.randomize(keys, rng)), axis=1)
        return words

    def group_of(self, words: U64) -> NDArray[np.int64]:
        """Which group each report is of; every word is of one."""
        return ((words[:, 0] >> _HALF) * np.uint64(self.domain) >> _HALF).astype(np.int64)

    def reports(self, words: U64, users: int, fakes: int) -> LinkedReports:
        """By part and group."""
        return LinkedReports(self, self._words(words), users, fakes)

    def tally(self, words: U64) -> Counts:
        """(groups,): how many reports each group has."""
        return np.bincount(self.group_of(self._words(words)), minlength=self.domain).astype(np.int64)

    def estimate(self, tally: Counts, users: int, fakes: int = 0) -> GroupSizes:
        """The share of the reports that each group has."""
        return GroupSizes.of(tally, self.shares, users, fakes)

    def variance(self, users: int, fakes: int = 0, frequency: float = 0.0) -> float:
        """Of a frequency by the part that everybody reports."""
        return self.each.variance(users, fakes, frequency)
