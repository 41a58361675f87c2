"""A session: orders are durable before they are answered; what passes is waited for, what does not is the end."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from peos.collection.document import Document
from peos.collection.freeze import Freeze, sign_frozen
from peos.collection.lifecycle import Order, State
from peos.collection.session import FAULTS, ORDERED
from peos.collection.status import line_of
from peos.compute import Inline
from peos.crypto.randomness import Randomness
from peos.errors import Closed, Full, LocalFault, NotYet, PeosError, RemoteFault, Unknown
from peos.shuffle.delivery_state import DeliveryState, Phase
from peos.shuffle.messages import Notice, NoticeKind, SignedNotice
from peos.store.memory import MemoryStore
from peos.wire.freezes import encode_announcements, stretches
from peos.wire.methods import GET_ANNOUNCEMENTS, GET_FROZEN_DIGEST, GET_LIST, GET_UNSENT, Method
from shuffler import freeze_runner as freezing_
from shuffler import session as session_
from shuffler.meter import Meter
from shuffler.session import CollectionSession
from shuffler.status import status
from shuffler.store_thread import StoreThread
from tests.raising import raises
from tests.unit.collection.made import COLLECTION, DOCUMENT, DUMMIES, ENCRYPTION, SHUFFLERS
from tests.unit.shuffler_process.played import (
    HERE,
    ME,
    NOWHERE,
    OBSERVER,
    VAULT,
    Other,
    Signed,
    announced,
    failing,
    memory,
    rows,
    run,
)

CLOSE: Final = Order(COLLECTION, abort=False, signature=bytes(64))
ABORT: Final = Order(COLLECTION, abort=True, signature=bytes(64))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_, "RETRY", 0.02)
    monkeypatch.setattr(Document, "encryption", lambda _: ENCRYPTION)  # below the floor for keys that come in


def alive(
    store: MemoryStore,
    stored: StoreThread,
    others: dict[int, Other] | None = None,
    *,
    lost: bool = False,
    analyzer: Other | None = None,
    **changes: int,
) -> CollectionSession:
    """The collection with this shuffler; its deadlines are far off but for what a test changes."""
    now = int(time.time())
    far = {"closes_at": now + 100, "shuffle_by": now + 200, "erase_by": now + 300, "minimum": 1} | changes
    document = replace(DOCUMENT, **far)  # type: ignore[arg-type]  # all of them are numbers
    kept = replace(store.collection(COLLECTION), lost=lost)
    return CollectionSession(
        signed=Signed(b"", b"", document),
        number=ME,
        cards=(),
        identity=SHUFFLERS[ME - 1],
        kept=kept,
        store=stored,
        callers=others if others is not None else {1: Other("shuffler 1", {}), 2: Other("shuffler 2", {})},
        analyzer=analyzer or Other("the analyzer", {GET_UNSENT: DUMMIES}),
        engine=Inline(Randomness(b"\x01" * 32)),
        step_seconds=60.0,
        folder=NOWHERE,
        vault=VAULT,
        observer=OBSERVER,
        meter=Meter(),
    )


def lived(test: Callable[[MemoryStore, StoreThread], Awaitable[None]], store: MemoryStore) -> None:
    """Run a test on a store."""
    stored = StoreThread(lambda: store)
    run(test(store, stored))
    stored.close()


def opened(state: State = State.OPEN) -> MemoryStore:
    """A store with one collection that takes submissions, or waits for the operator."""
    from tests.unit.store.made import ASKED

    store = MemoryStore(Randomness(b"\x01" * 32))
    store.put_collection(COLLECTION, b"signed", b"roster", ASKED, state)
    return store


def others(own: list[bytes], mine: list[bytes] | None = None) -> dict[int, Other]:
    """The other shufflers with their lists."""
    listed: dict[Method, Any] = {
        GET_ANNOUNCEMENTS: announced({1: own, 2: own, ME: mine or rows()}),
        GET_LIST: list(stretches(COLLECTION, tuple(own))),
    }
    return {number: Other(f"shuffler {number}", dict(listed)) for number in (1, 2)}


def frozen_digest() -> bytes:
    """What is frozen where all three hold the same."""
    freeze = Freeze(1, tuple(one.public for one in SHUFFLERS), COLLECTION, rows(), SHUFFLERS[0])
    for who in (2, 3):
        freeze.heard(who, announced().held)
    for who in (2, 3):
        listing = freeze.listing(who)
        listing.feed(rows())
        listing.finish()
    return freeze.digest


async def reached(holds: Callable[[], bool], what: str) -> None:
    """Wait for something that comes soon."""
    give_up = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < give_up, what
        await asyncio.sleep(0.01)


def test_an_order_to_close_is_durable_before_it_is_answered() -> None:
    async def test(store: MemoryStore, stored: StoreThread) -> None:
        session = alive(store, stored)  # not even running
        await session.order(CLOSE)
        assert store.collection(COLLECTION).state is State.CLOSED
        await session.order(CLOSE)  # again: nothing changes

    lived(test, opened())


@pytest.mark.parametrize(("first", "after"), [(CLOSE, CLOSE), (CLOSE, ABORT), (ABORT, CLOSE)])
def test_an_order_whose_caller_is_gone_is_carried_out_whole(
    first: Order, after: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the store would be closed and the process believe it open, and no later order could close it."""
    may_go_on, write, states = threading.Event(), MemoryStore.set_state, list[State]()

    def slow(store: MemoryStore, collection: bytes, state: State, reason: str = "") -> None:
        may_go_on.wait(60)
        states.append(state)
        write(store, collection, state, reason)

    async def test(store: MemoryStore, stored: StoreThread) -> None:
        monkeypatch.setattr(MemoryStore, "set_state", slow)
        session = alive(store, stored)
        running = asyncio.ensure_future(session.run())
        asked = asyncio.ensure_future(session.order(first))
        await asyncio.sleep(0.05)
        asked.cancel()  # as a connection that breaks does
        again = asyncio.ensure_future(session.order(after))
        await asyncio.sleep(0.05)
        may_go_on.set()
        await asyncio.wait_for(again, 60)
        last = State.ABORTED if ABORT in (first, after) else State.CLOSED
        ends = [State.CLOSED, State.ABORTED] if (first, after) == (CLOSE, ABORT) else [last]
        await reached(lambda: session.state is last, "where the last order leads")
        assert (states, store.collection(COLLECTION).state) == (ends, last)
        if last is State.CLOSED:  # and `run` goes on at once, not when it next looks at the clock
            await reached(lambda: session.freeze_runner is not None, "frozen")
        running.cancel()

    lived(test, opened())


