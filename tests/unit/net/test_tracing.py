"""The spans of a party: one trace a collection, errors by their ids, and nothing of users, dummies or secrets."""

import itertools
import logging
import socket
import sys
from collections.abc import Sequence
from typing import Final

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from analyzer import events as of_analyzer
from analyzer.events import DummyNotIn, MovedOn, NotMovedOn, OutputComplete
from peos.collection.lifecycle import State
from peos.collection.ticket import STUDY_BYTES, StudyPart
from peos.errors import LocalFault, NotYet
from peos.net import tracing as tracing_
from peos.net.logs import REDACTED, Log
from peos.net.observer import (
    CollectionFound,
    Event,
    Level,
    Observer,
    StateReached,
    StepReached,
    start_tracing,
    together,
)
from peos.net.tracing import EVENTS, QUEUE, Tracing, sending, trace_of
from shuffler import events as of_shuffler
from shuffler.events import (
    AttemptLeft,
    MessageNotSent,
    PartNotJudged,
    ReportsLeftOut,
    StepFailed,
    SubmissionRefused,
    SubmissionsKept,
    SubmissionsNotKept,
    Waits,
)
from tests.collector import collecting
from tests.raising import raises

DIGEST: Final = bytes(range(32))
NOT_THERE: Final = NotYet("freeze.not_held", "shuffler 2 holds nothing of 812 submissions yet")
KEY: Final = "0123456789abcdef" * 4
MISSED: Final = "traces cannot be sent at the moment"


class Party(Tracing):
    """One whose spans stay in memory; it counts how often it is called."""

    def __init__(self, role: str = "shuffler", kinds: Sequence[type[Event]] = of_shuffler.TRACED) -> None:
        self.exporter = InMemorySpanExporter()
        self.calls = 0
        super().__init__(role, "north", SimpleSpanProcessor(self.exporter))
        self.noting = Observer(Log("test"), together(self.followers(kinds))).of(DIGEST)

    def follow(self, digest: bytes, event: Event) -> None:
        """Count it."""
        self.calls += 1
        super().follow(digest, event)

    def note(self, *events: Event) -> None:
        """Each, of the one collection."""
        for event in events:
            self.noting.note(event)

    @property
    def spans(self) -> list[ReadableSpan]:
        """Those that have ended."""
        return list(self.exporter.get_finished_spans())

    @property
    def names(self) -> list[str]:
        """Theirs."""
        return [span.name for span in self.spans]

    def told(self, name: str) -> list[tuple[str, dict[str, object]]]:
        """What was noted in the one span of that name."""
        (span,) = (span for span in self.spans if span.name == name)
        return [(event.name, dict(event.attributes or {})) for event in span.events]


def found(state: State = State.CLOSED, **more: object) -> CollectionFound:
    """A collection in that state."""
    return CollectionFound(state.value, "shuffler 2", **more)  # type: ignore[arg-type]


def reached(*states: State) -> list[StateReached]:
    """One after another."""
    return [StateReached(state.value, "a reason with 812 reports") for state in states]


def shown(span: ReadableSpan) -> str:
    """All that it says but ids and times, as text."""
    return str([span.name, dict(span.attributes or {}), span.status.description]) + str(
        [(event.name, dict(event.attributes or {})) for event in span.events]
    )


def test_all_parties_spans_join_by_the_digest_below_a_root_that_the_analyzer_sends() -> None:
    trace, root = trace_of(DIGEST)
    north, office = Party(), Party("analyzer", of_analyzer.TRACED)
    north.note(found(State.OPEN, begun=1000.0), *reached(*list(State)[2:7]))
    its_own = (State.CLOSED, State.SHUFFLING, State.DELIVERED, State.PUBLISHED)
    office.note(found(State.OPEN, begun=1001.0), *reached(*its_own))
    assert north.names == ["proposal", "open", "freeze", "layout", "shuffle", "inspection"]
    assert office.names == ["open", "shuffle", "publication", "collection"]
    for span in (*north.spans, *office.spans):
        assert span.context is not None
        assert span.context.trace_id == trace
        assert (span.context.span_id == root) == (span.name == "collection") == (span.parent is None)
        assert span.parent is None or span.parent.span_id == root
    assert (north.spans[0].start_time, office.spans[-1].start_time) == (1000 * 10**9, 1001 * 10**9)
    about = {"peos.collection": DIGEST[:8].hex(), "peos.party": "shuffler 2"}
    assert dict(north.spans[0].attributes or {}) == about
    assert dict(north.spans[-1].attributes or {}) == about | {"peos.outcome": "published"}
    assert trace_of(DIGEST[::-1])[0] != trace
    party = north.spans[0].resource.attributes
    assert (party["service.name"], party["peos.role"], len(party)) == ("north", "shuffler", 4)


