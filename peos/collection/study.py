"""The life of a study with the analyzer, as a function: from the collections that there are to what comes next.

A task has no state (`peos.tasks.base`): what a study has seen are the tables that its collections published, so that
it goes on from wherever a crash has left it. Rounds ask disjoint windows of places, one after another: a round that too
few answered is asked of the next ones, never of the same users again (decisions/0029).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from peos.collection.lifecycle import OVER, State
from peos.collection.ticket import PLACES
from peos.tasks.base import NOTHING, Answer, Round, Table, Task


class StudyState(StrEnum):
    """Where a study stands: of one that is not running nothing more is asked."""

    RUNNING = "running"
    COMPLETE = "complete"
    STOPPED = "stopped"
    ABORTED = "aborted"


@dataclass(frozen=True, eq=False)
class Attempt:
    """One collection of a study; `table` is what it published."""

    name: str
    round: int
    first: int
    end: int
    state: State
    reason: str = ""
    table: Table | None = None


@dataclass(frozen=True, eq=False)
class Ask:
    """Create the collection of this name: of about so many users, whose places are from `first` to before `end`."""

    name: str
    round: int
    attempt: int
    first: int
    end: int
    users: int
    asked: Round


@dataclass(frozen=True, eq=False)
class Await:
    """A collection is not over yet."""

    attempt: Attempt


@dataclass(frozen=True, eq=False)
class Concluded:
    """Nothing is left to ask; `reason` says why the task was not done, if it was not."""

    answer: Answer
    reason: str = ""


def seen(attempts: Sequence[Attempt]) -> list[Table]:
    """What the rounds have published, in their order."""
    return [one.table for one in attempts if one.table is not None]


def following(study: str, task: Task, attempts: Sequence[Attempt]) -> Ask | Await | Concluded:
    """What comes next, of all collections that the study has so far, in the order in which they were asked."""
    if attempts and attempts[-1].state not in OVER:
        return Await(attempts[-1])
    tables = seen(attempts)
    asked = task.next(tables)
    if isinstance(asked, Answer):
        return Concluded(asked)
    number = len(tables) + 1
    before = sum(one.round == number for one in attempts)
    first = attempts[-1].end if attempts else 0
    end = PLACES if asked.share >= 1.0 else first + round(asked.share * (PLACES - first))
    users = round(task.users * (end - first) / PLACES)
    if users < 1:
        reason = f"no users are left to ask for round {number}"
        if before:
            reason += f", which was aborted: {attempts[-1].reason}"
        return Concluded(Answer(tables[-1] if tables else NOTHING, is_complete=False), reason)
    name = f"{study}.{number}" + (f".{before + 1}" if before else "")
    return Ask(name, number, before + 1, first, end, users, asked)
