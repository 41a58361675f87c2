"""The life of a collection with the analyzer, as a machine: events in, effects out (protocol.md §6, decisions/0024).

What is durable is in every event, since commands of other processes change it too. Effects are carried out in their
order, and each may be repeated; the caller feeds `Clock` again when a wait is over or something has changed.
"""

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final, Protocol

from peos.collection.delivery_rules import output
from peos.collection.document import Document, Member
from peos.collection.lifecycle import OVER, State
from peos.collection.replies import Status
from peos.collection.status import Line, Waiting
from peos.errors import Closed, NotYet, PeosError, Refused, WrongInput
from peos.shuffle.messages import VectorHeader
from peos.shuffle.schedule import Schedule

ASK_EVERY: Final = 3.0  # seconds
_SOON: Final = 0.5  # after the opening, when users may come at once
_FROZEN: Final = frozenset({State.FROZEN, State.SHUFFLING, State.DELIVERED, State.PUBLISHED})
_ACCEPTED: Final = frozenset(State) - {State.DRAFT, State.ABORTED}
FULL: Final = "it is full: as many users have answered as its dummies are for"
_STANDS: Final = "`peos analyzer status` shows what is waited for"
_SHOWS: Final = "`peos analyzer result` shows what came of it"
_ANOTHER: Final = "create another collection, under another name"

Answer = Status | PeosError
"""Where a collection stands with a shuffler, or why that is not known."""


@dataclass(frozen=True)
class Durable:
    """What the store says of the collection."""

    state: State
    opened_at: float | None = None
    deliveries: tuple[VectorHeader, ...] = ()  # the vectors that are here whole


class Terms(Protocol):
    """What the machine reads of a collection document."""

    @property
    def closes_at(self) -> int:
        """When it closes at the latest."""

    @property
    def erase_by(self) -> int:
        """When everything of it must be erased."""

    @property
    def schedule(self) -> Schedule:
        """Who delivers."""

    @property
    def shufflers(self) -> Sequence[Member]:
        """By what names."""


# Events.


@dataclass(frozen=True)
class Clock:
    """What is to be done now?"""

    kept: Durable
    now: float


@dataclass(frozen=True)
class Answered:
    """What the shufflers say, in their order."""

    kept: Durable
    answers: Sequence[Answer]


@dataclass(frozen=True)
class Filled:
    """As many users have answered as there are dummies for."""

    kept: Durable


Event = Clock | Answered | Filled


# Effects.


@dataclass(frozen=True)
class SetState:
    """Make a state durable, and those that lead to it; nothing if the collection is past it by now."""

    there: State
    reason: str = ""


@dataclass(frozen=True)
class Complete:
    """The output is complete: sign the receipt, and make DELIVERED durable with it."""


@dataclass(frozen=True)
class SendDummies:
    """Ask the shufflers how many users came, and send the dummies that are due by then."""


@dataclass(frozen=True)
class Ask:
    """Ask the shufflers where they stand; then `Answered`."""


@dataclass(frozen=True)
class Close:
    """Repeat the analyst's order to close: some shufflers missed it, and are still open."""


@dataclass(frozen=True)
class Publish:
    """Decrypt, judge and publish, as far as that can be done now."""


@dataclass(frozen=True)
class Clear:
    """Erase what is left of a collection that is over; then nothing is left to do."""


@dataclass(frozen=True)
class Wait:
    """Nothing to do before `until`, unless something changes."""

    until: float


Effect = SetState | Complete | SendDummies | Ask | Close | Publish | Clear | Wait
Effects = tuple[Effect, ...]


