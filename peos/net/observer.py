"""Where events are noted: one place decides what becomes a line of the log, and what else hears of it.

An event knows its sentence, its level and its fields; `Observer.note` writes the line, and hands the event to those
that follow some kind of event: a status that is written anew, a file of failures, metrics (`peos.net.metrics`), traces
(`peos.net.tracing`). `Observer.keep` is for what must be in the audit log first. What some work waits for, as `status`
shows it, is known from events alone (`Observer.trouble`). The kinds that only one role has are in `shuffler.events` and
`analyzer.events`.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, Final

from peos.collection.ticket import StudyPart
from peos.errors import PeosError, WrongInput
from peos.net.logs import LISTENING, Log

if TYPE_CHECKING:
    from peos.net.tracing import Tracing  # an extra, loaded if it is asked for

EVERYTHING: Final = "everything"  # of `Event.work`: all of its collection
METRICS: Final = "metrics"  # a work
TRACING: Final = "tracing"  # likewise
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
    work: ClassVar[str] = ""  # that it hinders, or that goes on by it; `Observer.trouble` is asked about it
    is_by_callers: ClassVar[bool] = False  # one call may bring it about: metrics show it in steps of many

    @property
    def trouble(self) -> str:
        """What hinders the work; nothing, if the work goes on."""
        return ""


@dataclass(frozen=True)
class Failure(Event):
    """Something that failed, and why."""

    level: ClassVar[Level] = Level.WARNING
    error: Exception

    @property
    def trouble(self) -> str:
        """The error, or, of an error that is not ours, no more than its name."""
        return str(self.error) if isinstance(self.error, PeosError) else type(self.error).__name__


# What every party has.


@dataclass(frozen=True)
class StateReached(Event):
    """A state is durable."""

    sentence: ClassVar[str] = "state"
    state: str
    reason: str


@dataclass(frozen=True)
class CollectionFound(Event):
    """A collection is looked after from now on: a new one, or one that was there before this process."""

    level: ClassVar[Level] = Level.NONE
    state: str
    party: str  # which this process is in it
    begun: float = field(default=0.0, metadata=UNWRITTEN)  # when it was proposed or opened, if that is known
    study: StudyPart | None = field(default=None, metadata=UNWRITTEN)  # that it is a round of


@dataclass(frozen=True)
class StepReached(Event):
    """A step of a collection has begun, or within it a wait for `peer` has begun or ended."""

    level: ClassVar[Level] = Level.NONE
    step: str
    peer: str = ""
    attempt: int = 0
    round: int = 0


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
    is_by_callers: ClassVar[bool] = True


@dataclass(frozen=True)
class PortFull(Event):
    """So many connections were turned away since the last line."""

    sentence: ClassVar[str] = "a port is full: connections were turned away"
    level: ClassVar[Level] = Level.WARNING
    is_by_callers: ClassVar[bool] = True
    port: int
    count: int


@dataclass(frozen=True)
class CallerTurnedAway(Event):
    """A caller without TLS 1.3, or without a certificate that is trusted here."""

    sentence: ClassVar[str] = "a caller was turned away"
    level: ClassVar[Level] = Level.WARNING
    is_by_callers: ClassVar[bool] = True
    method: str
    id: str
    reason: str


@dataclass(frozen=True)
class CallRefused(Failure):
    """A call was answered with one of the errors of errors.md."""

    sentence: ClassVar[str] = "a call was refused"
    is_by_callers: ClassVar[bool] = True
    method: str
    status: str


@dataclass(frozen=True)
class CallFailed(Failure):
    """A call met an error that nothing foresaw."""

    sentence: ClassVar[str] = "a call failed"
    level: ClassVar[Level] = Level.ERROR
    is_by_callers: ClassVar[bool] = True
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
class LogOpened(Event):
    """SIGHUP: a log that was moved away goes on in a file of its name, of which this is the first line."""

    sentence: ClassVar[str] = "log opened"


@dataclass(frozen=True)
class MetricsNotRead(Failure):
    """What is shown to a scraper is the last that could be read, and soon nothing."""

    sentence: ClassVar[str] = "metrics cannot be read at the moment"
    work: ClassVar[str] = METRICS


@dataclass(frozen=True)
class MetricsRead(Event):
    """They can be read."""

    level: ClassVar[Level] = Level.NONE
    work: ClassVar[str] = METRICS


@dataclass(frozen=True)
class SpansNotSent(Failure):
    """The collector of traces does not take them; those of now are lost, and no work waits for it."""

    sentence: ClassVar[str] = "traces cannot be sent at the moment"
    work: ClassVar[str] = TRACING


@dataclass(frozen=True)
class SpansSent(Event):
    """It takes them."""

    level: ClassVar[Level] = Level.NONE
    work: ClassVar[str] = TRACING


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

Keeper = Callable[[bytes, Event], Awaitable[None]]
"""Makes an event durable."""

Followers = Mapping[type[Event], tuple[Follower, ...]]
_Said = tuple[type[Event], str, dict[str, object]]
NOTHING: Final[Followers] = {}


def start_tracing(to: str | None, role: str, name: str, log: Log, followers: Followers = NOTHING) -> "Tracing | None":
    """What sends a party's steps to the collector at `to`, if one is named; `followers` hear of its troubles."""
    if to is None:
        return None
    try:
        from peos.net.tracing import Tracing, sending
    except ModuleNotFoundError:
        raise WrongInput(
            "config.tracing_extra",
            "tracing.to needs packages that are not installed",
            hint="pip install 'peos[tracing]'",
        ) from None
    return Tracing(role, name, sending(to, Observer(log, followers)))