def test_a_draft_cannot_be_closed_and_opens_at_the_operators_word() -> None:
    async def test(store: MemoryStore, stored: StoreThread) -> None:
        session = alive(store, stored)
        running = asyncio.ensure_future(session.run())
        with raises("collection.not_accepted_yet"):
            await session.order(CLOSE)
        assert "acceptance" in (await status(session)).step
        await session.accept()
        await session.accept()
        assert store.collection(COLLECTION).state is State.OPEN
        running.cancel()

    lived(test, opened(State.DRAFT))


def test_a_draft_that_is_not_accepted_in_time_ends() -> None:
    async def test(store: MemoryStore, stored: StoreThread) -> None:
        await alive(store, stored, closes_at=1).run()
        assert store.collection(COLLECTION).reason == "it was not accepted before it closed"

    lived(test, opened(State.DRAFT))


def test_a_closing_time_that_passed_while_it_was_down_closes_at_once() -> None:
    async def test(store: MemoryStore, stored: StoreThread) -> None:
        session = alive(store, stored, closes_at=1)
        running = asyncio.ensure_future(session.run())
        await reached(lambda: store.collection(COLLECTION).state is State.CLOSED, "closed")
        running.cancel()

    lived(test, opened())


@pytest.mark.parametrize("state", [State.DRAFT, State.OPEN, State.CLOSED])
def test_the_time_to_shuffle_by_ends_what_is_not_frozen(state: State) -> None:
    store = opened(state) if state is not State.CLOSED else memory(frozen=False)

    async def test(store: MemoryStore, stored: StoreThread) -> None:
        await alive(store, stored, closes_at=1, shuffle_by=2).run()
        assert store.collection(COLLECTION).reason.startswith("the time to shuffle by has passed")

    lived(test, store)


