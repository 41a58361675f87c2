"""What a shuffler shows to Prometheus: submissions and their times, bytes, steps, zeros, workers (peos.net.metrics)."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from prometheus_client.metrics_core import CounterMetricFamily, Metric

from peos.collection.lifecycle import State
from peos.net.metrics import STEP, Metrics, Timed, gauge, in_steps
from peos.net.observer import Event
from shuffler import events
from shuffler.events import SubmissionRefused, SubmissionsKept
from shuffler.intake import Intake
from shuffler.registry import CollectionRegistry
from shuffler.status import awaited

BYTES: Final = 1 << 20  # a step: what users ask after the closing, proofs, are a thousandth of it
ZEROS: Final = 10_000  # a step
_STAGES: Final = ("queue", "store", "commit")
_OUTCOMES: Final = ("repeated", "refused", "later")  # besides those that are stored, which are counted with their times
_TAKES_SUBMISSIONS: Final = (State.DRAFT, State.OPEN)


class ShufflerMetrics(Metrics):
    """Reads the registry and the intake, once they are there."""

    def __init__(self, certificates: Mapping[str, bytes]) -> None:
        super().__init__("shuffler", certificates, events)
        self._registry: CollectionRegistry | None = None
        self._intake: Intake | None = None
        self._stored = Timed(_STAGES)
        self._outcomes = Counter(dict.fromkeys(_OUTCOMES, 0))

    def watch(self, registry: CollectionRegistry, intake: Intake) -> None:
        """Show these."""
        self._registry, self._intake = registry, intake

    def count(self, collection: bytes, event: Event) -> None:
        """Take an event in."""
        super().count(collection, event)
        match event:
            case SubmissionsKept(queued, waited, committed, repeated):
                for seconds in queued:
                    self._stored.add((seconds, waited, committed))
                self._outcomes["repeated"] += repeated
            case SubmissionRefused(for_now):
                self._outcomes["later" if for_now else "refused"] += 1

    async def read(self) -> None:
        """Nothing but what is in memory."""

    def families(self) -> Iterator[Metric]:
        """All of a shuffler's own."""
        about = f"Submissions by what became of them, in steps of {STEP}."
        submissions = CounterMetricFamily("peos_submissions", about, labels=["outcome"])
        submissions.add_metric(["stored"], self._stored.count)
        for outcome, count in self._outcomes.items():
            submissions.add_metric([outcome], in_steps(count))
        yield submissions
        about = f"Seconds until a submission was durable, {STEP} of them at a time."
        yield from self._stored.families("peos_submission_seconds", about)
        if self._registry is not None and self._intake is not None:
            yield from self._read(self._registry, self._intake)

    def _read(self, registry: CollectionRegistry, intake: Intake) -> Iterator[Metric]:
        about = f"Submissions that wait for the store, in steps of {STEP}."
        yield gauge("peos_submissions_waiting", about, value=in_steps(intake.waiting))
        about = "Zeros in stock, in steps of 10,000."
        yield gauge("peos_zeros", about, value=in_steps(registry.zeros, ZEROS))
        yield gauge("peos_workers", "Workers for passes over ciphertexts.", value=registry.workers)
        sessions = list(registry.live.values())
        sent, received = registry.past_bytes
        for session in sessions:
            if session.state not in _TAKES_SUBMISSIONS:
                sent, received = sent + session.meter.sent, received + session.meter.received
        about = "Bytes of messages of collections that take no submissions any more, in steps of a mebibyte."
        moved = CounterMetricFamily("peos_bytes", about, labels=["direction"])
        moved.add_metric(["sent"], in_steps(sent, BYTES))
        moved.add_metric(["received"], in_steps(received, BYTES))
        yield moved
        yield from self.collections(session.state.value for session in sessions)
        yield from self.steps(awaited(session) for session in sessions)
