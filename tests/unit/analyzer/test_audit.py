"""The analyzer's audit log: a line with every change, and a chain that shows what was done to it."""

import sqlite3

import pytest

from analyzer import orders
from tests.raising import raises
from tests.unit.analyzer.test_commands import _publish
from tests.unit.analyzer.world import World


def events(world: World) -> list[str]:
    lines = world.workspace().store.audit_log()
    return [f"{line.event} {line.fields.get('state', '')}".strip() for line in lines]


def test_a_collection_s_life_is_told_line_by_line(world: World) -> None:
    world.open(world.workspace())
    _publish(world)
    told = events(world)
    assert told[0] == "created"
    for event in ("state open", "dummy submitted", "vector", "state delivered", "state published", "erased"):
        assert event in told, told
    assert told.index("vector") < told.index("state delivered") < told.index("state published") < told.index("erased")


def test_orders_are_in_the_log_also_those_that_reached_nobody(world: World) -> None:
    workspace = world.workspace()
    kept = world.open(workspace)
    orders.abort(workspace, kept)
    assert events(world).count("order given") == 1


@pytest.mark.parametrize(
    "tampered",
    [
        "UPDATE audit SET fields = replace(fields, 'fruit', 'bread') WHERE number = 1",
        "UPDATE audit SET at = at + 1 WHERE number = 2",
        "DELETE FROM audit WHERE number = 2",
        "UPDATE audit SET event = 'nothing' WHERE number = 3",
    ],
)
def test_what_was_changed_or_taken_out_is_noticed(world: World, tampered: str) -> None:
    workspace = world.workspace()
    world.open(workspace)
    workspace.store.audit_log()
    with sqlite3.connect(workspace.config.folder / "analyzer.sqlite") as base:
        with pytest.raises(sqlite3.IntegrityError, match="fixed"):
            base.execute(tampered)  # not by a slip
        for trigger in ("audit_fixed", "audit_stay"):
            base.execute(f"DROP TRIGGER {trigger}")
        base.execute(tampered)
    with raises("store.audit_chain"):
        workspace.store.audit_log()


def test_no_secret_is_in_the_log(world: World) -> None:
    workspace = world.workspace()
    kept = world.open(workspace)
    told = repr([(line.event, dict(line.fields)) for line in workspace.store.audit_log()])
    for dummy in workspace.dummies(kept):
        assert dummy.id.hex() not in told
        assert str(int(dummy.words[0])) not in told
