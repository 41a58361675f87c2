"""The client in three calls: open a collection, submit, look at what was done."""

import time
from collections.abc import Callable, Container, Sequence
from functools import partial
from typing import Final, Self

from peos.chunks import chunks
from peos.client.answering import is_ticket_of, values_of
from peos.client.consent import Consent, check, require_open, require_pinned
from peos.client.ledger import budget_of
from peos.collection.cards import Card, Invitation, plain_text
from peos.collection.labels import expected
from peos.collection.ticket import Ticket
from peos.crypto.randomness import Randomness, system
from peos.errors import Refused, WrongInput
from peos.net.submit import describe
from peos.wire.parties import decode_invitation
from user_client.config import Config
from user_client.proofs import Checked
from user_client.proofs import check as check_proofs
from user_client.results import CollectionStatus, Ledger, Result
from user_client.store import OWNER, ClientStore
from user_client.submitter import BATCH, OURSELVES, Preparer, Respondent, Sending

Clock = Callable[[], float]
Describe = Callable[[Card, bytes], bytes]
Answer = int | str  # a value's number, or words: its label, or its number where values have none
Answers = Sequence[tuple[Answer, Ticket]]
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

    def open(self, invitation: bytes | Invitation) -> "Collection":
        """The collection, once every shuffler has described it alike and nothing in it is against her limits."""
        invited = decode_invitation(invitation) if isinstance(invitation, bytes) else invitation
        config = self._config
        require_pinned(invited, config.shufflers)  # before any shuffler is asked
        documents = [self._describe(card, invited.collection) for card in invited.shufflers]
        consent = check(invited, documents, config.shufflers, config.limits, self._clock())
        budget = budget_of(self._config.budget)
        return Collection(self._memory, consent, budget=budget, clock=self._clock, fresh=self._fresh)

    def verify(self, invitation: Invitation, *, root: bytes | None = None) -> "list[Checked]":
        """Whether each report that was sent to a collection was counted, by what its shufflers show and signed.

        `root` is that of the frozen list as the analyzer published it, to be compared.
        """
        require_pinned(invitation, self._config.shufflers)
        return check_proofs(invitation, self._memory.submitted(invitation.collection), root)

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
    def labels(self) -> tuple[str, ...]:
        """The labels of the values, printable; none where values are numbers."""
        return self._consent.document.labels

    @property
    def expected(self) -> str:
        """The accepted answers, in words."""
        return expected(self.labels, self.domain)

    @property
    def domain(self) -> int:
        """Values are 0 … domain − 1."""
        return self._consent.document.mechanism.domain

    @property
    def shufflers(self) -> tuple[str, ...]:
        """The shufflers' names, in their order."""
        return tuple(plain_text(member.name) for member in self._consent.document.shufflers)

    def admits(self, ticket: Ticket) -> bool:
        """Whether the ticket is one of this collection's, and the key the one that it names."""
        return is_ticket_of(self._consent, ticket)

    def submit(
        self, value: Answer, ticket: Ticket, *, waiting: Waiting = _untold, deadline: float | None = None
    ) -> Result:
        """The owner's answer. A repeat sends what was prepared the first time, whatever `value` says now.

        What shufflers refuse is in the result; what this client refuses (budget, answered before) is raised.
        """
        (number,) = self._values([(value, ticket)], frozenset(), _untold)
        (result,) = self._send([Respondent(OWNER, number, ticket)], expected=1, waiting=waiting, deadline=deadline)
        for refusal in result.refusals:
            if refusal.name == OURSELVES:
                raise Refused(refusal.error_id, refusal.sentence, hint=refusal.hint)
        return result

    def submit_many(
        self,
        answers: Answers,
        *,
        progress: Progress = _untold,
        waiting: Waiting = _untold,
        deadline: float | None = None,
    ) -> list[Result]:
        """The answers of many users, each with memory, budget and randomness of her own; results in their order.

        What all shufflers have acknowledged is not sent again: whatever broke off is resumed by the same call.
        `progress` gets the number done and the total; `waiting`, a sentence about the shuffler awaited.
        """
        known = self._memory.tickets(self.digest)
        values = self._values(answers, known, progress)
        given = [(value, ticket) for value, (_, ticket) in zip(values, answers, strict=True)]
        accepted = self._memory.accepted(self.digest)
        expected = sum(ticket.id not in known for _, ticket in answers)
        results: list[Result] = []
        for chunk in (given[part] for part in chunks(len(given), CHUNK)):
            fresh = [Respondent(ticket.id, value, ticket) for value, ticket in chunk if ticket.id not in accepted]
            before = len(results) + len(chunk) - len(fresh)

            def told(done: int, before: int = before) -> None:
                progress(before + done, len(answers))

            told(0)
            run = partial(self._send, expected=expected, told=told, waiting=waiting, deadline=deadline)
            sent = iter(run(fresh) if fresh else ())
            results += [
                Result(ticket.id, accepted=True, repeated=True) if ticket.id in accepted else next(sent)
                for _, ticket in chunk
            ]
        return results

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

    def _values(self, answers: Answers, known: Container[bytes], progress: Progress) -> list[int]:
        """The answers as numbers; BadAnswers names every one that is wrong."""

        def looked_at(position: int) -> None:
            if not position % BATCH:
                progress(0, len(answers))

        found, faults = values_of(self._consent, answers, known, looked_at)
        if faults:
            raise BadAnswers(faults)
        return found
