"""Stand-ins for the papers' data sets of lists, which cannot be had, and searches on them (thesis §5.4.1).

POS and Online: weights 1/(rank + 8), list lengths that are log-normal, and sets planted among the frequent items, since
without any there would be nothing to mine; Kosarak: more users and items, longer tails; Synthesize: independent items.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from peos.crypto.randomness import Randomness
from peos.simulate import run_study
from peos.simulate.study import StudyAnswer
from peos.tasks.base import Table, Task
from peos.tasks.items.truth import frequent_sets

LONGEST: Final = 164
DELTA: Final = 1e-9


@dataclass(frozen=True)
class Baskets:
    """Users' lists of items, as numbers or texts."""

    name: str
    lists: list[list[Any]]
    items: int | tuple[str, ...]

    @property
    def users(self) -> int:
        """How many there are."""
        return len(self.lists)

    @cached_property
    def _truths(self) -> dict[tuple[int, bool], dict[str, int]]:
        return {}

    def truth(self, k: int, *, sets: bool) -> Mapping[str, int]:
        """The k most frequent items, or items and item sets."""
        if (k, sets) not in self._truths:
            found = frequent_sets(self.lists, self.items, k) if sets else self._singles(k)
            self._truths[k, sets] = dict(list(found.items())[:k])
        return self._truths[k, sets]

    def _singles(self, k: int) -> Mapping[str, int]:
        names, counts = np.unique(np.array([one for row in self.lists for one in set(row)]), return_counts=True)
        best = np.argsort(-counts, kind="stable")[:k]
        return {str(names[at]): int(counts[at]) for at in best}


@dataclass(frozen=True)
class Law:
    """How lists are drawn: planted sets on top of independent items."""

    name: str
    users: int
    items: int
    flattened: float  # rank + this
    exponent: float
    log_mean: float
    log_spread: float
    planted: int  # how many sets
    among: tuple[int, int]  # ranks of their items

    def drawn(self, rng: np.random.Generator, users: int | None = None) -> Baskets:
        """Lists of so many users."""
        n = users or self.users
        weights = (np.arange(1, self.items + 1) + self.flattened) ** -self.exponent
        sizes = np.clip(np.round(rng.lognormal(self.log_mean, self.log_spread, n)), 1, LONGEST).astype(np.int64)
        owners = [np.repeat(np.arange(n), sizes)]
        items = [rng.choice(self.items, int(sizes.sum()), p=weights / weights.sum())]
        # Of frequent items, but not the most frequent, sets of two to four are planted.
        pool = rng.permutation(np.arange(*self.among))
        for number in range(self.planted):
            chosen = rng.choice(pool, 2 + number % 3, replace=False)
            has = np.flatnonzero(rng.random(n) < 0.055 / (1 + number) ** 0.1)
            owners.append(np.repeat(has, len(chosen)))
            items.append(np.tile(chosen, len(has)))
        keys = np.unique(np.concatenate(owners) * self.items + np.concatenate(items))
        flat, ends = (keys % self.items).tolist(), np.cumsum(np.bincount(keys // self.items, minlength=n)).tolist()
        lists = [flat[first:last] for first, last in zip([0, *ends], ends, strict=False)]
        return Baskets(self.name, lists, self.items)


POS: Final = Law("POS", 515_597, 1_657, 8.0, 1.0, 1.45, 0.92, 12, (8, 40))
ONLINE: Final = Law("Online", 541_909, 2_603, 8.0, 1.0, 1.45, 0.92, 12, (8, 40))
KOSARAK: Final = Law("Kosarak", 990_002, 41_270, 3.0, 1.1, 1.5, 1.0, 12, (8, 40))
QUEST: Final = Law("Synthesize", 1_800_000, 1_000, 20.0, 0.7, 1.55, 0.3, 0, (0, 1))


def from_file(path: Path) -> Baskets:
    """A JSON list a line."""
    lists = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    if not lists or not all(isinstance(row, list) for row in lists):
        raise ValueError("a line is no list" if lists else "it is empty")
    if all(isinstance(item, int) for row in lists for item in row):
        return Baskets(path.name, lists, max((item for row in lists for item in row), default=1) + 1)
    names = tuple(sorted({str(item) for row in lists for item in row}))
    return Baskets(path.name, [[str(item) for item in row] for row in lists], names)


def searched(task: Task, baskets: Baskets, rng: Randomness) -> StudyAnswer:
    """Without a shuffle: the reports are the same."""
    return run_study(task, baskets.lists, shuffle=False, rng=rng)


def scores(found: Table, truth: Mapping[str, int], users: int) -> dict[str, float]:
    """NCR, hits and the mean squared error of the counts of those that were found (D: over hits)."""
    rank = {label: len(truth) - place for place, label in enumerate(truth)}
    hits = [at for at, label in enumerate(found.labels) if label in rank]
    gained = sum(rank[found.labels[at]] for at in hits)
    errors = [(found.frequency[at] * users - truth[found.labels[at]]) ** 2 for at in hits]
    most = len(truth) * (len(truth) + 1) / 2
    return {"NCR": gained / most, "hits": float(len(hits)), "Var": float(np.mean(errors)) if errors else math.nan}
