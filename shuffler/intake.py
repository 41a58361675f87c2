"""Submissions on their way into the store: checked one by one, committed in groups, acknowledged when durable.

One signature acknowledges a group: each answer has it with the way to its own submission (peos.collection.receipts).
While one group is being fsynced the next gathers; so the rate is that of checking, not of the disk's fsync. Whatever
goes wrong with a group is answered, and never ends the committing.
"""

import asyncio
import contextlib
import time
from collections import Counter
from functools import partial
from typing import Final, NamedTuple

from peos.collection.document import Document
from peos.collection.receipts import Acknowledged, Receipt, receipts
from peos.collection.replies import Answer
from peos.collection.submission import Part, Verdict, check_part
from peos.collection.ticket import ID_BYTES
from peos.crypto.identity import Identity
from peos.errors import Closed, Full, NotYet, PeosError, RemoteFault, Unknown
from peos.net.observer import Observer
from peos.protocols import Encryption
from peos.store.base import Judged, ShufflerStore, Submission
from shuffler.events import (
    PartNotJudged,
    RefusalsNotCounted,
    SubmissionRefused,
    SubmissionsKept,
    SubmissionsNotKept,
)
from shuffler.store_thread import StoreThread

GROUP: Final = 1024
WAITING: Final = 16_384  # parts that may wait for their group; beyond, users are asked to come back
WAITING_BYTES: Final = 64 << 20
NOTE_EVERY: Final = 1.0  # seconds; a flood of bad parts must not become one of transactions
_REASON: Final = 200  # characters, the store's limit
_CONFLICT: Final = "another submission was made under this ticket"
_TROUBLE: Final = "internal error: this shuffler could not store the part"
_AGAIN: Final = "send the same part again in a while"

Settled = asyncio.Future[Answer]


class _Waiting(NamedTuple):
    submission: Submission
    user_key: bytes
    answer: Settled
    came: float

    @property
    def acknowledged(self) -> Acknowledged:
        """What a receipt says of it."""
        return Acknowledged(self.submission.collection, self.submission.row, self.user_key)


class Intake:
    """One for the process: gathers parts of all collections."""

    def __init__(self, store: StoreThread, observer: Observer, identity: Identity) -> None:
        self._store = store
        self._identity = identity
        self._observer = observer
        self._waiting: list[_Waiting] = []
        self._bytes = 0
        self._wake = asyncio.Event()
        self._refused: dict[bytes, Counter[str]] = {}
        self._noted = time.monotonic()

    @property
    def waiting(self) -> int:
        """Parts that wait for their group."""
        return len(self._waiting)

    async def run(self) -> None:
        """Commit what has gathered, again and again."""
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), NOTE_EVERY if self._refused else None)
            self._wake.clear()
            while self._waiting:
                await self._commit()
            if self._refused and time.monotonic() - self._noted >= NOTE_EVERY:
                await self._note()

    def offer(
        self, part: Part, document: Document, collection: bytes, encryption: Encryption, me: int
    ) -> Answer | Settled:
        """The answer to a part, or a future that resolves once it is durable; never raises for a user's mistake."""
        try:
            row = check_part(part, document, collection, encryption, me)
        except PeosError as error:
            return self._refuse(part, error)
        if len(self._waiting) >= WAITING or self._bytes >= WAITING_BYTES:
            return self._refuse(part, Full("submit.full", "too many parts are waiting to be stored", hint=_AGAIN))
        answer: Settled = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(Submission(collection, row, part.share), part.user_key, answer, time.monotonic()))
        self._bytes += len(part.share)
        self._wake.set()
        return answer

    async def _commit(self) -> None:
        group, self._waiting = self._waiting[:GROUP], self._waiting[GROUP:]
        self._bytes -= sum(len(one.submission.share) for one in group)
        submissions, gathered = [one.submission for one in group], time.monotonic()
        try:
            verdicts, begun, ended = await self._store(partial(_submit, submissions))
            answers = self._answers(group, verdicts)
            new = (one.came for one, verdict in zip(group, verdicts, strict=True) if verdict is Verdict.STORE)
            queued, repeated = tuple(gathered - came for came in new), verdicts.count(Verdict.KNOWN)
            self._observer.note(SubmissionsKept(queued, begun - gathered, ended - begun, repeated))
        except asyncio.CancelledError:
            raise
        except Exception as error:
            # The store's own faults are for the operator; users learn only that they may retry the same part.
            self._observer.note(SubmissionsNotKept(error, len(group)))
            later = error if isinstance(error, Full) else Full("submit.trouble", _TROUBLE, hint=_AGAIN)
            answers = [self._answer(submission, later) for submission in submissions]
        for waiting, answer in zip(group, answers, strict=True):
            if not waiting.answer.done():  # who asked may have gone; what is kept is kept
                waiting.answer.set_result(answer)

    def _answers(self, group: list[_Waiting], verdicts: list[Judged]) -> list[Answer]:
        taken = [number for number, one in enumerate(verdicts) if one in (Verdict.STORE, Verdict.KNOWN)]
        signed = receipts(self._identity, [group[number].acknowledged for number in taken]) if taken else []
        receipt = dict(zip(taken, signed, strict=True))
        judged = enumerate(zip(group, verdicts, strict=True))
        return [self._answer(waiting.submission, one, receipt.get(number)) for number, (waiting, one) in judged]

    def _answer(self, submission: Submission, judged: Judged | PeosError, receipt: Receipt | None = None) -> Answer:
        collection, id_ = submission.collection, submission.row[:ID_BYTES]
        if isinstance(judged, PeosError):
            return self._refused_with(collection, id_, judged)
        if judged is Verdict.CONFLICT:
            self._observer.note(SubmissionRefused(for_now=False))
            hint = "a ticket is good for one submission"
            return Answer(collection, id_, b"", _CONFLICT, hint, error_id="submit.ticket_used")
        return Answer(collection, id_, submission.row, receipt=receipt)

    def _refuse(self, part: Part, error: PeosError) -> Answer:
        return self._refused_with(part.collection, part.id, error)

    def _refused_with(self, collection: bytes, id_: bytes, error: PeosError) -> Answer:
        retry = isinstance(error, Full | NotYet)
        self._observer.note(SubmissionRefused(for_now=not isinstance(error, RemoteFault | Closed | Unknown)))
        if isinstance(error, RemoteFault | Closed):
            reason = str(error).removeprefix("user, submission: ")[:_REASON]
            self._refused.setdefault(collection, Counter())[reason] += 1
            self._wake.set()
        elif not (retry or isinstance(error, Unknown)):
            self._observer.note(PartNotJudged(error))
            return Answer(collection, id_, b"", _TROUBLE, _AGAIN, retry=True, error_id="submit.trouble")
        return Answer(collection, id_, b"", str(error), error.hint, retry, error_id=error.id)

    async def _note(self) -> None:
        refused, self._refused = self._refused, {}
        self._noted = time.monotonic()
        for collection, reasons in refused.items():
            try:
                await self._store(partial(_note, collection, reasons))
            except Exception as error:  # counting is not worth the end of the committing
                self._observer.of(collection).note(RefusalsNotCounted(error, reasons.total()))


def _submit(submissions: list[Submission], store: ShufflerStore) -> tuple[list[Judged], float, float]:
    """What became of them, and when the store began and ended."""
    begun = time.monotonic()
    return store.submit_many(submissions), begun, time.monotonic()


def _note(collection: bytes, reasons: Counter[str], store: ShufflerStore) -> None:
    store.note_refused(collection, reasons)
