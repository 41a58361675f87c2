"""What happens in a party and where it stands, as Prometheus reads it, and whether it answers: `[listen] metrics`.

    GET /metrics   counts and gauges, made anew by the minute
    GET /healthz   200 as long as they are made

One more reader of the observer's events, and of what `status` reads. No label names a user, a ticket, a value, a
collection or a question; what a caller brings about is shown in steps of a hundred, so that no number shows when one
user sent an answer, or the analyzer a dummy (docs/decisions/0033). prometheus-client and uvicorn are an extra
(`peos[metrics]`): this module is loaded only where such a port is configured.
"""

import asyncio
import os
import re
import threading
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from email.utils import formatdate
from itertools import accumulate
from time import monotonic, time
from types import ModuleType
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from peos import __version__
from peos.collection.lifecycle import OVER, State
from peos.collection.status import Waiting
from peos.net import observer as observer_
from peos.net.certificates import expiry
from peos.net.limits import METRICS
from peos.net.observer import (
    EVERYTHING,
    DescriptorsFound,
    Event,
    Level,
    MetricsNotRead,
    MetricsRead,
    Observer,
    StateReached,
)
from peos.net.web import Receive, RunningWeb, Scope, Send, serve_web

EVERY: Final = 60.0  # seconds; what happens between is shown together
STEP: Final = 100  # submissions, or other things that callers bring about
DESCRIPTORS: Final = 512  # a step of them: room for the connections of a hundred users, and for what a process has open
BUCKETS: Final = (0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, float("inf"))  # seconds
_STALE: Final = 5 * EVERY
_TEXT: Final = b"text/plain; version=0.0.4; charset=utf-8"
_OPEN: Final = "/proc/self/fd"
_OF_ONE: Final = re.compile(r"^attempt \d+, (round \d+, )?|, \d+ dummies.*| \(.*")
_SAME: Final = 5.0  # seconds that two readings of one moment may differ by


def in_steps(count: float, step: int = STEP) -> int:
    """As many whole steps as there are."""
    return int(count) // step * step


class Timed:
    """How long the stages of something took: what is known of the first hundred, of the second, and so on."""

    def __init__(self, stages: Sequence[str]) -> None:
        self.count = 0
        self._pending: list[Sequence[float]] = []
        self._buckets = {stage: [0] * len(BUCKETS) for stage in stages}

    def add(self, seconds: Sequence[float]) -> None:
        """One more, with the time of each stage; it is shown with the rest of its hundred."""
        self._pending.append(seconds)
        if len(self._pending) < STEP:
            return
        for one in self._pending:
            for buckets, taken in zip(self._buckets.values(), one, strict=True):
                buckets[next(place for place, most in enumerate(BUCKETS) if taken <= most)] += 1
        self.count += len(self._pending)
        self._pending = []

    def families(self, name: str, about: str) -> Iterator[Metric]:
        """A histogram with the stages; without a sum, which nothing asks for."""
        family = HistogramMetricFamily(name, about, labels=["stage"])
        for stage, buckets in self._buckets.items():
            bounds = ("+Inf" if most == BUCKETS[-1] else f"{most:g}" for most in BUCKETS)
            family.add_metric([stage], list(zip(bounds, map(float, accumulate(buckets)), strict=True)), sum_value=None)
        yield family


