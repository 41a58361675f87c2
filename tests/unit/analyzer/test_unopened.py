"""An output of which some rows were not seen: delivered until the analyst gives the word, which the result repeats."""

import json
import sqlite3
import time
from typing import Any

import pytest

from analyzer import orders
from analyzer.delivery_receiver import VECTORS
from analyzer.inspection_runner import InspectionRunner
from analyzer.publisher import Publisher
from analyzer.status import status
from analyzer.store import CollectionRow
from analyzer.workspace import Workspace
from peos.collection.lifecycle import State
from peos.compute import Inline
from peos.net.logs import Log
from peos.net.observer import Observer
from peos.shuffle.inspect.evidence import Nothing, Opening
from peos.shuffle.messages import Header, Kind, Step, VectorHeader
from peos.store import database
from peos.wire.inspections import encode_opening
from peos.wire.shuffles import decode_receipt
from tests.raising import raises
from tests.unit.analyzer.test_publisher import VALUES
from tests.unit.analyzer.world import World, take


@pytest.fixture
def workspace(world: World) -> Workspace:
    """An analyzer with an output, whose shufflers have nothing to show."""
    opened = world.workspace()
    kept = world.open(opened)
    for sender, sent in world.deliveries(opened, kept, world.output(opened, kept, VALUES)).items():
        take(world.receiver(opened), sent, world.certificate(sender))
    return opened


def publisher(world: World, workspace: Workspace, *, patience: float) -> Publisher:
    found = InspectionRunner(workspace, patience=patience)
    return Publisher(workspace, world.receiver(workspace), found, Inline(), Observer(Log("tests.analyzer")))


def kept(workspace: Workspace) -> CollectionRow:
    return workspace.kept("fruit")


def say_nothing(workspace: Workspace, who: int, why: Nothing = Nothing.LOST) -> None:
    """An opening in which a shuffler shows nothing."""
    receipt = kept(workspace).receipt
    assert receipt is not None
    header = Header(decode_receipt(receipt).context, Step(3, Kind.OPENING), who, 0)
    rows = encode_opening(Opening(who, nothing=why))
    InspectionRunner(workspace).keep(VectorHeader(header, len(rows), 1, bytes(32)), rows)


def told(workspace: Workspace) -> str:
    return str(status(workspace, [kept(workspace)])[0])


def result(workspace: Workspace) -> dict[str, Any]:
    found = kept(workspace).result
    assert found is not None, "it is published"
    read: dict[str, Any] = json.loads(found)
    return read


def test_until_the_word_is_given_it_stays_delivered_and_status_says_whom_it_is_about(
    world: World, workspace: Workspace
) -> None:
    patient, impatient = publisher(world, workspace, patience=1e9), publisher(world, workspace, patience=-1e9)
    patient.publish(kept(workspace))
    with raises("result.inspecting", "fruit"):
        orders.publish(workspace, kept(workspace), frozenset())
    say_nothing(workspace, 1)
    say_nothing(workspace, 3, Nothing.UNREVEALED)
    say_nothing(workspace, 2)
    impatient.publish(kept(workspace))
    impatient.publish(kept(workspace))
    assert kept(workspace).state is State.DELIVERED
    said = told(workspace)
    assert "not published: shuffler 1 showed nothing or too little (it was started anew" in said
    assert "shuffler 3 showed nothing or too little (it was not shown the dummies as it must be)" in said
    assert "`peos analyzer publish fruit --unopened 1,2,3` publishes all the same" in said
    for named in ((), (1,), (1, 2)):
        with raises("result.unopened", "fruit", "shuffler 3") as no:
            orders.publish(workspace, kept(workspace), frozenset(named))
        assert no.value.exit_code == 3
    impatient.publish(kept(workspace))
    assert kept(workspace).state is State.DELIVERED, "a refused word is none"

    orders.publish(workspace, kept(workspace), frozenset({1, 2, 3}))
    impatient.publish(kept(workspace))
    found = result(workspace)
    assert found["inspection"] == {"dummies": 0, "not_opened": [1, 2, 3]}
    assert found["checks"]["inspection"] is None
    assert not found["ok"]
    (line,) = (one for one in workspace.store.audit_log() if one.event == "published unopened")
    assert line.fields["shufflers"] == "1, 2, 3"
    with raises("result.past", "fruit", "published"):
        orders.publish(workspace, kept(workspace), frozenset())


