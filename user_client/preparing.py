"""One report a user and question: randomised once, kept with its charge, and only then given out to be sent.

Randomising again, even for the same value, would let the answers be averaged; splitting the same report again would
give the shufflers two submissions under one ticket (protocol.md §6.3).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from peos.collection.document import Document
from peos.collection.membership import ask
from peos.collection.party import Card
from peos.collection.prepare import prepare
from peos.collection.ticket import Ticket
from peos.crypto.randomness import Randomness
from peos.errors import Refused
from peos.net.lane import plain_text
from peos.protocols import Encryption, Splitter
from peos.wire.submissions import encode_part
from user_client.memory import Fresh, Memory, Remembered
from user_client.results import Charge, charge_of, shown

_NAMED: Final = 5


@dataclass(frozen=True)
class Opened:
    """A collection that passed every check, and how to reach its shufflers."""

    digest: bytes
    document: Document
    encryption: Encryption
    cards: tuple[Card, ...]


@dataclass(frozen=True, repr=False)
class Respondent:
    """Somebody with a value and a ticket; `user` is whose memory and budget it is."""

    user: bytes
    value: int
    ticket: Ticket

    def __repr__(self) -> str:
        return f"Respondent({self.ticket!r})"


@dataclass(frozen=True)
class Prepared:
    """What is to be sent; `repeated` if it was prepared before, whatever the value now."""

    remembered: Remembered
    repeated: bool


class Preparer:
    """Turns respondents into submissions, at most once each."""

    def __init__(self, memory: Memory, opened: Opened, *, budget: int, fresh: Callable[[], Randomness]) -> None:
        self._memory, self._opened, self._budget, self._fresh = memory, opened, budget, fresh
        self._mechanism = opened.document.mechanism
        self._cost = charge_of(self._mechanism.epsilon_local)
        self._splitter: Splitter | None = None

    def prepare(self, respondents: Sequence[Respondent], *, expected: int) -> list[Prepared | Refused]:
        """What each of them sends, durable before this returns; `expected` is how many new ones there are in all."""
        found: list[Prepared | Refused] = []
        with self._memory.transaction():
            document = self._opened.document
            names = [plain_text(member.name) for member in document.shufflers]
            self._memory.note_collection(self._opened.digest, plain_text(document.question), names, document.closes_at)
            for respondent in respondents:
                try:
                    found.append(self._one(respondent, expected))
                except Refused as refused:
                    found.append(refused)
        return found

    def _one(self, respondent: Respondent, expected: int) -> Prepared:
        known = self._memory.find(self._opened.digest, respondent.ticket.id)
        if known is not None:
            return Prepared(known, repeated=True)
        self._require_unanswered(respondent.user)
        self._require_budget(respondent.user)
        return Prepared(self._randomise(respondent, expected), repeated=False)

    def _randomise(self, respondent: Respondent, expected: int) -> Remembered:
        own = self._fresh()  # nobody's randomness tells anything of another's
        report = self._mechanism.randomize(np.array([respondent.value], dtype=np.int64), own)
        ticket, opened = respondent.ticket, self._opened
        (parts,) = prepare(opened.digest, self._split_by(expected), report, [ticket], own)
        asking = ask(ticket.key, opened.digest, parts[0].row)  # now: the key is forgotten once all have acknowledged
        encoded = tuple(map(encode_part, parts))
        kept = Fresh(ticket.id, respondent.user, self._cost, parts, encoded, asking)
        self._memory.keep(opened.digest, self._mechanism.digest, [kept])
        return Remembered(ticket.id, parts, encoded, frozenset())

    def _split_by(self, expected: int) -> Splitter:
        """One for all users of this process: what it makes ahead costs seconds."""
        if self._splitter is None:
            self._splitter = self._opened.encryption.splitter(self._fresh(), max(expected, 1))
        return self._splitter

    def _require_unanswered(self, user: bytes) -> None:
        before = self._memory.answered(user, self._mechanism.digest)
        if before is None:
            return
        collection, ticket = before
        if collection == self._opened.digest:
            raise Refused(
                "consent.answered",
                f"this collection was answered already, under the ticket {ticket.hex()[:8]}…",
                hint="one answer a person: a second one would make the first less private",
            )
        raise Refused(
            "consent.answered_question",
            f"this question was answered already, in collection {collection.hex()[:8]}…, and a remembered report goes "
            "into another collection only with tombstones of the first one's shufflers, which cannot be shown yet",
            hint="nothing was sent; the analyzer may ask anew under another epoch",
        )

    def _require_budget(self, user: bytes) -> None:
        spent = self._memory.spent(user)
        if spent + self._cost <= self._budget:
            return
        raise Refused(
            "consent.budget",
            f"this answer costs ε_l = {shown(self._cost)}, and of the budget of {shown(self._budget)} "
            f"{shown(spent)} is spent{_on(self._memory.charges(user))}",
            hint="nothing was sent; the limit is `budget` of client.toml",
        )


def _on(charges: Sequence[Charge]) -> str:
    named = [f"collection {one.collection.hex()[:8]}… ({shown(one.cost)})" for one in charges[:_NAMED]]
    if len(charges) > _NAMED:
        named.append(f"{len(charges) - _NAMED} more")
    return f", on {', '.join(named)}" if named else ""