@pytest.mark.parametrize("state", [State.DRAFT, State.OPEN, State.CLOSED])
def test_an_order_to_abort_ends_it_in_any_state_before_the_freeze(state: State) -> None:
    store = opened(state) if state is not State.CLOSED else memory(frozen=False)

    async def test(store: MemoryStore, stored: StoreThread) -> None:
        session = alive(store, stored)
        running = asyncio.ensure_future(session.run())
        await asyncio.sleep(0.05)
        await session.order(ABORT)
        here = store.collection(COLLECTION)
        assert (here.state, here.reason, here.erased) == (State.ABORTED, ORDERED, True)
        await session.order(ABORT)
        await session.order(CLOSE)
        await running

    lived(test, store)


def test_too_few_reports_are_the_end_and_nothing_is_signed() -> None:
    async def test(store: MemoryStore, stored: StoreThread) -> None:
        session = alive(store, stored, others(rows()), minimum=7)
        await session.run()
        assert store.collection(COLLECTION).reason == "6 reports, the minimum is 7"
        assert session.freeze_runner is not None
        with pytest.raises(NotYet):
            await session.freeze_runner.signed()

    lived(test, memory(frozen=False))


def test_another_shufflers_end_is_the_end_here_with_its_reason() -> None:
    ended = Closed("collection.ended", "the collection is aborted here: 3 reports, the minimum is 5")

    async def test(store: MemoryStore, stored: StoreThread) -> None:
        parties = others(rows())
        parties[2].answers[GET_ANNOUNCEMENTS] = ended
        await alive(store, stored, parties).run()
        assert store.collection(COLLECTION).reason == str(ended)

    lived(test, memory(frozen=False))


@pytest.mark.parametrize(
    "error",
    [
        RemoteFault("test.remotefault", "does not answer at its address", party="shuffler 2", step="freeze"),
        NotYet("test.notyet", "shuffler 2, freeze: the collection is not closed here yet"),
        Unknown("test.unknown", "shuffler 2, freeze: this shuffler knows no such collection"),
        Full("test.full", "shuffler 2, freeze: has as much to do as it can take"),
    ],
    ids=["unreachable", "not yet", "unknown", "busy"],
)
def test_what_may_pass_is_waited_for_with_its_reason(error: PeosError) -> None:
    async def test(store: MemoryStore, stored: StoreThread) -> None:
        parties = others(rows())
        parties[2].answers[GET_ANNOUNCEMENTS] = error
        session = alive(store, stored, parties)
        running = asyncio.ensure_future(session.run())
        await reached(lambda: parties[2].asked.count(GET_ANNOUNCEMENTS) >= 8, "tried again and again")
        told = await status(session)
        assert told.state == "closed"
        assert told.reason == str(error)
        assert told.waited_for == ("shuffler 2",)
        assert "waiting for freeze, announcements from shuffler 2" in str(line_of(told))
        running.cancel()

    lived(test, memory(frozen=False))


def test_a_breach_that_persists_is_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freezing_, "BREACH_SECONDS", 0.1)

    async def test(store: MemoryStore, stored: StoreThread) -> None:
        parties = others(rows())
        parties[1].answers[GET_LIST] = list(stretches(COLLECTION, (*rows()[:5], b"\xff" * 48)))
        await alive(store, stored, parties).run()
        assert "shuffler 1, freeze: showed another list than it announced" in store.collection(COLLECTION).reason

    lived(test, memory(frozen=False))


