"""The dummies on their way: sent like users' reports, one by one, through proxies, and all of them before a freeze."""

import asyncio
from bisect import bisect
from dataclasses import replace
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from analyzer import orders
from analyzer.dummies import Dummies
from analyzer.enrol import mint_tickets
from analyzer.publisher import Publisher
from analyzer.scheduler import Scheduler
from analyzer.store import CollectionRow
from analyzer.workspace import SERVING, Workspace
from peos.collection.dummies import LEAST_SENT
from peos.collection.lifecycle import State
from peos.compute import Inline
from peos.crypto.schemes.base import PrivateKey
from peos.errors import PeosError
from peos.net.logs import Log
from peos.net.observer import Observer
from peos.store.private_files import lock, unlock
from tests import proxies
from tests.raising import raises
from tests.unit.analyzer.world import USERS, Silent, World, take
from tests.unit.fake_shuffler import refuse


def test_a_dummy_is_sent_as_a_client_sends_and_its_parts_add_up(world: World) -> None:
    workspace = world.workspace()
    kept = world.open(workspace, dummies=False)
    Dummies(workspace).send(kept, 3)
    dummy = workspace.dummies(kept)[3]
    for shuffler in world.shufflers:
        assert list(shuffler.shares) == [dummy.id]
        assert shuffler.described == shuffler.streams == 1, "it asks what the collection is, as clients do"
    first, *others = (shuffler.shares[dummy.id] for shuffler in world.shufflers)
    private = workspace.private_key(kept)
    assert isinstance(private, PrivateKey)
    total = private.decrypt(np.frombuffer(first, np.uint8).reshape(1, -1))
    for share in others:
        total = total + np.frombuffer(share, "<u8")
    assert total.tolist() == dummy.words.tolist()
    assert workspace.store.dummies_taken(kept.digest) == {3}
    assert workspace.store.dummy_bytes(kept.digest) > sum(
        len(shuffler.shares[dummy.id]) for shuffler in world.shufflers
    )


def test_one_that_was_cut_off_is_sent_again_with_the_same_bytes(world: World) -> None:
    world.shufflers[2].before = refuse("no room")
    workspace = world.workspace()
    kept = world.open(workspace, dummies=False)
    with raises("dummies.not_accepted", "shuffler 3 (organisation 3)", "no room"):
        Dummies(workspace).send(kept, 0)
    before = [dict(shuffler.shares) for shuffler in world.shufflers]
    assert [len(parts) for parts in before] == [1, 1, 0]
    assert not workspace.store.dummies_taken(kept.digest)
    world.shufflers[2].before = None
    again = world.workspace()
    Dummies(again).send(again.kept("fruit"), 0)
    assert [dict(shuffler.shares) for shuffler in world.shufflers[:2]] == before[:2]
    assert again.store.dummies_taken(kept.digest) == {0}


def test_no_row_number_tells_a_dummy_from_a_user(world: World, tmp_path: Path) -> None:
    """Lists are sorted by id, and both kinds of ids are drawn by the analyzer."""
    workspace, users = world.workspace(), 2_000
    kept, out = world.open(workspace, dummies=False), tmp_path / "tickets"
    mint_tickets(workspace, kept.digest, users, out, Silent())
    drawn = sorted(bytes.fromhex(line.partition(":")[0]) for line in out.read_text().splitlines())
    own = [dummy.id for dummy in workspace.dummies(kept)]
    assert {len(id_) for id_ in (*drawn, *own)} == {16}
    place = float(np.mean([bisect(drawn, id_) / users for id_ in own]))
    allowed = 4.9 * sqrt((1 / len(own) + 1 / users) / 12)  # one run in a million
    assert abs(place - 0.5) <= allowed < 0.5, f"mean place {place:.4f}, allowed 0.5 ± {allowed:.4f}"


