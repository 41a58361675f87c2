"""What every task is made of: rounds that are asked, tables that come of them, and an answer in the end.

A task is a function of what was seen, without state and without randomness: `next` on the same tables is the same round
again. So it may be stopped anywhere and gone on with (decisions/0027). A task knows no network, store or mechanism's
reports; it asks `Reports` for estimates at the candidates that it names.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from peos.estimate.grouped import GroupEstimate
from peos.ldp.grouped_hash import Candidates
from peos.privacy.guarantees import Guarantees
from peos.tasks.planning import Asked, Planned
from peos.tasks.texts import Prefix, Records, Texts
from peos.tasks.views import View

Floats = NDArray[np.float64]


class Reports(Protocol):
    """The delivered reports of one round, for as long as they are there."""

    def size(self, group: int) -> int:
        """How many reports a group has."""

    def estimate(self, group: int, candidates: Candidates) -> GroupEstimate:
        """How frequent each candidate is among all users, by the reports of one group."""


@dataclass(frozen=True, eq=False)
class Table:
    """What a round found: labels with estimates, out of `tested` candidates; `note` says why it is not more."""

    labels: tuple[str, ...]
    frequency: Floats
    stderr: Floats
    interval95: Floats
    significant: NDArray[np.bool_]
    tested: int
    users: int
    note: str = ""


NOTHING: Table = Table((), np.zeros(0), np.zeros(0), np.zeros((0, 2)), np.zeros(0, np.bool_), 0, 0)


def table(labels: Sequence[str], estimate: GroupEstimate, chosen: NDArray[np.intp]) -> Table:
    """The chosen candidates, by what they are called."""
    return Table(
        tuple(labels),
        estimate.frequency[chosen],
        estimate.stderr[chosen],
        estimate.interval()[chosen],
        estimate.significant()[chosen],
        estimate.tested,
        estimate.users,
    )


def best_of(texts: Sequence[Prefix], estimate: GroupEstimate, k: int) -> Table:
    """The k most frequent of whole texts; of equals the smaller comes first."""
    found = estimate.frequency.tolist()
    chosen = np.array(sorted(range(len(texts)), key=lambda one: (-found[one], texts[one].value))[:k], np.intp)
    return table([texts[one].label for one in chosen.tolist()], estimate, chosen)


@dataclass(frozen=True, eq=False)
class Round:
    """A collection that a task asks for: of a `share` of the users that were not asked yet, each by one view."""

    views: tuple[View, ...]
    plan: Planned
    share: float
    decode: Callable[[Reports], Table]


@dataclass(frozen=True, eq=False)
class Answer:
    """What a task ends with; not `is_complete` if users ran out before it was done."""

    table: Table
    is_complete: bool = True


class Task(Protocol):
    """A question that one collection, or several one after another, answer."""

    @property
    def users(self) -> int:
        """How many are to be asked in all."""

    @property
    def k(self) -> int:
        """How many labels are wanted."""

    def labels(self, records: Records) -> Sequence[str]:
        """What records are called in an answer, so that it can be held against the truth where that is known."""

    def next(self, seen: Sequence[Table]) -> Round | Answer:
        """What follows from the tables so far: the same seen, the same round."""


class OneRound(ABC):
    """A task over texts of `bits` bits whose every question goes out at once: one collection, one guarantee."""

    bits: int
    k: int
    asked: Asked

    @property
    @abstractmethod
    def plan(self) -> Planned:
        """Mechanism, fakes and guarantees of its one round."""

    @property
    @abstractmethod
    def views(self) -> Sequence[View]:
        """What each group is asked."""

    @abstractmethod
    def decode(self, reports: Reports) -> Table:
        """What the reports show."""

    @property
    def users(self) -> int:
        """How many are to be asked."""
        return self.asked.users

    def labels(self, records: Records) -> Sequence[str]:
        """What each record is called in an answer."""
        return Texts.of(records, self.bits).labels(self.bits)

    def next(self, seen: Sequence[Table]) -> Round | Answer:
        """One round, and what it finds."""
        return Answer(seen[0]) if seen else Round(tuple(self.views), self.plan, 1.0, self.decode)


@dataclass(frozen=True)
class RoundDone:
    """One round as it was, for people and scripts."""

    users: int
    fakes: int
    groups: tuple[int, ...]  # reports of each
    guarantees: Guarantees
