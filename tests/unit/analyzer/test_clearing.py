"""What follows from an end is done once, though the thread that published and the turn over collections both come.

What is erased is overwritten, and the database's log is emptied of it, whichever process keeps it from that at first.
"""

import asyncio
import contextlib
import math
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analyzer import publisher as publisher_
from analyzer.delivery_receiver import VECTORS
from analyzer.orders import abort
from analyzer.publisher import RESULT, Publisher
from analyzer.scheduler import Scheduler
from analyzer.status import status
from analyzer.store import CollectionRow
from analyzer.troubles import Troubles
from analyzer.workspace import Workspace
from peos.collection.lifecycle import State
from peos.compute import Inline
from peos.errors import Full, LocalFault, PeosError
from peos.net.logs import Log
from peos.net.observer import Observer
from peos.store.private_files import write_durably
from tests.raising import raises
from tests.unit.analyzer.world import World, take


def delivered(world: World, workspace: Workspace) -> Publisher:
    """A complete output, about to be published."""
    kept = world.open(workspace)
    receiver = world.receiver(workspace)
    values = np.repeat(np.arange(4), [20, 20, 10, 10])
    for sender, sent in world.deliveries(workspace, kept, world.output(workspace, kept, values)).items():
        take(receiver, sent, world.certificate(sender))
    return Publisher(workspace, receiver, world.inspection_runner(workspace), Inline(), Observer(Log("tests.analyzer")))


def is_in_the_database(world: World, secret: bytes) -> bool:
    """Whether these bytes are in the database or in a file that SQLite keeps next to it."""
    return any(secret in path.read_bytes() for path in world.config.folder.glob("analyzer.sqlite*"))


def test_two_that_clear_at_the_same_time_write_the_result_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = world.workspace()
    made = delivered(world, workspace)
    written: list[str] = []
    others: list[threading.Thread] = []
    faults: list[Exception] = []

    def turn() -> None:
        try:
            made.clear(workspace.kept("fruit"))
        except Exception as error:
            faults.append(error)

    def slowly(path: Path, data: Iterable[bytes | memoryview]) -> None:
        written.append(path.name)
        if not others:  # the result is durable, and the next turn over the collections sees that
            others.append(threading.Thread(target=turn))
            others[0].start()
            others[0].join(0.5)
        write_durably(path, data)

    monkeypatch.setattr(publisher_, "write_durably", slowly)
    made.publish(workspace.kept("fruit"))
    others[0].join()
    assert not faults, faults
    assert written == [RESULT]


