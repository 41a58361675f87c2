"""What every task is made of: rounds that are asked, tables that come of them, and an answer in the end.

A task is a function of what was seen, without state and without randomness: `next` on the same tables is the same round
again. So it may be stopped anywhere and gone on with (decisions/0027). A task knows no network, store or mechanism's
reports; it asks `Reports` for estimates at the candidates that it names.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from peos.errors import WrongInput
from peos.estimate.frequency import Frequencies
from peos.estimate.grouped import odd_sizes
from peos.ldp.base import Mechanism
from peos.ldp.grouped_tables import GroupedTables
from peos.ldp.reports import Reports
from peos.privacy.guarantees import Guarantees
from peos.tabular import Rows, Tabular, of_result, of_values
from peos.tasks.planning import Asked, Planned
from peos.tasks.texts import Prefix, Records, Texts
from peos.tasks.views import View

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Table(Tabular):
    """What a round found: labels with estimates, out of `tested` candidates; `note` says why it is not more."""

    labels: tuple[str, ...]
    frequency: Floats
    stderr: Floats
    interval95: Floats
    significant: NDArray[np.bool_]
    tested: int
    users: int
    note: str = ""
    sizes: tuple[int, ...] = ()  # reports of each group, where an answer needs them

    @property
    def summary(self) -> str:
        """How many labels, of how many candidates."""
        why = f"; {self.note}" if self.note else ""
        return f"{len(self.labels):,} of {self.tested:,} candidates, from {self.users:,} users{why}"

    def rows(self) -> Rows:
        """A row a label."""
        return of_values(self.summary, {"label": self.labels}, vars(self))

    def to_json(self) -> dict[str, Any]:
        """Every number exactly: a study that goes on from it asks what it would have asked."""
        return {
            "labels": list(self.labels),
            "frequency": self.frequency.tolist(),
            "stderr": self.stderr.tolist(),
            "interval95": self.interval95.tolist(),
            "significant": self.significant.tolist(),
            "tested": self.tested,
            "users": self.users,
            "note": self.note,
            "sizes": list(self.sizes),
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        """As `to_json` wrote it."""
        return cls(
            tuple(found["labels"]),
            np.array(found["frequency"], np.float64),
            np.array(found["stderr"], np.float64),
            np.array(found["interval95"], np.float64).reshape(-1, 2),
            np.array(found["significant"], np.bool_),
            found["tested"],
            found["users"],
            found["note"],
            tuple(found["sizes"]),
        )


NOTHING: Table = Table((), np.zeros(0), np.zeros(0), np.zeros((0, 2)), np.zeros(0, np.bool_), 0, 0)


def table(labels: Sequence[str], estimate: Frequencies, chosen: NDArray[np.intp]) -> Table:
    """The chosen candidates, by what they are called."""
    significant = estimate.significant()
    if significant is None:
        raise WrongInput("task.significance", "of these reports it cannot be said what is found")
    return Table(
        tuple(labels),
        estimate.frequency[chosen],
        estimate.stderr[chosen],
        estimate.interval()[chosen],
        significant[chosen],
        estimate.tested,
        estimate.users,
    )


def best_of(texts: Sequence[Prefix], estimate: Frequencies, k: int) -> Table:
    """The k most frequent of whole texts; of equals the smaller comes first."""
    found = estimate.frequency.tolist()
    chosen = np.array(sorted(range(len(texts)), key=lambda one: (-found[one], texts[one].value))[:k], np.intp)
    return table([texts[one].label for one in chosen.tolist()], estimate, chosen)


@dataclass(frozen=True, eq=False)
class Round:
    """A collection that a task asks for: of a `share` of the users that were not asked yet, each by one view.

    `catalogue` is the file that its users need with the invitation, if one of the views names one.
    """

    views: tuple[View, ...]
    plan: Planned[Mechanism]
    share: float
    decode: Callable[[Reports], Table]
    catalogue: bytes | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Answer(Tabular):
    """What a task ends with; not `is_complete` if users ran out before it was done.

    A task that answers more than a list says it in a class of its own, and in `more` for results and pages.
    """

    found: Table
    is_complete: bool = True

    @property
    def checks(self) -> dict[str, bool]:
        """What would show that something was wrong with its reports, by name."""
        return {}

    def more(self) -> dict[str, Any]:
        """What result.json has besides the list."""
        return {}

    @property
    def summary(self) -> str:
        """Of the list, and whether it is whole."""
        return self.found.summary + ("" if self.is_complete else "; the task was not done")

    def rows(self) -> Rows:
        """A row a label, and a row a cell of what else it answers: as `peos study result --csv` has them."""
        return replace(of_result({**self.found.to_json(), **self.more()}), about=self.summary)


class Task(Protocol):
    """A question that one collection, or several one after another, answer."""

    @property
    def users(self) -> int:
        """How many are to be asked in all."""

    @property
    def k(self) -> int:
        """How many labels are wanted."""

    @property
    def plans(self) -> Sequence[Planned[Mechanism]]:
        """Every round that may be asked, before the first is: each for its own number of users."""

    def labels(self, records: Records) -> Sequence[str]:
        """What records are called in an answer, so that it can be held against the truth where that is known."""

    def next(self, seen: Sequence[Table]) -> Round | Answer:
        """What follows from the tables so far: the same seen, the same round."""


class OneRound(ABC):
    """A task whose every question goes out at once: one collection, one guarantee."""

    in_memory: ClassVar[str] = ""  # why no shuffle may ask it
    asked: Asked

    @property
    @abstractmethod
    def plan(self) -> Planned[Mechanism]:
        """Mechanism, fakes and guarantees of its one round."""

    @property
    @abstractmethod
    def views(self) -> Sequence[View]:
        """What each group is asked."""

    @abstractmethod
    def decode(self, reports: Reports) -> Table:
        """What the reports show."""

    def answer(self, found: Table) -> Answer:
        """What it makes of that."""
        return Answer(found)

    @property
    def plans(self) -> tuple[Planned[Mechanism], ...]:
        """The one."""
        return (self.plan,)

    @property
    def users(self) -> int:
        """How many are to be asked."""
        return self.asked.users

    def next(self, seen: Sequence[Table]) -> Round | Answer:
        """One round, and what it finds."""
        return self.answer(seen[0]) if seen else Round(tuple(self.views), self.plan, 1.0, self.decode)


class OfTexts(OneRound):
    """One over texts of `bits` bits."""

    bits: int
    k: int

    def labels(self, records: Records) -> Sequence[str]:
        """What each record is called in an answer."""
        return Texts.of(records, self.bits).labels(self.bits)


class Design(Protocol):
    """Which tables are asked, with the plan."""

    @property
    def plan(self) -> Planned[GroupedTables]:
        """Of the collection."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What binds it, and what is next best."""

    def in_words(self) -> str:
        """What is asked, and what is expected of it."""


