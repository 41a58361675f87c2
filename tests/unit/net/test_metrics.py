"""The port for metrics: what was made last, to all that ask, however slowly they read; and nothing once it is old."""

import asyncio
import http.client
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from typing import Final

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from peos.collection.status import Waiting
from peos.crypto.randomness import Randomness
from peos.errors import Full
from peos.net import metrics as metrics_
from peos.net.certificates import make_certificate
from peos.net.limits import METRICS
from peos.net.logs import Log
from peos.net.metrics import BUCKETS, STEP, Metrics, MetricsPort, Timed, gauge, kind_of
from peos.net.observer import CallFailed, Event, Listens, Observer, PortFull, StateReached
from shuffler import events
from shuffler.events import ATTEMPTS, AttemptLeft, AttemptWaits, Finished, StepFailed
from tests.raising import raises
from tests.unit.shuffler_process.played import run

DIGEST: Final = bytes(range(32))
LONG: Final = 4 << 20  # bytes, more than a socket holds


class Made(Metrics):
    """Those of a role that counts how often it is read."""

    def __init__(self) -> None:
        super().__init__("role", {"users": make_certificate("users", Randomness(b"m" * 32)).pem}, events)
        self.waits: list[Waiting] = []
        self.fails = False
        self.long = 0
        self.reads = 0

    async def read(self) -> None:
        self.reads += 1
        if self.fails:
            raise OSError("a secret")

    def families(self) -> Iterator[Metric]:
        yield from self.steps(self.waits)
        yield gauge("peos_long", "x" * self.long, value=self.reads)


async def shown(metrics: Metrics) -> dict[tuple[str, ...], float]:
    """The samples by name and values of labels."""
    families = text_string_to_metric_families((await metrics.exposition()).decode())
    return {(one.name, *one.labels.values()): one.value for family in families for one in family.samples}


@asynccontextmanager
async def listening(metrics: Metrics, observer: Observer | None = None) -> AsyncIterator[MetricsPort]:
    """A port with these."""
    port = await metrics.serve("127.0.0.1:0", observer or Observer(Log("test")))
    try:
        yield port
    finally:
        await port.stop(0.1)


def ask(port: MetricsPort, path: str = "/metrics", method: str = "GET") -> tuple[int, bytes, str]:
    """One request on a connection of its own; its status, its body, and when that was made."""
    link = http.client.HTTPConnection("127.0.0.1", port.port, timeout=60)
    try:
        link.request(method, path)
        answer = link.getresponse()
        return answer.status, answer.read(), answer.headers["last-modified"] or ""
    finally:
        link.close()


def test_an_event_is_counted_and_what_callers_bring_about_by_the_hundred() -> None:
    async def test() -> None:
        metrics = Made()
        noting = Observer(Log("test"), {Event: (metrics.follow,)}).of(DIGEST)
        noting.note(StateReached("open", ""))
        for _ in range(STEP - 1):
            noting.note(CallFailed(ValueError("x"), "/Submit"))
        noting.note(StepFailed(ValueError("x")))
        noting.note(PortFull(1, 250))
        noting.note(Listens("here", 1))
        found = await shown(metrics)
        assert found["peos_state_changes_total", "open"] == found["peos_events_total", "step_failed"] == 1
        assert (found["peos_events_total", "call_failed"], found["peos_events_total", "port_full"]) == (0, 200)
        assert not any("listens" in name for name in found)
        noting.note(CallFailed(ValueError("x"), "/Submit"))
        assert (await shown(metrics))["peos_events_total", "call_failed"] == STEP

    run(test())


def test_what_is_hindered_is_shown_until_it_goes_on() -> None:
    async def test() -> None:
        metrics = Made()
        noting = Observer(Log("test"), {Event: (metrics.follow,)})
        for collection in (DIGEST, bytes(32)):
            noting.of(collection).note(AttemptWaits(Full("store.full", "no room is left", hint="make some"), 1))
        noting.of(DIGEST).note(AttemptLeft("it was late", 1))
        assert (await shown(metrics))["peos_hindered", ATTEMPTS] == 2
        noting.of(DIGEST).note(Finished())
        assert (await shown(metrics))["peos_hindered", ATTEMPTS] == 1

    run(test())


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        ("submissions, 32 dummies among them (closing in 3,600 s)", "submissions"),
        ("acceptance (peos shuffler accept)", "acceptance"),
        ("attempt 3, round 12, hand-over", "hand-over"),
        ('attempt 1, the "stored" notice', 'the "stored" notice'),
        ("freeze, list", "freeze, list"),
    ],
)
def test_a_step_is_named_without_what_is_of_one_collection(step: str, kind: str) -> None:
    assert kind_of(Waiting(step)) == kind