class Session:
    """One collection with the analyzer. `ask_every` is how often shufflers are asked, in seconds."""

    def __init__(self, document: Terms, *, ask_every: float = ASK_EVERY) -> None:
        self._document = document
        self._ask_every = ask_every
        self._asked_at = self._now = -math.inf

    def on(self, event: Event) -> Effects:
        """What follows from an event."""
        match event:
            case Clock(kept, now):
                return self._on_clock(kept, now)
            case Answered(kept, answers):
                return self._on_answered(kept, answers)
            case Filled(kept):
                return (SetState(State.CLOSED, FULL),) if kept.state is State.OPEN else ()

    def _on_clock(self, kept: Durable, now: float) -> Effects:
        document, self._now = self._document, now
        if kept.state in OVER:
            return (Clear(),)
        if kept.state is State.DRAFT:  # the command that creates it opens it
            return (Wait(math.inf),)
        if kept.state is State.DELIVERED:
            return (Publish(),)
        if output(document.schedule, kept.deliveries) is not None:
            return (Complete(),)
        if now >= document.erase_by:
            reason = "the output was not complete when everything had to be erased"
            return (SetState(State.ABORTED, reason),)
        if kept.state is State.OPEN and now >= document.closes_at:
            return (SetState(State.CLOSED),)
        is_open = kept.state is State.OPEN
        ends, every = document.erase_by, self._ask_every
        if is_open:
            open_for = now - (kept.opened_at or now)
            ends, every = document.closes_at, min(every, _SOON + open_for / 20.0)
        if 0.0 <= now - self._asked_at < every:
            return (Wait(min(ends, self._asked_at + every)),)
        self._asked_at = now
        return (SendDummies() if is_open else Ask(), Wait(min(ends, now + every)))

    def _on_answered(self, kept: Durable, answers: Sequence[Answer]) -> Effects:
        if kept.state not in (State.CLOSED, State.SHUFFLING):
            return ()  # while they were asked, the output may have come
        if reason := lost(self._document, {header.header.sender for header in kept.deliveries}, answers):
            return (SetState(State.ABORTED, reason),)
        if any(isinstance(answer, Status) and answer.state in _FROZEN for answer in answers):
            return (SetState(State.SHUFFLING),)
        are_open = any(isinstance(answer, Status) and answer.state == State.OPEN for answer in answers)
        return (Close(),) if are_open and self._now < self._document.closes_at else ()


def lost(document: Terms, delivered: set[int], answers: Sequence[Answer]) -> str:
    """Why no output can come any more, or nothing.

    A shuffler that delivers nothing may abort while the last hiders are sending, and they go on (protocol.md §6.5); so
    only a last hider that ended without having delivered is the end, or all of them together.
    """
    ended = {
        number: answer.reason or "it gives no reason"
        for number, answer in enumerate(answers, start=1)
        if isinstance(answer, Status) and answer.known and answer.state == State.ABORTED
    }
    for number in document.schedule.last:
        if number in ended and number not in delivered:
            return f"shuffler {number} ({document.shufflers[number - 1].name}) aborted: {ended[number]}"
    if len(ended) == len(document.shufflers):
        return f"every shuffler aborted: {next(iter(ended.values()))}"
    return ""


@dataclass(frozen=True)
class Progress:
    """How far the analyzer's own part is. `opened`: whose rows were shown, once all is decrypted that is inspected."""

    dummies: int  # that every shuffler has
    delivered: Set[int]
    decrypted: tuple[int, int]
    opened: Set[int] | None
    is_withheld: bool  # until the analyst's word


def waiting(document: Document, state: State, shufflers: Sequence[Line], progress: Progress) -> Waiting:
    """The one thing that is waited for, or nothing; `shufflers` are as they say that they stand."""
    match state:
        case State.DRAFT:
            missing = tuple(line.name for line in shufflers if line.state in ("", State.DRAFT))
            return Waiting("acceptance", missing, len(shufflers) - len(missing), len(shufflers))
        case State.OPEN:
            here = min((line.reports or 0 for line in shufflers if line.state), default=0)
            return Waiting("submissions", ("users",), max(0, here - progress.dummies), document.minimum)
        case State.CLOSED | State.SHUFFLING:
            return _delivery(document.schedule.last, shufflers, progress.delivered)
        case State.DELIVERED if progress.is_withheld:
            return Waiting("the analyst's word", ("the analyst",), 0, 1)
        case State.DELIVERED if progress.opened is not None:
            silent = [line.name for who, line in enumerate(shufflers, start=1) if who not in progress.opened]
            return Waiting("the inspection", tuple(silent), len(shufflers) - len(silent), len(shufflers))
        case State.DELIVERED:
            return Waiting("decryption", ("analyzer",), *progress.decrypted)
        case _:
            return Waiting()