class OfTables(OneRound):
    """One of hidden tables of cells; its answers are made of every cell of every table."""

    @property
    @abstractmethod
    def design(self) -> Design:
        """Which tables are asked, and what is expected of them."""

    @property
    @abstractmethod
    def named(self) -> Sequence[str]:
        """What every cell is called, table after table."""

    @property
    def plan(self) -> Planned[GroupedTables]:
        """Of the design."""
        return self.design.plan

    def in_words(self) -> tuple[str, ...]:
        """What is asked and why, what is expected, and what is claimed."""
        return self.design.in_words(), *self.design.notes, *self.plan.guarantees.in_words()

    @property
    def k(self) -> int:
        """As many labels as there are cells: nothing is left out."""
        return self.plan.mechanism.domain

    def decode(self, reports: Reports) -> Table:
        """Every cell of every table, table after table, each estimated from its own table's reports."""
        estimates = [reports.estimate(table) for table in range(len(self.plan.mechanism.tables))]
        level = 0.05 / len(estimates)
        significant = [one.significant(level) for one in estimates]
        return Table(
            tuple(self.named),
            np.concatenate([one.frequency for one in estimates]),
            np.concatenate([one.stderr for one in estimates]),
            np.concatenate([one.interval() for one in estimates]),
            np.concatenate([one for one in significant if one is not None]),
            sum(one.tested for one in estimates),
            reports.users,
            sizes=reports.sizes,
        )


def require_collectable(task: Task) -> None:
    """Refuse a task that is for comparisons in memory alone."""
    if reason := getattr(task, "in_memory", ""):  # of a task that has any
        raise WrongInput("task.in_memory", reason, hint="run it in memory: run_study(task, records, shuffle=False)")


@dataclass(frozen=True)
class RoundDone:
    """One round as it was, for people and scripts."""

    users: int
    fakes: int
    groups: tuple[int, ...]  # reports of each
    shares: tuple[float, ...]  # that each should have
    guarantees: Guarantees

    @classmethod
    def of(cls, plan: Planned[Mechanism], reports: Reports) -> Self:
        """What was counted."""
        shares = tuple(map(float, plan.mechanism.shares_among(reports.users, reports.fakes)))
        return cls(reports.users, reports.fakes, reports.sizes, shares, plan.guarantees)

    @property
    def odd(self) -> tuple[int, ...]:
        """The groups of more or fewer reports than chance explains: reports were made for a group on purpose."""
        return odd_sizes(self.groups, self.shares)
