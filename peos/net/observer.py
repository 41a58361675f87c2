"""What happens to collections, as typed events: one place decides what becomes a line of the log, and who else hears.

An event knows its sentence, its level and its fields; `Observer.note` writes the line, and hands the event to those
that follow some kind of event: a status that is written anew, an audit log, later metrics.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import ClassVar, Final

from peos.net.logs import Log

UNWRITTEN: Final = {"unwritten": True}  # of a field: it is for those who follow, and in no line


class Level(Enum):
    """How much of an operator's attention a line wants."""

    NONE = ""  # no line: it is only for those who follow
    INFO = "info"  # what happened
    WARNING = "warning"  # what was refused or is tried again
    ERROR = "error"  # what an operator must look at


@dataclass(frozen=True)
class Event:
    """Something that happened; its fields are what the line holds besides the sentence."""

    sentence: ClassVar[str] = ""
    level: ClassVar[Level] = Level.INFO


@dataclass(frozen=True)
class Failure(Event):
    """Something that failed, and why."""

    level: ClassVar[Level] = Level.WARNING
    error: Exception


# The life of a collection.


@dataclass(frozen=True)
class StateReached(Event):
    """A state is durable."""

    sentence: ClassVar[str] = "state"
    state: str
    reason: str


@dataclass(frozen=True)
class Accepted(Event):
    """The operator takes part."""

    sentence: ClassVar[str] = "accepted by the operator"


@dataclass(frozen=True)
class Finished(Event):
    """Nothing is left to do for it here."""

    sentence: ClassVar[str] = "nothing is left to do"


@dataclass(frozen=True)
class TwoListsSigned(Event):
    """A shuffler signed two lists. The proof is for the audit log; the log of the process names the shuffler alone."""

    sentence: ClassVar[str] = "two lists signed"
    level: ClassVar[Level] = Level.ERROR
    peer: str
    proof: Mapping[str, str | int] = field(repr=False, metadata=UNWRITTEN)


@dataclass(frozen=True)
class ReportsLeftOut(Event):
    """Some reports cannot be shuffled here."""

    sentence: ClassVar[str] = "reports were left out"
    level: ClassVar[Level] = Level.WARNING
    reason: str
    count: int


@dataclass(frozen=True)
class EvidenceFound(Event):
    """What was kept for the inspection was read after a restart."""

    sentence: ClassVar[str] = "what was kept for the inspection is here"
    attempt: int


# What is tried again, or given up.


@dataclass(frozen=True)
class Waits(Failure):
    """A step was not taken, for a reason that may pass."""

    sentence: ClassVar[str] = "waiting"


@dataclass(frozen=True)
class StepFailed(Failure):
    """A step was not taken, for a reason of this program's own."""

    sentence: ClassVar[str] = "a step failed"
    level: ClassVar[Level] = Level.ERROR


@dataclass(frozen=True)
class ChangeIsThere(Failure):
    """The store failed, and the change is there all the same."""

    sentence: ClassVar[str] = "a change that failed is there"
    state: str


@dataclass(frozen=True)
class NotMovedOn(Failure):
    """Some work on a collection failed, and is tried again."""

    sentence: ClassVar[str] = "a collection could not be moved on"
    level: ClassVar[Level] = Level.ERROR
    state: str
    work: str = field(metadata=UNWRITTEN)


@dataclass(frozen=True)
class MovedOn(Event):
    """This work was done; what kept it from being done is over."""

    level: ClassVar[Level] = Level.NONE
    work: str


@dataclass(frozen=True)
class DummyNotIn(Failure):
    """A dummy was not acknowledged by all."""

    sentence: ClassVar[str] = "a dummy is not in yet; it is sent again"


@dataclass(frozen=True)
class StoppedSession(Failure):
    """A session ended by an error that nothing foresaw."""

    sentence: ClassVar[str] = "a collection stopped, and is tried again"
    level: ClassVar[Level] = Level.ERROR


@dataclass(frozen=True)
class Unreadable(Failure):
    """What is stored of a collection cannot be gone on with."""

    sentence: ClassVar[str] = "a stored collection cannot be resumed"
    level: ClassVar[Level] = Level.ERROR


@dataclass(frozen=True)
class StoreUnread(Failure):
    """The store cannot be asked about its collections now."""

    sentence: ClassVar[str] = "the collections cannot be read at the moment"
    level: ClassVar[Level] = Level.ERROR


@dataclass(frozen=True)
class StoreRead(Event):
    """The store can be asked again."""

    level: ClassVar[Level] = Level.NONE


@dataclass(frozen=True)
class RowsKept(Failure):
    """What is kept for users could not be erased at its time."""

    sentence: ClassVar[str] = "rows could not be erased yet"
    level: ClassVar[Level] = Level.ERROR


@dataclass(frozen=True)
class StatusUnwritten(Failure):
    """The file with the status could not be written."""

    sentence: ClassVar[str] = "the status could not be written"
    level: ClassVar[Level] = Level.ERROR


@dataclass(frozen=True)
class Began(Event):
    """The process begins to look after its collections."""

    level: ClassVar[Level] = Level.NONE


@dataclass(frozen=True)
class Ended(Event):
    """The process ends in order."""

    level: ClassVar[Level] = Level.NONE


Follower = Callable[[bytes, Event], None]
"""Hears of an event, with the digest of the collection that it is about, if it is about one."""

NOTHING: Final[Mapping[type[Event], tuple[Follower, ...]]] = {}


class Observer:
    """Where events are noted; `of` a collection it names that in every line. `followers` are by the kind of event."""

    def __init__(
        self, log: Log, followers: Mapping[type[Event], tuple[Follower, ...]] = NOTHING, collection: bytes = b""
    ) -> None:
        self.log = log.of(collection) if collection else log
        self._plain = log
        self._followers = followers
        self._collection = collection

    def of(self, collection: bytes) -> "Observer":
        """The same, about one collection."""
        return Observer(self._plain, self._followers, collection)

    def note(self, event: Event) -> None:
        """Write the line, and tell who follows this kind of event."""
        named = (one.name for one in fields(event) if one.name != "error" and not one.metadata)
        values = {name: getattr(event, name) for name in named}
        error = event.error if isinstance(event, Failure) else None
        match event.level:
            case Level.INFO:
                self.log.info(event.sentence, **values)
            case Level.WARNING:
                self.log.warning(event.sentence, error, **values)
            case Level.ERROR:
                self.log.error(event.sentence, error, **values)
            case Level.NONE:
                pass
        for kind, followers in self._followers.items():
            if isinstance(event, kind):
                for follower in followers:
                    follower(self._collection, event)