def _delivery(last: Sequence[int], shufflers: Sequence[Line], delivered: Set[int]) -> Waiting:
    """Who is waited for is whom the last hiders wait for: one that waits for others does not hold things up."""
    behind = [line for who, line in enumerate(shufflers, start=1) if who in set(last) - delivered]
    named = {one for line in behind for one in line.waiting.parties} or {line.name for line in behind}
    steps = {line.waiting.step for line in behind if line.waiting.step}
    return Waiting("; ".join(sorted(steps)) or "delivery", tuple(sorted(named)), len(delivered), len(last))


# The opening.


def not_accepted(name: str, answer: Answer, refused: PeosError | None, *, may_pass: bool) -> str:
    """What is waited for from one shuffler, nothing if it has accepted; Refused if it will not.

    `refused` is what it said to the proposal, and `may_pass` whether the same proposal may be taken later.
    """
    if isinstance(answer, Status) and answer.known:
        if answer.state == State.ABORTED:
            raise Refused(
                "collection.refused",
                f"{name} has aborted the collection: {answer.reason or 'it gives no reason'}",
                hint="abort it here too, and create another, under another name",
            )
        return "" if answer.state in _ACCEPTED else f"{name} waits for its operator to accept"
    if isinstance(refused, Refused) and not may_pass:
        raise refused
    cause = refused if refused is not None else answer if isinstance(answer, PeosError) else None
    if cause is None:
        return f"{name} does not know the collection yet"
    return f"{cause} ({cause.hint})" if cause.hint else str(cause)


def too_late(name: str, document: Document, now: float, waiting: Sequence[str]) -> Closed | None:
    """The end of a draft that was not accepted before it was to close."""
    if now < document.closes_at:
        return None
    return Closed(
        "collection.too_late", f"{name} was to close before every shuffler had accepted it: {waiting[0]}", hint=_ANOTHER
    )


# The analyst's orders: each raises what keeps it from being carried out.


def check_open(name: str, state: State, reason: str) -> None:
    """Open a draft, or go on with it."""
    if state is State.ABORTED:
        raise Refused("collection.aborted", f"{name} was aborted: {reason}", hint=_ANOTHER)


def check_close(name: str, state: State) -> None:
    """Close a collection before its time."""
    if state is State.DRAFT:
        raise Closed(
            "collection.not_open",
            f"{name} is not open yet: there is nothing to close",
            hint="`peos analyzer abort` ends it",
        )
    if state in (*OVER, State.DELIVERED):
        raise Closed("collection.closed", f"{name} is {state}: there is nothing left to close", hint=_SHOWS)


def check_abort(name: str, state: State) -> None:
    """End a collection without a result."""
    if state is State.PUBLISHED:
        raise Closed("collection.published", f"{name} is published: that cannot be undone", hint=_SHOWS)


def check_publish(
    name: str, state: State, unopened: frozenset[int], unseen: Mapping[int, str], *, is_awaited: bool
) -> None:
    """Publish an output, also without the rows of `unopened`; all others' were seen. `unseen`: whose not, and why."""
    if state in OVER:
        raise Closed("result.past", f"{name} is {state}: there is nothing left to publish", hint=_SHOWS)
    if state is not State.DELIVERED:
        raise NotYet("result.early", f"{name} is {state}: there is nothing to publish yet", hint=_STANDS)
    if is_awaited:
        raise NotYet(
            "result.inspecting",
            f"the inspection of {name} is not over: shufflers may still show their rows",
            hint=_STANDS,
        )
    if seen := sorted(unopened - unseen.keys()):
        whom = ", ".join(f"shuffler {who}" for who in seen)
        raise WrongInput(
            "input.unopened_seen",
            f"--unopened names {whom}, whose rows were seen",
            hint=f"not seen: {_list(unseen) or 'none'}",
        )
    if left := {who: why for who, why in unseen.items() if who not in unopened}:
        named = ", ".join(f"shuffler {who} ({why})" for who, why in sorted(left.items()))
        raise Refused(
            "result.unopened",
            f"{name} is not published: the rows of {named} were not seen",
            hint=in_their_place(name, unseen),
        )


def in_their_place(name: str, unseen: Iterable[int]) -> str:
    """What an analyst may do about rows that were not seen."""
    return (
        f"`peos analyzer publish {name} --unopened {_list(unseen)}` publishes all the same, and the result says so; "
        f"`peos analyzer abort {name}` ends it"
    )


def _list(shufflers: Iterable[int]) -> str:
    return ",".join(map(str, sorted(shufflers)))
