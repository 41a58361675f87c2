"""What is published of a complete output, and when, as a machine: an event in, an effect out (protocol.md §7).

While shufflers may still open their rows nothing is decided. Nor is it if the rows of some were not seen and nothing
was found, until the analyst's word, or until all must be erased. A fault of the output ends the collection. Dummies and
the inspection's findings are judged by `peos.shuffle`; the numbers that they leave are judged here.

The caller carries each effect out and feeds the event that answers it, or `Faulty`; after `Wait` it feeds `Clock`.
"""

from collections.abc import Set
from dataclasses import dataclass
from typing import Final, Protocol

from peos.collection.dummies import LEAST_SENT
from peos.errors import RemoteFault

PATIENCE: Final = 150.0  # seconds in which the shufflers are to open their rows: twice a step of theirs, and some
_ROWS_A_SECOND: Final = 5_000


class Terms(Protocol):
    """What the machine reads of a collection document."""

    @property
    def erase_by(self) -> int:
        """When everything of it must be erased."""

    @property
    def fakes(self) -> int:
        """Reports that are no user's."""

    @property
    def minimum(self) -> int:
        """The fewest users' reports that are published."""


@dataclass(frozen=True)
class Openings:
    """What the shufflers have opened of their rows so far."""

    came: Set[int] = frozenset()  # from whom, whatever they show
    expected: int = 0  # shufflers; none where nothing is inspected
    until: float = 0.0  # when they are awaited no longer
    accepted: Set[int] = frozenset()  # without whose rows the analyst said to publish

    def are_awaited(self, now: float) -> bool:
        """Whether more are to come, and worth waiting for."""
        return len(self.came) < self.expected and now < self.until


def awaited_until(delivered_at: float, rows: int, patience: float = PATIENCE) -> float:
    """When the openings of an output of so many rows are awaited no longer."""
    return delivered_at + patience + rows / _ROWS_A_SECOND


# Events.


@dataclass(frozen=True)
class Clock:
    """What is to be done now? `is_opened`: everything is decrypted already."""

    now: float
    openings: Openings
    is_opened: bool


@dataclass(frozen=True)
class Opened:
    """The output's words are known."""

    now: float
    openings: Openings


@dataclass(frozen=True)
class Inspected:
    """The rows of `missing` were not seen, and `taken` of the dummies were acknowledged by every shuffler."""

    missing: Set[int]
    taken: int
    dummies: int


@dataclass(frozen=True)
class Searched:
    """Every dummy that must come out did, nothing was found, and so many reports are left."""

    now: float
    accepted: Set[int]
    reports: int


@dataclass(frozen=True)
class Faulty:
    """The output is not what it must be."""

    fault: RemoteFault


Event = Clock | Opened | Inspected | Searched | Faulty


# Effects.


@dataclass(frozen=True)
class Wait:
    """Nothing to do before `until`, unless something changes. `withheld`: whose missing rows were found just now."""

    until: float
    withheld: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Open:
    """Decrypt the output; then `Opened`."""


@dataclass(frozen=True)
class Inspect:
    """Judge the openings; then `Inspected`."""


@dataclass(frozen=True)
class Search:
    """Look for the dummies and take them out; then `Searched`."""


@dataclass(frozen=True)
class Publish:
    """Estimate for so many users, and publish."""

    users: int


@dataclass(frozen=True)
class Refuse:
    """End the collection without a result."""

    fault: RemoteFault


Work = Open | Inspect | Search | Publish | Refuse
Effect = Wait | Work


class Publication:
    """One output on its way to a result."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._came: Set[int] = frozenset()  # whose openings were judged
        self._missing: Set[int] = frozenset()
        self._withheld: tuple[Set[int], Set[int]] | None = None  # what had come, and the analyst's word, then

    def on(self, event: Event) -> Effect:
        """What follows from an event."""
        match event:
            case Clock(now, openings, is_opened):
                if is_opened and openings.are_awaited(now):
                    return Wait(openings.until)
                if self._withheld == (openings.came, openings.accepted) and now < self._terms.erase_by:
                    return Wait(self._terms.erase_by)
                return Open()
            case Opened(now, openings):
                if openings.are_awaited(now):
                    return Wait(openings.until)
                self._came = frozenset(openings.came)
                return Inspect()
            case Inspected(missing, taken, dummies):
                self._missing = missing
                return Refuse(_too_few_dummies(taken, dummies)) if taken < LEAST_SENT else Search()
            case Searched(now, accepted, reports):
                return self._on_searched(now, accepted, reports)
            case Faulty(fault):
                return Refuse(fault)

    def _on_searched(self, now: float, accepted: Set[int], reports: int) -> Effect:
        unseen = frozenset(self._missing - accepted)
        if unseen and now >= self._terms.erase_by:
            return Refuse(_not_seen(unseen))
        if unseen:
            self._withheld = (self._came, frozenset(accepted))
            return Wait(self._terms.erase_by, unseen)
        users = reports - self._terms.fakes
        if users < self._terms.minimum:  # all that were delivered were enough; onions may still not open
            return Refuse(_too_few_users(users, self._terms.minimum))
        return Publish(users)


def shufflers(numbers: Set[int]) -> str:
    """Shufflers by their numbers, for a sentence."""
    return ", ".join(f"shuffler {who}" for who in sorted(numbers))


def _too_few_dummies(taken: int, dummies: int) -> RemoteFault:
    return RemoteFault(
        "result.dummies_few",
        f"only {taken} of {dummies} dummies were acknowledged by every shuffler, at least {LEAST_SENT} "
        "must be looked for",
        step="check of the dummies",
        hint="create another collection, and keep `peos analyzer serve` running while it is open",
    )


def _not_seen(unseen: Set[int]) -> RemoteFault:
    return RemoteFault(
        "result.not_seen_in_time",
        f"the rows of {shufflers(unseen)} were not seen, and no order to publish without them came before erasure",
        step="the inspection",
        hint="create another collection",
    )


def _too_few_users(users: int, minimum: int) -> RemoteFault:
    return RemoteFault(
        "result.minimum",
        f"only {max(users, 0)} reports open, the minimum is {minimum}",
        step="the last layer",
        hint="create another collection, for more users",
    )
