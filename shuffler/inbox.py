"""Vectors on their way in: only those that the schedule has, each at its place once, memory as bytes arrive."""

import asyncio
from collections.abc import AsyncIterator

from peos.errors import Closed, NotYet, RemoteFault
from peos.shuffle.attempt import awaited
from peos.shuffle.delivery_state import DeliveryState
from peos.shuffle.effects import Handle
from peos.shuffle.messages import Step, VectorHeader
from peos.shuffle.schedule import Schedule
from peos.wire.shuffles import VectorReader
from shuffler.background import in_background
from shuffler.workbench import InProcess


class Inbox:
    """Vectors that other shufflers are sending at the moment."""

    def __init__(self, bench: InProcess, schedule: Schedule, me: int) -> None:
        self._bench = bench
        self._awaited = awaited(schedule, me)
        self._arriving: dict[tuple[int, Step, int], int] = {}  # rows by attempt, step and sender

    def rows(self, attempt: int, step: Step, sender: int) -> int:
        """How many rows of a vector are here while it arrives."""
        return self._arriving.get((attempt, step, sender), 0)

    @property
    def progress(self) -> int:
        """Grows with every chunk."""
        return sum(self._arriving.values())

    async def take(
        self, header: VectorHeader, chunks: AsyncIterator[bytes], delivery_state: DeliveryState
    ) -> Handle | None:
        """Take a vector in and name it; nothing if it is here already.

        Closed for an attempt that was left, NotYet for one that is ahead or arriving already, RemoteFault for what no
        step has. Everything in the header is judged before the first chunk is read.
        """
        place = header.header
        attempt = place.context.attempt
        if (place.step, place.sender) not in self._awaited:
            raise RemoteFault(
                "shuffle.unexpected",
                "sent an unexpected message for this step",
                party=f"shuffler {place.sender}",
                step=str(place.step),
            )
        if attempt <= max(delivery_state.left, self._bench.left):
            raise Closed("shuffle.attempt_over", f"attempt {attempt} is over here")
        if attempt > delivery_state.attempt + 1:
            raise NotYet("shuffle.attempt_later", f"attempt {attempt} has not begun here")
        handle = self._bench.expect(header)
        if handle is None:
            return None
        key = (attempt, place.step, place.sender)
        if key in self._arriving:
            raise NotYet("shuffle.arriving", "this vector is arriving on another connection")
        self._arriving[key] = 0
        try:
            coming, came = self._bench.coming(header), 0
            reader = VectorReader(header, coming.keep if coming else None)
            async for chunk in chunks:
                if coming:
                    await asyncio.to_thread(reader.feed, chunk)  # a disk may be slow
                else:
                    reader.feed(chunk)
                came += len(chunk)
                self._arriving[key] = min(came // header.row_bytes, header.rows)
                if attempt <= self._bench.left:
                    raise Closed("shuffle.attempt_over", f"attempt {attempt} is over here")
            reader.end()
            rows = coming.whole() if coming else reader.finish()
            await in_background(lambda: self._bench.take_in(handle, header, rows))
        finally:
            del self._arriving[key]
        return handle
