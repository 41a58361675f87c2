"""The shuffle runner: what moves and what stalls, work that fails, deliveries that cannot be, deadlines passed."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from peos.collection.session import FAULTS
from peos.compute import Inline
from peos.crypto.randomness import Randomness
from peos.errors import Full, LocalFault, RemoteFault
from peos.net.logs import Log
from peos.net.observer import Observer
from peos.net.retry import FOREVER
from peos.shuffle.delivery_state import DeliveryState, Phase
from peos.shuffle.effects import Heard, Received
from peos.shuffle.machine import Shuffler
from peos.shuffle.messages import Header, Kind, Notice, NoticeKind, SignedReceipt, Statement, Step
from peos.store.base import Vector
from peos.store.memory import MemoryStore
from peos.wire.methods import DELIVER, GET_RECEIPT
from shuffler import shuffle_runner
from shuffler.events import ATTEMPTS, DELIVERY
from shuffler.evidence import Evidence
from shuffler.shuffle_runner import ShuffleRunner
from shuffler.store_thread import StoreThread
from shuffler.workbench import Bench
from tests.raising import raises
from tests.unit.collection.made import ANALYZER, COLLECTION, DOCUMENT, PUBLIC, SHUFFLERS
from tests.unit.shuffler_process.played import HERE, ME, Other, Told, memory, run
from tests.unit.shuffler_process.test_evidence import files, keep, shuffled
from tests.unit.store.made import TRANSCRIPT

ROWS = 16
EARLY = 0.0  # long before every deadline of the document: 1, 2 and 3
BETWEEN = 2.5  # after shuffle_by, before erase_by
LATE = 3.5


class Posted(Told):
    """Remembers what goes out, and sends nothing."""

    def statement(self, statement: Statement) -> None:
        """Nothing is sent."""

    def vector(self, header: Header, rows: Any) -> None:
        """Nothing is sent."""


def runner_of(
    store: MemoryStore,
    stored: StoreThread,
    *,
    analyzer: Other | None = None,
    now: float = EARLY,
    step_seconds: float = 60.0,
    clock: Callable[[], float] | None = None,
    evidence: Evidence | None = None,
    post: Posted | None = None,
    observer: Observer | None = None,
) -> ShuffleRunner:
    """This shuffler's machine on a collection of 16 rows, ticking fast."""
    bench = Bench(ROWS, 1, PUBLIC, Inline(Randomness(b"\x01" * 32)))
    bench.lay_out(ME, np.zeros((6, 8), np.uint8), np.zeros((10, 1), np.uint64))
    return ShuffleRunner(
        machine=Shuffler(ME, DOCUMENT.schedule, HERE, Randomness(b"\x02" * 32), store.delivery_state(COLLECTION)),
        number=ME,
        document=DOCUMENT,
        context=HERE,
        identity=SHUFFLERS[ME - 1],
        bench=bench,
        store=stored,
        post=post or Posted(),
        analyzer=analyzer or Other("the analyzer", {}),
        evidence=evidence,
        step_seconds=step_seconds,
        observer=observer or Observer(Log("test")),
        clock=clock or (lambda: now),
        tick=0.02,
    )


def with_store(test: Callable[[MemoryStore, StoreThread], Awaitable[None]], place: Phase | None = None) -> None:
    """Run a test on a store in which this shuffler stands there."""
    store = memory(place)
    stored = StoreThread(lambda: store)
    run(test(store, stored))
    stored.close()


async def reached(holds: Callable[[], bool]) -> None:
    """Wait for something that comes soon."""
    give_up = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < give_up
        await asyncio.sleep(0.01)


def opening(attempt: int) -> Heard:
    """Shuffler 1 opens an attempt."""
    return Heard(Notice(NoticeKind.OPEN, 1, attempt))


def receipt(attempt: int = 2, transcript: bytes = TRANSCRIPT) -> SignedReceipt:
    """The analyzer's receipt."""
    return SignedReceipt.sign(ANALYZER, replace(HERE, attempt=attempt), transcript)