def test_steps_say_from_whom_since_when_and_how_far_and_stay_the_same_while_they_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [1_000_000.4]
    monkeypatch.setattr(metrics_, "time", lambda: now[0])

    async def test() -> None:
        metrics = Made()
        hand_over = "attempt 1, round 2, hand-over"
        metrics.waits = [
            Waiting("submissions, 32 dummies among them", ("users",), 250, 132, 70.0),
            Waiting(hand_over, ("shuffler 2 (east)",), 10, 100, 30.0),
            Waiting(hand_over, ("shuffler 2 (east)",), 5, 50, 90.0),
        ]
        found = await shown(metrics)
        started = "peos_step_started_timestamp_seconds"
        assert found[started, "users", "submissions"] == 999_930
        assert found[started, "shuffler 2 (east)", "hand-over"] == 999_910
        assert (found["peos_step_rows_done", "hand-over"], found["peos_step_rows", "hand-over"]) == (15, 150)
        assert ("peos_step_rows_done", "submissions") not in found, "how many answered shows when each did"
        now[0] += 60.0
        metrics.waits = [Waiting("submissions, 32 dummies among them", ("users",), 251, 132, 129.1)]
        assert (await shown(metrics))[started, "users", "submissions"] == 999_930

    run(test())


def test_times_are_those_of_whole_hundreds() -> None:
    timed = Timed(("commit",))

    def buckets() -> list[float]:
        (family,) = timed.families("seconds", "")
        return [sample.value for sample in family.samples]

    for _ in range(STEP - 1):
        timed.add((0.003,))
    assert buckets() == [0.0] * len(BUCKETS)
    timed.add((30.0,))
    timed.add((0.0,))
    assert buckets() == [0.0, *[99.0] * 6, 100.0], "the hundredth took longest, and the next is not shown"


def test_the_port_gives_what_was_made_last_and_makes_it_anew_by_the_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        metrics = Made()
        async with listening(metrics) as port:
            first = await asyncio.to_thread(ask, port)
            assert (first[0], metrics.reads) == (200, 1)
            assert first == await asyncio.to_thread(ask, port), "however often it is asked"
            assert metrics.reads == 1
            assert first[2].endswith("GMT")
            assert (await asyncio.to_thread(ask, port, "/metrics", "HEAD"))[:2] == (200, b"")
            assert (await asyncio.to_thread(ask, port, "/healthz"))[:2] == (200, b"ok\n")
            assert (await asyncio.to_thread(ask, port, "/"))[0] == 404
            assert (await asyncio.to_thread(ask, port, "/metrics", "POST"))[0] == 405
        assert metrics_.EVERY == 60.0
        monkeypatch.setattr(metrics_, "EVERY", 0.01)
        async with listening(metrics) as port:
            while (await asyncio.to_thread(ask, port))[1] == first[1]:
                await asyncio.sleep(0.01)

    run(test())


def test_what_cannot_be_read_for_long_is_not_shown_any_more(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(metrics_, "EVERY", 0.01)

    async def test() -> None:
        metrics, now = Made(), [0.0]
        monkeypatch.setattr(metrics_, "monotonic", lambda: now[0])
        observer = Observer(Log("test"), {Event: (metrics.follow,)})
        async with listening(metrics, observer) as port:
            metrics.fails = True
            now[0] = 200.0
            reads = metrics.reads
            while metrics.reads < reads + 3:
                await asyncio.sleep(0.01)
            assert (await asyncio.to_thread(ask, port, "/healthz"))[0] == 200
            now[0] = 400.0
            while (await asyncio.to_thread(ask, port, "/healthz"))[0] != 503:
                now[0] += 100.0
            assert (await asyncio.to_thread(ask, port))[0] == 503
            metrics.fails = False
            while (await asyncio.to_thread(ask, port))[0] != 200:
                await asyncio.sleep(0.01)

    run(test())
    said = [record.message for record in caplog.records if record.message.startswith("metrics")]
    assert said == ["metrics cannot be read at the moment"], "once"


def test_scrapers_that_read_nothing_hold_nothing_up() -> None:
    async def test() -> None:
        metrics = Made()
        metrics.long = LONG
        async with listening(metrics) as port:
            with ExitStack() as links:
                for number in range(METRICS.connections):
                    link = links.enter_context(socket.create_connection(("127.0.0.1", port.port), timeout=60))
                    link.sendall(b"GET /metrics HTTP/1.1\r\n" + (b"host: here\r\n\r\n" if number % 2 else b""))
                for _ in range(1000):  # until one that is silent has wasted enough of its place
                    try:
                        if (await asyncio.to_thread(ask, port, "/healthz"))[0] == 200:
                            break
                    except OSError:
                        await asyncio.sleep(0.05)
                else:
                    pytest.fail("the port is held by callers that read nothing")

    run(test())


def test_without_its_packages_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from peos.net import web

    monkeypatch.setattr(web, "find_spec", lambda name: None if name == "prometheus_client" else name)
    with raises("config.metrics_extra"):
        web.require_metrics()
