"""The client in three calls: open a collection, submit, look at what was done."""

import time
from collections.abc import Callable, Container, Sequence
from functools import partial
from typing import Any, Final, Self

from peos.chunks import chunks
from peos.client.answering import faults_of, is_asked, is_ticket_of, record_of
from peos.client.consent import Consent, check, require_open, require_pinned, was_pinned
from peos.client.ledger import budget_of, charge
from peos.collection.cards import Card, Invitation, party, plain_text
from peos.collection.ticket import Ticket
from peos.crypto.randomness import Randomness, system
from peos.errors import Refused, WrongInput
from peos.net.submit import Described, describe
from peos.tasks.views import Record
from peos.wire.parties import decode_invitation
from user_client.config import Config
from user_client.proofs import Checked
from user_client.proofs import check as check_proofs
from user_client.results import CollectionStatus, Ledger, Result
from user_client.store import OWNER, ClientStore, named
from user_client.submitter import BATCH, OURSELVES, Preparer, Respondent, Sending

Clock = Callable[[], float]
Describe = Callable[[Card, bytes], Described]
Answers = Sequence[tuple[Record, Ticket]]  # of a value its number, or words: its label, or its number if it has none
Progress = Callable[[int, int], None]
Waiting = Callable[[str], None]
CHUNK: Final = 4096  # submissions between two looks at how it went; bounds memory


def _untold(*_: object) -> None:
    """Ignore progress."""


class BadAnswers(WrongInput):
    """Answers that cannot be given, by position; nothing was done for any of them."""

    def __init__(self, faults: Sequence[tuple[int, str]]) -> None:
        self.faults = tuple(faults)
        reasons = dict.fromkeys(reason for _, reason in faults)
        super().__init__("input.answers", "; ".join(reasons), hint="nothing was sent")


