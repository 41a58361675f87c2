"""The process itself, over the real wire: vectors in, a receipt out, a result; and what stops and what goes on."""

import asyncio
import errno
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from analyzer import scheduler, serve
from analyzer.orders import abort, freeze
from analyzer.workspace import Workspace
from peos.collection.analysis import lost
from peos.collection.lifecycle import State
from peos.collection.replies import Status
from peos.compute import Engine, Inline
from peos.crypto.randomness import system
from peos.errors import PeosError, Refused, RemoteFault
from peos.net.calls import Caller
from peos.net.certificates import Certificate, make_certificate
from peos.net.client import channel
from peos.net.logs import Log
from peos.net.retry import ONCE
from peos.wire.methods import DELIVER, GET_RECEIPT, VECTOR_HEADER
from tests.raising import raises
from tests.unit.analyzer.world import Delivery, World

VALUES = np.repeat(np.arange(4), [20, 10, 6, 4])


class Serving:
    """An analyzer that serves, in the thread of the loop."""

    def __init__(self, world: World, workspace: Workspace, workers: Engine | None = None) -> None:
        self.workspace = workspace
        self._world = world
        self._stop: asyncio.Event = world.loop.run(self._event())
        self._running: Future[None] = world.loop.start(
            serve.run(
                workspace,
                Log("tests.analyzer"),
                stop=self._stop,
                workers=workers or Inline(),
                inspection_runner=world.inspection_runner(workspace),
            )
        )

    async def _event(self) -> asyncio.Event:
        return asyncio.Event()

    def stop(self) -> None:
        async def set_it() -> None:
            self._stop.set()

        if not self._running.done():
            self._world.loop.run(set_it())
        self._running.result(120)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "ERRORS", replace(scheduler.ERRORS, base=0.05))
    monkeypatch.setattr(scheduler, "SETTLE", 0.05)
    monkeypatch.setattr(scheduler, "ASK_EVERY", 0.05)


@pytest.fixture
def serving(world: World) -> Iterator[Serving]:
    workspace = world.workspace()
    world.open(workspace)
    running = Serving(world, workspace)
    yield running
    running.stop()


