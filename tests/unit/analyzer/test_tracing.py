"""What an analyzer's trace has of a collection: its states, also by a command, and the steps to a result."""

import asyncio
import math
from collections.abc import Sequence

import numpy as np
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from analyzer.events import TRACED
from analyzer.publisher import Publisher
from analyzer.scheduler import Scheduler
from analyzer.store import CollectionRow
from analyzer.workspace import Workspace
from peos.collection.lifecycle import State
from peos.compute import Inline
from peos.net.logs import Log
from peos.net.observer import Observer
from peos.net.tracing import Tracing
from tests.unit.analyzer.world import World, take


class Traced:
    """An analyzer whose spans stay in memory."""

    def __init__(self, world: World, workspace: Workspace) -> None:
        self.exporter = InMemorySpanExporter()
        tracing = Tracing("analyzer", "office", SimpleSpanProcessor(self.exporter))
        self.workspace, self.observer = workspace, Observer(Log("tests"), tracing.followers(TRACED))
        self.receiver = world.receiver(workspace)
        engine = Inline(world.rng)
        publisher = Publisher(workspace, self.receiver, world.inspection_runner(workspace), engine, self.observer)
        self.scheduler = Scheduler(workspace, self.receiver, publisher, self.observer)

    @property
    def names(self) -> list[str]:
        """Of the spans that have ended."""
        return [span.name for span in self.exporter.get_finished_spans()]

    async def until_it_is_over(self, state: State, command: State | None = None) -> None:
        """Look after the one collection; once it was seen, a command may move it."""
        seen: list[State] = []
        kept = self.workspace.kept("fruit")

        def noticed(live: Sequence[CollectionRow]) -> float:
            seen.extend(one.state for one in live)
            return math.inf

        running = asyncio.ensure_future(self.scheduler.run(noticed))
        while "collection" not in self.names:
            assert not running.done(), running
            if command is not None and seen:
                self.workspace.store.move(kept.digest, command, "the analyst's word")
                command = None
                self.scheduler.look()
            await asyncio.sleep(0.02)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert self.workspace.kept("fruit").state is state


def test_the_steps_from_the_output_to_the_result_are_spans_of_the_publication(world: World) -> None:
    workspace = world.workspace()
    kept, traced = world.open(workspace), Traced(world, workspace)
    values = np.repeat(np.arange(4), [20, 20, 10, 10])
    for sender, sent in world.deliveries(workspace, kept, world.output(workspace, kept, values)).items():
        take(traced.receiver, sent, world.certificate(sender))
    asyncio.run(asyncio.wait_for(traced.until_it_is_over(State.PUBLISHED), 120))
    steps = ["decryption", "inspection", "search for the dummies", "result"]
    assert traced.names == [*steps, "publication", "collection"]
    *steps_, publication, root = traced.exporter.get_finished_spans()
    assert publication.context is not None
    assert all(span.parent is not None and span.parent.span_id == publication.context.span_id for span in steps_)
    assert root.start_time == int((kept.opened_at or 0.0) * 1e9)


def test_what_a_command_ends_ends_in_the_trace(world: World) -> None:
    workspace = world.workspace()
    world.open(workspace, dummies=False)
    traced = Traced(world, workspace)
    asyncio.run(asyncio.wait_for(traced.until_it_is_over(State.ABORTED, State.ABORTED), 120))
    assert traced.names == ["open", "collection"]
    assert [span.status.status_code for span in traced.exporter.get_finished_spans()] == [StatusCode.ERROR] * 2
    assert not any(span.events for span in traced.exporter.get_finished_spans()), "dummies were due meanwhile"