def test_what_is_published_while_it_is_looked_at_is_seen_as_published(world: World, workspace: Workspace) -> None:
    """Its openings are overwritten under the look."""
    impatient = publisher(world, workspace, patience=-1e9)
    for who in (1, 2, 3):
        say_nothing(workspace, who)
    impatient.publish(kept(workspace))
    before = kept(workspace)
    opening = workspace.folder(before) / VECTORS / "2.opening"
    content = opening.read_bytes()
    orders.publish(workspace, before, frozenset({1, 2, 3}))
    impatient.publish(kept(workspace))
    opening.parent.mkdir(exist_ok=True)
    opening.write_bytes(bytes(len(content)))
    assert before.state is State.DELIVERED
    (found,) = status(workspace, [before])
    assert (found.here.state, found.here.reason) == ("published", "")


@pytest.mark.parametrize("behind", [False, True])
def test_a_word_whose_commit_failed_is_given_again(
    world: World, workspace: Workspace, behind: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for who in (1, 2, 3):
        say_nothing(workspace, who)
    made = publisher(world, workspace, patience=-1e9)
    made.publish(kept(workspace))
    commit = database.commit

    def fails(connection: sqlite3.Connection) -> None:
        monkeypatch.setattr(database, "commit", commit)
        if behind:
            commit(connection)
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(database, "commit", fails)
    with raises("store.failed", "the analyzer's database"):
        orders.publish(workspace, kept(workspace), frozenset({1, 2, 3}))
    orders.publish(workspace, kept(workspace), frozenset({1, 2, 3}))
    made.publish(kept(workspace))
    assert result(workspace)["inspection"]["not_opened"] == [1, 2, 3]


def test_who_is_not_heard_of_is_waited_for_and_then_named(world: World, workspace: Workspace) -> None:
    say_nothing(workspace, 1)
    publisher(world, workspace, patience=1e9).publish(kept(workspace))
    assert "waiting for the inspection from shuffler 2" in told(workspace)
    publisher(world, workspace, patience=-1e9).publish(kept(workspace))
    assert kept(workspace).state is State.DELIVERED
    assert InspectionRunner(workspace, patience=-1e9).unseen(kept(workspace))[2] == "nothing was heard of it"


def test_a_word_about_rows_that_nobody_misses_is_wrong(world: World, workspace: Workspace) -> None:
    for who in (1, 2, 3):
        say_nothing(workspace, who)
    publisher(world, workspace, patience=-1e9).publish(kept(workspace))
    with raises("input.unopened_seen", "shuffler 9"):
        orders.publish(workspace, kept(workspace), frozenset({1, 2, 3, 9}))


def test_without_a_word_all_is_erased_in_time(
    world: World, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for who in (1, 2, 3):
        say_nothing(workspace, who)
    made = publisher(world, workspace, patience=-1e9)
    made.publish(kept(workspace))
    due = workspace.signed(kept(workspace)).document.erase_by
    monkeypatch.setattr(time, "time", lambda: float(due))
    made.publish(kept(workspace))
    assert kept(workspace).state is State.ABORTED
    assert "no order to publish without them came" in kept(workspace).reason
    assert kept(workspace).key is None


def test_what_is_not_delivered_cannot_be_published(world: World) -> None:
    workspace = world.workspace()
    world.open(workspace)
    with raises("result.early", "fruit", "open"):
        orders.publish(workspace, kept(workspace), frozenset())
