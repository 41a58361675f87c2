"""One collection with this shuffler, from its acceptance to its erasure: what happens when, and what a failure means.

The state is durable before anything follows from it; a restart goes on from there. What may pass by itself (a party
that does not answer, a full disk) is waited for until `shuffle_by`, with its reason in the status. What does not pass
ends the collection: too few reports, another shuffler that ended it or breaks the freeze again and again, a lost store.

A change of the store that failed may be there all the same. So after an error the state is read from the store again
before anything is concluded from the error (docs/decisions/0015).
"""

import asyncio
import contextlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from peos.collection.freeze import check_minimum
from peos.collection.lifecycle import State
from peos.collection.party import Card, Order
from peos.compute import Engine
from peos.crypto.identity import Identity
from peos.crypto.kdf import Context
from peos.crypto.randomness import system
from peos.crypto.vault import Vault
from peos.errors import Closed, Full, LocalFault, NotYet, PeosError, Refused
from peos.net.calls import Caller
from peos.net.logs import Log
from peos.protocols import Assignment
from peos.shuffle.effects import Heard
from peos.shuffle.inspection import Record
from peos.shuffle.messages import SignedNotice, SignedReceipt
from peos.shuffle.standing import Place, Standing
from peos.store.base import Collection, ShufflerStore
from peos.store.base import Frozen as Kept
from peos.wire.documents import SignedDocument
from peos.wire.freezes import encode_announcements
from shuffler.ahead import Ahead
from shuffler.background import in_background
from shuffler.bench import Benches, InProcess
from shuffler.conductor import ENDS, Conductor
from shuffler.ending import LOST, Ending
from shuffler.evidence import Evidence
from shuffler.freezing import Freezing, Frozen
from shuffler.inspecting import Inspecting, receipt_of
from shuffler.meter import Meter
from shuffler.post import Post
from shuffler.storing import FAULTS, Stored

RETRY: Final = 2.0
GLANCE: Final = 30.0  # seconds between looks at the clock, which somebody may set
OVER: Final = (State.PUBLISHED, State.ABORTED)
ORDERED: Final = "the analyzer aborted the collection"


