"""What goes out to the other shufflers: each message again and again until it is there, or its attempt is over.

The same bytes at each try. Nothing here is durable: after a restart the attempt is left, and notices are asked for.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peos.errors import PeosError
from peos.net.calls import Caller
from peos.net.logs import Log
from peos.shuffle.messages import Header, SignedNotice, Word
from peos.wire import shuffles
from peos.wire.methods import CARRY, SAY, TELL, VECTOR_HEADER, Method

VECTOR_TIMEOUT: Final = 3600.0
_AGAIN: Final = 1.0  # seconds, after the caller's own retries have come to nothing


async def send_vector(
    caller: Caller, method: Method, header: Header, rows: NDArray[np.uint8], *, transcript: bytes = b""
) -> None:
    """Stream a vector: its header as metadata, then its chunks."""
    first = next(shuffles.encode_vector(header, rows, transcript=transcript))

    def chunks() -> Any:
        messages = shuffles.encode_vector(header, rows, transcript=transcript)
        next(messages)
        return messages

    await caller.send(method, chunks, step=str(header.step), timeout=VECTOR_TIMEOUT, metadata=((VECTOR_HEADER, first),))


class Post:
    """One collection's outgoing messages, by the shuffler they go to."""

    def __init__(self, callers: Mapping[int, Caller], log: Log) -> None:
        self._callers = callers
        self._log = log
        self._sending: dict[asyncio.Task[None], int] = {}  # with the attempt that each belongs to, 0 for none
        self.sent = 0  # bytes

    def word(self, word: Word) -> None:
        """Send a word."""
        self.sent += len(shuffles.encode_word(word))
        self._send(word.header, lambda caller: caller.ask(SAY, word, step=str(word.header.step)))

    def vector(self, header: Header, rows: NDArray[np.uint8]) -> None:
        """Send a vector."""
        self.sent += rows.nbytes
        self._send(header, lambda caller: send_vector(caller, CARRY, header, rows))

    def notice(self, signed: SignedNotice, receiver: int) -> None:
        """Send a notice, once: whoever needs it and did not get it asks."""
        caller = self._callers[receiver]
        self._keep(self._once(lambda: caller.ask(TELL, signed, step="delivery"), receiver), 0)

    def discard(self, attempt: int) -> None:
        """Stop sending what belongs to an attempt that was left."""
        for task, of in self._sending.items():
            if of == attempt:
                task.cancel()

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
        while True:
            try:
                await call()
            except PeosError as error:
                self._log.warning("not delivered yet", error, step=str(header.step), peer=f"shuffler {header.receiver}")
                await asyncio.sleep(_AGAIN)
            else:
                return

    async def _once(self, call: Callable[[], Coroutine[Any, Any, Any]], receiver: int) -> None:
        try:
            await call()
        except PeosError as error:
            self._log.warning("a notice was not delivered", error, peer=f"shuffler {receiver}")
