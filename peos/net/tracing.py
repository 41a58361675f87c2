"""The steps of collections as OpenTelemetry's spans, sent to the operator's own collector: `[tracing] to`.

One more follower of the observer's events. A collection is one trace: its id comes from the digest, so that the spans
of all parties join without a word on the wire. Below the root, which the analyzer sends when all is over, is a span for
each state of the collection with each party, and below that one for each step. Nothing is followed that a user or a
dummy brings about, and while a collection is open nothing at all (docs/decisions/0037).

Spans wait in a bounded queue for a thread of their own, so that no collector holds a collection up. opentelemetry is an
extra (`peos[tracing]`): this module is loaded only where `[tracing] to` is configured.
"""

import hashlib
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import requests
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from peos import __version__
from peos.collection.lifecycle import OVER, State
from peos.collection.ticket import StudyPart
from peos.crypto.randomness import system
from peos.errors import PeosError, RemoteFault
from peos.net.logs import PREFIX, written
from peos.net.observer import (
    CollectionFound,
    Event,
    Failure,
    Followers,
    Observer,
    SpansNotSent,
    SpansSent,
    StateReached,
    StepReached,
)

QUEUE: Final = 2048  # spans that wait at most; from then on the oldest are lost
EVERY: Final = 5.0  # seconds between two sendings
TIMEOUT: Final = 10.0  # seconds for one, with all that is tried again
GRACE: Final = 2.0  # seconds for the last sending, when the process ends
EVENTS: Final = 64  # within a span; more are not noted
NAMES: Final[Mapping[str, Mapping[State, str]]] = {  # of the spans of states
    "shuffler": {
        State.DRAFT: "proposal",
        State.OPEN: "open",
        State.CLOSED: "freeze",
        State.FROZEN: "layout",
        State.SHUFFLING: "shuffle",
        State.DELIVERED: "inspection",
    },
    "analyzer": {  # sees the freeze and the shuffle by asking now and then
        State.OPEN: "open",
        State.CLOSED: "shuffle",
        State.SHUFFLING: "shuffle",
        State.DELIVERED: "publication",
    },
}
_FIELDS: Final = ("peer", "attempt", "step", "state", "id")  # of an event, that are shown
_LABEL: Final = b"peos trace"
_Attributes = dict[str, bool | int | float | str]


def trace_of(digest: bytes) -> tuple[int, int]:
    """The ids of a collection's trace and of its root span, which every party derives alike."""
    found = hashlib.sha256(_LABEL + digest).digest()
    return int.from_bytes(found[:16]), int.from_bytes(found[16:24])


class _Ids(IdGenerator):
    """Random ones, but those of a root span, which are given."""

    def __init__(self) -> None:
        self.root: tuple[int, int] | None = None

    def generate_trace_id(self) -> int:
        """That of the root: all other spans have a parent, and its trace."""
        assert self.root is not None, "a span without a parent is a root"
        return self.root[0]

    def generate_span_id(self) -> int:
        """Eight random bytes, which no other span of the trace has."""
        return self.root[1] if self.root is not None else int.from_bytes(system().bytes(8)) or 1


