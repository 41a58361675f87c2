"""What is durable of a whole collection with one shuffler, and what parties say to each other about it."""

from dataclasses import dataclass, field
from typing import Any

from peos.collection.freeze import Announcements
from peos.collection.lifecycle import State
from tests.simulation.party import Durable


@dataclass
class Life(Durable):
    """All that outlives the process."""

    state: State = State.OPEN
    why: str = ""  # of the state
    rows: dict[bytes, bytes] = field(default_factory=dict)  # row by user: her id begins it
    parts: dict[bytes, int] = field(default_factory=dict)  # her share, by row
    counted: tuple[bytes, ...] = ()
    announced: Announcements | None = None
    frozen: bytes | None = None
    evidence: int = 0  # the attempt that is kept for the inspection


# What members, users and the analyzer say to each other, besides the messages of the shuffle.


@dataclass(frozen=True)
class Submit:
    """A user's part."""

    row: bytes
    share: int  # where it stands among those that were prepared


@dataclass(frozen=True)
class Acknowledged:
    """It is durable, or was refused for good."""

    row: bytes
    refused: bool = False


@dataclass(frozen=True)
class Ask:
    """A question: "announcements", "list", "digest", "status"; or the analyzer's order, "close" or "abort"."""

    what: str


@dataclass(frozen=True)
class Answer:
    """The answer to a question: what it asked for, or the error."""

    what: str
    found: Any


@dataclass(frozen=True)
class Shown:
    """What a shuffler opens for the inspection, of which attempt; 0 if nothing is left."""

    attempt: int
