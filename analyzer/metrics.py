"""What an analyzer shows to Prometheus: its collections and what they wait for, bytes, budgets (peos.net.metrics)."""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Final

from prometheus_client.metrics_core import CounterMetricFamily, Metric

from analyzer import events
from analyzer.events import VectorTaken
from analyzer.ledger import ledger_of, populations, shown
from analyzer.status import awaited
from analyzer.workspace import Workspace
from peos.collection.lifecycle import OVER
from peos.collection.status import Waiting
from peos.net.metrics import Metrics, gauge
from peos.net.observer import Event
from peos.privacy.ledger import Budget

_Spent = Mapping[str, float]
_NOTHING: Final[_Spent] = {}


class AnalyzerMetrics(Metrics):
    """Reads the workspace, but asks no shuffler: each shows what it knows itself."""

    def __init__(self, workspace: Workspace, workers: int) -> None:
        super().__init__("analyzer", {"shufflers": workspace.keys.certificate.pem}, events)
        self._workspace = workspace
        self._workers = workers
        self._received = 0
        self._live: list[str] = []  # their states
        self._waits: list[Waiting] = []
        self._spent = _NOTHING
        self._spent_of: object = None  # the collections that it was spent by

    def count(self, collection: bytes, event: Event) -> None:
        """Take an event in."""
        super().count(collection, event)
        if isinstance(event, VectorTaken):
            self._received += event.bytes

    async def read(self) -> None:
        """The store's collections, and what populations have given away if that has changed."""
        self._live, self._waits = await asyncio.to_thread(self._read)
        budget = self._workspace.config.budget
        if budget is not None:
            self._spent = await asyncio.to_thread(self._read_spent, budget)

    def _read(self) -> tuple[list[str], list[Waiting]]:
        live = [kept for kept in self._workspace.store.live() if kept.state not in OVER]
        return [kept.state.value for kept in live], [awaited(self._workspace, kept) for kept in live]

    def _read_spent(self, budget: Budget) -> _Spent:
        store = self._workspace.store
        now = [store.over(), [(kept.digest, kept.state) for kept in store.live()]]
        if now == self._spent_of:
            return self._spent
        found = {one: ledger_of(self._workspace, one, budget).spent.epsilon for one in populations(self._workspace)}
        self._spent_of = now
        return found

    def families(self) -> Iterator[Metric]:
        """All of an analyzer's own."""
        yield gauge("peos_workers", "Workers for decryption.", value=self._workers)
        moved = CounterMetricFamily(
            "peos_bytes", "Bytes of the vectors that shufflers delivered.", labels=["direction"]
        )
        moved.add_metric(["received"], self._received)
        yield moved
        yield from self.collections(self._live)
        yield from self.steps(self._waits)
        budget = self._workspace.config.budget
        if budget is not None:
            yield gauge("peos_budget_epsilon", "The most that a population may give away.", value=budget.epsilon)
        spent = gauge("peos_budget_spent_epsilon", "What a population has given away.", "population")
        for population, epsilon in self._spent.items():
            spent.add_metric([shown(population)], epsilon)
        yield spent