class Client:
    """A user, with her memory. Close it, or use it in `with`; it belongs to the thread that made it.

    `clock` and `fresh` (which keys a new stream of randomness at each call) are there for tests.
    """

    def __init__(
        self,
        config: Config,
        *,
        clock: Clock = time.time,
        fresh: Callable[[], Randomness] = system,
        describe: Describe = describe,
    ) -> None:
        self._config, self._clock, self._fresh, self._describe = config, clock, fresh, describe
        self._memory = ClientStore(config.folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store."""
        self._memory.close()

    def open(self, invitation: bytes | Invitation, catalogue: bytes | None = None) -> "Collection":
        """The collection, once every shuffler has described it alike and nothing in it is against her limits.

        `catalogue` is the file that came with the invitation, where one did.
        """
        invited = decode_invitation(invitation) if isinstance(invitation, bytes) else invitation
        config = self._config
        require_pinned(invited, config.shufflers)  # before any shuffler is asked
        described = [self._describe(card, invited.collection) for card in invited.shufflers]
        documents = [one.signed for one in described]
        closed = (party(at, invited.shufflers[at - 1]) for at, one in enumerate(described, start=1) if one.has_closed)
        now, closed_at = self._clock(), next(closed, "")
        consent = check(invited, documents, config.shufflers, config.limits, now, catalogue, closed_at)
        budget = budget_of(self._config.budget)
        return Collection(self._memory, consent, budget=budget, clock=self._clock, fresh=self._fresh)

    def verify(self, invitation: Invitation, *, root: bytes | None = None) -> "list[Checked]":
        """Whether each report that was sent to a collection was counted, by what its shufflers show and signed.

        `root` is that of the frozen list as the analyzer published it, to be compared. Shufflers are those that she
        pins, or pinned when she answered: one that has new keys since signed its list with the earlier ones.
        """
        submitted = self._memory.submitted(invitation.collection)
        earlier = [
            card.identity
            for number, card in enumerate(invitation.shufflers, start=1)
            if was_pinned(
                card, (one.acknowledged(invitation.collection, number) for one in submitted if number in one.receipts)
            )
        ]
        require_pinned(invitation, {*self._config.shufflers, *earlier})
        return check_proofs(invitation, submitted, root)

    def status(self) -> tuple[CollectionStatus, ...]:
        """The status of every collection that a report was prepared for; works offline."""
        return self._memory.standings()

    def ledger(self) -> Ledger:
        """The ledger: charges and what they were for."""
        return Ledger(
            budget_of(self._config.budget),
            self._memory.spent(OWNER),
            self._memory.charges(OWNER),
            self._memory.charges_of_others(),
            self._memory.most_spent(),
        )


class Collection:
    """A collection that may be answered."""

    def __init__(
        self, memory: ClientStore, consent: Consent, *, budget: int, clock: Clock, fresh: Callable[[], Randomness]
    ) -> None:
        self._memory, self._consent, self._clock, self._fresh = memory, consent, clock, fresh
        self._budget = budget
        self._preparer = Preparer(memory, consent, budget=budget, fresh=fresh)
        self.sent = 0  # bytes of parts that were given out to be sent, since it was opened

    @property
    def digest(self) -> bytes:
        """The collection's digest."""
        return self._consent.digest

    @property
    def question(self) -> str:
        """The question, printable."""
        return plain_text(self._consent.document.question)

    @property
    def asked(self) -> tuple[str, ...]:
        """What is asked of a record, in words: one line for each of the questions that are asked at once."""
        return tuple(plain_text(view.in_words) for view in self._consent.views)

    @property
    def has_values(self) -> bool:
        """Whether a record is one value of a list."""
        return not self._consent.document.views

    @property
    def terms(self) -> str:
        """What a user should know before she answers: question, answers, guarantees, crowd, shufflers."""
        from peos.collection.summary import in_words  # computes what is guaranteed, which only some ask for

        return in_words(self._consent.document, self._consent.views)

    @property
    def terms_json(self) -> dict[str, Any]:
        """The same for scripts."""
        from peos.collection.summary import Summary, guaranteed

        document = self._consent.document
        shown = {"collection": self.digest.hex(), **Summary.of(document, self._consent.views).to_json()}
        return {**shown, "shufflers": list(self.shufflers), "guarantees": list(guaranteed(document))}

    @property
    def shufflers(self) -> tuple[str, ...]:
        """The shufflers' names, in their order."""
        return tuple(plain_text(member.name) for member in self._consent.document.shufflers)

    def admits(self, ticket: Ticket) -> bool:
        """Whether the ticket is one of this collection's, and the key the one that it names."""
        return is_ticket_of(self._consent, ticket)

    @property
    def closed_at(self) -> str:
        """The first shuffler that takes no new answers any more; nothing if all say that they do."""
        return self._consent.closed_at

    def require_answerable(self, ticket: Ticket) -> None:
        """Refuse what would be refused whatever she answers, before she is asked; what she answered may be sent."""
        if self._memory.find(self.digest, ticket.id) is None:
            document = self._consent.document
            charge(self._consent, self._memory.ledger(OWNER, document.mechanism.digest, self._budget, document.study))

    def record_of(self, words: str) -> Record:
        """The record that words stand for: themselves, or where a list or an object is asked for, the one in JSON."""
        return record_of(self._consent, words)

    def submit(
        self, record: Record, ticket: Ticket, *, waiting: Waiting = _untold, deadline: float | None = None
    ) -> Result:
        """The owner's answer. A repeat sends what was prepared the first time, whatever `record` says now.

        What shufflers refuse is in the result; what this client refuses (budget, answered before) is raised.
        """
        self._check([(record, ticket)], frozenset(), _untold)
        if not is_asked(self._consent, ticket):
            raise Refused(
                "ticket.other_round",
                "this round asks others; your ticket is not for it",
                hint="nothing was sent; wait for the invitation of another round of the study",
            )
        (result,) = self._send([Respondent(OWNER, record, ticket)], expected=1, waiting=waiting, deadline=deadline)
        for refusal in result.refusals:
            if refusal.name == OURSELVES:
                raise Refused(refusal.error_id, refusal.sentence, hint=refusal.hint)
        return result

    def submit_many(
        self,
        answers: Answers,
        *,
        users: Sequence[str] | None = None,
        progress: Progress = _untold,
        waiting: Waiting = _untold,
        deadline: float | None = None,
    ) -> list[Result]:
        """The answers of many users, each with memory, budget and randomness of her own; results in their order.

        `users` names each of them; without names a user is her ticket. Who has a ticket of another round of the study
        is not asked. What all shufflers have acknowledged is not sent again: whatever broke off is resumed by the same
        call. `progress` gets the number done and the total; `waiting`, a sentence about the shuffler awaited.
        """
        known = self._memory.tickets(self.digest)
        self._check(answers, known, progress, users)
        names = [ticket.id for _, ticket in answers] if users is None else [named(user) for user in users]
        accepted = self._memory.accepted(self.digest)
        asked = [is_asked(self._consent, ticket) for _, ticket in answers]
        given = [
            Respondent(name, record, ticket)
            for name, (record, ticket), is_here in zip(names, answers, asked, strict=True)
            if is_here
        ]
        expected = sum(one.ticket.id not in known for one in given)
        results: list[Result] = []
        for chunk in (given[part] for part in chunks(len(given), CHUNK)):
            fresh = [one for one in chunk if one.ticket.id not in accepted]
            before = len(results) + len(chunk) - len(fresh)

            def told(done: int, before: int = before) -> None:
                progress(before + done, len(given))

            told(0)
            run = partial(self._send, expected=expected, told=told, waiting=waiting, deadline=deadline)
            sent = iter(run(fresh) if fresh else ())
            results += [
                Result(one.ticket.id, accepted=True, repeated=True) if one.ticket.id in accepted else next(sent)
                for one in chunk
            ]
        here = iter(results)
        return [
            next(here) if is_here else Result(ticket.id, accepted=False, repeated=False, is_asked=False)
            for is_here, (_, ticket) in zip(asked, answers, strict=True)
        ]

    def _send(
        self,
        respondents: Sequence[Respondent],
        *,
        expected: int,
        told: Callable[[int], None] = _untold,
        waiting: Waiting,
        deadline: float | None = None,
    ) -> list[Result]:
        require_open(self._consent.document, self._clock())
        sending = Sending(self._memory, self._consent, self._preparer, expected=expected, told=told, waiting=waiting)
        try:
            return sending.run(respondents, rng=self._fresh(), deadline=deadline)
        finally:
            self.sent += sending.sent

    def _check(
        self, answers: Answers, known: Container[bytes], progress: Progress, users: Sequence[str] | None = None
    ) -> None:
        """BadAnswers names every answer that is wrong, before anything is randomised."""

        def looked_at(position: int) -> None:
            if not position % BATCH:
                progress(0, len(answers))

        faults = faults_of(self._consent, answers, known, looked_at)
        if users is not None:
            first: dict[str, int] = {}
            twice = [at for at, user in enumerate(users) if first.setdefault(user, at) != at]
            faults += [(position, "the user is there twice") for position in twice]
        if faults:
            raise BadAnswers(faults)