def test_a_step_that_stalls_is_left_with_its_reason_though_others_go_on_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffle_runner, "ROWS_A_SECOND", 1000)

    async def test(store: MemoryStore, stored: StoreThread) -> None:
        observer = Observer(Log("test"))
        here = runner_of(store, stored, step_seconds=0.3, observer=observer)
        running = asyncio.ensure_future(here.run(resumed=False))
        here.take(opening(1))
        await reached(lambda: store.delivery_state(COLLECTION) == DeliveryState(Phase.FREE, 1, 0))
        while store.delivery_state(COLLECTION).left < 1:
            here.take(Heard(Notice(NoticeKind.ASK, 2, 1)))  # a question is no progress
            await asyncio.sleep(0.02)
        assert "nothing from shuffler" in observer.trouble(ATTEMPTS)
        running.cancel()

    with_store(test)


def test_work_that_fails_for_whatever_reason_leaves_the_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> bytes:
        raise MemoryError

    monkeypatch.setattr(Bench, "work", broken)

    async def test(store: MemoryStore, stored: StoreThread) -> None:
        observer = Observer(Log("test"))
        here = runner_of(store, stored, observer=observer)
        running = asyncio.ensure_future(here.run(resumed=False))
        here.take(opening(1))  # shuffler 3 is outside the first round: it splits its shares
        await reached(lambda: store.delivery_state(COLLECTION).left == 1)
        assert observer.trouble(ATTEMPTS) == "this shuffler could not work a step: MemoryError"
        running.cancel()

    with_store(test)


def test_work_without_room_on_the_disk_waits_for_it_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffle_runner, "NO_ROOM", replace(FOREVER, ceiling=0.02))
    honest, tries = Bench.work, []

    def full(self: Bench, task: Any) -> bytes:
        tries.append(task)
        if len(tries) < 4:
            raise Full("test.full", "there is no room left")
        return honest(self, task)

    monkeypatch.setattr(Bench, "work", full)

    async def test(store: MemoryStore, stored: StoreThread) -> None:
        here = runner_of(store, stored)
        running = asyncio.ensure_future(here.run(resumed=False))
        here.take(opening(1))
        await reached(lambda: any(name.startswith("1/") for name in here.bench.vectors))
        assert store.delivery_state(COLLECTION) == DeliveryState(Phase.FREE, 1, 0), "the attempt goes on"
        assert tries == [tries[0]] * 4
        running.cancel()

    with_store(test)


def test_work_without_room_ends_with_its_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffle_runner, "NO_ROOM", replace(FOREVER, ceiling=0.02))
    tries: list[Any] = []

    def full(_: Bench, task: Any) -> bytes:
        tries.append(task)
        raise Full("test.full", "there is no room left")

    monkeypatch.setattr(Bench, "work", full)

    async def test(store: MemoryStore, stored: StoreThread) -> None:
        here = runner_of(store, stored)
        running = asyncio.ensure_future(here.run(resumed=False))
        here.take(opening(1))
        await reached(lambda: len(tries) >= 2)
        here.bench.discard(1)  # the others had waited long enough
        tried = len(tries)
        await asyncio.sleep(0.2)
        assert len(tries) <= tried + 1
        running.cancel()

    with_store(test)


def test_the_receipt_ends_a_delivery_and_everything_is_erased() -> None:
    async def test(store: MemoryStore, stored: StoreThread) -> None:
        analyzer = Other("the analyzer", {DELIVER: None, GET_RECEIPT: receipt()})
        here = runner_of(store, stored, analyzer=analyzer)
        end = await here.run(resumed=True)
        assert end.phase is Phase.DONE
        assert analyzer.asked[0] is DELIVER
        assert store.collection(COLLECTION).erased
        assert here.bench.vectors == {}

    with_store(test, Phase.SENDING)


@pytest.mark.parametrize(
    "wrong",
    [
        receipt(attempt=1),
        receipt(transcript=b"\x33" * 32),
        SignedReceipt(receipt().context, TRANSCRIPT, bytes(64)),
    ],
    ids=["another attempt", "another transcript", "not signed"],
)
def test_a_receipt_for_something_else_erases_nothing(wrong: SignedReceipt) -> None:
    async def test(store: MemoryStore, stored: StoreThread) -> None:
        analyzer = Other("the analyzer", {DELIVER: None, GET_RECEIPT: wrong})
        here = runner_of(store, stored, analyzer=analyzer)
        running = asyncio.ensure_future(here.run(resumed=True))
        await reached(lambda: analyzer.asked.count(GET_RECEIPT) >= 3)
        assert store.delivery_state(COLLECTION).phase is Phase.SENDING
        assert not store.collection(COLLECTION).erased
        running.cancel()

    with_store(test, Phase.SENDING)


