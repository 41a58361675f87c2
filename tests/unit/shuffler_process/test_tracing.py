"""What a shuffler's trace has: a proposal, rounds of a study by its id, and no call for what users send."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from peos.collection.document import digest
from peos.net.logs import Log
from peos.net.observer import Event, Observer, together
from peos.net.tracing import Tracing, trace_of
from peos.wire.documents import encode_document
from shuffler.events import TRACED
from shuffler.metrics import ShufflerMetrics
from tests.unit.shuffler_process.played import run
from tests.unit.shuffler_process.test_metrics import shuffler
from tests.unit.shuffler_process.test_registry import World
from tests.unit.shuffler_process.test_studies import STUDY, propose, round_of

USERS: Final = 20


class Party:
    """A shuffler whose spans stay in memory."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.heard: list[Event] = []
        self.exporter = InMemorySpanExporter()
        self.tracing = Tracing("shuffler", "north", SimpleSpanProcessor(self.exporter))
        self.metrics = ShufflerMetrics({})
        counted = dict.fromkeys(self.tracing.followers(TRACED), (self._hear,))
        followers = together(self.tracing.followers(TRACED), counted, {Event: (self.metrics.follow,)})
        self.observer = Observer(Log("test"), followers)
        self.world = World(folder, monkeypatch, self.observer)

    def _hear(self, _: bytes, event: Event) -> None:
        self.heard.append(event)

    def spans(self, collection: bytes) -> list[tuple[str, Mapping[str, object]]]:
        """The name and the attributes of each of a collection."""
        found = [(span.context, span) for span in self.exporter.get_finished_spans()]
        trace, _ = trace_of(collection)
        return [(span.name, dict(span.attributes or {})) for of, span in found if of and of.trace_id == trace]


@pytest.fixture
def party(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Party]:
    made = Party(tmp_path, monkeypatch)
    yield made
    made.world.close()


def test_a_proposal_is_a_span_and_each_round_of_a_study_a_trace_that_names_it(party: Party) -> None:
    documents = [round_of(party.world.document, number) for number in (1, 2)]
    digests = [digest(encode_document(document)) for document in documents]

    async def test() -> None:
        await propose(party.world, documents[0])
        assert not party.spans(digests[0]), "it waits for its operator"
        await party.world.registry.live[digests[0]].accept()
        assert [name for name, _ in party.spans(digests[0])] == ["proposal"]
        await propose(party.world, documents[1])
        party.tracing.stop()
        await party.world.registry.close()

    run(test())
    for number, one in enumerate(digests, start=1):
        assert [name for name, _ in party.spans(one)] == ["proposal", "open"]
        about: dict[str, object] = {"peos.collection": one[:8].hex(), "peos.party": "shuffler 1"}
        about |= {"peos.study": STUDY[:8].hex(), "peos.study.round": number}
        assert party.spans(one)[0][1] == about
        assert party.spans(one)[1][1] == about | {"peos.outcome": "stopped"}


def test_submissions_make_no_call_and_no_span(party: Party) -> None:
    async def test() -> None:
        async with shuffler(party.world, party.metrics, party.observer) as here:
            before = list(party.heard)
            parts: list[Any] = [here.part() for _ in range(USERS)]
            answers = await here.submit(parts)
            assert all(answer.row for answer in answers), "they are kept"
            await here.submit(parts)
            refused = await here.submit([here.part(ticket_of=bytes(32)) for _ in range(USERS)])
            assert {answer.error_id for answer in refused} == {"submit.ticket"}
            assert party.heard == before
            party.tracing.stop()
        assert [name for name, _ in party.spans(here.collection)] == ["open"]

    run(test())
