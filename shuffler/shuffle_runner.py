"""One frozen collection's machine: events in, effects carried out in their order, each persisted before the next."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import replace
from typing import Any, Final

from peos.collection.document import Document
from peos.collection.session import ENDS
from peos.crypto.identity import Identity
from peos.crypto.kdf import Context
from peos.crypto.randomness import system
from peos.errors import BadEncoding, Full, LocalFault, PeosError, Refused, RemoteFault
from peos.net.calls import Caller
from peos.net.observer import Observer, StepReached
from peos.net.retry import FOREVER, retrying
from peos.shuffle.delivery_state import DeliveryState, Phase
from peos.shuffle.driver import Driver
from peos.shuffle.effects import (
    Deadline,
    Done,
    Event,
    Expired,
    Handle,
    Heard,
    Received,
    ReceivedVector,
    Restarted,
    Task,
    Tick,
    TimedOut,
)
from peos.shuffle.machine import Shuffler
from peos.shuffle.messages import Header, Kind, Notice, NoticeKind, SignedNotice, Statement, VectorHeader
from peos.shuffle.vectors import in_rows
from shuffler.background import in_background
from shuffler.delivery_runner import DeliveryRunner
from shuffler.events import (
    ATTEMPTS,
    AttemptLeft,
    AttemptWaits,
    DeliveryStateReached,
    EvidenceKept,
    TaskFailed,
    VectorLost,
)
from shuffler.evidence import Evidence
from shuffler.inbox import Inbox
from shuffler.outbox import Outbox
from shuffler.store_thread import StoreThread
from shuffler.workbench import InProcess

TICK: Final = 1.0
NO_ROOM: Final = replace(FOREVER, ceiling=4.0)  # until there is some, or its attempt is over
EVENTS: Final = 10_000  # that may wait; an attempt of nine shufflers has fewer statements for each of them
DEADLINE: Final = "shuffle"
ROWS_A_SECOND: Final = 500  # a step may take this much longer the more rows there are
WORK: Final = {  # a shuffler's own parts of a shuffle, by the message that ends each
    Kind.PIECE: "splitting",
    Kind.ROOT: "mixing",
    Kind.CIPHER_ROOT: "pass over the ciphertexts",
    Kind.DELIVERY: "delivery",
}
_MOVES: Final = (Received, ReceivedVector, Done)  # questions about an attempt are no progress of it


class ShuffleRunner(Driver[Coroutine[Any, Any, None]]):
    """Drives the machine until it is done, dead or aborted."""

    def __init__(
        self,
        *,
        machine: Shuffler,
        number: int,
        document: Document,
        context: Context,
        identity: Identity,
        bench: InProcess,
        store: StoreThread,
        post: Outbox,
        analyzer: Caller,
        evidence: Evidence | None = None,
        step_seconds: float,
        observer: Observer,
        clock: Callable[[], float] = time.time,
        tick: float = TICK,
    ) -> None:
        self.machine = machine
        self.bench = bench
        self.context = context
        self.reason = ""  # why it ended, if not with a receipt
        self.arrivals = Inbox(bench, document.schedule, number)
        self.delivery_runner = DeliveryRunner(number, document, context, store, analyzer, observer)
        self._number = number
        self._document = document
        self._identity = identity
        self._store = store
        self._post = post
        self._evidence = evidence
        self._patience = step_seconds + bench.rows / ROWS_A_SECOND
        self._observer = observer
        self._clock = clock
        self._pause = tick
        self._events: asyncio.Queue[Event | Exception] = asyncio.Queue()  # an error ends `run`
        self._ordered = ""  # the reason of an end that was ordered
        self._unmet = ""  # what was awaited when another shuffler or the clock ended it
        self._passed: set[str] = set()
        self._seen: tuple[object, ...] = ()
        self._step: StepReached | None = None  # that was noted last
        self._moved = time.monotonic()
        self._helpers: set[asyncio.Task[None]] = set()
        self._sending: asyncio.Task[None] | None = None

    @property
    def seconds(self) -> float:
        """How long nothing has moved."""
        seen = (self.machine.delivery_state, self.machine.waiting, self.arrivals.progress, self.bench.done)
        if seen != self._seen:
            self._seen, self._moved = seen, time.monotonic()
        return time.monotonic() - self._moved

    def give(self, event: Event) -> None:
        """An event of this party's own."""
        self._events.put_nowait(event)

    def take(self, event: Event) -> None:
        """An event from the network; Full if more wait than can be right."""
        if self._events.qsize() >= EVENTS:
            raise Full(
                "shuffle.waiting_room",
                "more messages wait here than a shuffle has",
                hint="send the same message again in a while",
            )
        self.give(event)

    def abort(self, reason: str) -> None:
        """End it: without a tombstone if the output is under way, with one otherwise."""
        self._ordered = reason
        self.give(Expired())

    async def carry(self, header: VectorHeader, chunks: AsyncIterator[bytes]) -> None:
        """A vector from another shuffler; acknowledged once it is whole and what it claims to be."""
        try:
            handle = await self.arrivals.take(header, chunks, self.machine.delivery_state)
        except BadEncoding:
            raise  # a broken stream: the sender will try again
        except RemoteFault as fault:
            if header.header.context.attempt == self.machine.delivery_state.attempt:
                self._leave(str(fault))
            raise
        if handle is not None:
            self.give(ReceivedVector(header.header, handle))

    async def run(self, *, resumed: bool) -> DeliveryState:
        """Until nothing is left to do; the delivery state that was reached."""
        self._look_at_the_clock()  # a deadline that passed while this process was down comes first
        self.give(Restarted() if resumed else Tick())
        self._help(self._tick())
        self._help(self.delivery_runner.watch(lambda: self.machine.delivery_state, self.give, every=self._pause))
        try:
            while self.machine.delivery_state.phase not in ENDS:
                event = await self._events.get()
                if isinstance(event, Exception):
                    raise event
                await self._handle(event)
            return self.machine.delivery_state
        finally:
            if self.machine.record is None:
                self.bench.discard(self.machine.delivery_state.attempt)
            self._post.end()
            for task in self._helpers:
                task.cancel()
            await asyncio.gather(*self._helpers, return_exceptions=True)

    async def _handle(self, event: Event) -> None:
        if isinstance(event, _MOVES):
            self._moved = time.monotonic()
        if isinstance(event, Heard) and event.notice.kind is NoticeKind.TOMBSTONE:
            self._unmet = self._unmet or self._awaited()
        effects = self.machine.handle(event)
        self._note_step()
        await self._keep_evidence()
        for effect in effects:
            await self.carry_out(effect)
        if isinstance(event, Deadline):
            await self._forget_evidence()
        if self.machine.delivery_state.phase in (Phase.DEAD, Phase.ABORTED):
            why = self._ordered or _end(event)
            before = self._observer.trouble(ATTEMPTS) or self._unmet
            self.reason = f"{why}; before that, {before}" if before else why

    def _note_step(self) -> None:
        step, waiting = self.machine.step, self.machine.waiting
        if step is not None:
            parties = ", ".join(f"shuffler {who}" for who in waiting.parties) if waiting else ""
            reached = StepReached(WORK[step.kind], parties, self.machine.delivery_state.attempt, step.round)
            if reached != self._step:
                self._step = reached
                self._observer.note(reached)

    async def _keep_evidence(self) -> None:
        """Persist the evidence before any message that may lead to a delivery: a restart is no excuse from then on."""
        evidence, attempt, record = self._evidence, self.machine.delivery_state.attempt, self.machine.finished
        if evidence is None or record is None or evidence.attempt == attempt or DEADLINE in self._passed:
            return
        begun = time.monotonic()
        await in_background(lambda: evidence.keep(attempt, record, self.bench.vectors))
        self.machine.keep(attempt)
        self._observer.note(EvidenceKept(attempt, round(time.monotonic() - begun, 3)))

    async def _forget_evidence(self) -> None:
        if self._evidence is not None and self._evidence.attempt:
            await in_background(self._evidence.erase)

    async def on_send(self, statement: Statement) -> None:
        """Until it is there."""
        self._post.statement(statement)

    async def on_send_vector(self, header: Header, vector: Handle) -> None:
        """Likewise."""
        self._post.vector(header, in_rows(self.bench.vectors[vector]))

    async def on_tell(self, notice: Notice, receivers: tuple[int, ...]) -> None:
        """Signed, and sent once: a receiver that misses it asks."""
        signed = SignedNotice.sign(self._identity, self.context, notice)
        for receiver in receivers:
            self._post.notice(signed, receiver)

    async def on_work(self, task: Task) -> None:
        """In a thread."""
        self._help(self._work(task, self.machine.delivery_state.attempt))

    async def on_output(self, delivery_state: DeliveryState) -> None:
        """Until the analyzer has it, once at a time."""
        if self._sending is None:
            self._sending = self._help(self._deliver(delivery_state))

    async def on_discard(self, attempt: int) -> None:
        """Neither sent nor worked any more."""
        self._post.discard(attempt)
        self.bench.discard(attempt)

    async def on_erase(self) -> None:
        """In memory, in what was kept for the inspection, and in the store."""
        self.bench.vectors.clear()
        await self._forget_evidence()
        digest = self.context.collection
        await self._store(lambda store: store.erase(digest))

    async def on_report(self, sentence: str) -> None:
        """For status and log."""
        self._observer.note(AttemptLeft(sentence, self.machine.delivery_state.attempt))

    async def on_persist(self, delivery_state: DeliveryState, vector: Handle | None) -> None:
        """Durable when this returns, however long the store takes."""
        if delivery_state.phase is not Phase.SENDING and self._sending is not None:
            self._sending.cancel()  # what it reads from is wiped once the delivery state is another
            await asyncio.gather(self._sending, return_exceptions=True)
        rows = in_rows(self.bench.vectors[vector]) if vector else None
        digest = self.context.collection
        await self._store.persistently(lambda store: store.put_delivery_state(digest, delivery_state, rows), self._wait)
        self._observer.note(DeliveryStateReached(delivery_state.phase.value, delivery_state.attempt))
        self.bench.discard(delivery_state.left)  # also what came for an attempt that was never entered here
        if delivery_state.running and self._evidence is not None and delivery_state.attempt != self._evidence.attempt:
            await self._forget_evidence()  # not when an attempt is left: others may deliver it all the same

    def _wait(self, error: Exception) -> None:
        self._observer.note(AttemptWaits(error, self.machine.delivery_state.attempt))

    async def _work(self, task: Task, attempt: int) -> None:
        try:
            root = await self._worked(task, attempt)
        except Exception as error:  # whatever it is, the machine must not wait for this task for ever
            if self.machine.delivery_state.running and self.machine.delivery_state.attempt == attempt:
                self._observer.note(TaskFailed(error, attempt))
                if isinstance(error, Refused) and not isinstance(error, Full):
                    self.abort(str(error))  # too few are left to hide among: no further attempt will have more
                    return
                why = str(error) if isinstance(error, PeosError) else type(error).__name__
                self._leave(f"this shuffler could not work a step: {why}")
            return  # else its attempt was left meanwhile, and its vectors with it
        self.give(Done(attempt, task.task, root))

    async def _worked(self, task: Task, attempt: int) -> bytes:
        """Do it, and where there is no room, again: until there is some, or the others wait no longer."""

        def is_final(error: Exception) -> bool:
            return not isinstance(error, Full) or self.bench.left >= attempt

        return await retrying(
            lambda: in_background(lambda: self.bench.work(task)),
            replace(NO_ROOM, final=is_final),
            rng=system(),
            on_failure=lambda error, _: self._wait(error),
        )

    async def _deliver(self, delivery_state: DeliveryState) -> None:
        try:
            await self.delivery_runner.send(delivery_state)
        except LocalFault as fault:
            # Nothing else can be sent in its place, and whether the analyzer has it already is not known here.
            self._observer.note(VectorLost(fault))
            self.abort(f"the stored vector cannot be delivered: {fault}")

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(self._pause)
            self._look_at_the_clock()
            if self._events.empty():
                self.give(Tick())

    def _look_at_the_clock(self) -> None:
        """Give up a step that stalls, and see the deadlines."""
        waiting = self.machine.waiting
        if waiting is not None and waiting.parties and self.seconds > self._patience:
            missing = ", ".join(f"shuffler {who}" for who in waiting.parties)
            self._leave(f"{waiting.step}: nothing from {missing} for {self.seconds:.0f} s")
            self._moved = time.monotonic()
        now = self._clock()
        for name, due, event in (
            (DEADLINE, self._document.shuffle_by, Deadline()),
            ("erase", self._document.erase_by, Expired()),
        ):
            if now >= due and name not in self._passed:
                self._passed.add(name)
                if self._helpers:  # else it has just begun, and no message can have come yet
                    self._unmet = self._unmet or self._awaited()
                self.give(event)

    def _awaited(self) -> str:
        """The step awaited and the shufflers it is awaited from; empty if there are none."""
        waiting = self.machine.waiting
        delivery_state = self.machine.delivery_state
        if waiting is not None:
            what, parties = f"{waiting.step}: nothing", waiting.parties
        elif self.machine.missing:
            what, parties = "no notice of its delivery state", self.machine.missing
        else:
            is_opened = delivery_state.running or delivery_state.phase is not Phase.FREE or self._number == 1
            what, parties = f"attempt {delivery_state.attempt + 1}: no opening", () if is_opened else (1,)
        return f"{what} from {', '.join(f'shuffler {who}' for who in parties)}" if parties else ""

    def _leave(self, why: str) -> None:
        self._observer.note(AttemptLeft(why, self.machine.delivery_state.attempt))
        self.give(TimedOut())

    def _help(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(self._watched(work))
        self._helpers.add(task)
        task.add_done_callback(self._helpers.discard)
        return task

    async def _watched(self, work: Coroutine[Any, Any, None]) -> None:
        """Pass a helper's error on to `run`, which raises it; the next start resumes from what is durable."""
        try:
            await work
        except Exception as error:
            self._events.put_nowait(error)


def _end(event: Event) -> str:
    """Why a collection ended that was not delivered."""
    match event:
        case Heard(notice) if notice.kind is NoticeKind.TOMBSTONE:
            return f"shuffler {notice.sender} gave it up: it delivered nothing and never will"
        case Deadline():
            return "the time to shuffle by has passed"
        case Expired():
            return "the time to erase by has passed"
        case _:
            return "it was given up"