class Metrics(ABC):
    """Those of one party; a role adds its own. `events` is where the kinds that only this role has are."""

    def __init__(self, role: str, certificates: Mapping[str, bytes], events: ModuleType) -> None:
        kinds = {name_of(kind): kind for kind in _kinds(observer_, events) if _wants_attention(kind)}
        self._role = role
        self._expiry = {port: expiry(data) for port, data in certificates.items()}
        self._descriptors = 0
        self._lock = threading.Lock()  # ports and workers have threads of their own
        self._events = Counter(dict.fromkeys(sorted(kinds), 0))
        self._by_callers = {name for name, kind in kinds.items() if kind.is_by_callers}
        self._states = Counter(dict.fromkeys((state.value for state in State), 0))
        works = {kind.work for kind in _kinds(observer_, events)} - {"", EVERYTHING}
        self._hindered = defaultdict[str, set[bytes]](set, {work: set() for work in works})
        self._since: dict[tuple[str, str], float] = {}

    def follow(self, collection: bytes, event: Event) -> None:
        """Hear of an event."""
        with self._lock:
            self.count(collection, event)

    def count(self, collection: bytes, event: Event) -> None:
        """Take an event in."""
        kind = type(event)
        match event:
            case StateReached(state):
                self._states[state] += 1
            case DescriptorsFound(total):
                self._descriptors = total
        if _wants_attention(kind):
            self._events[name_of(kind)] += int(getattr(event, "count", 1)) if kind.is_by_callers else 1
        if kind.work == EVERYTHING:
            for hindered in self._hindered.values():
                hindered.discard(collection)
        elif kind.work:
            hindered = self._hindered[kind.work]
            (hindered.add if event.trouble else hindered.discard)(collection)

    @abstractmethod
    async def read(self) -> None:
        """Read what is not known from events."""

    @abstractmethod
    def families(self) -> Iterator[Metric]:
        """What the role shows besides."""

    async def exposition(self) -> bytes:
        """All of them, now."""
        await self.read()
        with self._lock:
            return _text([*self._common(), *self.families()])

    def _common(self) -> Iterator[Metric]:
        yield InfoMetricFamily("peos", "The program.", {"role": self._role, "version": __version__})
        certificates = gauge("peos_certificate_expiry_timestamp_seconds", "When a port's certificate expires.", "port")
        for port, at in self._expiry.items():
            certificates.add_metric([port], at)
        yield certificates
        yield gauge("peos_descriptors_limit", "Files and connections that may be open.", value=self._descriptors)
        if os.path.isdir(_OPEN):
            about = f"Files and connections that are open, in steps of {DESCRIPTORS}."
            yield gauge("peos_descriptors_open", about, value=in_steps(len(os.listdir(_OPEN)), DESCRIPTORS))
        about = f"What wants attention, by kind; what callers bring about in steps of {STEP}."
        events = CounterMetricFamily("peos_events", about, labels=["event"])
        for name, count in self._events.items():
            events.add_metric([name], in_steps(count) if name in self._by_callers else count)
        yield events
        states = CounterMetricFamily("peos_state_changes", "Collections that reached a state.", labels=["state"])
        for state, count in self._states.items():
            states.add_metric([state], count)
        yield states
        hindered = gauge("peos_hindered", "Collections whose work is hindered now, by kind; or all, as one.", "work")
        for work, of in sorted(self._hindered.items()):
            hindered.add_metric([work], len(of))
        yield hindered

    async def serve(self, address: str, observer: Observer) -> "MetricsPort":
        """Show them at a port."""
        port = MetricsPort(self, observer)
        await port.open(address)
        return port

    def collections(self, states: Iterable[str]) -> Iterator[Metric]:
        """How many are in which state."""
        family = gauge("peos_collections", "Collections that are not over, by state.", "state")
        found = Counter(states)
        for state in (one.value for one in State if one not in OVER):
            family.add_metric([state], found[state])
        yield family

    def steps(self, found: Iterable[Waiting]) -> Iterator[Metric]:
        """What is waited for, from whom, since when, and how far it is; of users' answers no count."""
        since = gauge(
            "peos_step_started_timestamp_seconds", "Since when a step is waited for, the longest.", "step", "party"
        )
        done = gauge("peos_step_rows_done", "Rows of a step that are there.", "step")
        total = gauge("peos_step_rows", "Rows of a step.", "step")
        rows: dict[str, tuple[int, int]] = {}
        now, started = time(), dict[tuple[str, str], float]()
        for waiting in found:
            step = kind_of(waiting)
            for party in waiting.parties:
                at, known = now - waiting.seconds, self._since.get((step, party), 0.0)
                at = known if abs(at - known) < _SAME else at
                started[step, party] = min(at, started.get((step, party), at))
            if waiting.total and "users" not in waiting.parties:
                before = rows.get(step, (0, 0))
                rows[step] = before[0] + waiting.done, before[1] + waiting.total
        self._since = started
        for labels, at in sorted(started.items()):
            since.add_metric(labels, int(at))
        for step, (here, of) in sorted(rows.items()):
            done.add_metric([step], here)
            total.add_metric([step], of)
        yield from (since, done, total)


