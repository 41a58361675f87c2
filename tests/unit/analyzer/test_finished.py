"""A collection that is over costs the analyzer nothing: it is counted what is read and decoded for it."""

import asyncio
import contextlib
import math
import time
from collections import Counter
from collections.abc import Sequence

import pytest

from analyzer.publisher import Publisher
from analyzer.scheduler import Scheduler
from analyzer.store import CollectionRow
from analyzer.workspace import Admission, Workspace
from peos.collection.lifecycle import State
from peos.compute import Inline
from peos.net.logs import Log
from peos.net.observer import Observer
from peos.net.tls import Trust
from peos.store.bell import Bell, ring
from peos.wire.documents import SignedDocument
from peos.wire.parties import decode_proposal
from tests.unit.analyzer.world import World

ENDED = 1000


def fill(workspace: Workspace, kept: CollectionRow, count: int) -> None:
    """So many collections that were aborted, with another's document."""
    for number in range(count):
        digest = number.to_bytes(32, "big")
        workspace.store.add(
            digest=digest,
            name=f"ended-{number}",
            request=kept.request,
            words="",
            proposal=kept.proposal,
            key=b"sealed",
            dummies=b"sealed",
        )
        workspace.store.move(digest, State.ABORTED, "the analyst aborted it")
        workspace.store.erase(digest)


def scheduler(world: World, workspace: Workspace) -> Scheduler:
    """The serving process's."""
    receiver = world.receiver(workspace)
    publisher = Publisher(
        workspace, receiver, world.inspection_runner(workspace), Inline(world.rng), Observer(Log("tests"))
    )
    return Scheduler(workspace, receiver, publisher, Observer(Log("tests")))


def test_a_thousand_collections_that_are_over_are_not_read_and_not_decoded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = world.workspace()
    kept = world.open(workspace)
    fill(workspace, kept, ENDED)
    counted: Counter[str] = Counter()
    right = Workspace.signed

    def signed(here: Workspace, one: CollectionRow) -> SignedDocument:
        counted["decoded"] += 1
        return right(here, one)

    monkeypatch.setattr(Workspace, "signed", signed)
    turns: list[list[str]] = []

    def noticed(live: Sequence[CollectionRow]) -> float:
        turns.append([one.name for one in live])
        return math.inf

    async def serve() -> None:
        trust = Trust()
        admission = Admission(workspace, trust)
        assert counted["decoded"] == 0
        admission.look(workspace.store.live())
        assert counted["decoded"] == 1, "the one that is live"
        running = asyncio.ensure_future(scheduler(world, workspace).run(noticed))
        while not turns:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.3)
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running

    asyncio.run(serve())
    assert set(map(tuple, turns)) == {("fruit",)}


def test_at_rest_nothing_is_looked_at_until_the_bell_is_rung(world: World) -> None:
    workspace = world.workspace()
    fill(workspace, world.open(workspace), 3)
    workspace.store.move(workspace.kept("fruit").digest, State.ABORTED)
    workspace.store.erase(workspace.kept("fruit").digest)
    turns: list[float] = []

    def noticed(_: Sequence[CollectionRow]) -> float:
        turns.append(time.monotonic())
        return math.inf

    async def serve() -> None:
        made = scheduler(world, workspace)
        bell = Bell(world.config.folder, made.look)
        running = asyncio.ensure_future(made.run(noticed))
        while not turns:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.3)
        before = len(turns)
        await asyncio.sleep(0.5)
        assert len(turns) == before, "nothing happens, and nothing is looked at"
        assert await asyncio.to_thread(ring, world.config.folder)
        await asyncio.sleep(0.3)
        assert len(turns) > before
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
        bell.close()
        assert not ring(world.config.folder), "no process hears it any more"

    asyncio.run(serve())


def test_a_signature_under_a_card_is_verified_once_for_the_same_bytes(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = world.workspace()
    kept = world.open(workspace)
    verified: list[int] = []

    def verifies(*_: object) -> bool:
        verified.append(1)
        return True

    first = decode_proposal(kept.proposal)
    monkeypatch.setattr("peos.wire.parties.verifies", verifies)
    monkeypatch.setattr("peos.wire.documents.verifies", verifies)
    assert all(decode_proposal(kept.proposal) == first for _ in range(10))
    workspace.signed(kept)
    assert verified == []


def test_what_a_stop_left_of_a_collection_that_is_over_is_cleared_at_the_next_start(world: World) -> None:
    workspace = world.workspace()
    kept = world.open(workspace)
    workspace.store.move(kept.digest, State.ABORTED)
    workspace.store.erase(kept.digest)
    vectors = workspace.folder(kept) / "vectors"
    vectors.mkdir(mode=0o700)
    (vectors / "left.rows").write_bytes(b"half of a vector")

    async def serve() -> None:
        running = asyncio.ensure_future(scheduler(world, workspace).run(lambda _: math.inf))
        while vectors.exists():
            await asyncio.sleep(0.02)
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running

    asyncio.run(asyncio.wait_for(serve(), 20))