def test_a_final_vector_that_is_damaged_ends_the_collection_without_a_tombstone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test(store: MemoryStore, stored: StoreThread) -> None:
        def damaged(_: bytes) -> Vector:
            raise LocalFault("store.no_vector", "no final vector is kept for this collection")

        monkeypatch.setattr("shuffler.store_thread.PERSISTENT", replace(FOREVER, ceiling=0.01))
        monkeypatch.setattr(store, "final_vector", damaged)
        here = runner_of(store, stored)
        end = await here.run(resumed=True)
        assert end.phase is Phase.ABORTED
        assert "cannot be delivered" in here.reason

    with_store(test, Phase.SENDING)


@pytest.mark.parametrize("place", [Phase.FREE, Phase.STORED])
def test_a_shuffle_by_that_passed_while_it_was_down_comes_first(place: Phase) -> None:
    async def test(store: MemoryStore, stored: StoreThread) -> None:
        here = runner_of(store, stored, now=BETWEEN)
        end = await here.run(resumed=True)
        assert end.phase is Phase.DEAD
        assert here.reason == "the time to shuffle by has passed"

    with_store(test, place)


def test_a_shuffle_by_that_passes_while_it_waits_names_whom_it_waited_for() -> None:
    async def test(store: MemoryStore, stored: StoreThread) -> None:
        now = [EARLY]
        here = runner_of(store, stored, clock=lambda: now[0])
        running = asyncio.ensure_future(here.run(resumed=False))
        here.take(opening(1))
        await reached(lambda: here.machine.waiting is not None and bool(here.machine.waiting.parties))
        now[0] = BETWEEN
        await running
        assert re.fullmatch(r".* shuffle by has passed; before that, .*: nothing from shuffler .*", here.reason)

    with_store(test)


def test_what_is_being_sent_outlives_shuffle_by_and_ends_at_erase_by() -> None:
    async def test(store: MemoryStore, stored: StoreThread) -> None:
        refusing = Other(
            "the analyzer", {DELIVER: RemoteFault("test.remotefault", "does not answer", party="the analyzer")}
        )
        observer = Observer(Log("test"))
        here = runner_of(store, stored, analyzer=refusing, now=BETWEEN, observer=observer)
        running = asyncio.ensure_future(here.run(resumed=True))
        await reached(lambda: observer.trouble(DELIVERY) != "")
        assert store.delivery_state(COLLECTION).phase is Phase.SENDING
        running.cancel()
        later = runner_of(store, stored, analyzer=refusing, now=LATE)
        end = await later.run(resumed=True)
        assert end.phase is Phase.ABORTED
        assert later.reason == "the time to erase by has passed"

    with_store(test, Phase.SENDING)


def test_what_is_kept_for_the_inspection_is_gone_at_shuffle_by_though_the_output_is_still_being_sent(
    tmp_path: Path,
) -> None:
    made = shuffled(3)
    kept = keep(tmp_path, made, made.nodes[ME - 1])

    async def test(store: MemoryStore, stored: StoreThread) -> None:
        now = [EARLY]
        refusing = Other(
            "the analyzer", {DELIVER: RemoteFault("test.remotefault", "does not answer", party="the analyzer")}
        )
        observer = Observer(Log("test"))
        here = runner_of(store, stored, analyzer=refusing, clock=lambda: now[0], evidence=kept, observer=observer)
        running = asyncio.ensure_future(here.run(resumed=True))
        await reached(lambda: observer.trouble(DELIVERY) != "")
        assert files(tmp_path)
        now[0] = BETWEEN
        await reached(lambda: not files(tmp_path))
        assert store.delivery_state(COLLECTION).phase is Phase.SENDING
        running.cancel()

    with_store(test, Phase.SENDING)