def together(*each: Followers) -> Followers:
    """All who follow, by kind."""
    found: dict[type[Event], tuple[Follower, ...]] = {}
    for followers in each:
        for kind, those in followers.items():
            found[kind] = (*found.get(kind, ()), *those)
    return found


class Observer:
    """Where events are noted; `of` a collection it names that in every line. `followers` are by the kind of event."""

    def __init__(self, log: Log, followers: Followers = NOTHING, keeper: Keeper | None = None) -> None:
        self.log = self._plain = log
        self._followers = followers
        self._keeper = keeper
        self._collection = b""
        self._said: dict[tuple[bytes, str], _Said] = {}  # of what hinders each work of each collection now

    def of(self, collection: bytes) -> "Observer":
        """The same, about one collection."""
        one = Observer(self._plain, self._followers, self._keeper)
        one.log, one._collection, one._said = self._plain.of(collection), collection, self._said
        return one

    def trouble(self, work: str) -> str:
        """What hinders this work now, by the last event about it, of this collection or of all; else nothing."""
        found = (self._said.get((of, work)) for of in (self._collection, b""))
        return next((said[1] for said in found if said), "")

    async def keep(self, event: Event) -> None:
        """Note an event once it is in the audit log; it may be kept again if that fails."""
        assert self._keeper is not None, "an event for the audit log needs one"
        await self._keeper(self._collection, event)
        self.note(event)

    def note(self, event: Event) -> None:
        """Write the line, unless the work was hindered by just this already, and tell who follows this kind."""
        named = (one.name for one in fields(event) if one.name != "error" and not one.metadata)
        values = {name: getattr(event, name) for name in named}
        if self._is_news(event, values):
            self._write(event, values)
        for kind, followers in self._followers.items():
            if isinstance(event, kind):
                for follower in followers:
                    follower(self._collection, event)

    def _is_news(self, event: Event, values: dict[str, object]) -> bool:
        if event.work == EVERYTHING:
            for key in [key for key in self._said if key[0] == self._collection]:
                del self._said[key]
        elif event.work:
            key, said = (self._collection, event.work), (type(event), event.trouble, values)
            if self._said.get(key) == said:
                return False
            if event.trouble:
                self._said[key] = said
            else:
                self._said.pop(key, None)
        return True

    def _write(self, event: Event, values: dict[str, object]) -> None:
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