class _Watched(SpanExporter):
    """Notes whether spans are taken."""

    def __init__(self, exporter: SpanExporter, to: str, observer: Observer) -> None:
        self._exporter, self._observer = exporter, observer
        self._fault = RemoteFault(
            "tracing.not_taken",
            "does not take spans",
            party=f"the collector at {to}",
            step="tracing",
            hint="see that it runs and speaks OTLP over HTTP; no collection waits for it",
        )

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send them."""
        found = self._exporter.export(spans)
        is_sent = found is SpanExportResult.SUCCESS
        self._observer.note(SpansSent() if is_sent else SpansNotSent(self._fault))
        return found

    def shutdown(self) -> None:
        """Give up what is being tried again."""
        self._exporter.shutdown()


def sending(to: str, observer: Observer) -> SpanProcessor:
    """What sends spans to the collector at `to`, in a thread of its own; `observer` is for that thread alone."""
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL + 1)  # the observer says it, and once
    session = requests.Session()
    session.trust_env, session.max_redirects = False, 0  # where spans go is what the configuration says
    exporter = OTLPSpanExporter(f"{to}/v1/traces", timeout=TIMEOUT, session=session)
    return BatchSpanProcessor(_Watched(exporter, to, observer), QUEUE, EVERY * 1e3, QUEUE // 8, TIMEOUT * 1e3)


@dataclass
class _Under:
    """A span that has not ended, and what was noted in it."""

    span: Span
    name: str
    reached: StepReached | None = None  # of a step
    noted: set[tuple[object, ...]] = field(default_factory=set)


@dataclass
class _Collection:
    """What is known of a collection that is not over."""

    digest: bytes
    party: str
    state: State
    begun: float
    study: StudyPart | None
    spans: list[_Under] = field(default_factory=list)  # of the state, and below it of the step


class Tracing:
    """Makes spans of events, and ends what is under way when it is stopped."""

    def __init__(self, role: str, name: str, processor: SpanProcessor) -> None:
        self._names = NAMES[role]
        self._sends_root = role == "analyzer"  # one party's is enough
        self._processor = processor
        self._ids = _Ids()
        about = {"service.namespace": "peos", "service.name": _text(name), "service.version": __version__}
        provider = TracerProvider(  # none of its arguments is left to the environment
            sampler=ALWAYS_ON,
            resource=Resource({**about, "peos.role": role}),
            shutdown_on_exit=False,
            id_generator=self._ids,
            span_limits=SpanLimits(max_events=EVENTS),
        )
        provider.add_span_processor(processor)
        self._tracer = provider.get_tracer("peos", __version__)
        self._lock = threading.Lock()  # events come from several threads
        self._found: dict[bytes, _Collection] = {}

    def followers(self, kinds: Sequence[type[Event]]) -> Followers:
        """To hear of states and steps, and of events of `kinds` within them."""
        return dict.fromkeys((CollectionFound, StateReached, StepReached, *kinds), (self.follow,))

    def follow(self, digest: bytes, event: Event) -> None:
        """Hear of an event."""
        with self._lock:
            if isinstance(event, CollectionFound):
                self._find(digest, event)
            elif (found := self._found.get(digest)) is not None:
                self._hear(found, event)

    def stop(self) -> None:
        """End what is under way, and send it if the collector takes it at once."""
        with self._lock:
            for found in self._found.values():
                self._end(found, "stopped")
            self._found.clear()
        ending = threading.Thread(target=self._processor.shutdown, daemon=True)
        ending.start()
        ending.join(GRACE)

    def _find(self, digest: bytes, event: CollectionFound) -> None:
        state = State(event.state)
        if state in OVER or digest in self._found:
            return
        found = _Collection(digest, event.party, state, event.begun or time.time(), event.study)
        self._found[digest] = found
        if event.begun and state is not State.DRAFT and State.DRAFT in self._names:  # accepted at once
            self._begin(found, self._names[State.DRAFT], since=event.begun)
            self._end(found)
        since = event.begun if state is State.DRAFT else 0.0
        self._begin_state(found, state, since)

    def _hear(self, found: _Collection, event: Event) -> None:
        match event:
            case StateReached(state):
                self._reach(found, State(state))
            case _ if State.OPEN in (found.state, getattr(event, "state", None)):
                pass  # users answer, and dummies are sent
            case StepReached():
                self._take_step(found, event)
            case _:
                self._note(found, event)

    def _reach(self, found: _Collection, state: State) -> None:
        name, found.state = self._names.get(state), state
        if found.spans and name == found.spans[0].name:
            return
        if state in OVER:
            self._end(found, state.value, failed=state is State.ABORTED)
            if self._sends_root:
                self._send_root(found, state)
            del self._found[found.digest]
        else:
            self._end(found)
            self._begin_state(found, state)

    def _begin_state(self, found: _Collection, state: State, since: float = 0.0) -> None:
        if state in self._names:
            self._begin(found, self._names[state], since=since)

    def _take_step(self, found: _Collection, reached: StepReached) -> None:
        if not found.spans:
            return
        here = found.spans[1].reached if len(found.spans) > 1 else None
        step = replace(reached, peer="")
        if step != here:
            is_left = here is not None and here.attempt < step.attempt
            self._end(found, "left" if is_left else "", failed=is_left, keep=1)
            self._begin(found, f"round {step.round}, {step.step}" if step.round else step.step, reached=step)
        if reached.peer:
            self._add(found, "waits", {"peos.peer": _text(reached.peer)})
        elif step == here:
            self._add(found, "goes on", {})

    def _note(self, found: _Collection, event: Event) -> None:
        shown: _Attributes = {}
        for name in _FIELDS:
            value = written(getattr(event, name, None))
            if value is not None:
                shown["error.type" if name == "id" else f"peos.{name}"] = value
        if isinstance(event, Failure):
            error = event.error
            shown["error.type"] = _text(error.id if isinstance(error, PeosError) else type(error).__name__)
        self._add(found, type(event).__name__, shown)

    def _add(self, found: _Collection, name: str, shown: _Attributes) -> None:
        """Once in each span: what is tried again and again shows its first time."""
        if not found.spans:
            return
        under = found.spans[-1]
        key = (name, *shown.items())
        if key not in under.noted and len(under.noted) < EVENTS:
            under.noted.add(key)
            under.span.add_event(name, shown)

    # Spans.

    def _begin(self, found: _Collection, name: str, *, since: float = 0.0, reached: StepReached | None = None) -> None:
        if found.spans:
            parent = found.spans[-1].span
        else:
            flags = TraceFlags(TraceFlags.SAMPLED)
            parent = NonRecordingSpan(SpanContext(*trace_of(found.digest), is_remote=True, trace_flags=flags))
        about = _about(found)
        if reached is not None and reached.attempt:
            about |= {"peos.attempt": reached.attempt, "peos.round": reached.round}
        began = _nanoseconds(since) if since else None
        span = self._tracer.start_span(name, set_span_in_context(parent, Context()), attributes=about, start_time=began)
        found.spans.append(_Under(span, name, reached))

    def _end(self, found: _Collection, outcome: str = "", *, failed: bool = False, keep: int = 0) -> None:
        """All spans but the outermost `keep`."""
        while len(found.spans) > keep:
            _close(found.spans.pop().span, outcome, failed)

    def _send_root(self, found: _Collection, state: State) -> None:
        self._ids.root = trace_of(found.digest)
        span = self._tracer.start_span(
            "collection", Context(), attributes=_about(found), start_time=_nanoseconds(found.begun)
        )
        self._ids.root = None
        _close(span, state.value, state is State.ABORTED)


def _about(found: _Collection) -> _Attributes:
    about: _Attributes = {"peos.collection": found.digest[:PREFIX].hex(), "peos.party": _text(found.party)}
    if found.study is not None:
        about |= {"peos.study": found.study.id[:PREFIX].hex(), "peos.study.round": found.study.round}
    return about


def _close(span: Span, outcome: str, failed: bool) -> None:
    if outcome:
        span.set_attribute("peos.outcome", outcome)
    if failed:
        span.set_status(StatusCode.ERROR)
    span.end()


def _text(value: str) -> str:
    return str(written(value))


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1e9)