def test_what_is_erased_is_overwritten_and_not_only_unlinked(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, names = world.workspace(), list[str]()
    made, clear = delivered(world, workspace), Publisher.clear
    vectors = world.config.folder / "collections" / "fruit" / VECTORS
    (vectors / "left.coming").write_bytes(b"half of a vector")

    def linked(self: Publisher, kept: CollectionRow) -> None:
        for path in vectors.iterdir():
            names.append(path.name)
            os.link(path, tmp_path / path.name)  # the same bytes on the disk under another name
        clear(self, kept)

    monkeypatch.setattr(Publisher, "clear", linked)
    made.publish(workspace.kept("fruit"))
    assert sorted(names) == ["2-1.rows", "3-1.rows", "decrypted.words", "left.coming"]
    assert not vectors.exists()
    for name in names:
        data = (tmp_path / name).read_bytes()
        assert data == bytes(len(data)), name
        assert data, name


@pytest.mark.parametrize("then", ["a turn", "a start", "the same order again"])
def test_a_key_that_a_reader_keeps_in_the_log_is_erased_once_it_is_gone(world: World, then: str) -> None:
    workspace = world.workspace()
    world.open(workspace)
    key = workspace.kept("fruit").key
    assert key is not None
    with closing(sqlite3.connect(world.config.folder / "analyzer.sqlite", isolation_level=None)) as reader:
        workspace.store.note("read", workspace.kept("fruit").digest)  # so that the log is not empty
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM collection").fetchone()
        with contextlib.suppress(PeosError):  # no shuffler carries the order out here
            abort(workspace, workspace.kept("fruit"))
        assert workspace.kept("fruit").key is None
        assert not workspace.store.settle()
        assert is_in_the_database(world, key), "or the test shows nothing"
    match then:
        case "a turn":
            assert workspace.store.settle()
        case "a start":
            workspace.close()
            assert world.workspace().store.settle()
        case _:
            with contextlib.suppress(PeosError):
                abort(workspace, workspace.kept("fruit"))
    assert not is_in_the_database(world, key)
    assert world.workspace().store.settle()


def test_changes_that_are_there_already_change_nothing(world: World) -> None:
    workspace = world.workspace()
    made = delivered(world, workspace)
    kept = workspace.kept("fruit")
    (header, *_) = workspace.store.deliveries(kept.digest)
    workspace.store.dummy_taken(kept.digest, 0, 1)
    made.publish(kept)
    published, told = workspace.kept("fruit"), len(workspace.store.audit_log())
    for _ in range(2):
        workspace.store.add_delivery(header)
        workspace.store.put_result(kept.digest, "another result")
        workspace.store.dummy_taken(kept.digest, 0, 1)
        workspace.store.erase(kept.digest)
        assert not workspace.store.move(kept.digest, State.PUBLISHED)
    assert (workspace.kept("fruit"), len(workspace.store.audit_log())) == (published, told)
    with raises("delivery.vector_exists"):
        workspace.store.add_delivery(replace(header, sha256=bytes(32)))


def test_errors_of_the_store_do_not_end_the_turns_over_the_collections(world: World) -> None:
    workspace = world.workspace()
    made = delivered(world, workspace)
    scheduler = Scheduler(workspace, world.receiver(workspace), made, Observer(Log("tests.analyzer")))
    errors: list[Exception] = [
        OSError(24, "too many open files"),
        LocalFault("test.localfault", "the store failed"),
        ValueError(),
    ]

    def noticed(_: Sequence[CollectionRow]) -> float:
        if errors:
            raise errors.pop()
        return math.inf

    async def turn() -> None:
        running = asyncio.ensure_future(scheduler.run(noticed))
        while workspace.kept("fruit").state is not State.PUBLISHED:
            assert not running.done(), running
            await asyncio.sleep(0.05)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(asyncio.wait_for(turn(), 60))
    assert errors == []


def test_what_comes_while_publishing_is_tried_is_not_waited_for_again(world: World) -> None:
    """The last opening comes when it has just been found that one is missing: the next try is not in two minutes."""
    workspace = world.workspace()
    delivered(world, workspace)
    came: list[int] = []

    class Awaiting(Publisher):
        def publish(self, kept: CollectionRow) -> float:
            if came:
                return super().publish(kept)
            loop.call_soon_threadsafe(comes)
            while not came:
                time.sleep(0.01)
            return math.inf

    def comes() -> None:
        scheduler.look()
        came.append(1)

    observer = Observer(Log("tests.analyzer"))
    made = Awaiting(workspace, world.receiver(workspace), world.inspection_runner(workspace), Inline(), observer)
    scheduler = Scheduler(workspace, world.receiver(workspace), made, observer)
    loop = asyncio.new_event_loop()

    async def turn() -> None:
        running = asyncio.ensure_future(scheduler.run(lambda _: math.inf))
        while workspace.kept("fruit").state is not State.PUBLISHED:
            assert not running.done(), running
            await asyncio.sleep(0.05)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    with contextlib.closing(loop):
        loop.run_until_complete(asyncio.wait_for(turn(), 60))


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            Full("test.full", "there is no room left in home"),
            "the publishing is tried again: there is no room left in home",
        ),
        (ValueError("a secret"), r"the publishing is tried again: it failed (ValueError): see the log"),
    ],
)
def test_what_keeps_a_collection_from_moving_on_is_in_its_status_for_as_long_as_it_lasts(
    world: World, error: Exception, sentence: str
) -> None:
    workspace, lasts = world.workspace(), [True]
    delivered(world, workspace)

    class Troubled(Publisher):
        def publish(self, kept: CollectionRow) -> float:
            if lasts:
                raise error
            return super().publish(kept)

    observer = Observer(Log("tests.analyzer"), Troubles(world.config.folder).followers())
    made = Troubled(workspace, world.receiver(workspace), world.inspection_runner(workspace), Inline(), observer)

    def said() -> str:
        """By another process: `peos analyzer status`."""
        other = world.workspace()
        try:
            return str(status(other, [other.kept("fruit")])[0])
        finally:
            other.close()

    async def turns() -> None:
        running = asyncio.ensure_future(
            Scheduler(workspace, world.receiver(workspace), made, observer).run(lambda _: math.inf)
        )
        while sentence not in (line := await asyncio.to_thread(said)):
            assert "a secret" not in line
            await asyncio.sleep(0.05)
        lasts.clear()
        while "published" not in (line := await asyncio.to_thread(said)):
            await asyncio.sleep(0.05)
        while "tried again" in await asyncio.to_thread(said):
            await asyncio.sleep(0.05)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(asyncio.wait_for(turns(), 60))
    assert not (world.config.folder / "troubles.json").exists()
