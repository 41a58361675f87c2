"""A collection's life, in one table a role; there is no way back (protocol.md §6)."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from peos.errors import LocalFault


class State(StrEnum):
    """Where a collection stands with one party."""

    DRAFT = "draft"
    OPEN = "open"
    CLOSED = "closed"
    FROZEN = "frozen"
    SHUFFLING = "shuffling"
    DELIVERED = "delivered"
    PUBLISHED = "published"
    ABORTED = "aborted"


OVER: Final = (State.PUBLISHED, State.ABORTED)

ANALYZER: Final = {
    State.DRAFT: (State.OPEN, State.ABORTED),  # every shuffler accepted
    State.OPEN: (State.CLOSED, State.ABORTED),  # the deadline, or the analyst's order
    State.CLOSED: (State.SHUFFLING, State.ABORTED),  # the shufflers froze
    State.SHUFFLING: (State.DELIVERED, State.ABORTED),  # parts of one transcript from all last hiders
    State.DELIVERED: (State.PUBLISHED, State.ABORTED),  # every dummy came out
    State.PUBLISHED: (),
    State.ABORTED: (),
}

SHUFFLER: Final = {
    State.DRAFT: (State.OPEN, State.ABORTED),  # the operator's policy accepted the document
    State.OPEN: (State.CLOSED, State.ABORTED),  # the deadline, or the analyzer's signed order
    State.CLOSED: (State.FROZEN, State.ABORTED),  # all shufflers signed one list, of at least the minimum
    State.FROZEN: (State.SHUFFLING, State.ABORTED),  # an attempt was opened
    State.SHUFFLING: (State.DELIVERED, State.ABORTED),  # the analyzer's receipt
    State.DELIVERED: (State.PUBLISHED, State.ABORTED),  # everything was erased
    State.PUBLISHED: (),
    State.ABORTED: (),
}

TABLES: Final = {"analyzer": ANALYZER, "shuffler": SHUFFLER}


@dataclass(frozen=True)
class Order:
    """The analyzer's signed order to close a collection, or to abort it."""

    collection: bytes
    abort: bool
    signature: bytes


def advance(role: str, here: State, there: State) -> State:
    """`there`, if the role's table allows it from `here`."""
    if there not in TABLES[role].get(here, ()):  # not every role passes through every state
        raise LocalFault("collection.transition", f"a collection that is {here} cannot become {there}")
    return there


def way(role: str, here: State, there: State) -> tuple[State, ...]:
    """The states that lead `there`, itself the last: what was seen late passed each of them. Empty if it is there."""
    passed: list[State] = []
    while (last := passed[-1] if passed else here) is not there:
        onward = [state for state in TABLES[role].get(last, ()) if state is not State.ABORTED]
        if there is State.ABORTED or not onward:
            return (advance(role, here, there),)
        passed.append(onward[0])
    return tuple(passed)


def diagram(role: str) -> str:
    """The role's table as a Mermaid diagram; docs/protocol.md shows it, and a test compares."""
    edges = [f"    {here} --> {there}" for here, following in TABLES[role].items() for there in following]
    return "\n".join(["stateDiagram-v2", f"    [*] --> {State.DRAFT}", *edges])
