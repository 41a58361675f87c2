"""One collection with this shuffler: carries out what the machine of `peos.collection.session` asks for.

The machine decides; here are the store, the network and the clock around it. A change of the store that failed may be
there all the same: so after an error the state is read again before it is reported (docs/decisions/0015).
"""

import asyncio
import contextlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from peos.collection import session as life
from peos.collection.cards import Card
from peos.collection.lifecycle import OVER, Order, State
from peos.collection.reveal import unsent, unsent_decide
from peos.compute import Engine
from peos.crypto.identity import Identity
from peos.crypto.kdf import Context
from peos.crypto.randomness import system
from peos.crypto.vault import Vault
from peos.errors import Closed, Full, LocalFault, NotYet, PeosError, Refused
from peos.net.calls import Caller
from peos.net.observer import Observer, StateReached
from peos.protocols import Assignment
from peos.shuffle.delivery_state import DeliveryState
from peos.shuffle.effects import Heard, Notify, Persist
from peos.shuffle.inspect.machine import Record
from peos.shuffle.messages import SignedNotice, SignedReceipt
from peos.store.base import Collection, ShufflerStore
from peos.store.base import Frozen as Kept
from peos.wire.documents import SignedDocument
from peos.wire.freezes import encode_announcements
from peos.wire.methods import GET_UNSENT
from shuffler.background import in_background
from shuffler.events import ChangeIsThere, EvidenceFound, ReportsLeftOut, StepFailed, TwoListsSigned, Waits
from shuffler.evidence import Evidence
from shuffler.freeze_runner import FreezeRunner, Frozen
from shuffler.inspection_runner import InspectionRunner, receipt_of
from shuffler.meter import Meter
from shuffler.outbox import Outbox
from shuffler.shuffle_runner import ShuffleRunner
from shuffler.store_thread import StoreThread
from shuffler.workbench import BenchFactory, InProcess
from shuffler.zero_pool import ZeroPool

RETRY: Final = life.RETRY
GLANCE: Final = 30.0  # seconds between looks at the clock, which may be set


