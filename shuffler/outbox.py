"""Outgoing messages to the other shufflers, each retried until it is acknowledged or its attempt is over.

The same bytes at each try. Nothing here is durable: after a restart the attempt is left, and notices are asked for.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, Final

from peos.crypto.randomness import system
from peos.errors import Closed
from peos.net.calls import Caller
from peos.net.observer import Observer
from peos.net.retry import Retry, retrying
from peos.shuffle.messages import Header, Notice, SignedNotice, Statement
from peos.shuffle.streaming import Rows
from peos.wire import shuffles
from peos.wire.methods import CARRY, SAY, TELL, VECTOR_HEADER, Method
from shuffler.events import MessageNotSent, MessageNotWanted, NoticeNotSent

VECTOR_TIMEOUT: Final = 3600.0
_UNTIL_THERE: Final = Retry(ceiling=1.0, final=lambda error: isinstance(error, Closed))
"""After the caller's own retries have come to nothing: whatever it is, the other waits for the message."""
_ANY_ATTEMPT: Final = 1 << 32


async def send_vector(
    caller: Caller,
    method: Method,
    header: Header,
    rows: Rows,
    *,
    transcript: bytes = b"",
    progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Stream a vector: its header as metadata, then its chunks. `progress` gets the number of rows sent."""
    first = next(shuffles.encode_vector(header, rows, transcript=transcript))

    def chunks() -> Iterator[bytes]:
        messages = shuffles.encode_vector(header, rows, transcript=transcript)
        next(messages)
        left = 0
        for chunk in messages:
            yield chunk
            left += len(chunk)
            progress(min(left // rows.shape[1], len(rows)))

    await caller.send(method, chunks, step=str(header.step), timeout=VECTOR_TIMEOUT, metadata=((VECTOR_HEADER, first),))


class Outbox:
    """One collection's outgoing messages, by the shuffler they go to."""

    def __init__(self, callers: Mapping[int, Caller], observer: Observer) -> None:
        self._callers = callers
        self._observer = observer
        self._rng = system()
        self._sending: dict[asyncio.Task[None], int] = {}  # with the attempt that each belongs to
        self._told: set[tuple[Notice, int]] = set()  # notices under way

    def statement(self, statement: Statement) -> None:
        """Send a statement."""
        self._send(statement.header, lambda caller: caller.ask(SAY, statement, step=str(statement.header.step)))

    def vector(self, header: Header, rows: Rows) -> None:
        """Send a vector."""
        self._send(header, lambda caller: send_vector(caller, CARRY, header, rows))

    def notice(self, signed: SignedNotice, receiver: int) -> None:
        """Send a notice, once: a shuffler that needs it and did not get it asks."""
        if (signed.notice, receiver) not in self._told:
            self._told.add((signed.notice, receiver))
            self._keep(self._once(signed, receiver), _ANY_ATTEMPT)

    def discard(self, attempt: int) -> None:
        """Stop sending what belongs to this attempt or to those before it."""
        for task, of in self._sending.items():
            if of <= attempt:
                task.cancel()

    def end(self) -> None:
        """The shuffle is over here: only notices may still be of use to others."""
        self.discard(_ANY_ATTEMPT - 1)

    async def sent(self) -> None:
        """Until everything is there, or not wanted any more."""
        while self._sending:
            await asyncio.gather(*self._sending, return_exceptions=True)

    async def close(self) -> None:
        """Stop sending anything."""
        tasks = list(self._sending)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _send(self, header: Header, call: Callable[[Caller], Coroutine[Any, Any, Any]]) -> None:
        caller = self._callers[header.receiver]
        self._keep(self._until_there(lambda: call(caller), header), header.context.attempt)

    def _keep(self, work: Coroutine[Any, Any, None], attempt: int) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._sending[task] = attempt
        task.add_done_callback(lambda done: self._sending.pop(done, None))

    async def _until_there(self, call: Callable[[], Coroutine[Any, Any, Any]], header: Header) -> None:
        step, peer = str(header.step), f"shuffler {header.receiver}"

        def on_failure(error: Exception, _: float) -> None:
            self._observer.note(MessageNotSent(error, step, peer))

        try:
            await retrying(call, _UNTIL_THERE, rng=self._rng, on_failure=on_failure)
        except Closed as over:
            self._observer.note(MessageNotWanted(step, peer, over.id, str(over)))

    async def _once(self, signed: SignedNotice, receiver: int) -> None:
        try:
            await self._callers[receiver].ask(TELL, signed, step="delivery")
        except Exception as error:
            self._observer.note(NoticeNotSent(error, f"shuffler {receiver}"))
        finally:
            self._told.discard((signed.notice, receiver))
