"""Where events are noted: one place decides what becomes a line of the log, and what else hears of it.

An event knows its sentence, its level and its fields; `Observer.note` writes the line, and hands the event to those
that follow some kind of event: a status that is written anew, an audit log, later metrics. The kinds that only one
role has are in `shuffler.events` and `analyzer.events`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import ClassVar, Final

from peos.net.logs import LISTENING, Log

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


# What every party has.


@dataclass(frozen=True)
class StateReached(Event):
    """A state is durable."""

    sentence: ClassVar[str] = "state"
    state: str
    reason: str


@dataclass(frozen=True)
class Listens(Event):
    """A port has begun to answer."""

    sentence: ClassVar[str] = LISTENING
    address: str
    port: int


@dataclass(frozen=True)
class NotAccepting(Failure):
    """The system gives no connection; the port tries again."""

    sentence: ClassVar[str] = "no connection can be accepted"


@dataclass(frozen=True)
class PortFull(Event):
    """So many connections were turned away since the last line."""

    sentence: ClassVar[str] = "a port is full: connections were turned away"
    level: ClassVar[Level] = Level.WARNING
    port: int
    count: int


@dataclass(frozen=True)
class CallerTurnedAway(Event):
    """A caller without TLS 1.3, or without a certificate that is trusted here."""

    sentence: ClassVar[str] = "a caller was turned away"
    level: ClassVar[Level] = Level.WARNING
    method: str
    id: str
    reason: str


@dataclass(frozen=True)
class CallRefused(Failure):
    """A call was answered with one of the errors of errors.md."""

    sentence: ClassVar[str] = "a call was refused"
    method: str
    status: str


@dataclass(frozen=True)
class CallFailed(Failure):
    """A call met an error that nothing foresaw."""

    sentence: ClassVar[str] = "a call failed"
    level: ClassVar[Level] = Level.ERROR
    method: str


@dataclass(frozen=True)
class DescriptorsFound(Event):
    """The number of files and connections that this process may have open."""

    sentence: ClassVar[str] = "descriptors"
    total: int


@dataclass(frozen=True)
class FewDescriptors(Event):
    """A port takes fewer connections than it is configured for."""

    sentence: ClassVar[str] = "few descriptors: this port takes fewer connections"
    level: ClassVar[Level] = Level.WARNING
    step: str
    count: int


@dataclass(frozen=True)
class Drains(Event):
    """The process was asked to stop, and lets calls under way finish."""

    sentence: ClassVar[str] = "draining"


@dataclass(frozen=True)
class Stopped(Event):
    """The process has ended its work."""

    sentence: ClassVar[str] = "stopped"


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