def test_a_full_disk_at_the_freeze_is_waited_for() -> None:
    async def test(store: MemoryStore, stored: StoreThread) -> None:
        parties, failing = others(rows()), [Full("test.full", "there is no room left")] * 3
        put = store.put_frozen

        def sometimes(*given: Any) -> None:
            if failing:
                raise failing.pop()
            put(*given)

        setattr(store, "put_frozen", sometimes)  # noqa: B010 - as a disk that is full for a while
        session = alive(store, stored, parties)
        for number in (1, 2):
            parties[number].answers[GET_FROZEN_DIGEST] = sign_frozen(SHUFFLERS[number - 1], COLLECTION, frozen_digest())
        running = asyncio.ensure_future(session.run())
        await reached(lambda: store.collection(COLLECTION).frozen is not None, "frozen")
        assert failing == []
        running.cancel()

    lived(test, memory(frozen=False))


def test_a_lost_store_ends_its_collections_and_hears_nothing() -> None:
    async def test(store: MemoryStore, stored: StoreThread) -> None:
        session = alive(store, stored, lost=True)
        asked = SignedNotice.sign(SHUFFLERS[0], HERE, Notice(NoticeKind.ASK, 1, 2))
        with raises("collection.lost"):
            await session.hear(asked)
        await session.run()
        assert "restored from a backup" in store.collection(COLLECTION).reason

    lived(test, memory(Phase.STORED))


def test_a_delivery_that_was_done_before_a_crash_is_published_and_not_aborted() -> None:
    store = memory(Phase.DONE)
    store.erase(COLLECTION)  # the crash came after the erasure, and before the state said so

    async def test(store: MemoryStore, stored: StoreThread) -> None:
        await alive(store, stored).run()
        assert store.collection(COLLECTION).state is State.PUBLISHED

    lived(test, store)


@pytest.mark.parametrize("place", [Phase.DEAD, Phase.ABORTED])
def test_an_end_before_a_crash_is_completed(place: Phase) -> None:
    async def test(store: MemoryStore, stored: StoreThread) -> None:
        await alive(store, stored).run()
        here = store.collection(COLLECTION)
        assert (here.state, here.erased) == (State.ABORTED, True)
        assert here.delivery_state.phase is place

    lived(test, memory(place))


def test_what_a_crash_left_unerased_after_the_end_is_erased() -> None:
    store = memory(Phase.DEAD)
    store.set_state(COLLECTION, State.ABORTED, "a reason")

    async def test(store: MemoryStore, stored: StoreThread) -> None:
        await alive(store, stored).run()
        assert store.collection(COLLECTION).erased

    lived(test, store)


def test_shares_that_are_lost_end_the_collection_with_a_tombstone_after_some_tries() -> None:
    tries = []

    async def test(store: MemoryStore, stored: StoreThread) -> None:
        def lost(*_: Any) -> None:
            tries.append(1)
            raise LocalFault("store.shares_missing", "fewer shares are stored than were frozen")

        setattr(store, "fill_shares", lost)  # noqa: B010 - as a damaged store
        await alive(store, stored).run()
        here = store.collection(COLLECTION)
        assert here.reason == "fewer shares are stored than were frozen"
        assert here.delivery_state == DeliveryState(Phase.DEAD, 2, 1)
        assert len(tries) == FAULTS

    lived(test, memory(Phase.FREE))


def test_notices_before_the_shuffle_are_asked_for_again_later() -> None:
    async def test(store: MemoryStore, stored: StoreThread) -> None:
        with pytest.raises(NotYet):
            await alive(store, stored).hear(SignedNotice.sign(SHUFFLERS[0], HERE, Notice(NoticeKind.OPEN, 1, 1)))

    lived(test, memory(frozen=False))


# Errors of the store, behind the change as well as before it.

ERRORS: Final = (Full("store.no_room", "no room"), LocalFault("store.failed", "failed"), OSError(24, "too many files"))


