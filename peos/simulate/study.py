"""A study in memory: every round of a task, over records that are here, through the shuffle or without it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peos.compute import Engine, Inline
from peos.crypto.randomness import U64, Randomness
from peos.crypto.randomness import given as given_rng
from peos.crypto.schemes.base import PrivateKey
from peos.errors import WrongInput
from peos.ldp.base import Mechanism
from peos.ldp.reports import SharedReports
from peos.privacy.guarantees import Guarantees, weakest
from peos.simulate.simulation import Simulation
from peos.tabular import Rows, Tabular
from peos.tasks.base import Answer, Round, RoundDone, Table, Task, require_collectable
from peos.tasks.scoring import score
from peos.tasks.texts import Records
from peos.tasks.views import answers_of


@dataclass(frozen=True, eq=False, repr=False)
class StudyAnswer(Tabular):
    """What a study found, and what every round of it was; whatever else the task's own answer offers is there too."""

    task: Task
    answer: Answer
    rounds: tuple[RoundDone, ...]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "answer":
            raise AttributeError(name)
        return getattr(self.answer, name)

    @property
    def summary(self) -> str:
        """Of the answer, and what it cost."""
        rounds = f"{len(self.rounds)} round{'s' * (len(self.rounds) != 1)}"
        return f"{self.answer.summary}; {rounds}, {self.guarantees.summary}"

    def rows(self) -> Rows:
        """Those of the answer."""
        return self.answer.rows()

    @property
    def is_complete(self) -> bool:
        """Whether the task was done before there were no users left."""
        return self.answer.is_complete

    @property
    def labels(self) -> tuple[str, ...]:
        """What was found, the most frequent first."""
        return self.answer.found.labels

    @property
    def frequency(self) -> NDArray[np.float64]:
        """Of each label."""
        return self.answer.found.frequency

    @property
    def stderr(self) -> NDArray[np.float64]:
        """Of each frequency."""
        return self.answer.found.stderr

    @property
    def interval95(self) -> NDArray[np.float64]:
        """(labels, 2)."""
        return self.answer.found.interval95

    @property
    def significant(self) -> NDArray[np.bool_]:
        """Which are more than noise, over all candidates that were tested with them."""
        return self.answer.found.significant

    @property
    def guarantees(self) -> Guarantees:
        """Of the weakest round: a user answers one of them."""
        return weakest([one.guarantees for one in self.rounds])

    @property
    def checks(self) -> dict[str, bool]:
        """What would show that something was wrong with the reports."""
        return {"groups": not any(one.odd for one in self.rounds), **self.answer.checks}

    def score(self, records: Records) -> dict[str, float]:
        """F1 and normalised cumulative rank of the answer."""
        return score(self.task.labels(records), self.task.k, self.labels)


def run_study(
    task: Task,
    records: Records,
    *,
    shuffle: bool = True,
    rng: Randomness | None = None,
    key: PrivateKey | None = None,
    shufflers: int = 3,
    scheme: str | None = None,
    engine: Engine | None = None,
    progress: Callable[[int, int, int], None] | None = None,
) -> StudyAnswer:
    """Ask every round of the task; no user is asked twice. Without `shuffle` reports go straight to the search.

    An `engine` counts candidates of grouped questions with its workers, and ends after a piece when it is closed;
    `progress` is called with (group, done, pieces) as a search goes through its levels.
    """
    if len(records) != task.users:
        raise WrongInput("task.users", f"the task is planned for {task.users} users, and there are {len(records)}")
    if shuffle:
        require_collectable(task)
    rng = given_rng(rng)
    places, asked = rng.permutation(len(records)), 0
    seen: list[Table] = []
    rounds: list[RoundDone] = []
    while True:
        following = task.next(seen)
        if isinstance(following, Answer):
            return StudyAnswer(task, following, tuple(rounds))
        count = round(following.share * (len(records) - asked))
        chosen = places[asked : asked + count]
        asked += count
        given = records[chosen] if isinstance(records, np.ndarray) else [records[one] for one in chosen.tolist()]
        if shuffle:
            mechanism, words = _shuffled(following, given, rng, key=key, shufflers=shufflers, scheme=scheme)
        else:
            mechanism = following.plan.mechanism
            own = mechanism.randomize(mechanism.gathered(answers_of(following.views, given, rng)), rng)
            words = np.concatenate((own, rng.uint64((following.plan.fakes, mechanism.words))))
        reports = mechanism.reports(words, count, following.plan.fakes)
        if (engine or progress) and isinstance(reports, SharedReports):
            reports = reports.shared((engine or Inline()).summed, progress)
        seen.append(following.decode(reports))
        rounds.append(RoundDone.of(following.plan, reports))


def _shuffled(
    following: Round,
    records: Records,
    rng: Randomness,
    *,
    key: PrivateKey | None,
    shufflers: int,
    scheme: str | None,
) -> tuple[Mechanism, U64]:
    """A round as a collection: the mechanism as its document has it, and what is delivered."""
    simulation = Simulation(
        following.plan.mechanism,
        views=tuple(view.describe() for view in following.views),
        fakes=following.plan.fakes,
        rng=rng,
        key=key,
        shufflers=shufflers,
        scheme=scheme,
    )
    own = simulation.mechanism  # salted
    return own, simulation.run(own.gathered(answers_of(following.views, records, rng))).reports