class Life:
    """Lives in `run`; the other methods are how the network and the operator reach it."""

    def __init__(
        self,
        *,
        signed: SignedDocument,
        number: int,
        cards: tuple[Card, ...],
        identity: Identity,
        kept: Collection,
        store: Stored,
        callers: Mapping[int, Caller],
        analyzer: Caller,
        engine: Engine,
        ahead: Ahead | None = None,
        step_seconds: float,
        statistical: bool = False,
        folder: Path,
        vault: Vault,
        log: Log,
        meter: Meter,
    ) -> None:
        self.signed = signed
        self.document = signed.document
        self.number = number
        self.cards = cards
        self.state = kept.state
        self.reason = kept.reason
        self.lost = kept.lost
        self.encryption = self.document.encryption()
        self.store = store
        self.meter = meter
        self.freezing: Freezing | Frozen | None = None
        self.conductor: Conductor | None = None
        self.inspecting: Inspecting | None = None
        self.findings = ""  # of the inspection
        self.stalled = ""  # why the next step was not taken yet
        self.since = time.monotonic()
        self._identity = identity
        self._callers = callers
        self._engine = engine
        self._step_seconds = step_seconds
        self._statistical = statistical
        self._folder = folder
        self._analyzer = analyzer
        self._log = log.of(signed.digest)
        self._stock = (
            ahead.stock(self.document, self.encryption.public, number, self._log)
            if ahead and self.encryption.public is not None
            else None
        )
        self._post = Post(callers, self._log)
        evidence = Evidence(folder, vault, number, self.document.schedule, signed.digest)
        self._evidence = evidence if self.document.protocol.inspects else None
        self._ending = Ending(number, self.document, signed.digest, identity, store, self._post)
        self._doom = LOST if kept.lost and kept.state not in OVER else ""  # why it must end
        self._faults = 0
        self._inspected = False
        self._closed = asyncio.Event()
        self._over = asyncio.Event()
        self._moving = asyncio.Lock()
        self._step: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Live on until nothing is left to do: no error ends it, whatever it is."""
        while not self._over.is_set():
            self._step = asyncio.get_running_loop().create_task(self._next())
            try:
                await self._step
                self.stalled, self._faults = "", 0
            except asyncio.CancelledError:
                this = asyncio.current_task()
                if this is None or this.cancelling():
                    raise
                # else an order to abort interrupted the step
            except Exception as error:
                await self._judge(error)

    async def close(self) -> None:
        """Stop sending, and let go of the channels."""
        await self._post.close()
        for caller in (*self._callers.values(), self._analyzer):
            await caller.close()

    async def accept(self) -> None:
        """The operator takes part."""
        await self._move(State.DRAFT, State.OPEN)

    async def order(self, order: Order) -> None:
        """The analyzer closes the collection before its time, or aborts it; durable when this returns."""
        if order.abort:
            await self._abort_by_order()
        elif self.state is State.DRAFT:
            raise NotYet("collection.not_accepted_yet", "this shuffler's operator has not accepted the collection yet")
        else:
            await self._move(State.OPEN, State.CLOSED)

    async def hear(self, notice: SignedNotice) -> None:
        """A notice about an attempt; one that comes after the end is answered with where this shuffler stands."""
        if self.lost:
            raise Closed("collection.lost", f"the collection has ended here: {LOST}")
        if self.conductor is not None:
            if self.conductor.context != notice.context:
                raise Refused("freeze.notice_other", "the notice is about another frozen list")
            self.conductor.take(Heard(notice.notice))
        elif self.state in (State.DELIVERED, *OVER):
            await self._ending.answer(notice)
        else:
            raise NotYet("shuffle.not_here", "the collection is not shuffled here yet")

    async def _next(self) -> None:
        if time.time() >= self.document.shuffle_by and self.state is not State.DELIVERED:
            await self._forget_evidence()  # also where the store is in trouble; what is delivered is inspected first
        if self._doom:
            await self._end(self._doom)
            return
        if self.state in OVER:  # an error or a crash may have come between the end and the erasure
            await self._forget_evidence()
            await self.store(lambda store: store.erase(self.signed.digest))
            self._over.set()
            return
        if self.state in (State.DRAFT, State.OPEN, State.CLOSED) and time.time() >= self.document.shuffle_by:
            self._doom = f"the time to shuffle by has passed{f': {self.stalled}' if self.stalled else ''}"
            return
        match self.state:
            case State.DRAFT:
                if time.time() >= self.document.closes_at:
                    self._doom = "it was not accepted before it closed"
                else:
                    await asyncio.sleep(RETRY)
            case State.OPEN:
                if self._stock:
                    self._stock.follow(self.state, await self.store(lambda store: store.count(self.signed.digest)))
                left = self.document.closes_at - time.time()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._closed.wait(), min(max(0.0, left), GLANCE))
                if time.time() >= self.document.closes_at:
                    await self._move(State.OPEN, State.CLOSED)
            case State.CLOSED:
                await self._freeze()
            case State.FROZEN | State.SHUFFLING:
                await self._shuffle()
            case State.DELIVERED:
                await self._inspect()
                await self._forget_evidence()
                await self.store(lambda store: store.erase(self.signed.digest))
                await self._move(State.DELIVERED, State.PUBLISHED)
            case _:
                pass

    async def _freeze(self) -> None:
        digest = self.signed.digest
        freezing = self.freezing
        if not isinstance(freezing, Freezing):
            own = await self.store(lambda store: list(store.rows(digest)))
            identities = tuple(member.identity for member in self.document.shufflers)
            freezing = await in_background(lambda: Freezing(self.number, identities, digest, own, self._identity))
            self.freezing = freezing
        rows = await freezing.collect(self._callers)
        try:
            check_minimum(len(rows), len(self.document.dummies), self.document.minimum)
        except Refused as too_few:
            self._doom = str(too_few)
            return
        agreed = await freezing.agree(self._callers)
        announced = encode_announcements(await freezing.announcements())
        try:
            await self.store(lambda store: store.put_frozen(digest, agreed, announced, rows))
        except Full:
            raise
        except Refused as refusal:  # the question is being answered, or was
            self._doom = str(refusal)
            return
        self.freezing = Frozen(digest, self.store, self._identity, Kept(agreed, len(rows), announced))
        self._moved_to(State.FROZEN)

    async def _shuffle(self) -> None:
        digest = self.signed.digest
        kept = await self.store(lambda store: store.collection(digest))
        if kept.frozen is None:
            raise LocalFault("store.frozen_unknown", "the store does not say what was frozen")
        if kept.standing.place in ENDS:
            await self._settle(kept.standing, "it was given up before a restart")
            return
        self.freezing = (
            self.freezing
            if isinstance(self.freezing, Frozen)
            else Frozen(digest, self.store, self._identity, kept.frozen)
        )
        context = Context(digest, kept.frozen.digest)
        given = self.document.assignment(self.number, context, kept.frozen.count)
        bench = self._bench(given)
        if kept.standing.place is not Place.SENDING:  # which has nothing left to shuffle
            await self._lay_out(bench, given)
        await self._move(State.FROZEN, State.SHUFFLING)
        conductor = Conductor(
            machine=self.document.protocol.machine(
                self.number, self.document.schedule, context, system(), kept.standing
            ),
            number=self.number,
            document=self.document,
            context=context,
            identity=self._identity,
            bench=bench,
            store=self.store,
            post=self._post,
            analyzer=self._analyzer,
            evidence=self._evidence,
            step_seconds=self._step_seconds,
            log=self._log,
        )
        self.stalled, self.conductor = "", conductor
        try:
            end = await conductor.run(resumed=kept.standing != Standing())
        finally:
            self.conductor = None
        receipt, record = conductor.delivering.receipt, conductor.machine.record
        await self._note_lost(bench)
        if receipt is not None and self.document.protocol.inspects:
            self.inspecting = self._inspection(receipt, bench, record)
        await self._settle(end, conductor.reason)

    def _bench(self, given: Assignment) -> InProcess:
        ready = self._stock.ready if self._stock else None
        benches = Benches(self._identity, self._engine, self._statistical, ready, self._folder)
        return self.encryption.bench(given, benches)

    async def _note_lost(self, bench: InProcess) -> None:
        """Say how many reports were left out here, as refused submissions are told."""
        if bench.lost:
            self._log.warning("reports were left out", reason=bench.why_lost, count=bench.lost)
            lost = {bench.why_lost: bench.lost}
            await self.store(lambda store: store.note_refused(self.signed.digest, lost))

    def _inspection(
        self, receipt: SignedReceipt, bench: InProcess | None = None, record: Record | None = None
    ) -> Inspecting:
        return Inspecting(
            number=self.number,
            document=self.document,
            encryption=self.encryption,
            receipt=receipt,
            bench=bench,
            record=record,
            evidence=self._evidence,
            post=self._post,
            analyzer=self._analyzer,
            patience=self._step_seconds,
            log=self._log,
        )

    async def _inspect(self) -> None:
        """Take part in the inspection, once; after a restart with what was kept, or to say that nothing is left."""
        digest = self.signed.digest
        if self._inspected or not self.document.protocol.inspects:
            return
        if self.inspecting is None or not self.inspecting.has_rows:
            is_kept = self._evidence is not None and self._evidence.attempt
            patience = min(self._step_seconds, max(0.0, self.document.shuffle_by - time.time())) if is_kept else 0.0
            receipt = await receipt_of(self._analyzer, self.document, digest, patience, self._say_stalled)
            if receipt is None:
                return  # nobody to say it to
            self.inspecting = await self._resumed(receipt)
        rows = await self.store(lambda store: list(store.frozen_rows(digest))) if self.inspecting.has_rows else []
        erasing = asyncio.get_running_loop().create_task(self._forget_evidence(self.document.shuffle_by))
        try:
            await self.inspecting.run(rows)
        finally:
            erasing.cancel()
            await asyncio.gather(erasing, return_exceptions=True)
        self.findings = "; ".join(self.inspecting.findings)
        self.inspecting, self._inspected = None, True

    async def _resumed(self, receipt: SignedReceipt) -> Inspecting:
        """The inspection, with what was kept of the attempt that was delivered."""
        kept = await self.store(lambda store: store.collection(self.signed.digest))
        evidence = self._evidence
        if evidence is None or kept.frozen is None or kept.erased or evidence.attempt != receipt.context.attempt:
            return self._inspection(receipt)
        bench = self._bench(self.document.assignment(self.number, receipt.context, kept.frozen.count))
        found = await in_background(lambda: evidence.load(bench.room))
        if found is None:
            return self._inspection(receipt)
        bench.vectors.update(found.vectors)
        self._log.info("what was kept for the inspection is here", attempt=receipt.context.attempt)
        return self._inspection(receipt, bench, found.record)

    async def _forget_evidence(self, at: float = 0.0) -> None:
        """From then on nothing is kept for an inspection, whatever is still shown from memory."""
        while (left := at - time.time()) > 0:
            await asyncio.sleep(min(GLANCE, left))
        if self._evidence is not None:
            await in_background(self._evidence.erase)

    async def _settle(self, end: Standing, reason: str) -> None:
        """Let the state follow the standing in which the shuffle ended."""
        if end.place is Place.DONE:
            await self._move(State.SHUFFLING, State.DELIVERED)
        else:
            self._doom = reason or f"the shuffle ended as {end.place.value}"

    async def _lay_out(self, bench: InProcess, given: Assignment) -> None:
        """The frozen vector, out of the store."""
        digest = self.signed.digest
        frozen = await in_background(lambda: bench.frozen_room(self.number))

        def read(store: ShufflerStore) -> bytes:
            store.fill_shares(digest, frozen)
            return store.fake_seed(digest, system())

        seed = await self.store(read)

        await in_background(lambda: bench.begin(self.number, frozen, self.encryption.own_fakes(given, seed), seed))

    async def _judge(self, error: Exception) -> None:
        """Wait and try again, or decide that this collection cannot go on; after a look at what is durable."""
        self.stalled = (
            str(error) if isinstance(error, PeosError) else f"a step failed ({type(error).__name__}): see the log"
        )
        if isinstance(error, PeosError):
            self._log.warning("waiting", error)
        else:
            self._log.error("a step failed", error)
        is_own = isinstance(error, LocalFault) or not isinstance(error, PeosError)
        try:
            async with self._moving:
                kept, is_further = await self._read_again()
            self._faults = self._faults + 1 if is_own and not is_further else 0
            if is_further:
                return
            if not self._doom and self._is_hopeless(error, kept.standing):
                await self._note_evidence()
                self._doom = self.stalled
        except Exception as again:  # the store cannot be asked now: nothing is concluded
            self._log.warning("waiting", again)
        await asyncio.sleep(RETRY / 4 if isinstance(error, NotYet) and self.state is State.CLOSED else RETRY)

    async def _read_again(self) -> tuple[Collection, bool]:
        """What is durable, and whether it was further than this object knew, which follows it."""

        def read(store: ShufflerStore) -> Collection:
            store.settle()
            return store.collection(self.signed.digest)

        kept = await self.store(read)
        is_further = kept.state is not self.state
        if is_further:
            self._moved_to(kept.state, kept.reason)
        return kept, is_further

    def _say_stalled(self, why: str) -> None:
        self.stalled = why

    async def _note_evidence(self) -> None:
        """Keep the two lists that a shuffler signed, if one did, for those that have to be convinced."""
        if isinstance(self.freezing, Freezing) and self.freezing.evidence:
            fields = self.freezing.evidence_fields
            await self.store(lambda store: store.audit("two lists signed", fields))

    def _is_hopeless(self, error: Exception, standing: Standing) -> bool:
        if self.state is State.CLOSED:
            broken = isinstance(self.freezing, Freezing) and self.freezing.is_hopeless
            return broken or isinstance(error, Closed)  # that another has ended it is final too
        if self.state not in (State.FROZEN, State.SHUFFLING):
            return False
        if standing.place is Place.SENDING:  # irrevocable: it goes on once the store does
            return False
        return self._faults >= FAULTS or time.time() >= self.document.shuffle_by

    async def _abort_by_order(self) -> None:
        if self.state in OVER:
            return
        if self.state is State.DELIVERED:
            raise Closed("collection.delivered", "the output was delivered: there is nothing left to abort")
        self._doom = self._doom or ORDERED
        if self.conductor is not None:
            self.conductor.abort(ORDERED)
        elif self._step is not None:
            self._step.cancel()
        await self._over.wait()

    async def _end(self, reason: str) -> None:
        self.conductor = None
        async with self._moving:  # what was being moved is moved first: nothing may follow the end
            state = await self._ending.abort(reason)
            if state is State.ABORTED:
                await self._forget_evidence()
            self._doom = ""
            if self.state is not state:
                self._moved_to(state, reason if state is State.ABORTED else "")

    async def _move(self, here: State, there: State) -> None:
        """Go from one state to the next, once, whoever asks first; nothing happens in any other state.

        Whole, even if whoever asked is gone meanwhile: the store must not be further than this object knows.
        """
        await asyncio.shield(asyncio.ensure_future(self._move_whole(here, there)))

    async def _move_whole(self, here: State, there: State) -> None:
        async with self._moving:
            if self.state is not here:
                return
            try:
                await self.store(lambda store: store.set_state(self.signed.digest, there))
            except Exception as error:
                kept, _ = await self._read_again()
                if kept.state is not there:
                    raise
                self._log.warning("a change that failed is there", error, state=there.value)
            else:
                self._moved_to(there)

    def _moved_to(self, state: State, reason: str = "") -> None:
        self.state, self.reason, self.stalled = state, reason, ""
        self.since = time.monotonic()
        if state is State.CLOSED:
            self._closed.set()
        if state is State.ABORTED and not isinstance(self.freezing, Freezing):
            self.freezing = None  # what was frozen is not shown any more
        if self._stock:
            self._stock.follow(state)
        self._log.info("state", state=state.value, reason=reason)