@pytest.mark.parametrize("kind", ["socks5", "http"])
def test_named_proxies_hide_the_analyzers_address(world: World, kind: str) -> None:
    workspace = world.workspace()
    kept = world.open(workspace, dummies=False)
    Dummies(workspace).send(kept, 0)
    ports = sorted(int(shuffler.card.user_address.rpartition(":")[2]) for shuffler in world.shufflers)
    settings = world.file.read_text()
    with proxies.Proxy(kind) as proxy:
        world.file.write_text(settings + f'[dummies]\nthrough = ["{proxy.url}"]\n')
        Dummies(world.workspace()).send(kept, 1)
        assert sorted(port for _, port in proxy.asked) == sorted(2 * ports), "the document, and then the report"
    assert [len(shuffler.taken) for shuffler in world.shufflers] == [2, 2, 2]
    with proxies.Proxy(kind, refuse=True) as proxy:  # and past the proxy there is no way
        world.file.write_text(settings + f'[dummies]\nthrough = ["{proxy.url}"]\n')
        with pytest.raises(PeosError):
            Dummies(world.workspace()).send(kept, 2)
    assert [len(shuffler.taken) for shuffler in world.shufflers] == [2, 2, 2]


def test_the_scheduler_sends_them_as_users_come(world: World) -> None:
    """With no user there, none is due; once all are there that were expected, half of them."""
    workspace = world.workspace()
    kept = world.open(workspace, dummies=False, minimum=USERS // 2)
    scheduler = _scheduler(world, workspace)
    asyncio.run(_turn(scheduler, kept))
    assert not workspace.store.dummies_taken(kept.digest)
    for shuffler in world.shufflers:
        shuffler.status = replace(shuffler.status, reports=USERS)
    asyncio.run(_turn(_scheduler(world, workspace), kept))
    assert len(workspace.store.dummies_taken(kept.digest)) == 32
    assert all(len(shuffler.taken) == 32 for shuffler in world.shufflers)


def test_a_freeze_first_sends_what_is_due_and_no_more(world: World) -> None:
    workspace = world.workspace()
    kept = world.open(workspace, dummies=False, minimum=USERS // 2)
    due = LEAST_SENT  # with half of the users
    for shuffler in world.shufflers:
        shuffler.status = replace(shuffler.status, reports=USERS // 2)
    told: list[str] = []
    orders.freeze(workspace, kept, told.append, told.append)
    assert len(workspace.store.dummies_taken(kept.digest)) == due
    for shuffler in world.shufflers:
        assert len(shuffler.taken) == due
        assert len(shuffler.orders) == 1
    assert told[-2:] == [f"submitting the dummies that are due: {due - 1} of {due}", "telling every shuffler to close"]
    assert workspace.kept("fruit").state is State.CLOSED


def test_a_freeze_leaves_what_is_due_to_the_process_that_serves(world: World) -> None:
    """One alone sends, or what the other has begun would pass for a user, and call further dummies in."""
    workspace = world.workspace()
    kept = world.open(workspace, dummies=False, minimum=USERS // 2)
    for shuffler in world.shufflers:
        shuffler.status = replace(shuffler.status, reports=USERS // 2)
    numbers = Dummies(workspace).due(kept, USERS // 2)
    told: list[str] = []

    def sent(sentence: str) -> None:
        told.append(sentence)
        number = numbers.pop(0)
        workspace.store.dummy_taken(kept.digest, number, 1)
        for shuffler in world.shufflers:
            shuffler.status = replace(shuffler.status, reports=shuffler.status.reports + 1)

    held = lock(workspace.config.folder / SERVING)
    try:
        orders.freeze(workspace, kept, sent)
    finally:
        unlock(held)
    assert told[0] == f"waiting for dummies that are due and being sent: {LEAST_SENT} left"
    assert len(told) == LEAST_SENT
    assert [len(shuffler.taken) for shuffler in world.shufflers] == [0, 0, 0]
    assert [len(shuffler.orders) for shuffler in world.shufflers] == [1, 1, 1]


def test_a_dummy_that_only_some_hold_is_no_user_and_the_next_to_be_sent(world: World) -> None:
    world.shufflers[2].before = refuse("no room")
    workspace = world.workspace()
    kept = world.open(workspace, dummies=False, minimum=USERS // 2)
    dummies = Dummies(workspace)
    with raises("dummies.not_accepted", "shuffler 3"):
        dummies.send(kept, 5)
    said = [replace(one.status, known=True, reports=len(one.taken)) for one in world.shufflers]
    assert dummies.answered(kept, said) == 0
    assert dummies.due(kept, 0) == [5]
    world.shufflers[2].before = None
    dummies.send(kept, 5)
    assert dummies.due(kept, 0) == []


def test_a_full_collection_is_closed_at_every_shuffler(world: World) -> None:
    workspace = world.workspace()
    kept = world.open(workspace, dummies=False, minimum=USERS // 2)
    for users, state in ((2 * USERS - 1, State.OPEN), (2 * USERS, State.CLOSED)):
        taken = len(workspace.store.dummies_taken(kept.digest))
        for shuffler in world.shufflers:
            shuffler.status = replace(shuffler.status, reports=users + taken, known=True, state=State.OPEN)
        asyncio.run(_turn(_scheduler(world, workspace), kept))
        assert workspace.kept("fruit").state is state
    assert [len(shuffler.taken) for shuffler in world.shufflers] == [64] * 3, "all dummies are among them"
    asyncio.run(_turn(_scheduler(world, workspace), workspace.kept("fruit")))
    assert [[order.abort for order in shuffler.orders] for shuffler in world.shufflers] == [[False]] * 3


def test_what_was_not_sent_is_shown_to_the_shufflers_alone_and_once_it_is_closed(world: World) -> None:
    workspace = world.workspace()
    kept = world.open(workspace, dummies=False)
    shown = world.inspection_runner(workspace).unsent
    sent = {3, 7}
    for number in sent:
        workspace.store.dummy_taken(kept.digest, number, 1)
    with raises("freeze.early"):
        shown(kept.digest, world.certificate(1))
    workspace.store.move(kept.digest, State.CLOSED)
    with raises("inspection.caller"):
        shown(kept.digest, b"another certificate")
    commitments = workspace.signed(kept).document.dummies
    left = [one for number, one in enumerate(commitments) if number not in sent]
    assert [one.commitment for one in shown(kept.digest, world.certificate(2))] == left
    workspace.store.move(kept.digest, State.ABORTED, "as the analyst says")
    with raises("freeze.late", "aborted"):
        shown(kept.digest, world.certificate(2))


@pytest.mark.parametrize(("taken", "published"), [(64, True), (LEAST_SENT, True), (LEAST_SENT - 1, False)])
def test_only_dummies_that_every_shuffler_acknowledged_must_come_out(world: World, taken: int, published: bool) -> None:
    """A moment's trouble at one shuffler while dummies are sent does not cost the collection, too few of them do."""
    workspace = world.workspace()
    kept = world.open(workspace, dummies=False, minimum=USERS // 2)
    for number in range(taken):
        workspace.store.dummy_taken(kept.digest, number, 1)
    rows = world.output(workspace, kept, np.zeros(USERS, np.int64))
    unsent = {dummy.words.tobytes() for dummy in workspace.dummies(kept)[taken:]}
    rows = np.stack([row for row in rows if row.tobytes() not in unsent])
    receiver = world.receiver(workspace)
    for number, sent in world.deliveries(workspace, kept, rows).items():
        take(receiver, sent, world.certificate(number))
    receiver.settle(workspace.kept("fruit"))
    Publisher(
        workspace, receiver, world.inspection_runner(workspace), Inline(world.rng), Observer(Log("tests"))
    ).publish(workspace.kept("fruit"))
    after = workspace.kept("fruit")
    assert (after.state is State.PUBLISHED) is published
    if not published:
        assert f"only {taken} of 64 dummies were acknowledged by every shuffler" in after.reason


def _scheduler(world: World, workspace: Workspace) -> Scheduler:
    receiver = world.receiver(workspace)
    publisher = Publisher(
        workspace, receiver, world.inspection_runner(workspace), Inline(world.rng), Observer(Log("tests"))
    )
    return Scheduler(workspace, receiver, publisher, Observer(Log("tests")))


async def _turn(scheduler: Scheduler, kept: CollectionRow) -> None:
    """One look at the collection, and all that it sets going."""
    await scheduler.step(kept)
    await asyncio.gather(*(task for task in asyncio.all_tasks() if task is not asyncio.current_task()))