def test_a_step_is_a_span_with_its_round_and_shows_whom_it_waited_for() -> None:
    north = Party()
    north.note(found(State.SHUFFLING))
    north.note(StepReached("mixing", "shuffler 3", 1, 1), StepReached("mixing", "", 1, 1))
    north.note(StepReached("splitting", "", 1, 2), StepReached("delivery", "", 1, 3), *reached(State.DELIVERED))
    assert north.names == ["round 1, mixing", "round 2, splitting", "round 3, delivery", "shuffle"]
    assert north.told("round 1, mixing") == [("waits", {"peos.peer": "shuffler 3"}), ("goes on", {})]
    assert north.told("round 2, splitting") == []
    shuffle = north.spans[-1].context
    for span in north.spans[:3]:
        assert span.parent is not None
        assert shuffle is not None
        assert span.parent.span_id == shuffle.span_id
    assert dict(north.spans[1].attributes or {})["peos.round"] == 2


def test_an_attempt_that_is_left_shows_where_and_a_collection_that_is_aborted_that_it_was() -> None:
    north = Party()
    north.note(found(State.SHUFFLING), StepReached("mixing", "shuffler 3", 1, 2))
    north.note(AttemptLeft("nothing from shuffler 3 for 60 s", 1), StepReached("splitting", "", 2, 1))
    assert (north.names, north.spans[0].status.status_code) == (["round 2, mixing"], StatusCode.ERROR)
    assert dict(north.spans[0].attributes or {})["peos.outcome"] == "left"
    assert ("AttemptLeft", {"peos.attempt": 1}) in north.told("round 2, mixing")
    north.note(*reached(State.ABORTED))
    assert [span.status.status_code for span in north.spans] == [StatusCode.ERROR] * 3
    assert not any("reports" in shown(span) for span in north.spans), "reasons are sentences"


def test_errors_are_shown_by_their_ids_once_in_a_span_and_nothing_that_looks_like_a_key() -> None:
    north = Party()
    north.note(found(), *[Waits(NOT_THERE)] * 3, StepFailed(ValueError("a value")))
    north.note(MessageNotSent(LocalFault("store.failed", "no"), f"round 1, {KEY}", "shuffler 3"))
    north.note(*[AttemptLeft("late", number) for number in range(2 * EVENTS)], *reached(State.FROZEN))
    told = north.told("freeze")
    assert told[:2] == [("Waits", {"error.type": "freeze.not_held"}), ("StepFailed", {"error.type": "ValueError"})]
    not_sent = {"peos.peer": "shuffler 3", "peos.step": f"round 1, {REDACTED}", "error.type": "store.failed"}
    assert told[2] == ("MessageNotSent", not_sent)
    assert len(told) == EVENTS
    assert not any(secret in shown(span) for span in north.spans for secret in (KEY, "812", "a value"))


def test_no_event_that_a_user_a_report_or_a_dummy_brings_about_is_heard_of() -> None:
    north, office = Party(), Party("analyzer", of_analyzer.TRACED)
    for party in (north, office):
        party.note(found(State.OPEN))
        party.calls = 0
    for _ in range(100):
        north.note(SubmissionsKept((0.1,), 0.1, 0.1, 1), SubmissionRefused(True), PartNotJudged(ValueError()))
        north.note(SubmissionsNotKept(NOT_THERE, 3), ReportsLeftOut("a reason", 1))
        office.note(DummyNotIn(NOT_THERE), MovedOn("its dummies are sent again"))
    assert (north.calls, office.calls) == (0, 0)
    for kind in (*of_shuffler.TRACED, *of_analyzer.TRACED):
        assert not kind.is_by_callers
        assert kind.level is not Level.NONE


