"""The delivered reports of one collection, for as long as they are there: what a task may ask of them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from peos.errors import WrongInput
from peos.estimate.frequency import Frequencies

if TYPE_CHECKING:
    from collections.abc import Callable

    from peos.ldp.base import Counts, Mechanism
    from peos.ldp.grouped_hash import Candidates


class Reports(Protocol):
    """By group; where a mechanism has no groups, all reports are one."""

    @property
    def users(self) -> int:
        """How many users were counted."""

    @property
    def fakes(self) -> int:
        """How many of the reports are fakes."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many reports each group has."""

    def estimate(self, group: int = 0, candidates: "Candidates | None" = None) -> Frequencies:
        """How frequent each value of a group is among all users, or each candidate where keys are asked."""


@runtime_checkable
class SharedReports(Reports, Protocol):
    """Reports that `Engine.summed` may count: by workers, and in pieces, each of which is reported."""

    def shared(self, summed: "Callable[..., Counts]", progress: "Callable[[int, int, int], None] | None") -> Reports:
        """The same, counted by `summed`; `progress` is called with (group, done, pieces)."""


@dataclass(frozen=True, eq=False)
class UngroupedReports:
    """Reports that all answer one question over a list of values."""

    mechanism: "Mechanism"
    users: int
    fakes: int
    tally: "Counts"

    @property
    def sizes(self) -> tuple[int, ...]:
        """All of them."""
        return (self.users + self.fakes,)

    def estimate(self, group: int = 0, candidates: "Candidates | None" = None) -> Frequencies:
        """Of every value."""
        if group or candidates is not None:
            raise WrongInput("task.group", "these reports answer one question over a list of values, and nothing else")
        return self.mechanism.estimate(self.tally, self.users, self.fakes)
