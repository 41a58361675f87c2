"""A task of one file (docs/adding_a_task.md): among listed texts, and then between the two most frequent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from peos.ldp.base import Mechanism
from peos.ldp.reports import Reports
from peos.privacy.planner import plan
from peos.tasks.base import Answer, Round, Table, table
from peos.tasks.kinds import Option, TaskKind
from peos.tasks.planning import Planned, Targets
from peos.tasks.texts import Records
from peos.tasks.views import CandidatesView


@dataclass(frozen=True)
class RunOff:
    """Half of the users choose among all texts, the others between two."""

    texts: tuple[str, ...]
    users: int
    plans: tuple[Planned[Mechanism], ...]
    k: int = 1

    def labels(self, records: Records) -> list[str]:
        return [str(record) for record in records]

    def next(self, seen: Sequence[Table]) -> Round | Answer:
        if len(seen) == 2:
            return Answer(seen[1])
        asked = self.texts if not seen else seen[0].labels[:2]

        def decode(reports: Reports) -> Table:
            estimate = reports.estimate()
            best = np.argsort(-estimate.frequency[: len(asked)], kind="stable")
            return table([asked[one] for one in best], estimate, best)

        return Round((CandidatesView(asked),), self.plans[len(seen)], 1.0 if seen else 0.5, decode)


def build(given: Mapping[str, Any], targets: Targets) -> RunOff:
    """Two rounds, for the same targets."""
    texts, users = tuple(given["texts"]), targets["users"]
    found = [plan(of, cells, **_without(targets)) for of, cells in ((users // 2, len(texts) + 1), (users // 2, 3))]
    return RunOff(texts, users, tuple(Planned(one.randomizer, users // 2, one.fakes, one.guarantees) for one in found))


def _without(targets: Targets) -> dict[str, Any]:
    return {name: value for name, value in targets.items() if name != "users"}


RUN_OFF = TaskKind(
    name="run-off",
    about="the favourite of a list",
    question="What do you like best?",
    options=(Option("texts", list, "What there is."),),
    build=build,
    demo={"users": 40},
    records=lambda given, users, _: [given["texts"][0]] * users,
)
