"""From respondents to results: prepare once, keep, send what is missing, note every answer as it comes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from peos.chunks import chunks
from peos.client.answering import answer
from peos.client.consent import Consent
from peos.client.ledger import charge
from peos.collection.cards import plain_text
from peos.collection.replies import Answer
from peos.collection.submission import Part
from peos.collection.ticket import Ticket
from peos.crypto.randomness import Randomness
from peos.errors import Refused
from peos.net.submit import Refusal, send_parts
from peos.protocols import Splitter
from peos.tasks.views import Record
from peos.wire.submissions import encode_receipt
from user_client.results import Result
from user_client.store import ClientStore, StoredSubmission

T = TypeVar("T")
BATCH: Final = 128  # submissions that become durable together
OURSELVES: Final = "this client"


@dataclass(frozen=True, repr=False)
class Respondent:
    """A user with a record and a ticket; `user` is whose memory and budget it is."""

    user: bytes
    record: Record
    ticket: Ticket

    def __repr__(self) -> str:
        return f"Respondent({self.ticket!r})"


@dataclass(frozen=True)
class Prepared:
    """A submission to send; `repeated` if it was prepared before, whatever the record now."""

    remembered: StoredSubmission
    repeated: bool


class Preparer:
    """Turns respondents into submissions that are kept, at most once each."""

    def __init__(self, memory: ClientStore, consent: Consent, *, budget: int, fresh: Callable[[], Randomness]) -> None:
        self._memory, self._consent, self._budget, self._fresh = memory, consent, budget, fresh
        self._mechanism = consent.document.mechanism
        self._splitter: Splitter | None = None

    def prepare(self, respondents: Sequence[Respondent], *, expected: int) -> list[Prepared | Refused]:
        """Their submissions, durable before this returns; `expected` is the total number of new ones."""
        found: list[Prepared | Refused] = []
        with self._memory.transaction():
            document = self._consent.document
            names = [plain_text(member.name) for member in document.shufflers]
            self._memory.note_collection(
                self._consent.digest, plain_text(document.question), names, document.closes_at, document.study
            )
            for respondent in respondents:
                try:
                    found.append(self._one(respondent, expected))
                except Refused as refused:
                    found.append(refused)
        return found

    def _one(self, respondent: Respondent, expected: int) -> Prepared:
        digest, user, ticket = self._consent.digest, respondent.user, respondent.ticket
        known = self._memory.find(digest, ticket.id)
        if known is not None:
            return Prepared(known, repeated=True)
        ledger = self._memory.ledger(user, self._mechanism.digest, self._budget, self._consent.document.study)
        charge(self._consent, ledger)  # before a splitter is made, which takes seconds
        own = self._fresh()  # one user's randomness is independent of another's
        made = answer(self._consent, respondent.record, ticket, ledger, own, self._split_by(expected))
        self._memory.keep(digest, self._mechanism.digest, user, made, self._consent.document.study)
        return Prepared(StoredSubmission(ticket.id, made.parts, made.encoded, frozenset()), repeated=False)

    def _split_by(self, expected: int) -> Splitter:
        """One for all users of this process: what it makes ahead costs seconds."""
        if self._splitter is None:
            self._splitter = self._consent.encryption.splitter(self._fresh(), max(expected, 1))
        return self._splitter


class Sending:
    """One run to the shufflers of one collection; whatever breaks it off, what was answered is noted."""

    def __init__(
        self,
        memory: ClientStore,
        consent: Consent,
        preparer: Preparer,
        *,
        expected: int,
        told: Callable[[int], None],
        waiting: Callable[[str], None],
    ) -> None:
        self._memory, self._consent, self._preparer = memory, consent, preparer
        self._expected, self._told, self._waiting = expected, told, waiting
        self._results: dict[bytes, Result] = {}
        self._owed: dict[bytes, int] = {}  # answers that a ticket still waits for
        self._answers: list[tuple[bytes, int, str, bytes | None]] = []  # not yet noted
        self._encoded: Mapping[Part, bytes] = {}  # of the submission that was given out last
        self.sent = 0  # bytes of the parts that were given out, each once

    def run(self, respondents: Sequence[Respondent], *, rng: Randomness, deadline: float | None) -> list[Result]:
        """The results, in the submissions' order."""
        try:
            outcomes = send_parts(
                self._consent.cards,
                self._missing(respondents),
                rng=rng,
                encode=lambda part: self._encoded[part],
                on_answer=self._answered,
                on_wait=self._waiting,
                deadline=deadline,
            )
        finally:
            self._note()
        for outcome in outcomes:
            if not outcome.accepted:
                repeated = self._results[outcome.id].repeated
                self._results[outcome.id] = Result(outcome.id, False, repeated, outcome.refusals)
        return [self._results[one.ticket.id] for one in respondents]

    def _missing(self, respondents: Sequence[Respondent]) -> Iterator[tuple[Part, ...]]:
        for batch in (respondents[part] for part in chunks(len(respondents), BATCH)):
            for one, found in zip(batch, self._preparer.prepare(batch, expected=self._expected), strict=True):
                id_ = one.ticket.id
                if isinstance(found, Refused):
                    own = Refusal(0, OURSELVES, found.id, str(found), found.hint)
                    self._results[id_] = Result(id_, False, False, (own,))
                    continue
                self._results[id_] = Result(id_, True, found.repeated)
                missing = found.remembered.missing
                if missing:
                    self._owed[id_] = len(missing)
                    self.sent += sum(map(len, missing.values()))
                    self._encoded = missing
                    yield tuple(missing)
            self._note()

    def _answered(self, shuffler: int, answer: Answer) -> None:
        receipt = encode_receipt(answer.receipt) if answer.receipt is not None else None
        refusal = plain_text(answer.refusal) or answer.error_id  # a blank one is none in the store
        self._answers.append((answer.id, shuffler, refusal, receipt))
        self._owed[answer.id] -= 1
        if not self._owed[answer.id]:
            del self._owed[answer.id]
            self._told(len(self._results) - len(self._owed))

    def _note(self) -> None:
        """Answers become durable in batches: one that is lost is asked for again with the same bytes."""
        if self._answers:
            self._memory.note_answers(self._consent.digest, self._answers)
            self._answers.clear()