def test_while_a_collection_is_open_nothing_is_noted_nor_is_what_ends_of_it_later() -> None:
    office = Party("analyzer", of_analyzer.TRACED)
    resend = NotMovedOn(NOT_THERE, "open", "its dummies are sent again")
    office.note(found(State.OPEN), resend, StepReached("a step"), *reached(State.CLOSED), resend)
    office.note(NotMovedOn(NOT_THERE, "closed", "the next step"), OutputComplete(1), *reached(State.DELIVERED))
    assert (office.names, office.told("open")) == (["open", "shuffle"], [])
    assert [name for name, _ in office.told("shuffle")] == ["NotMovedOn", "OutputComplete"]


def test_what_is_under_way_is_sent_when_the_party_stops_and_begins_again_with_it() -> None:
    north = Party()
    north.note(found(State.SHUFFLING), StepReached("mixing", "", 1, 1))
    north.stop()
    assert north.names == ["round 1, mixing", "shuffle"]
    assert {dict(span.attributes or {})["peos.outcome"] for span in north.spans} == {"stopped"}
    again = Party()
    again.note(*reached(State.DELIVERED), found(State.PUBLISHED))
    assert not again.spans, "nothing is known of it, and nothing is left of it"
    again.note(found(State.SHUFFLING), *reached(State.DELIVERED))
    assert again.names == ["shuffle"]


def test_a_round_of_a_study_names_it() -> None:
    north = Party()
    north.note(found(study=StudyPart(b"\xab" * STUDY_BYTES, 2, 0, 10)), *reached(State.FROZEN))
    about = dict(north.spans[0].attributes or {})
    assert (about["peos.study"], about["peos.study.round"]) == ("ab" * 8, 2)


def test_spans_go_where_the_configuration_says_whatever_the_environment_or_a_collector_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with collecting() as collector, collecting() as other:
        for name in ("HTTP_PROXY", "http_proxy", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
            monkeypatch.setenv(name, other.address)
        monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "host.name=a-secret")
        monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=a-word")
        for redirect in ("", other.address):
            collector.redirects_to = redirect
            tracing = start_tracing(collector.address, "shuffler", "north", Log("test"))
            assert tracing is not None
            tracing.follow(DIGEST, found())
            tracing.stop()
        assert [(party, span.name) for party, span in collector.all()] == [("north", "freeze")] * 2
        assert not any(b"a-secret" in body for body in collector.bodies)
        assert collector.shown == ["a-word"] * 2
        assert not other.bodies


def test_a_collector_that_does_not_answer_holds_nothing_up_and_costs_no_more_than_a_queue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tracing_, "GRACE", 0.2)
    with collecting() as collector:
        collector.answers.clear()
        processor = sending(collector.address, Observer(Log("test")))
        tracing = Tracing("shuffler", "north", processor)
        for number in range(3 * QUEUE):
            tracing.follow(number.to_bytes(32), found())
            tracing.follow(number.to_bytes(32), StateReached("aborted", ""))
        collector.answers.set()
        processor.force_flush()
        assert 0 < sum(1 for _ in collector.all()) <= QUEUE + QUEUE // 8, "the oldest were lost"
        collector.answers.clear()
        tracing.follow(DIGEST, found())
        tracing.stop()
        assert not collector.answers.is_set(), "it has stopped without an answer"


def test_a_collector_that_is_down_costs_one_line_until_it_is_back(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tracing_, "TIMEOUT", 0.1)
    caplog.set_level(logging.DEBUG)
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # and listens to nothing
        processor = sending(f"http://127.0.0.1:{held.getsockname()[1]}", Observer(Log("test")))
        tracing = Tracing("shuffler", "north", processor)
        for state in itertools.islice(itertools.cycle((State.FROZEN, State.CLOSED)), 4):
            tracing.follow(DIGEST, found())
            tracing.follow(DIGEST, StateReached(state.value, ""))
            processor.force_flush()
        tracing.stop()
    ours = [record for record in caplog.records if record.name == "test"]
    assert [record.message for record in ours] == [MISSED]
    assert not [record for record in caplog.records if record.name.startswith("opentelemetry")]


def test_without_a_collector_nothing_is_made_and_without_the_extra_one_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert start_tracing(None, "shuffler", "north", Log("test")) is None
    monkeypatch.setitem(sys.modules, "peos.net.tracing", None)  # as if what it imports were not there
    with raises("config.tracing_extra"):
        start_tracing("http://127.0.0.1:4318", "shuffler", "north", Log("test"))
