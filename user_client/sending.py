"""From respondents to results: prepare, keep, send what is missing, note every answer as it comes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from peos.collection.party import Answer
from peos.collection.submission import Part
from peos.crypto.randomness import Randomness
from peos.errors import Refused
from peos.net.lane import plain_text
from peos.net.submit import Refusal, send_parts
from peos.wire.submissions import encode_receipt
from user_client.memory import Memory
from user_client.preparing import Opened, Preparer, Respondent
from user_client.results import Result

T = TypeVar("T")
BATCH: Final = 128  # submissions that become durable together
OURSELVES: Final = "this client"


class Sending:
    """One run to the shufflers of one collection; whatever breaks it off, what was answered is noted."""

    def __init__(
        self,
        memory: Memory,
        opened: Opened,
        preparer: Preparer,
        *,
        expected: int,
        told: Callable[[int], None],
        waiting: Callable[[str], None],
    ) -> None:
        self._memory, self._opened, self._preparer = memory, opened, preparer
        self._expected, self._told, self._waiting = expected, told, waiting
        self._results: dict[bytes, Result] = {}
        self._owed: dict[bytes, int] = {}  # answers that a ticket still waits for
        self._answers: list[tuple[bytes, int, str, bytes | None]] = []  # not yet noted
        self._encoded: Mapping[Part, bytes] = {}  # of the submission that was given out last
        self.sent = 0  # bytes of the parts that were given out, each once

    def run(self, respondents: Sequence[Respondent], *, rng: Randomness, deadline: float | None) -> list[Result]:
        """What became of each, in their order."""
        try:
            outcomes = send_parts(
                self._opened.cards,
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
        for batch in batches(respondents, BATCH):
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
        self._answers.append((answer.id, shuffler, plain_text(answer.refusal), receipt))
        self._owed[answer.id] -= 1
        if not self._owed[answer.id]:
            del self._owed[answer.id]
            self._told(len(self._results) - len(self._owed))

    def _note(self) -> None:
        """Answers become durable in batches: one that is lost is asked for again with the same bytes."""
        if self._answers:
            self._memory.note_answers(self._opened.digest, self._answers)
            self._answers.clear()


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Stretches of at most `size`."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
