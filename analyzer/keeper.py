"""Moves collections on: what the clock, the shufflers and the deliveries make of each; what is waited for meanwhile."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from analyzer.dummies import Dummies
from analyzer.home import Home
from analyzer.peers import Answer, Peers
from analyzer.publishing import Publishing
from analyzer.receiving import Receiving
from analyzer.store import OVER, Kept
from analyzer.troubles import Troubles
from peos.collection.document import Document
from peos.collection.lifecycle import State
from peos.collection.party import Status
from peos.errors import LocalFault, PeosError
from peos.net.logs import Log

TICK: Final = 0.5
ASK_EVERY: Final = 3.0
TRY_AGAIN: Final = 30.0  # seconds at most after an error: the first pauses are shorter
_TURN: Final = "its collections are looked at again"  # what is tried again after an error, as `status` shows it
_STEP: Final = "the next step is tried again"
_DUMMIES: Final = "its dummies are sent again"
_PUBLISHING: Final = "the publishing is tried again"
_FROZEN: Final = frozenset({State.FROZEN, State.SHUFFLING, State.DELIVERED, State.PUBLISHED})


class Keeper:
    """One for the process; `run` goes on until it is cancelled."""

    def __init__(
        self,
        home: Home,
        receiving: Receiving,
        publishing: Publishing,
        log: Log,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._home = home
        self._receiving = receiving
        self._publishing = publishing
        self._log = log
        self._clock = clock
        self._asked_at: dict[bytes, float] = {}
        self._rest_until: dict[bytes, float] = {}
        self._failed: Counter[bytes] = Counter()  # how often, one after another
        self._troubles = Troubles(home.config.folder)
        self._cleared: set[bytes] = set()
        self._published: asyncio.Task[None] | None = None  # one at a time: each uses all cores
        self._publishes = b""  # which
        self._dummies = Dummies(home)
        self._sending: dict[bytes, asyncio.Task[None]] = {}

    async def run(self, noticed: Callable[[], None]) -> None:
        """`noticed` is called at each turn: commands of other processes may have brought new collections."""
        self._troubles.clear()
        try:
            while True:
                try:
                    await self._turn(noticed)
                    self._troubles.note(None, _TURN, None)
                except Exception as error:  # of the store: it is asked again, and nothing ends by it
                    if self._troubles.note(None, _TURN, error):
                        self._log.error("the collections cannot be read at the moment", error)
                await asyncio.sleep(TICK)
        finally:
            self._troubles.clear()
            if self._published is not None:
                self._published.cancel()  # its thread ends when the engine is closed
            for task in self._sending.values():
                task.cancel()

    async def _turn(self, noticed: Callable[[], None]) -> None:
        noticed()
        await asyncio.to_thread(self._home.store.settle)
        for kept in await asyncio.to_thread(self._home.store.all):
            if self._rest_until.get(kept.digest, 0.0) <= time.monotonic():
                await self._or_rest(kept, _STEP, self.step(kept))

    async def _or_rest(self, kept: Kept, what: str, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except asyncio.CancelledError:
            raise
        except Exception as error:  # the other collections go on; the operator finds this in the log and in `status`
            self._troubles.note(kept.digest, what, error)
            self._log.of(kept.digest).error("a collection could not be moved on", error, state=kept.state.value)
            pause = min(TRY_AGAIN, TICK * 2 ** min(self._failed[kept.digest], 16))
            self._failed[kept.digest] += 1
            self._rest_until[kept.digest] = time.monotonic() + pause
        else:
            for done in (_STEP, _DUMMIES, _PUBLISHING) if kept.state in OVER else (what,):
                self._troubles.note(kept.digest, done, None)
            if not self._is_publishing(kept):
                self._failed.pop(kept.digest, None)

    async def step(self, kept: Kept) -> None:
        """Whatever can be done for one collection now."""
        if kept.state in OVER:
            # What is being read is not overwritten under it.
            if kept.digest not in self._cleared and not self._is_publishing(kept):
                await asyncio.to_thread(self._publishing.clear, kept)
                self._cleared.add(kept.digest)
        elif kept.state is State.DELIVERED:
            if self._published is None or self._published.done():
                work = asyncio.to_thread(self._publishing.publish, kept)
                self._publishes = kept.digest
                self._published = asyncio.ensure_future(self._or_rest(kept, _PUBLISHING, work))
        elif kept.state is not State.DRAFT:
            await asyncio.to_thread(self._receiving.settle, kept)
            await self._watch(self._home.store.get(kept.digest))

    def _is_publishing(self, kept: Kept) -> bool:
        return self._published is not None and not self._published.done() and self._publishes == kept.digest

    async def _watch(self, kept: Kept) -> None:
        document = self._home.signed(kept).document
        now = self._clock()
        if now >= document.erase_by:
            self._end(kept, "the output was not complete when everything had to be erased")
            return
        if kept.state is State.OPEN and now >= document.closes_at:
            self._move(kept, State.CLOSED)
            kept = self._home.store.get(kept.digest)
        if kept.state is State.OPEN:
            self._send_dummies(kept, now)
            return
        last_asked = self._asked_at.get(kept.digest, 0.0)
        if kept.state in (State.CLOSED, State.SHUFFLING) and time.monotonic() - last_asked >= ASK_EVERY:
            self._asked_at[kept.digest] = time.monotonic()
            async with Peers(self._home.keys, self._home.proposal(kept).cards[:-1]) as peers:
                self._conclude(kept, document, await peers.statuses(kept.digest))

    def _send_dummies(self, kept: Kept, now: float) -> None:
        """See to it that the dummies go in as users' reports come, in the background."""
        running = self._sending.get(kept.digest)
        if running is not None and not running.done():
            return
        open_for = now - (kept.opened_at or now)
        if time.monotonic() - self._asked_at.get(kept.digest, 0.0) >= min(ASK_EVERY, 0.5 + open_for / 20.0):
            self._asked_at[kept.digest] = time.monotonic()
            self._sending[kept.digest] = asyncio.ensure_future(self._or_rest(kept, _DUMMIES, self._send_due(kept)))

    async def _send_due(self, kept: Kept) -> None:
        if not await asyncio.to_thread(self._dummies.left, kept):
            return
        async with Peers(self._home.keys, self._home.proposal(kept).cards[:-1]) as peers:
            said = await peers.statuses(kept.digest)
        due = await asyncio.to_thread(self._dummies.due, kept, said, self._clock())
        for number in due:  # not all at one moment, nor so slowly that the next look finds them still due
            await asyncio.sleep(self._home.rng.integer_below(1000) / 1000 / len(due))
            try:
                await asyncio.to_thread(self._dummies.send, kept, number)
            except PeosError as error:
                self._log.of(kept.digest).warning("a dummy is not in yet; it is sent again", error)
                return

    def _conclude(self, kept: Kept, document: Document, answers: Sequence[Answer]) -> None:
        kept = self._home.store.get(kept.digest)  # while they were asked, the output may have come
        if kept.state not in (State.CLOSED, State.SHUFFLING):
            return
        delivered = {header.header.sender for header in self._home.store.deliveries(kept.digest)}
        reason = lost(document, delivered, answers)
        if reason:
            self._end(kept, reason)
        elif kept.state is State.CLOSED and any(
            isinstance(answer, Status) and answer.state in _FROZEN for answer in answers
        ):
            self._move(kept, State.SHUFFLING)

    def _end(self, kept: Kept, reason: str) -> None:
        self._move(kept, State.ABORTED, reason)

    def _move(self, kept: Kept, there: State, reason: str = "") -> None:
        try:
            if self._home.store.move(kept.digest, there, reason):
                self._log.of(kept.digest).info("state", state=there.value, reason=reason)
        except LocalFault:
            return  # it moved on meanwhile, by a command or by the last vector


def lost(document: Document, delivered: set[int], answers: Sequence[Answer]) -> str:
    """Why no output can come any more, or nothing.

    A shuffler that delivers nothing may abort while the last hiders are sending, and they go on (protocol.md §6.5); so
    only a last hider that ended without having delivered is the end, or all of them together.
    """
    ended = {
        number: answer.reason or "it gives no reason"
        for number, answer in enumerate(answers, start=1)
        if isinstance(answer, Status) and answer.known and answer.state == State.ABORTED
    }
    for number in document.schedule.last:
        if number in ended and number not in delivered:
            return f"shuffler {number} ({document.shufflers[number - 1].name}) aborted: {ended[number]}"
    if len(ended) == len(document.shufflers):
        return f"every shuffler aborted: {next(iter(ended.values()))}"
    return ""
