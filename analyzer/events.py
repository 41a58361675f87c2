"""What happens in an analyzer, as typed events; `peos.net.observer` says what becomes of them."""

from dataclasses import dataclass, field
from typing import ClassVar, Final

from peos.net.observer import UNWRITTEN, Event, Failure, Level

# Collections.


@dataclass(frozen=True)
class NotMovedOn(Failure):
    """Some work on a collection failed, and is tried again."""

    sentence: ClassVar[str] = "a collection could not be moved on"
    level: ClassVar[Level] = Level.ERROR
    state: str
    what: str = field(metadata=UNWRITTEN)


@dataclass(frozen=True)
class MovedOn(Event):
    """This work was done; what kept it from being done is over."""

    level: ClassVar[Level] = Level.NONE
    what: str


@dataclass(frozen=True)
class StoreUnread(Failure):
    """The store cannot be asked about its collections now."""

    sentence: ClassVar[str] = "the collections cannot be read at the moment"
    level: ClassVar[Level] = Level.ERROR
    work: ClassVar[str] = "store"


@dataclass(frozen=True)
class StoreRead(Event):
    """The store can be asked again."""

    level: ClassVar[Level] = Level.NONE
    work: ClassVar[str] = "store"


@dataclass(frozen=True)
class DummyNotIn(Failure):
    """A dummy was not acknowledged by all."""

    sentence: ClassVar[str] = "a dummy is not in yet; it is sent again"
    is_by_callers: ClassVar[bool] = True  # its moment is as secret as a user's


@dataclass(frozen=True)
class NotCreated(Failure):
    """A collection that a console asked for is not open; it stays a draft, and can be gone on with."""

    sentence: ClassVar[str] = "a collection is not opened"


@dataclass(frozen=True)
class Began(Event):
    """The process begins to look after its collections."""

    level: ClassVar[Level] = Level.NONE


@dataclass(frozen=True)
class Ended(Event):
    """The process ends in order."""

    level: ClassVar[Level] = Level.NONE


# The output.


@dataclass(frozen=True)
class VectorTaken(Event):
    """A shuffler's final vector is here, whole and checked."""

    sentence: ClassVar[str] = "a vector is here"
    peer: str
    attempt: int
    bytes: int


@dataclass(frozen=True)
class OutputComplete(Event):
    """All vectors of an attempt are here, and the receipt is signed."""

    sentence: ClassVar[str] = "the output is complete"
    attempt: int


@dataclass(frozen=True)
class ReportsNotOpened(Event):
    """Some onions do not open, and are no reports."""

    sentence: ClassVar[str] = "reports did not open"
    level: ClassVar[Level] = Level.WARNING
    count: int


@dataclass(frozen=True)
class Withheld(Event):
    """The output waits for the analyst's word."""

    sentence: ClassVar[str] = "not published: rows were not seen"
    level: ClassVar[Level] = Level.WARNING
    peer: str


@dataclass(frozen=True)
class OutputRefused(Failure):
    """The output cannot be published; its collection is aborted."""

    sentence: ClassVar[str] = "the output is not used"
    level: ClassVar[Level] = Level.ERROR


@dataclass(frozen=True)
class Published(Event):
    """The result is durable."""

    sentence: ClassVar[str] = "published"


@dataclass(frozen=True)
class ListsNotShown(Failure):
    """A shuffler does not show the lists that it signed; the result may do without."""

    sentence: ClassVar[str] = "a shuffler does not show its lists"


@dataclass(frozen=True)
class ListsOfAnotherOutput(Event):
    """A shuffler shows lists that do not belong to the output."""

    sentence: ClassVar[str] = "a shuffler shows lists that are not those of the output"
    level: ClassVar[Level] = Level.WARNING
    peer: str


TRACED: Final = (  # within a step of a collection: nothing that a user, a report or the sending of a dummy brings about
    *(NotMovedOn, VectorTaken, OutputComplete, Withheld, OutputRefused, ListsNotShown, ListsOfAnotherOutput),
)
