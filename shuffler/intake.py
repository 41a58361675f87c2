"""Submissions on their way into the store: checked one by one, committed in groups, acknowledged when durable.

While one group is being fsynced the next gathers; so the rate is that of checking, not of the disk's fsync.
"""

import asyncio
from collections import Counter
from functools import partial
from typing import Final

from peos.collection.document import Document
from peos.collection.party import Answer
from peos.collection.submission import Part, Verdict, check_part
from peos.crypto.schemes.base import PublicKey
from peos.errors import Closed, Full, NotYet, PeosError, RemoteFault
from peos.store.base import Judged, ShufflerStore, Submission
from shuffler.storing import Stored

GROUP: Final = 1024
WAITING: Final = 16_384  # parts that may wait for their group; beyond, users are asked to come back
_CONFLICT: Final = "another submission was made under this ticket"


class Intake:
    """One for the process: gathers parts of all collections."""

    def __init__(self, store: Stored) -> None:
        self._store = store
        self._waiting: list[tuple[Submission, asyncio.Future[Judged]]] = []
        self._wake = asyncio.Event()
        self._refused: dict[bytes, Counter[str]] = {}

    async def run(self) -> None:
        """Commit what has gathered, again and again."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                group, self._waiting = self._waiting[:GROUP], self._waiting[GROUP:]
                submissions = [one for one, _ in group]
                try:
                    judged = await self._store(partial(_submit, submissions))
                except PeosError as error:
                    for _, future in group:
                        future.set_exception(error)
                    continue
                for (_, future), one in zip(group, judged, strict=True):
                    if not future.done():
                        future.set_result(one)
            await self._note()

    async def take(self, part: Part, document: Document, collection: bytes, public: PublicKey, me: int) -> Answer:
        """What became of a part; never raises for what a user did."""
        try:
            triple = check_part(part, document, collection, public, me)
            if len(self._waiting) >= WAITING:
                raise Full("more parts wait than can be kept at the moment", hint="send the same part again in a while")
            future: asyncio.Future[Judged] = asyncio.get_running_loop().create_future()
            self._waiting.append((Submission(collection, triple, part.share), future))
            self._wake.set()
            judged = await future
            if isinstance(judged, PeosError):
                raise judged
        except PeosError as error:
            return self._refuse(part, collection, error)
        if judged is Verdict.CONFLICT:
            return Answer(collection, part.id, b"", _CONFLICT, "a ticket is good for one submission")
        return Answer(collection, part.id, triple.digest)

    def _refuse(self, part: Part, collection: bytes, error: PeosError) -> Answer:
        retry = isinstance(error, Full | NotYet)
        if not retry and isinstance(error, RemoteFault | Closed):
            self._refused.setdefault(collection, Counter())[_short(error)] += 1
            self._wake.set()
        return Answer(collection, part.id, b"", str(error), error.hint, retry)

    async def _note(self) -> None:
        refused, self._refused = self._refused, {}
        for collection, reasons in refused.items():
            await self._store(partial(_note, collection, reasons))


def _short(error: PeosError) -> str:
    return str(error).removeprefix("user, submission: ")


def _submit(submissions: list[Submission], store: ShufflerStore) -> list[Judged]:
    return store.submit_many(submissions)


def _note(collection: bytes, reasons: Counter[str], store: ShufflerStore) -> None:
    store.note_refused(collection, reasons)