def test_a_tombstone_names_who_gave_up() -> None:
    async def test(store: MemoryStore, stored: StoreThread) -> None:
        here = runner_of(store, stored)
        running = asyncio.ensure_future(here.run(resumed=False))
        here.take(Heard(Notice(NoticeKind.TOMBSTONE, 2, 0)))
        end = await running
        assert end.phase is Phase.DEAD
        assert here.reason.startswith("shuffler 2 gave it up")

    with_store(test)


def test_a_standing_that_cannot_be_kept_is_tried_again_and_nothing_is_said_before_it_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shuffler.store_thread.PERSISTENT", replace(FOREVER, ceiling=0.01))

    async def test(store: MemoryStore, stored: StoreThread) -> None:
        post, put, said = Posted(), store.put_delivery_state, []
        here = runner_of(store, stored, post=post)

        def failing(*given: Any) -> None:
            said.append(len(post.notices))
            if len(said) > 2 * FAULTS:
                put(*given)
            if len(said) <= 2 * FAULTS + 1:  # the last of these is there, and fails all the same
                raise Full("test.full", "there is no room left")

        monkeypatch.setattr(store, "put_delivery_state", failing)
        running = asyncio.ensure_future(here.run(resumed=True))
        await reached(lambda: bool(post.notices))
        assert said == [0] * (2 * FAULTS + 2)
        assert store.delivery_state(COLLECTION) == DeliveryState(Phase.FREE, 2, 2)
        running.cancel()

    with_store(test, Phase.FREE)


def test_a_store_that_goes_on_failing_ends_the_run_and_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shuffler.store_thread.PERSISTENT", replace(FOREVER, ceiling=0.01))

    async def test(store: MemoryStore, stored: StoreThread) -> None:
        post, tries = Posted(), list[int]()

        def failing(*_: Any) -> None:
            tries.append(1)
            raise LocalFault("test.localfault", "the store failed")

        monkeypatch.setattr(store, "put_delivery_state", failing)
        with raises("test.localfault", kind=LocalFault):
            await runner_of(store, stored, post=post).run(resumed=True)
        assert (len(tries), post.notices) == (FAULTS, [])
        assert store.delivery_state(COLLECTION) == DeliveryState(Phase.FREE, 2, 1)

    with_store(test, Phase.FREE)


def test_a_helper_that_fails_ends_the_run_with_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(store: MemoryStore, stored: StoreThread) -> None:
        def broken(*_: Any) -> None:
            raise OSError(5, "input/output error")

        monkeypatch.setattr(shuffle_runner.ShuffleRunner, "_look_at_the_clock", _second(broken))
        with pytest.raises(OSError, match="input/output"):
            await runner_of(store, stored).run(resumed=False)

    with_store(test)


def _second(broken: Callable[..., None]) -> Callable[..., None]:
    """Nothing at the first call, which `run` makes itself, and then this."""
    calls: list[int] = []

    def called(*given: Any) -> None:
        calls.append(1)
        if len(calls) > 1:
            broken(*given)

    return called


def test_a_flood_of_words_is_refused_before_it_fills_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffle_runner, "EVENTS", 5)

    async def test(store: MemoryStore, stored: StoreThread) -> None:
        here = runner_of(store, stored)
        word = Received(Statement(Header(HERE, Step(1, Kind.CONFIRM), 1, ME), bytes(32)))
        for _ in range(5):
            here.take(word)
        with pytest.raises(Full):
            here.take(word)
        here.abort("this shuffler's own events always find room")

    with_store(test)


def test_a_restart_in_an_attempt_leaves_it_and_says_so() -> None:
    async def test(store: MemoryStore, stored: StoreThread) -> None:
        post = Posted()
        running = asyncio.ensure_future(runner_of(store, stored, post=post).run(resumed=True))
        await reached(lambda: store.delivery_state(COLLECTION).left == 2)
        await reached(lambda: len(post.notices) >= 2)
        kinds = {(signed.notice.kind, signed.notice.attempt) for signed, _ in post.notices}
        assert kinds == {(NoticeKind.LOST, 2)}
        running.cancel()

    with_store(test, Phase.FREE)
