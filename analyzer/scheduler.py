"""Moves collections on: carries out what the machine of `peos.collection.analysis` asks for, when something is due.

Only collections that are not over are looked at: when their time comes, when something came in, and when a command of
another process rang the bell of the folder.
"""

import asyncio
import contextlib
import math
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from analyzer.delivery_receiver import DeliveryReceiver
from analyzer.dummies import Dummies
from analyzer.events import Began, DummyNotIn, Ended, MovedOn, NotMovedOn, StoreRead, StoreUnread
from analyzer.publisher import Publisher
from analyzer.shuffler_clients import ShufflerClients
from analyzer.store import CollectionRow
from analyzer.workspace import Workspace
from peos.collection import analysis
from peos.collection.lifecycle import OVER, State
from peos.errors import LocalFault, PeosError
from peos.net.observer import CollectionFound, Observer, StateReached
from peos.net.retry import Retry

ASK_EVERY: Final = analysis.ASK_EVERY
SETTLE: Final = 0.5  # seconds, while another process reads what is to be erased
_STEP: Final = "the next step is tried again"
_DUMMIES: Final = "its dummies are sent again"
_PUBLISHING: Final = "the publishing is tried again"
GLANCE: Final = 30.0  # seconds between looks at the clock, which may be set
ERRORS: Final = Retry(base=0.5, ceiling=30.0)  # of a collection, or of the store: none is final, the pauses grow