class CollectionSession:
    """Lives in `run`; the other methods are how the network and the operator reach it."""

    def __init__(
        self,
        *,
        signed: SignedDocument,
        number: int,
        cards: tuple[Card, ...],
        identity: Identity,
        kept: Collection,
        store: StoreThread,
        callers: Mapping[int, Caller],
        analyzer: Caller,
        engine: Engine,
        ahead: ZeroPool | None = None,
        step_seconds: float,
        statistical: bool = False,
        folder: Path,
        vault: Vault,
        observer: Observer,
        meter: Meter,
    ) -> None:
        self.signed = signed
        self.document = signed.document
        self.digest = signed.digest
        self.number = number
        self.cards = cards
        self.encryption = self.document.encryption()
        self.store = store
        self.meter = meter
        self.freeze_runner: FreezeRunner | Frozen | None = None
        self.shuffle_runner: ShuffleRunner | None = None
        self.inspection_runner: InspectionRunner | None = None
        self.findings = ""  # of the inspection
        self.since = time.monotonic()
        self._identity = identity
        self._callers = callers
        self._engine = engine
        self._step_seconds = step_seconds
        self._statistical = statistical
        self._folder = folder
        self._analyzer = analyzer
        self._observer = observer.of(self.digest)
        inspects = self.document.protocol.inspects
        self._stock = (
            ahead.stock(self.document, self.encryption.public, number, self._observer)
            if ahead and self.encryption.public is not None
            else None
        )
        self._post = Outbox(callers, self._observer)
        evidence = Evidence(folder, vault, number, self.document.schedule, self.digest)
        self._evidence = evidence if inspects else None
        self._machine = life.Session(number, self.document, _durable(kept), inspects=inspects, retry=RETRY)
        self._kept = kept  # as it was read last
        self._counted: tuple[bytes, ...] = ()  # the rows that all lists have
        self._unsent: int | None = None  # how many dummies are not among them, once that was asked for
        self._laid: InProcess | None = None
        self._changed = asyncio.Event()
        self._finished = asyncio.Event()
        self._moving = asyncio.Lock()
        self._step: asyncio.Task[None] | None = None

    @property
    def state(self) -> State:
        """Where the collection stands here."""
        return self._machine.state

    @property
    def reason(self) -> str:
        """Why it stands there, of an end."""
        return self._machine.reason

    @property
    def stalled(self) -> str:
        """Why the next step was not taken yet."""
        return "" if self.shuffle_runner is not None else self._machine.stalled

    def trouble(self, work: str) -> str:
        """What hinders this work here now."""
        return self._observer.trouble(work)

    async def run(self) -> None:
        """Go on until nothing is left to do: no error ends it, whatever it is."""
        while not self._finished.is_set():
            self._changed.clear()
            effects = self._on(life.Clock(time.time()))
            self._step = asyncio.get_running_loop().create_task(self._carry_out(effects))
            try:
                await self._step
            except asyncio.CancelledError:
                this = asyncio.current_task()
                if this is None or this.cancelling():
                    raise
                # else an order to abort interrupted the step
            except Exception as error:
                await self._recover(error)

    async def close(self) -> None:
        """Stop sending, and close the channels."""
        await self._post.close()
        for caller in (*self._callers.values(), self._analyzer):
            await caller.close()

    async def close_when_sent(self) -> None:
        """The same, once what is still to be said has been sent; a later call opens its channel again."""
        await self._post.sent()
        await self.close()

    async def accept(self) -> None:
        """Take part, as the operator says."""
        await self._carry_out(self._on(life.Accepted()))

    async def order(self, order: Order) -> None:
        """Close the collection before its time, or abort it; durable when this returns."""
        effects = self._on(life.Ordered(order.abort))
        await self._carry_out(effects)
        if order.abort and effects:
            await self._finished.wait()

    async def hear(self, notice: SignedNotice) -> None:
        """Take in a notice about an attempt; after the end it is answered with this shuffler's delivery state."""
        if self._machine.lost:
            raise Closed("collection.lost", f"the collection has ended here: {life.LOST}")
        if self.shuffle_runner is not None:
            if self.shuffle_runner.context != notice.context:
                raise Refused("freeze.notice_other", "the notice is about another frozen list")
            self.shuffle_runner.take(Heard(notice.notice))
        elif self.state in (State.DELIVERED, *OVER):
            kept = _durable(await self._read_store())
            for tell in life.last_words(self.number, self.document.schedule, kept, notice.context, notice.notice):
                self._tell(tell, notice.context)
        else:
            raise NotYet("shuffle.not_here", "the collection is not shuffled here yet")

    # What the machine asks for.

    def _on(self, event: life.Event) -> life.Effects:
        before = self._machine.state
        effects = self._machine.on(event)
        if self._machine.state is not before:
            self._moved()
        return effects

    async def _carry_out(self, effects: life.Effects) -> None:
        """Each after the one before it, and what follows from it before the next."""
        for effect in effects:
            event = await self._one(effect)
            if event is not None:
                await self._carry_out(self._on(event))

    async def _one(self, effect: life.Effect) -> life.Event | None:
        match effect:
            case life.Read():
                async with self._moving:
                    self._kept = await self._read_store()
                return life.Known(_durable(self._kept), time.time())
            case life.SetState():
                await self._set_state(effect)
            case life.Wait(until):
                await self._wait(until)
            case life.Pause(seconds):
                await asyncio.sleep(seconds)
            case life.Freeze():
                count = await self._compare()
                return life.Compared(count, await self._dummies_among(count))
            case life.Fix():
                return await self._fix()
            case life.LayOut():
                self._laid = await self._lay_out()
            case life.Shuffle():
                return await self._shuffle()
            case life.Inspect():
                await self._inspect()
                return life.Inspected()
            case life.NoteEvidence():
                assert isinstance(self.freeze_runner, FreezeRunner), "the proof comes from the freeze"
                proof = self.freeze_runner.evidence_fields
                await self._observer.keep(TwoListsSigned(f"shuffler {proof['shuffler']}", proof))
                return life.Noted()
            case life.ForgetEvidence():
                await self._forget_evidence()
            case life.Erase():
                await self.store(lambda store: store.erase(self.digest))
            case life.Interrupt(reason):
                if self.shuffle_runner is not None:
                    self.shuffle_runner.abort(reason)
                elif self._step is not None:
                    self._step.cancel()
            case life.Finish():
                self._finished.set()
            case Persist(delivery_state):
                await self.store(lambda store: store.put_delivery_state(self.digest, delivery_state))
            case Notify():
                assert self._kept.frozen is not None, "nothing is signed before the freeze"
                self._tell(effect, Context(self.digest, self._kept.frozen.digest))
        return None

    async def _recover(self, error: Exception) -> None:
        """Let the machine judge an error, once the store was read again."""
        if isinstance(error, PeosError):
            self._observer.note(Waits(error))
        else:
            self._observer.note(StepFailed(error))
        freeze_runner = self.freeze_runner if isinstance(self.freeze_runner, FreezeRunner) else None
        is_broken = freeze_runner is not None and freeze_runner.is_hopeless
        proof = freeze_runner is not None and bool(freeze_runner.evidence)
        try:
            await self._carry_out(self._on(life.Failed(error, is_broken, proof)))
        except Exception as again:
            self._observer.note(Waits(again))
            await self._carry_out(self._on(life.Failed(again)))

    async def _read_store(self) -> Collection:
        def read(store: ShufflerStore) -> Collection:
            store.settle()
            return store.collection(self.digest)

        return await self.store(read)

    async def _set_state(self, change: life.SetState) -> None:
        """Whole, even if the caller is cancelled: the store must not be further than this object knows."""
        await asyncio.shield(asyncio.ensure_future(self._set_state_whole(change)))

    async def _set_state_whole(self, change: life.SetState) -> None:
        async with self._moving:
            if self.state is not change.here:
                return  # another was first
            try:
                await self.store(lambda store: store.set_state(self.digest, change.there, change.reason))
            except Exception as error:
                kept = await self._read_store()
                if kept.state is not self.state:
                    self._on(life.Moved(kept.state, kept.reason))
                if kept.state is not change.there:
                    raise
                self._observer.note(ChangeIsThere(error, change.there.value))
            else:
                self._on(life.Moved(change.there, change.reason))

    def _moved(self) -> None:
        self.since = time.monotonic()
        self._changed.set()
        if self.state is State.ABORTED and not isinstance(self.freeze_runner, FreezeRunner):
            self.freeze_runner = None  # what was frozen is not shown any more
        if self._stock:
            self._stock.follow(self.state)
        self._observer.note(StateReached(self.state.value, self.reason))

    async def _wait(self, until: float) -> None:
        """Until then, or until the state changes; not without a look at the clock now and then."""
        if self._stock and self.state is State.OPEN:
            self._stock.follow(self.state, await self.store(lambda store: store.count(self.digest)))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(max(0.0, until - time.time()), GLANCE)):
                await self._changed.wait()

    def _tell(self, tell: Notify, context: Context) -> None:
        for receiver in tell.receivers:
            self._post.notice(SignedNotice.sign(self._identity, context, tell.notice), receiver)

    # The freeze.

    async def _compare(self) -> int:
        digest, freeze_runner = self.digest, self.freeze_runner
        if not isinstance(freeze_runner, FreezeRunner):
            own = await self.store(lambda store: list(store.rows(digest)))
            identities = tuple(member.identity for member in self.document.shufflers)
            freeze_runner = await in_background(
                lambda: FreezeRunner(self.number, identities, digest, own, self._identity)
            )
            self.freeze_runner = freeze_runner
        self._counted = await freeze_runner.collect(self._callers)
        return len(self._counted)

    async def _dummies_among(self, count: int) -> int:
        """How many of so many frozen rows may be the analyzer's dummies; it is asked only where that decides."""
        most = len(self.document.dummies)
        if not unsent_decide(self.document, count):
            return most
        if self._unsent is None:
            shown = [one async for one in self._analyzer.stream(GET_UNSENT, self.digest, step="freeze, dummies")]
            is_frozen = self.state is not State.CLOSED
            rows = await self.store(lambda store: tuple(store.frozen_rows(self.digest))) if is_frozen else self._counted
            self._unsent = unsent(self.document, rows, shown)
        return most - self._unsent

    async def _fix(self) -> life.Event:
        freeze_runner, rows, digest = self.freeze_runner, self._counted, self.digest
        assert isinstance(freeze_runner, FreezeRunner), "lists were compared before"
        agreed = await freeze_runner.agree(self._callers)
        announced = encode_announcements(await freeze_runner.announcements())
        try:
            await self.store(lambda store: store.put_frozen(digest, agreed, announced, rows))
        except Full:
            raise
        except Refused as refusal:
            return life.Denied(str(refusal))
        self._counted = ()
        self.freeze_runner = Frozen(digest, self.store, self._identity, Kept(agreed, len(rows), announced))
        return life.Moved(State.FROZEN)

    # The shuffle.

    def _frozen(self) -> Kept:
        """The frozen rows and announcements, which are shown from then on."""
        frozen = self._kept.frozen
        if frozen is None:
            raise LocalFault("store.frozen_unknown", "the store does not say what was frozen")
        if not isinstance(self.freeze_runner, Frozen):
            self.freeze_runner = Frozen(self.digest, self.store, self._identity, frozen)
        return frozen

    def _assignment(self, frozen: Kept, dummies: int | None = None) -> Assignment:
        """What is shuffled; `dummies`, that may be among the reports, is of use where these are still counted."""
        most = len(self.document.dummies) if dummies is None else dummies
        return self.document.assignment(self.number, Context(self.digest, frozen.digest), frozen.count, most)

    def _bench(self, given: Assignment) -> InProcess:
        ready = self._stock.ready if self._stock else None
        benches = BenchFactory(self._identity, self._engine, self._statistical, ready, self._folder)
        return self.encryption.bench(given, benches)

    async def _lay_out(self) -> InProcess:
        """The frozen vector, out of the store."""
        frozen = self._frozen()
        given = self._assignment(frozen, await self._dummies_among(frozen.count))
        bench, digest = self._bench(given), self.digest
        room = await in_background(lambda: bench.frozen_room(self.number))

        def read(store: ShufflerStore) -> bytes:
            store.fill_shares(digest, room)
            return store.fake_seed(digest, system())

        seed = await self.store(read)
        await in_background(lambda: bench.begin(self.number, room, self.encryption.own_fakes(given, seed), seed))
        return bench

    async def _shuffle(self) -> life.ShuffleEnded:
        frozen, delivery_state = self._frozen(), self._kept.delivery_state
        bench, self._laid = self._laid or self._bench(self._assignment(frozen)), None
        context = Context(self.digest, frozen.digest)
        shuffle_runner = ShuffleRunner(
            machine=self.document.protocol.machine(
                self.number,
                self.document.schedule,
                context,
                system(),
                delivery_state,
                kept=self._evidence.attempt if self._evidence else 0,
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
            observer=self._observer,
        )
        self.shuffle_runner = shuffle_runner
        try:
            end = await shuffle_runner.run(resumed=delivery_state != DeliveryState())
        finally:
            self.shuffle_runner = None
        receipt, record = shuffle_runner.delivery_runner.receipt, shuffle_runner.machine.record
        await self._note_lost(bench)
        if receipt is not None and record is not None and self.document.protocol.inspects:
            self.inspection_runner = self._inspection(receipt, bench, record)  # else `_inspect` looks for what was kept
        return life.ShuffleEnded(end, shuffle_runner.reason)

    async def _note_lost(self, bench: InProcess) -> None:
        """Count the reports that were left out here, as refused submissions are counted."""
        if bench.lost:
            self._observer.note(ReportsLeftOut(bench.why_lost, bench.lost))
            lost = {bench.why_lost: bench.lost}
            await self.store(lambda store: store.note_refused(self.digest, lost))

    # The inspection.

    def _inspection(
        self, receipt: SignedReceipt, bench: InProcess | None = None, record: Record | None = None
    ) -> InspectionRunner:
        return InspectionRunner(
            number=self.number,
            document=self.document,
            encryption=self.encryption,
            receipt=receipt,
            bench=bench,
            record=record,
            evidence=self._evidence,
            post=self._post,
            analyzer=self._analyzer,
            step_seconds=self._step_seconds,
            observer=self._observer,
        )

    async def _inspect(self) -> None:
        """Take part in the inspection; after a restart with what was kept, or to say that nothing is left."""
        digest = self.digest
        if self.inspection_runner is None:  # one at most: it holds what others have sent and count as taken
            is_kept = self._evidence is not None and self._evidence.attempt
            is_erased = (await self._read_store()).erased
            patience = max(0.0, self.document.shuffle_by - time.time())  # as long as there is something to show
            if not is_kept:
                patience = 0.0 if is_erased else min(self._step_seconds, patience)
            receipt = await receipt_of(self._analyzer, self.document, digest, patience, self._observer)
            if receipt is None:
                return  # no other party to answer
            self.inspection_runner = await self._resumed(receipt)
        has_rows = self.inspection_runner.has_rows  # else the frozen list may be erased
        rows = await self.store(lambda store: list(store.frozen_rows(digest))) if has_rows else []
        erasing = asyncio.get_running_loop().create_task(self._forget_evidence(self.document.shuffle_by))
        try:
            await self.inspection_runner.run(rows)
        finally:
            erasing.cancel()
            await asyncio.gather(erasing, return_exceptions=True)
        self.findings = "; ".join(self.inspection_runner.findings)
        self.inspection_runner = None

    async def _resumed(self, receipt: SignedReceipt) -> InspectionRunner:
        """The inspection, with what was kept of the attempt that was delivered."""
        kept = await self.store(lambda store: store.collection(self.digest))
        evidence = self._evidence
        if evidence is None or kept.frozen is None or kept.erased or evidence.attempt != receipt.context.attempt:
            return self._inspection(receipt)
        bench = self._bench(self._assignment(kept.frozen))
        found = await in_background(lambda: evidence.load(bench.room))
        if found is None:
            return self._inspection(receipt)
        bench.vectors.update(found.vectors)
        self._observer.note(EvidenceFound(receipt.context.attempt))
        return self._inspection(receipt, bench, found.record)

    async def _forget_evidence(self, at: float = 0.0) -> None:
        """From then on nothing is kept for an inspection, whatever is still shown from memory."""
        while (left := at - time.time()) > 0:
            await asyncio.sleep(min(GLANCE, left))
        if self._evidence is not None:
            await in_background(self._evidence.erase)


def _durable(kept: Collection) -> life.Durable:
    frozen = kept.frozen.digest if kept.frozen is not None else None
    return life.Durable(kept.state, kept.reason, kept.delivery_state, frozen, kept.lost)
