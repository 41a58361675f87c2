"""A study in memory: every round of a task, over records that are here, through the shuffle or without it."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peos.crypto.randomness import U64, Randomness, system
from peos.crypto.schemes.base import PrivateKey
from peos.errors import WrongInput
from peos.estimate.grouped import GroupEstimate
from peos.ldp.grouped_hash import Candidates, GroupedHash, Keys
from peos.simulate.simulation import Simulation
from peos.tasks.base import Answer, Round, RoundDone, Table, Task
from peos.tasks.texts import Records, Texts


@dataclass(frozen=True, eq=False)
class GroupedReports:
    """The reports of one collection, by group."""

    mechanism: GroupedHash
    users: int
    fakes: int
    _groups: NDArray[np.intp]
    _seeds: U64
    _answers: NDArray[np.int64]

    @classmethod
    def of(cls, mechanism: GroupedHash, words: U64, users: int, fakes: int) -> "GroupedReports":
        """Of users and fakes together, in any order."""
        return cls(mechanism, users, fakes, *mechanism.decode(words))

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many reports each group has."""
        return tuple(np.bincount(self._groups, minlength=self.mechanism.domain).tolist())

    def size(self, group: int) -> int:
        """How many reports a group has."""
        return self.sizes[group]

    def estimate(self, group: int, candidates: Candidates) -> GroupEstimate:
        """Of each of them."""
        here = self._groups == group
        seeds, answers = self._seeds[here], self._answers[here]
        counts = self.mechanism.support_counts(seeds, answers, candidates)
        oracle, reports = self.mechanism.oracle, len(seeds)
        return GroupEstimate.of(oracle, counts, reports=reports, users=self.users, fakes=self.fakes)


@dataclass(frozen=True, eq=False)
class StudyAnswer:
    """What a study found, and what every round of it was."""

    task: Task
    table: Table
    is_complete: bool
    rounds: tuple[RoundDone, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """What was found, the most frequent first."""
        return self.table.labels

    @property
    def frequency(self) -> NDArray[np.float64]:
        """Of each label."""
        return self.table.frequency

    @property
    def stderr(self) -> NDArray[np.float64]:
        """Of each frequency."""
        return self.table.stderr

    @property
    def interval95(self) -> NDArray[np.float64]:
        """(labels, 2)."""
        return self.table.interval95

    @property
    def significant(self) -> NDArray[np.bool_]:
        """Which are more than noise, over all candidates that were tested in the last level."""
        return self.table.significant

    def score(self, records: Records) -> dict[str, float]:
        """F1 and normalised cumulative rank of the answer; all as frequent as the last one wanted count as that."""
        counts = Counter(self.task.labels(records))
        wanted = self.task.k
        ranked = sorted(counts.values(), reverse=True)[:wanted]
        rank = {count: place for place, count in reversed(list(enumerate(ranked)))}
        hits = [label for label in self.labels if counts[label] in rank]
        gained, most = (
            sum(wanted - rank[counts[label]] for label in hits),
            sum(wanted - rank[count] for count in ranked),
        )
        given = len(self.labels) + len(ranked)
        f1 = 2 * min(len(hits), len(ranked)) / given if given else 0.0
        return {"f1": f1, "ncr": min(1.0, gained / most) if most else 0.0}


def run_study(
    task: Task,
    records: Records,
    *,
    shuffle: bool = True,
    rng: Randomness | None = None,
    key: PrivateKey | None = None,
    shufflers: int = 3,
    scheme: str | None = None,
) -> StudyAnswer:
    """Ask every round of the task; no user is asked twice. Without `shuffle` reports go straight to the search."""
    if len(records) != task.users:
        raise WrongInput("task.users", f"the task is planned for {task.users} users, and there are {len(records)}")
    rng = rng or system()
    places, asked = rng.permutation(len(records)), 0
    seen: list[Table] = []
    rounds: list[RoundDone] = []
    while True:
        following = task.next(seen)
        if isinstance(following, Answer):
            return StudyAnswer(task, following.table, following.is_complete, tuple(rounds))
        count = round(following.share * (len(records) - asked))
        chosen = places[asked : asked + count]
        asked += count
        keys = _keys(following, records, chosen)
        mechanism, fakes = following.plan.mechanism, following.plan.fakes
        if shuffle:
            simulation = Simulation(mechanism, fakes=fakes, rng=rng, key=key, shufflers=shufflers, scheme=scheme)
            words = simulation.run(keys).reports
            assert isinstance(simulation.mechanism, GroupedHash), "salted, and otherwise the one that was given"
            mechanism = simulation.mechanism
        else:
            words = np.concatenate((mechanism.randomize(keys, rng), rng.uint64((fakes, 1))))
        reports = GroupedReports.of(mechanism, words, count, fakes)
        seen.append(following.decode(reports))
        rounds.append(RoundDone(count, fakes, reports.sizes, following.plan.guarantees))


def _keys(following: Round, records: Records, chosen: NDArray[np.intp]) -> Keys:
    """The chosen users' keys, a column for each view."""
    bits = following.views[0].parameters["bits"]
    given = records[chosen] if isinstance(records, np.ndarray) else [records[one] for one in chosen.tolist()]
    texts = Texts.of(given, bits)
    columns = [view.keys(texts) for view in following.views]
    return Keys(*(np.stack(one, axis=1) for one in zip(*columns, strict=True)))
