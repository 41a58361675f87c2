"""Public groups of users, each asked in a collection of its own: `Strata`.

Who is in a group is known to all, so that only its own users hide each other: each group has its own least number of
users and its own guarantee, and a sum over groups adds estimates of independent collections.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from peos.errors import PeosError, Refused
from peos.privacy.guarantees import Guarantees
from peos.tasks.ranges.answer import Figure, RangesAnswer
from peos.tasks.ranges.task import Ranges


@dataclass(frozen=True)
class Strata:
    """A task for each public group, by name."""

    tasks: Mapping[str, Ranges]

    @classmethod
    def of(cls, users: Mapping[str, int], schema: Any, **asked: Any) -> "Strata":
        """`Ranges` of each group's own number of users, planned for the same targets; Refused with the group's name."""
        tasks = {}
        for name, number in users.items():
            tasks[name] = Ranges(schema, **asked, users=number)
            try:
                _ = tasks[name].plan
            except PeosError as refused:
                raise Refused(
                    "ranges.stratum",
                    f"of the {number:,} users of {name} alone: {refused}",
                    hint="join small groups, or ask for the group as a dimension: then all users hide it",
                ) from None
        return cls(tasks)

    def guarantees(self) -> dict[str, Guarantees]:
        """Of each group by itself."""
        return {name: task.plan.guarantees for name, task in self.tasks.items()}

    def in_words(self) -> tuple[str, ...]:
        """Each group with its users and what is claimed for them."""
        return tuple(
            f"{name}, {task.users:,} users, known to be in it: {line}"
            for name, task in self.tasks.items()
            for line in task.in_words()
        )


def added(answers: Mapping[str, RangesAnswer], asked: Callable[[RangesAnswer], Figure]) -> Figure:
    """A count or a sum over all groups: `added(answers, lambda one: one.count(age=(20, 35)))`."""
    each = [asked(answer) for answer in answers.values()]
    return Figure.of(math.fsum(one.value for one in each), math.fsum(one.stderr**2 for one in each))
