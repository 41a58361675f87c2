"""One frozen collection's machine: events in, effects carried out in their order, each persisted before the next."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final

from peos.collection.document import Document
from peos.crypto.identity import Identity
from peos.crypto.kdf import Context
from peos.errors import NotYet, PeosError, RemoteFault
from peos.net.calls import Caller
from peos.net.logs import Log
from peos.shuffle.effects import (
    Deadline,
    Discard,
    Done,
    Effect,
    Erase,
    Event,
    Expired,
    Mix,
    Output,
    Pass,
    Persist,
    Receipt,
    Report,
    Restarted,
    Send,
    SendVector,
    Split,
    Tell,
    Tick,
    TimedOut,
)
from peos.shuffle.messages import Header, Kind, SignedNotice, Step
from peos.shuffle.shuffler import Shuffler
from peos.shuffle.standing import Place, Standing
from peos.shuffle.vectors import as_rows
from peos.wire.methods import DELIVER, GET_RECEIPT
from shuffler.bench import Bench
from shuffler.post import Post, send_vector
from shuffler.storing import Stored

ANALYZER: Final = 0
TICK: Final = 1.0
ENDS: Final = (Place.DONE, Place.DEAD, Place.ABORTED)
_ROWS_A_SECOND: Final = 500  # a step may take this much longer the more rows there are


class Conductor:
    """Drives the machine until it is done, dead or aborted."""

    def __init__(
        self,
        *,
        machine: Shuffler,
        number: int,
        document: Document,
        context: Context,
        identity: Identity,
        bench: Bench,
        rows: int,
        store: Stored,
        post: Post,
        analyzer: Caller,
        step_seconds: float,
        log: Log,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.machine = machine
        self.bench = bench
        self.context = context
        self.reason = ""
        self._number = number
        self._document = document
        self._identity = identity
        self._store = store
        self._post = post
        self._analyzer = analyzer
        self._patience = step_seconds + rows / _ROWS_A_SECOND
        self._log = log
        self._clock = clock
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self._moved = time.monotonic()
        self._helpers: set[asyncio.Task[None]] = set()
        self._delivering: asyncio.Task[None] | None = None

    @property
    def seconds(self) -> float:
        """How long nothing has moved."""
        return time.monotonic() - self._moved

    def give(self, event: Event) -> None:
        """An event, from the network or from the clock."""
        self._events.put_nowait(event)

    async def run(self, *, resumed: bool) -> Standing:
        """Until nothing is left to do; the standing that was reached."""
        self._help(self._tick())
        self._help(self._watch_for_receipt())
        self.give(Restarted() if resumed else Tick())
        try:
            while self.machine.standing.place not in ENDS:
                event = await self._events.get()
                if not isinstance(event, Tick):
                    self._moved = time.monotonic()
                for effect in self.machine.handle(event):
                    await self._carry_out(effect)
            return self.machine.standing
        finally:
            for task in self._helpers:
                task.cancel()
            await asyncio.gather(*self._helpers, return_exceptions=True)

    async def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Send(word):
                self._post.word(word)
            case SendVector(header, vector):
                self._post.vector(header, as_rows(self.bench.vectors[vector]))
            case Tell(notice, receivers):
                signed = SignedNotice.sign(self._identity, self.context, notice)
                for receiver in receivers:
                    self._post.notice(signed, receiver)
            case Persist(standing, vector):
                rows = as_rows(self.bench.vectors[vector]) if vector else None
                digest = self.context.collection
                await self._store(lambda store: store.put_standing(digest, standing, rows))
                self._log.info("standing", state=standing.place.value, attempt=standing.attempt)
            case Split() | Mix() | Pass():
                self._help(self._work(effect, self.machine.standing.attempt))
            case Output(standing):
                if self._delivering is None:
                    self._delivering = self._help(self._deliver(standing))
            case Discard(attempt):
                self._post.discard(attempt)
                self.bench.discard(attempt)
            case Erase():
                self.bench.vectors.clear()
                digest = self.context.collection
                await self._store(lambda store: store.erase(digest))
            case Report(sentence):
                self.reason = sentence
                self._log.warning("an attempt was left", reason=sentence, attempt=self.machine.standing.attempt)

    async def _work(self, task: Split | Mix | Pass, attempt: int) -> None:
        try:
            root = await asyncio.to_thread(self.bench.work, task)
        except (KeyError, PeosError) as error:
            if self.machine.standing.running and self.machine.standing.attempt == attempt:
                self._log.error("a step could not be worked", error, attempt=attempt)
                self.give(TimedOut())
            return  # else its attempt was left meanwhile, and its vectors with it
        self.give(Done(attempt, task.task, root))

    async def _deliver(self, standing: Standing) -> None:
        """Send the stored vector until the analyzer has it whole."""
        digest = self.context.collection
        rows = await self._store(lambda store: store.final_vector(digest))
        context = Context(digest, self.context.frozen, standing.attempt)
        header = Header(context, Step(len(self._document.schedule.rounds), Kind.DELIVERY), self._number, ANALYZER)
        while True:
            try:
                await send_vector(self._analyzer, DELIVER, header, rows, transcript=standing.transcript)
            except PeosError as error:
                self._log.warning("not delivered yet", error)
                await asyncio.sleep(TICK)
            else:
                self._log.info("delivered", attempt=standing.attempt, bytes=int(rows.nbytes))
                return

    async def _watch_for_receipt(self) -> None:
        """Ask the analyzer, once there is something that it may have a receipt for."""
        while True:
            await asyncio.sleep(TICK)
            standing = self.machine.standing
            passes_by = self._number not in self._document.schedule.last and standing.attempt > 0
            if standing.place is not Place.SENDING and not passes_by:
                continue
            try:
                receipt = await self._analyzer.ask(GET_RECEIPT, self.context.collection, step="receipt")
            except NotYet:
                continue
            except PeosError as error:
                self._log.warning("no receipt", error)
                continue
            here = (receipt.context.collection, receipt.context.frozen)
            if here != (self.context.collection, self.context.frozen):
                continue
            if not receipt.verifies(self._document.analyzer.identity):
                self._log.warning("a receipt with a wrong signature")
                continue
            self.give(Receipt(receipt.context.attempt))

    async def _tick(self) -> None:
        """The clock: ask again, give up a step that stalls, and see the deadlines."""
        passed: set[str] = set()
        while True:
            await asyncio.sleep(TICK)
            self.give(Tick())
            waiting = self.machine.waiting
            if waiting is not None and waiting.parties and self.seconds > self._patience:
                missing = ", ".join(f"shuffler {who}" for who in waiting.parties)
                self.reason = f"{waiting.step}: nothing from {missing} for {self.seconds:.0f} s"
                self._log.warning("a step took too long", reason=self.reason)
                self.give(TimedOut())
            for name, due, event in (
                ("shuffle", self._document.shuffle_by, Deadline()),
                ("erase", self._document.erase_by, Expired()),
            ):
                if self._clock() >= due and name not in passed:
                    passed.add(name)
                    self.reason = self.reason or f"the time to {name} by has passed"
                    self.give(event)

    def _help(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._helpers.add(task)
        task.add_done_callback(self._helpers.discard)
        return task

    def fault(self, error: RemoteFault) -> None:
        """Another shuffler broke the protocol in what it sent: leave the attempt."""
        self.reason = str(error)
        self._log.warning("an attempt is left", error)
        self.give(TimedOut())
