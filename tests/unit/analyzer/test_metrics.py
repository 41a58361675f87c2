"""What an analyzer shows: where its collections stand, what budgets have left, and nothing of when a dummy was sent."""

import asyncio

from prometheus_client.parser import text_string_to_metric_families

from analyzer.events import DummyNotIn, VectorTaken
from analyzer.metrics import AnalyzerMetrics
from peos.collection.lifecycle import State
from peos.errors import LocalFault
from peos.net.logs import Log
from peos.net.metrics import STEP
from peos.net.observer import Event, Observer
from tests.unit.analyzer.world import DUMMY_BYTES, World

BUDGET = "[budget]\nepsilon = 100.0\ndelta = 1e-6\n"


def values(metrics: AnalyzerMetrics) -> dict[tuple[str, ...], float]:
    """The samples by name and values of labels."""
    families = text_string_to_metric_families(asyncio.run(metrics.exposition()).decode())
    return {(one.name, *one.labels.values()): one.value for family in families for one in family.samples}


def test_a_collection_is_shown_by_its_state_and_by_what_it_waits_for_here(world: World) -> None:
    workspace = world.workspace()
    metrics = AnalyzerMetrics(workspace, 2)
    assert values(metrics)["peos_workers",] == 2
    kept = world.open(workspace)
    found = values(metrics)
    assert found["peos_collections", "open"] == 1
    assert ("peos_step_started_timestamp_seconds", "users", "submissions") in found
    assert not any(name == "peos_step_rows" for name, *_ in found)
    workspace.store.move(kept.digest, State.CLOSED, "")
    metrics.follow(kept.digest, VectorTaken("shuffler 1", 1, 4096))
    found = values(metrics)
    assert (found["peos_collections", "open"], found["peos_collections", "closed"]) == (0, 1)
    awaited = [one[1] for one in found if one[0] == "peos_step_started_timestamp_seconds" and one[2] == "delivery"]
    assert len(awaited) == found["peos_step_rows", "delivery"] == 2, "the last hiders"
    assert all(party.startswith("shuffler ") for party in awaited)
    assert found["peos_bytes_total", "received"] == 4096


def test_dummies_that_are_sent_leave_every_byte_as_it_was(world: World) -> None:
    workspace = world.workspace()
    metrics = AnalyzerMetrics(workspace, 2)
    noting = Observer(Log("test"), {Event: (metrics.follow,)})
    kept = world.open(workspace, dummies=False)
    before = asyncio.run(metrics.exposition())
    dummies = range(len(workspace.signed(kept).document.dummies))
    assert dummies
    for number in dummies:
        workspace.store.dummy_taken(kept.digest, number, DUMMY_BYTES)
        noting.of(kept.digest).note(DummyNotIn(LocalFault("test.localfault", "it did not answer")))
        assert asyncio.run(metrics.exposition()) == before
    for _ in range(STEP - len(dummies)):
        noting.of(kept.digest).note(DummyNotIn(LocalFault("test.localfault", "it did not answer")))
    assert values(metrics)["peos_events_total", "dummy_not_in"] == STEP


def test_what_populations_have_spent_is_read_when_collections_change(world: World) -> None:
    world.file.write_text(world.file.read_text() + BUDGET)
    workspace = world.workspace()
    metrics = AnalyzerMetrics(workspace, 2)
    assert values(metrics)["peos_budget_epsilon",] == 100.0
    world.open(workspace, population="staff")
    first = values(metrics)["peos_budget_spent_epsilon", "staff"]
    assert 0.0 < first < 100.0
    assert values(metrics)["peos_budget_spent_epsilon", "staff"] == first
    world.open(workspace, name="vegetables", question="Which vegetable?", population="staff")
    assert values(metrics)["peos_budget_spent_epsilon", "staff"] > first