class Scheduler:
    """One for the process; `run` goes on until it is cancelled."""

    def __init__(
        self,
        workspace: Workspace,
        receiver: DeliveryReceiver,
        publisher: Publisher,
        observer: Observer,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._workspace = workspace
        self._receiver = receiver
        self._publisher = publisher
        self._observer = observer
        self._clock = clock
        self._sessions: dict[bytes, analysis.Session] = {}
        self._states: dict[bytes, State] = {}  # of each of these, as it was seen last
        self._failed: Counter[bytes] = Counter()  # how often, one after another
        self._rest_until: dict[bytes, float] = {}
        self._changed = asyncio.Event()
        self._uncleared: set[bytes] = set()  # over, and not wholly erased
        self._publish_at: dict[bytes, float] = {}  # when to try again what could not be published
        self._looks = 0
        self._published: asyncio.Task[None] | None = None  # one at a time: each uses all cores
        self._publishes = b""  # which
        self._dummies = Dummies(workspace)
        self._sending: dict[bytes, asyncio.Task[float]] = {}

    def look(self) -> None:
        """Something has changed."""
        self._looks += 1
        self._publish_at.clear()
        self._changed.set()

    async def run(self, noticed: Callable[[Sequence[CollectionRow]], float]) -> None:
        """`noticed` gets the live collections at each turn, and returns when it wants the next."""
        self._observer.note(Began())
        failures = 0
        try:
            self._uncleared = await asyncio.to_thread(self._publisher.uncleared)
            while True:
                self._changed.clear()
                due = self._clock() + GLANCE
                try:
                    due = min(due, await self._turn(noticed))
                    failures = 0
                    self._observer.note(StoreRead())
                except Exception as error:  # of the store: it is asked again, and nothing ends by it
                    failures += 1
                    due = self._clock() + ERRORS.pause(failures, self._workspace.rng)
                    self._observer.note(StoreUnread(error))
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(max(0.0, due - self._clock())):
                        await self._changed.wait()
        finally:
            self._observer.note(Ended())
            if self._published is not None:
                self._published.cancel()  # its thread ends when the engine is closed
            for task in self._sending.values():
                task.cancel()

    async def _turn(self, noticed: Callable[[Sequence[CollectionRow]], float]) -> float:
        """Look at every collection for which something is left to do; when to look again."""
        due = math.inf
        if not await asyncio.to_thread(self._workspace.store.settle):
            due = self._clock() + SETTLE  # no retry: what is left is settled at the next turn
        # Those of the last turn too: one that a command has ended since is still to be cleared.
        live = await asyncio.to_thread(self._workspace.store.live, self._uncleared | self._sessions.keys())
        due = min(due, noticed(live))
        for kept in live:
            rest = self._rest_until.get(kept.digest, 0.0) - time.monotonic()
            due = min(due, self._clock() + rest if rest > 0.0 else await self._or_rest(kept, _STEP, self.step(kept)))
        return due

    async def _or_rest(self, kept: CollectionRow, what: str, work: Coroutine[Any, Any, float]) -> float:
        """When to look at the collection again: as `work` says, or after a pause if it fails."""
        try:
            due = await work
        except asyncio.CancelledError:
            raise
        except Exception as error:  # the other collections go on; the operator finds this in the log and in `status`
            self._observer.of(kept.digest).note(NotMovedOn(error, kept.state.value, what))
            self._failed[kept.digest] += 1
            pause = ERRORS.pause(self._failed[kept.digest], self._workspace.rng)
            self._rest_until[kept.digest] = time.monotonic() + pause
            return self._clock() + pause
        for done in (_STEP, _DUMMIES, _PUBLISHING) if kept.state in OVER else (what,):
            self._observer.of(kept.digest).note(MovedOn(done))
        if not self._is_publishing(kept):
            self._failed.pop(kept.digest, None)
        return due

    async def step(self, kept: CollectionRow) -> float:
        """Do what can be done for one collection now; when to look at it again."""
        session = self._sessions.get(kept.digest)
        if session is None:
            document = self._workspace.signed(kept).document
            session = self._sessions[kept.digest] = analysis.Session(document, ask_every=ASK_EVERY)
            begun = kept.opened_at or kept.since
            self._observer.of(kept.digest).note(CollectionFound(kept.state.value, "analyzer", begun, document.study))
        elif kept.state is not self._states[kept.digest]:  # by this process, or by a command
            self._observer.of(kept.digest).note(StateReached(kept.state.value, kept.reason))
        self._states[kept.digest] = kept.state
        return await self._carry_out(kept, session.on(analysis.Clock(self._durable(kept), self._clock())))

    async def _carry_out(self, kept: CollectionRow, effects: analysis.Effects) -> float:
        due = math.inf
        for effect in effects:
            match effect:
                case analysis.Wait(until):
                    due = min(due, until)
                case analysis.SetState(there, reason):
                    self._move(kept, there, reason)
                    due = self._clock()
                case analysis.Complete():
                    await asyncio.to_thread(self._receiver.settle, kept)
                    due = self._clock()
                case analysis.Ask():
                    due = min(due, await self._ask(kept))
                case analysis.Close():
                    async with ShufflerClients(
                        self._workspace.keys, self._workspace.proposal(kept).cards[:-1]
                    ) as peers:
                        await peers.order(kept.digest, abort=False)  # no retry: the next look repeats it
                case analysis.SendDummies():
                    self._send_dummies(kept)
                case analysis.Publish():
                    due = self._publish(kept)
                case analysis.Clear():
                    await self._clear(kept)
        return due

    def _durable(self, kept: CollectionRow) -> analysis.Durable:
        return analysis.Durable(kept.state, kept.opened_at, tuple(self._workspace.store.deliveries(kept.digest)))

    async def _ask(self, kept: CollectionRow) -> float:
        async with ShufflerClients(self._workspace.keys, self._workspace.proposal(kept).cards[:-1]) as peers:
            answers = await peers.statuses(kept.digest)
        kept = self._workspace.store.get(kept.digest)
        event = analysis.Answered(self._durable(kept), answers)
        return await self._carry_out(kept, self._sessions[kept.digest].on(event))

    def _send_dummies(self, kept: CollectionRow) -> None:
        """In the background, unless that is still under way."""
        running = self._sending.get(kept.digest)
        if running is None or running.done():
            self._sending[kept.digest] = asyncio.ensure_future(self._or_rest(kept, _DUMMIES, self._send_due(kept)))

    async def _send_due(self, kept: CollectionRow) -> float:
        """Look, and send what is due; again by itself, for as long as users come faster than the session looks."""
        async with ShufflerClients(self._workspace.keys, self._workspace.proposal(kept).cards[:-1]) as peers:
            while await asyncio.to_thread(self._is_open, kept):
                said = await peers.statuses(kept.digest)
                due, pause, is_full = await asyncio.to_thread(self._dummies.look, kept, said, self._clock())
                for number in due:  # at no moment that a look tells, nor so slowly that the next finds them still due
                    await asyncio.sleep(self._workspace.rng.integer_below(1000) / 1000 * min(1.0, pause) / len(due))
                    try:
                        await asyncio.to_thread(self._dummies.send, kept, number)
                    except PeosError as error:
                        self._observer.of(kept.digest).note(DummyNotIn(error))
                        return math.inf
                if is_full:
                    kept = self._workspace.store.get(kept.digest)
                    await self._carry_out(kept, self._sessions[kept.digest].on(analysis.Filled(self._durable(kept))))
                    self._changed.set()
                if pause >= ASK_EVERY:
                    break
                await asyncio.sleep(pause)
        return math.inf

    def _is_open(self, kept: CollectionRow) -> bool:
        return self._workspace.store.get(kept.digest).state is State.OPEN

    def _publish(self, kept: CollectionRow) -> float:
        """In the background, one at a time; when to try again what could not be published yet."""
        due = self._publish_at.get(kept.digest, 0.0)
        if self._clock() < due:
            return due
        if self._published is None or self._published.done():
            self._publishes = kept.digest
            self._published = asyncio.ensure_future(self._publish_one(kept))
        return math.inf

    async def _publish_one(self, kept: CollectionRow) -> None:
        async def work() -> float:
            return await asyncio.to_thread(self._publisher.publish, kept)

        looks = self._looks
        due = await self._or_rest(kept, _PUBLISHING, work())
        if looks == self._looks:  # else what came meanwhile may have come too late for this try
            self._publish_at[kept.digest] = due
        self._changed.set()

    def _is_publishing(self, kept: CollectionRow) -> bool:
        return self._published is not None and not self._published.done() and self._publishes == kept.digest

    async def _clear(self, kept: CollectionRow) -> None:
        if self._is_publishing(kept):
            return  # what is being read is not overwritten under it; its end is a change
        await asyncio.to_thread(self._publisher.clear, kept)
        self._uncleared.discard(kept.digest)
        self._sessions.pop(kept.digest, None)
        self._states.pop(kept.digest, None)

    def _move(self, kept: CollectionRow, there: State, reason: str) -> None:
        with contextlib.suppress(LocalFault):  # it moved on meanwhile, by a command or by the last vector
            self._workspace.store.move(kept.digest, there, reason)