def test_a_moment_in_which_the_store_cannot_be_read_does_not_end_the_analyzer(
    world: World, serving: Serving, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    right, asked = serving.workspace.store.live, [0]

    def now_and_then(*given: Any) -> Any:
        asked[0] += 1
        if 10 <= asked[0] < 14:  # it has started meanwhile
            raise OSError(errno.EMFILE, "too many open files")
        return right(*given)

    monkeypatch.setattr(serving.workspace.store, "live", now_and_then)
    _wait(world, lambda: asked[0] > 20)
    told = [record for record in caplog.records if record.message == "the collections cannot be read at the moment"]
    assert len(told) == 1, "each trouble once"


def _deliver(world: World, workspace: Workspace, certificate: Certificate, sent: Delivery) -> None:
    async def send() -> None:
        caller = _caller(world, workspace, certificate)
        try:
            await caller.send(DELIVER, lambda: sent.chunks, metadata=((VECTOR_HEADER, sent.encoded),))
        finally:
            await caller.close()

    world.loop.run(send())


def _receipt(world: World, workspace: Workspace, certificate: Certificate) -> Any:
    async def ask() -> Any:
        caller = _caller(world, workspace, certificate)
        try:
            return await caller.ask(GET_RECEIPT, workspace.kept("fruit").digest)
        finally:
            await caller.close()

    return world.loop.run(ask())


def _caller(world: World, workspace: Workspace, certificate: Certificate) -> Caller:
    reach = channel(world.config.peers, workspace.keys.certificate.pem, certificate)
    return Caller(reach, "analyzer", system(), policy=replace(ONCE, attempts=4))


def _wait(world: World, there: Callable[[], bool]) -> None:
    async def wait() -> None:
        while not there():
            await asyncio.sleep(0.02)

    world.loop.run(asyncio.wait_for(wait(), 20))


def _until(world: World, workspace: Workspace, state: State) -> None:
    _wait(world, lambda: workspace.kept("fruit").state is state)


def _output(world: World, workspace: Workspace) -> dict[int, Delivery]:
    kept = workspace.kept("fruit")
    return world.deliveries(workspace, kept, world.output(workspace, kept, VALUES))


def test_vectors_come_in_the_receipt_goes_out_and_the_result_is_published(world: World, serving: Serving) -> None:
    workspace, shufflers = serving.workspace, world.shufflers
    sent = _output(world, workspace)
    _deliver(world, workspace, shufflers[1].peers, sent[2])
    with raises("delivery.incomplete"):
        _receipt(world, workspace, shufflers[0].peers)
    _deliver(world, workspace, shufflers[2].peers, sent[3])
    receipt = _receipt(world, workspace, shufflers[0].peers)
    assert receipt.verifies(workspace.keys.identity.public)
    _until(world, workspace, State.PUBLISHED)
    assert _receipt(world, workspace, shufflers[2].peers) == receipt, "who missed it asks again"
    _deliver(world, workspace, shufflers[2].peers, sent[3])


def test_another_shufflers_certificate_and_an_unknown_one_deliver_nothing(world: World, serving: Serving) -> None:
    workspace = serving.workspace
    sent = _output(world, workspace)
    with raises("delivery.caller", "2"):
        _deliver(world, workspace, world.shufflers[2].peers, sent[2])
    with pytest.raises(PeosError):
        _deliver(world, workspace, make_certificate("stranger", world.rng), sent[2])
    assert workspace.store.deliveries(workspace.kept("fruit").digest) == []


def test_a_header_that_is_missing_or_no_header_is_refused(world: World, serving: Serving) -> None:
    workspace = serving.workspace
    sent = _output(world, workspace)[3]

    async def send(metadata: Any) -> None:
        caller = _caller(world, workspace, world.shufflers[2].peers)
        try:
            await caller.send(DELIVER, lambda: sent.chunks, metadata=metadata)
        finally:
            await caller.close()

    with raises("shuffle.headless", kind=Refused):
        world.loop.run(send(()))
    with raises("encoding.unreadable", "VectorHeader", kind=Refused):
        world.loop.run(send(((VECTOR_HEADER, b"nothing"),)))


def test_stopped_between_the_two_vectors_it_goes_on(world: World) -> None:
    workspace = world.workspace()
    world.open(workspace)
    sent = _output(world, workspace)
    first = Serving(world, workspace)
    _deliver(world, workspace, world.shufflers[1].peers, sent[2])
    first.stop()
    second = Serving(world, world.workspace())
    try:
        _deliver(world, workspace, world.shufflers[2].peers, sent[3])
        _until(world, workspace, State.PUBLISHED)
    finally:
        second.stop()


def test_a_second_process_for_one_folder_is_refused(world: World, serving: Serving) -> None:
    again = Serving(world, world.workspace())
    with raises("store.in_use"):
        again.stop()
    assert serving.workspace.kept("fruit").state is State.OPEN


def test_a_collection_created_while_it_serves_is_served(world: World) -> None:
    running = Serving(world, world.workspace())
    try:
        workspace = world.workspace()
        world.open(workspace)
        sent = _output(world, workspace)
        _deliver_soon(world, workspace, world.shufflers[1].peers, sent[2])
        _deliver(world, workspace, world.shufflers[2].peers, sent[3])
        _until(world, workspace, State.PUBLISHED)
    finally:
        running.stop()


def _deliver_soon(world: World, workspace: Workspace, certificate: Certificate, sent: Delivery) -> None:
    """The certificates of a new collection are let in at the next turn."""
    for _ in range(50):
        try:
            _deliver(world, workspace, certificate, sent)
        except PeosError:
            world.loop.run(asyncio.sleep(0.05))
        else:
            return
    raise AssertionError("never let in")


def test_it_closes_by_the_clock_and_follows_the_shufflers(world: World) -> None:
    workspace = world.workspace()
    world.open(workspace, closes_in=1)
    running = Serving(world, workspace)
    try:
        _until(world, workspace, State.CLOSED)
        for shuffler in world.shufflers:
            shuffler.status = Status(bytes(32), "frozen")
        _until(world, workspace, State.SHUFFLING)
        world.shufflers[2].status = Status(bytes(32), "aborted", reason="12 reports, the minimum is 20")
        _until(world, workspace, State.ABORTED)
        assert workspace.kept("fruit").reason == "shuffler 3 (organisation 3) aborted: 12 reports, the minimum is 20"
    finally:
        running.stop()


def test_a_shuffler_that_missed_the_order_to_close_is_told_again(world: World) -> None:
    workspace = world.workspace()
    kept = world.open(workspace)
    world.shufflers[2].trust.drop()
    with raises("collection.order_missed", "shuffler 3"):
        freeze(workspace, kept)
    world.shufflers[2].trust.admit([workspace.keys.certificate.pem])
    running = Serving(world, workspace)
    try:
        give_up = time.monotonic() + 60
        while not world.shufflers[2].orders and time.monotonic() < give_up:
            time.sleep(0.02)
        assert [order.abort for order in world.shufflers[2].orders[:1]] == [False]
    finally:
        running.stop()


class _Held(Inline):
    """Decrypts when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.let = threading.Event(), threading.Event()

    def decrypt(self, *given: Any, **named: Any) -> Any:
        """Later."""
        self.begun.set()
        assert self.let.wait(60)
        return super().decrypt(*given, **named)


def test_a_long_decryption_holds_up_no_other_collection(world: World) -> None:
    workspace, held = world.workspace(), _Held()
    world.open(workspace)
    sent = _output(world, workspace)
    running = Serving(world, workspace, held)
    try:
        for number in (2, 3):
            _deliver(world, workspace, world.shufflers[number - 1].peers, sent[number])
        assert held.begun.wait(60)
        for shuffler in world.shufflers:
            shuffler.signed = b""
        world.open(workspace, name="bread", closes_in=1)
        _wait(world, lambda: workspace.kept("bread").state is State.CLOSED)
        assert workspace.kept("fruit").state is State.DELIVERED
        held.let.set()
        _until(world, workspace, State.PUBLISHED)
    finally:
        held.let.set()
        running.stop()


def test_a_passer_bys_end_does_not_end_a_delivery_that_is_under_way(world: World) -> None:
    workspace = world.workspace()
    kept = world.open(workspace)
    document = workspace.signed(kept).document
    ended, going = Status(kept.digest, "aborted", reason="gone"), Status(kept.digest, "shuffling")
    assert lost(document, set(), [ended, going, going]) == ""
    assert lost(document, set(), [going, ended, going]) == "shuffler 2 (organisation 2) aborted: gone"
    assert lost(document, {2}, [ended, ended, going]) == ""
    assert lost(document, {2}, [ended, ended, RemoteFault("test.remotefault", "cannot be reached")]) == ""
    assert lost(document, {2, 3}, [ended, ended, ended]) == "every shuffler aborted: gone"


def test_what_is_not_complete_when_everything_has_to_be_erased_is_aborted_and_erased(world: World) -> None:
    workspace = world.workspace()
    world.open(workspace, closes_in=1, shuffle_within=1, erase_within=1)
    running = Serving(world, workspace)
    try:
        _until(world, workspace, State.ABORTED)
        _wait(world, lambda: workspace.kept("fruit").key is None)
    finally:
        running.stop()
    assert "had to be erased" in workspace.kept("fruit").reason


def test_an_abort_from_another_process_ends_it_here_too(world: World, serving: Serving) -> None:
    workspace = world.workspace()
    sent = _output(world, workspace)
    _deliver(world, workspace, world.shufflers[1].peers, sent[2])
    abort(workspace, workspace.kept("fruit"))
    with raises("delivery.not_taken"):
        _deliver(world, workspace, world.shufflers[2].peers, sent[3])
    folder = workspace.folder(workspace.kept("fruit"))

    _wait(world, lambda: not list(folder.iterdir()))
    assert all(order.abort for shuffler in world.shufflers for order in shuffler.orders)
    assert serving.workspace.kept("fruit").state is State.ABORTED