@pytest.mark.parametrize("behind", [True, False])
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_order_that_fails_behind_its_change_is_answered_and_before_it_is_not(error: Exception, behind: bool) -> None:
    async def test(store: MemoryStore, stored: StoreThread) -> None:
        session = alive(store, stored)
        failing(store, "set_state", [error], behind=behind)
        if not behind:
            with pytest.raises(type(error)):
                await session.order(CLOSE)
            assert session.state is State.OPEN
        await session.order(CLOSE)
        assert (session.state, store.collection(COLLECTION).state) == (State.CLOSED, State.CLOSED)

    lived(test, opened())


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_freeze_that_fails_behind_its_change_is_gone_on_from(error: Exception) -> None:
    async def test(store: MemoryStore, stored: StoreThread) -> None:
        parties = others(rows())
        failing(store, "put_frozen", [error], behind=True)
        session = alive(store, stored, parties)
        for number in (1, 2):
            parties[number].answers[GET_FROZEN_DIGEST] = sign_frozen(SHUFFLERS[number - 1], COLLECTION, frozen_digest())
        running = asyncio.ensure_future(session.run())
        await reached(lambda: session.state is State.SHUFFLING and session.shuffle_runner is not None, "shuffling")
        running.cancel()

    lived(test, memory(frozen=False))


def test_changes_that_are_there_though_they_failed_do_not_count_as_faults() -> None:
    async def test(store: MemoryStore, stored: StoreThread) -> None:
        settle, asked = store.settle, list[State]()
        failing(store, "fake_seed", [LocalFault("test.localfault", "the store failed")] * (FAULTS - 1), behind=True)

        def settled() -> None:
            asked.append(store.collection(COLLECTION).state)
            settle()

        store.settle = settled  # type: ignore[method-assign]  # as a store that tells of it
        session = alive(store, stored)
        assert session.state is State.FROZEN
        failing(store, "set_state", [LocalFault("test.localfault", "the store failed")], behind=True)
        running = asyncio.ensure_future(session.run())
        await reached(lambda: session.shuffle_runner is not None, "shuffling")
        reads = 1 + 2 * (FAULTS - 1)  # before each step, and before anything is concluded from an error
        assert asked == [State.FROZEN] * reads + [State.SHUFFLING]
        assert store.collection(COLLECTION).state is State.SHUFFLING
        running.cancel()

    lived(test, _frozen())


def _frozen() -> MemoryStore:
    """A store with one collection that was just frozen."""
    store = memory(frozen=False)
    store.put_frozen(COLLECTION, HERE.frozen, encode_announcements(announced()), rows())
    return store


def test_no_error_ends_a_collection_without_a_word() -> None:
    """Whatever it is: it is reported, waited for, and tried again."""

    async def test(store: MemoryStore, stored: StoreThread) -> None:
        errors: list[Exception] = [OSError(24, "too many open files"), KeyError("secret"), RuntimeError()] * 3
        failing(store, "rows", errors, behind=False)
        session = alive(store, stored)
        running = asyncio.ensure_future(session.run())
        await reached(lambda: "a step failed" in session.stalled, "told")
        told = str(line_of(await status(session)))
        assert "a step failed (" in told, told
        assert "secret" not in told
        await reached(lambda: errors == [] and session.freeze_runner is not None, "tried again")
        assert not running.done()
        running.cancel()

    lived(test, memory(frozen=False))


def test_an_erasure_that_cannot_be_yet_is_repeated_until_it_is() -> None:
    async def test(store: MemoryStore, stored: StoreThread) -> None:
        errors: list[Exception] = [NotYet("store.erasing", "another reads it"), OSError(5, "i/o error")] * FAULTS
        failing(store, "erase", errors, behind=False)
        session = alive(store, stored)
        running = asyncio.ensure_future(session.run())
        await session.order(ABORT)
        await asyncio.wait_for(running, 60)
        here = store.collection(COLLECTION)
        assert (errors, here.erased, here.state) == ([], True, State.ABORTED)

    lived(test, opened())
