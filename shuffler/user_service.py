"""The port for users: what a collection asks, and their parts."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from peos.collection.lifecycle import OVER, State
from peos.collection.membership import MembershipProof, MembershipRequest
from peos.collection.replies import Answer
from peos.collection.submission import Part
from peos.errors import NotYet
from peos.net.calls import Behaviour, Service, service
from peos.net.guard import Context
from peos.store.rules import closed
from peos.wire.methods import CLOSED_HEADER, DESCRIBE, PROVE, SUBMIT, SUBMIT_MANY, Method
from shuffler.config import SILENCE
from shuffler.intake import Intake, Settled
from shuffler.proving import Proving
from shuffler.registry import CollectionRegistry

_OPERATOR: Final = "ask again later; its operator accepts with `peos shuffler accept`"
IN_FLIGHT: Final = 512  # parts of one stream that are being committed while the next are read


class UserService:
    """Answers `peos.v1.UserService`."""

    def __init__(
        self, registry: CollectionRegistry, intake: Intake, proving: Proving, silence: float = SILENCE
    ) -> None:
        self._registry = registry
        self._intake = intake
        self._proving = proving
        self._silence = silence

    def service(self) -> Service:
        """The calls, with what answers them."""
        calls: dict[Method, Behaviour] = {
            DESCRIBE: self.describe,
            SUBMIT: self.submit,
            SUBMIT_MANY: self.submit_many,
            PROVE: self.prove,
        }
        return service(calls, meter=self._registry.count)

    async def describe(self, digest: bytes, context: Context) -> bytes:
        """The signed document, with a header if the collection has closed."""
        document, has_closed = await self.described(digest)
        if has_closed:
            context.set_trailing_metadata(((CLOSED_HEADER, "1"),))
        return document

    async def described(self, digest: bytes) -> tuple[bytes, bool]:
        """The signed document, as it was received, until the collection is over; and whether it has closed.

        A device that is new to it is charged before it sends, and need not. One that lacks an acknowledgement asks for
        it with the same bytes.
        """
        session = self._registry.live.get(digest)
        if session is None:
            raise self._registry.refusal(digest)
        if session.state is State.DRAFT:
            raise _draft()
        too_late = closed(session.state, lost=False, erased=False)
        if too_late is not None and session.state in OVER:
            raise too_late
        return await self._registry.signed_bytes(digest), too_late is not None

    async def submit(self, part: Part, _: Context | None = None) -> Answer:
        """One part."""
        answer = self._take(part)
        return answer if isinstance(answer, Answer) else await answer

    async def submit_many(self, parts: AsyncIterator[Part], _: Context) -> AsyncIterator[Answer]:
        """A stream of parts; one answer each, in order, while later ones are already being committed.

        One that brings no part for a while is ended, in order: who has another part comes again.
        """
        under_way: asyncio.Queue[Answer | Settled | Exception | None] = asyncio.Queue(IN_FLIGHT)

        async def read() -> None:
            try:
                while True:
                    async with asyncio.timeout(self._silence):
                        part = await anext(parts)
                    await under_way.put(self._take(part))
            except (StopAsyncIteration, TimeoutError):
                await under_way.put(None)
            except Exception as error:  # a part that cannot be read ends the stream with its reason, after the others
                await under_way.put(error)

        reader = asyncio.ensure_future(read())
        try:
            while (answer := await under_way.get()) is not None:
                if isinstance(answer, Exception):
                    raise answer
                yield answer if isinstance(answer, Answer) else await answer
        finally:
            reader.cancel()

    async def prove(self, asked: MembershipRequest, _: Context | None = None) -> MembershipProof:
        """Whether a user's row is in the lists."""
        return await self._proving.prove(asked)

    def _take(self, part: Part) -> Answer | Settled:
        session = self._registry.live.get(part.collection)
        if session is None or session.state is State.DRAFT:
            error = self._registry.refusal(part.collection) if session is None else _draft()
            retry = isinstance(error, NotYet)
            return Answer(part.collection, part.id, b"", str(error), error.hint, retry, error_id=error.id)
        return self._intake.offer(part, session.document, part.collection, session.encryption, session.number)


def _draft() -> NotYet:
    sentence = "this shuffler's operator has not accepted the collection yet"
    return NotYet("collection.not_accepted_yet", sentence, hint=_OPERATOR)
