"""One collection with this shuffler, from its acceptance to its erasure: what happens when, and what is waited for."""

import asyncio
import contextlib
import time
from collections.abc import Mapping
from typing import Final

import numpy as np

from peos.collection.lifecycle import State
from peos.collection.party import Card, Order, Status
from peos.compute import Engine
from peos.crypto.identity import Identity
from peos.crypto.kdf import Context
from peos.crypto.randomness import system
from peos.errors import Closed, NotYet, PeosError, RemoteFault
from peos.net.calls import Caller
from peos.net.logs import Log
from peos.shuffle.delivery import Delivery
from peos.shuffle.effects import Deadline, Heard, Tell
from peos.shuffle.fakes import fake_shares
from peos.shuffle.messages import Notice, SignedNotice
from peos.shuffle.shuffler import Shuffler
from peos.shuffle.standing import Place, Standing
from peos.shuffle.vectors import Workbench
from peos.store.base import ShufflerStore
from peos.wire.documents import SignedDocument
from shuffler.bench import Bench
from shuffler.conductor import Conductor
from shuffler.freezing import Freezing
from shuffler.post import Post
from shuffler.storing import Stored

RETRY: Final = 2.0
OVER: Final = (State.PUBLISHED, State.ABORTED)


class Life:
    """The state is durable before anything follows from it; a restart goes on from there."""

    def __init__(
        self,
        *,
        signed: SignedDocument,
        number: int,
        cards: tuple[Card, ...],
        identity: Identity,
        state: State,
        reason: str,
        store: Stored,
        callers: Mapping[int, Caller],
        analyzer: Caller,
        engine: Engine,
        step_seconds: float,
        log: Log,
    ) -> None:
        self.signed = signed
        self.document = signed.document
        self.number = number
        self.cards = cards
        self.state = state
        self.reason = reason
        self.public = self.document.encryption_key()
        self.freezing: Freezing | None = None
        self.conductor: Conductor | None = None
        self._identity = identity
        self._store = store
        self._callers = callers
        self._engine = engine
        self._step_seconds = step_seconds
        self._analyzer = analyzer
        self._log = log.of(signed.digest)
        self._post = Post(callers, self._log)
        self._closed = asyncio.Event()
        self._stalled = ""
        self._since = time.monotonic()

    async def run(self) -> None:
        """Live on until nothing is left to do; what fails for reasons of this party's own is tried again."""
        while self.state not in OVER:
            try:
                await self._next()
                self._stalled = ""
            except (RemoteFault, NotYet, Closed) as error:
                await self._give_up_or_wait(error)
            except PeosError as error:
                await self._abort(str(error))

    async def close(self) -> None:
        """Stop sending, and let go of the channels."""
        await self._post.close()
        for caller in (*self._callers.values(), self._analyzer):
            await caller.close()

    async def accept(self) -> None:
        """The operator, or the policy, takes part."""
        if self.state is State.DRAFT:
            await self._become(State.OPEN)

    async def order(self, order: Order) -> None:
        """The analyzer closes the collection early, or aborts it."""
        if not order.abort:
            self._closed.set()
        elif self.conductor is not None:
            self.conductor.reason = "the analyzer aborted the collection"
            self.conductor.give(Deadline())
        elif self.state not in (*OVER, State.DELIVERED):
            await self._abort("the analyzer aborted the collection")
            self._closed.set()

    async def hear(self, notice: Notice) -> None:
        """A notice about an attempt; one that comes after the end is answered with where this shuffler stands."""
        if self.conductor is not None:
            self.conductor.give(Heard(notice))
            return
        if self.state not in OVER:
            raise NotYet("the collection is not frozen here yet")
        standing = await self._store(lambda store: store.standing(self.signed.digest))
        frozen = await self._store(lambda store: store.collection(self.signed.digest).frozen)
        if frozen is None:
            return
        _, effects = Delivery(self.number, self.document.schedule, standing).on(Heard(notice))
        context = Context(self.signed.digest, frozen.digest)
        for effect in effects:
            if isinstance(effect, Tell):
                for receiver in effect.receivers:
                    self._post.notice(SignedNotice.sign(self._identity, context, effect.notice), receiver)

    async def status(self) -> Status:
        """Where the collection stands here, what is waited for, and what was refused."""
        digest = self.signed.digest
        count = await self._store(lambda store: store.count(digest))
        refused = await self._store(lambda store: store.refused(digest))
        step, parties = self._waiting()
        return Status(
            collection=digest,
            state=self.state.value,
            reason=self.reason or (self.conductor.reason if self.conductor else ""),
            reports=count,
            step=step,
            waited_for=parties,
            seconds=int(self.conductor.seconds if self.conductor else time.monotonic() - self._since),
            refused=tuple(f"{number} submissions: {why}" for why, number in sorted(refused.items())),
        )

    def _waiting(self) -> tuple[str, tuple[str, ...]]:
        if self._stalled:
            return self._stalled, ()
        if self.state is State.DRAFT:
            return "the operator's acceptance (peos shuffler accept)", ()
        if self.state is State.OPEN:
            return f"closing in {max(0, int(self.document.closes_at - time.time()))} s", ()
        if self.freezing is not None and self.freezing.waited_for:
            return "freeze", (self.freezing.waited_for,)
        machine = self.conductor.machine if self.conductor else None
        if machine is None:
            return "", ()
        if machine.waiting is not None:
            names = tuple(self._name(who) for who in machine.waiting.parties)
            return f"attempt {machine.standing.attempt}, {machine.waiting.step}", names or ("its own work",)
        if machine.standing.place is Place.SENDING:
            return "delivery", (self.document.analyzer.name,)
        if machine.missing:
            return "where the others stand", tuple(self._name(who) for who in machine.missing)
        return "the other shufflers' delivery", ()

    def _name(self, number: int) -> str:
        return f"shuffler {number} ({self.document.shufflers[number - 1].name})"

    async def _next(self) -> None:
        match self.state:
            case State.DRAFT:
                await asyncio.sleep(RETRY)
                if time.time() >= self.document.closes_at:
                    await self._abort("it was not accepted before it closed")
            case State.OPEN:
                await self._until_closing()
                if self.state is State.OPEN:
                    await self._become(State.CLOSED)
            case State.CLOSED:
                await self._freeze()
            case State.FROZEN | State.SHUFFLING:
                await self._shuffle()
            case State.DELIVERED:
                await self._store(lambda store: store.erase(self.signed.digest))
                await self._become(State.PUBLISHED)
            case _:
                pass

    async def _until_closing(self) -> None:
        left = self.document.closes_at - time.time()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._closed.wait(), max(0.0, left))

    async def _freeze(self) -> None:
        digest = self.signed.digest
        freezing = await self._list()
        frozen, triples = await freezing.run(
            self._callers, dummies=len(self.document.dummies), minimum=self.document.minimum
        )
        await self._store(lambda store: store.put_frozen(digest, frozen, triples))
        self._moved_to(State.FROZEN)

    async def _list(self) -> Freezing:
        digest = self.signed.digest
        own = await self._store(lambda store: list(store.triples(digest)))
        identities = tuple(member.identity for member in self.document.shufflers)
        self.freezing = Freezing(self.number, identities, digest, own, self._identity)
        return self.freezing

    async def _shuffle(self) -> None:
        digest = self.signed.digest
        frozen = await self._store(lambda store: store.collection(digest).frozen)
        assert frozen is not None, "a collection that is frozen says what"
        freezing = self.freezing or await self._list()
        freezing.resume(frozen.digest)  # others may still want to see what was agreed
        standing = await self._store(lambda store: store.standing(digest))
        rows = frozen.count + self.document.fakes
        context = Context(digest, frozen.digest)
        bench = Bench(rows, self.document.mechanism.words, self.public, self._engine)
        await self._lay_out(bench, context, frozen.count)
        self.conductor = Conductor(
            machine=Shuffler(self.number, self.document.schedule, context, system(), standing),
            number=self.number,
            document=self.document,
            context=context,
            identity=self._identity,
            bench=bench,
            rows=rows,
            store=self._store,
            post=self._post,
            analyzer=self._analyzer,
            step_seconds=self._step_seconds,
            log=self._log,
        )
        if self.state is State.FROZEN:
            await self._become(State.SHUFFLING)
        end = await self.conductor.run(resumed=standing != Standing())
        reason, self.conductor = self.conductor.reason, None
        if end.place is Place.DONE:
            await self._become(State.DELIVERED)
        else:
            await self._abort(reason or f"the shuffle ended as {end.place.value}")

    async def _lay_out(self, bench: Workbench, context: Context, count: int) -> None:
        """The frozen vector, out of the store."""
        digest, words = self.signed.digest, self.document.mechanism.words
        size = words * (self.public.ciphertext_bytes if self.number == 1 else 8)

        def read(store: ShufflerStore) -> tuple[bytes, np.ndarray[tuple[int, int], np.dtype[np.uint8]]]:
            shares = np.empty((count, size), np.uint8)
            store.fill_shares(digest, shares)
            return store.fake_seed(digest, system()), shares

        seed, shares = await self._store(read)
        own = fake_shares(seed, context, self.document.fakes, words)
        await asyncio.to_thread(bench.lay_out, self.number, shares, own)

    async def _give_up_or_wait(self, error: PeosError) -> None:
        """Before the deadline another party may yet answer; a breach of the protocol, or the deadline, is the end."""
        self._log.warning("waiting", error)
        if time.time() >= self.document.shuffle_by:
            await self._abort(f"the time to shuffle by has passed: {error}")
            return
        self._stalled = str(error)
        await asyncio.sleep(RETRY)

    async def _abort(self, reason: str) -> None:
        await self._store(lambda store: store.set_state(self.signed.digest, State.ABORTED, reason))
        await self._store(lambda store: store.erase(self.signed.digest))
        self._moved_to(State.ABORTED, reason)

    async def _become(self, state: State) -> None:
        await self._store(lambda store: store.set_state(self.signed.digest, state))
        self._moved_to(state)

    def _moved_to(self, state: State, reason: str = "") -> None:
        self.state, self.reason = state, reason
        self._since = time.monotonic()
        self._log.info("state", state=state.value, reason=reason)