class MetricsPort:
    """Answers with what was made last, whatever the metrics are doing: a scraper costs a copy, and holds nothing up."""

    def __init__(self, metrics: Metrics, observer: Observer) -> None:
        self._metrics = metrics
        self._observer = observer
        self._shown = b""
        self._made = self._at = 0.0
        self._running: RunningWeb
        self._looking: asyncio.Task[None]

    async def open(self, address: str) -> None:
        """Answer at `address`, once there is something to answer; made anew by the minute."""
        await self._look()
        self._running = await serve_web(
            lambda _: self.application, address, None, observer=self._observer, limits=METRICS
        )
        self._looking = asyncio.create_task(self._look_again())

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._running.port

    async def stop(self, grace: float) -> None:
        """Take no new calls, and give those under way `grace` seconds."""
        self._looking.cancel()
        await self._running.stop(grace)

    async def _look_again(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            await self._look()

    async def _look(self) -> None:
        try:
            self._shown = await self._metrics.exposition()
        except Exception as error:  # a store that cannot be read; the party goes on
            self._observer.note(MetricsNotRead(error))
        else:
            self._made, self._at = monotonic(), time()
            self._observer.note(MetricsRead())

    async def application(self, scope: Scope, _: Receive, send: Send) -> None:
        """The two routes."""
        status, body, headers = self._answer(scope["method"], scope["path"])
        headers += [(b"content-length", str(len(body)).encode()), (b"x-content-type-options", b"nosniff")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    def _answer(self, method: str, path: str) -> tuple[int, bytes, list[tuple[bytes, bytes]]]:
        plain, modified = [(b"content-type", b"text/plain; charset=utf-8")], formatdate(self._at, usegmt=True).encode()
        if path not in ("/metrics", "/healthz"):
            return 404, b"there is /metrics, and /healthz\n", plain
        if method not in ("GET", "HEAD"):
            return 405, b"only GET is answered here\n", [*plain, (b"allow", b"GET, HEAD")]
        if not self._shown or monotonic() - self._made > _STALE:
            return 503, b"what stands here could not be read for minutes; the log says why\n", plain
        if path == "/healthz":
            return 200, b"ok\n", plain
        return 200, self._shown, [(b"content-type", _TEXT), (b"last-modified", modified)]


class _Given(Collector):
    """Families that are made already, for a registry."""

    def __init__(self, families: Sequence[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        """They."""
        return self._families


def _text(families: Sequence[Metric]) -> bytes:
    registry = CollectorRegistry()
    registry.register(_Given(families))
    return generate_latest(registry)


def gauge(name: str, about: str, *labels: str, value: float | None = None) -> GaugeMetricFamily:
    """A gauge: with a value, or with labels and values to come."""
    return GaugeMetricFamily(name, about, value=value, labels=labels or None)


def name_of(kind: type[Event]) -> str:
    """A kind of event as a label has it."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


def kind_of(waiting: Waiting) -> str:
    """A step without what is of one collection alone: its attempt and round, its dummies, its end."""
    return _OF_ONE.sub("", waiting.step)


def _kinds(*modules: ModuleType) -> Iterator[type[Event]]:
    found = (one for module in modules for one in vars(module).values())
    yield from (one for one in found if isinstance(one, type) and issubclass(one, Event))


def _wants_attention(kind: type[Event]) -> bool:
    return bool(kind.sentence) and kind.level in (Level.WARNING, Level.ERROR)
