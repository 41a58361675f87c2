"""Searches for frequent texts over stand-ins, with counts of candidates drawn in place of reports.

The papers' data cannot be had, or was withdrawn by its publisher: random strings with the stated numbers of users and
of distinct strings, by Zipf's law or as stated. A candidate that k of a group's N reports hold is supported by
Bin(k, p) + Bin(N − k, u) of them, each candidate's number drawn by itself: its own law exactly, and as key hashing has
it no two are correlated. What is searched, and how, is the task's own `decode`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from experiments.measuring import Floats
from experiments.populations import Counts
from peos.estimate.grouped import GroupedOracle, GroupEstimate
from peos.ldp.grouped_hash import MOST_GROUPS, Candidates, GroupedHash, Keys
from peos.ldp.linked_hash import LinkedHash
from peos.tasks.base import Round, Table, Task
from peos.tasks.planning import planned
from peos.tasks.prefix_search import PrefixSearch
from peos.tasks.texts import Prefix, Records, Texts

U64 = NDArray[np.uint64]
_PAIR: Final = np.dtype([("parent", np.uint64), ("ext", np.uint64)])


@dataclass(frozen=True, eq=False)
class Index:
    """The distinct keys that a view makes of texts, in order, and which of them each text has."""

    keys: NDArray[np.void]
    key_of: NDArray[np.intp]

    @classmethod
    def of(cls, keys: Keys) -> "Index":
        """Of one column."""
        pairs = np.empty(len(keys.parents), _PAIR)
        pairs["parent"], pairs["ext"] = keys.parents, keys.exts
        order = np.lexsort((pairs["ext"], pairs["parent"]))
        listed = pairs[order]
        first = np.ones(len(listed), np.bool_)
        first[1:] = listed[1:] != listed[:-1]
        key_of = np.empty(len(listed), np.intp)
        key_of[order] = np.cumsum(first) - 1
        return cls(listed[first], key_of)

    def held(self, counts: Counts, candidates: Candidates) -> Counts:
        """How many hold each candidate, of so many who hold each text."""
        by_key = np.bincount(self.key_of, weights=counts, minlength=len(self.keys)).astype(np.int64)
        if candidates.paired:
            wanted = np.empty(len(candidates.parents), _PAIR)
            wanted["parent"], wanted["ext"] = candidates.parents, candidates.exts
            place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
            paired: Counts = np.where(self.keys[place] == wanted, by_key[place], 0)
            return paired
        found = np.zeros((len(candidates.parents), len(candidates.exts)), np.int64)
        order = np.argsort(candidates.exts, kind="stable")
        exts = candidates.exts[order]
        parents = np.ascontiguousarray(self.keys["parent"])
        begins, ends = (np.searchsorted(parents, candidates.parents, side=side) for side in ("left", "right"))
        for row, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
            here = self.keys["ext"][begin:end]
            place = np.minimum(np.searchsorted(exts, here), len(exts) - 1)
            known = exts[place] == here
            found[row, order[place[known]]] = by_key[begin:end][known]
        return found.reshape(-1)


class Holders:
    """Distinct texts of `bits` bits, and how many users hold each."""

    def __init__(self, name: str, records: Records | Texts, counts: Counts, bits: int) -> None:
        self.name, self.bits = name, bits
        texts = records if isinstance(records, Texts) else Texts.of(records, bits)
        rows, place = np.unique(texts.rows, axis=0, return_inverse=True)  # those that are cut to the same text
        self.texts = Texts(rows, np.ones(len(rows), np.bool_))
        self.counts = np.bincount(place.reshape(-1), weights=counts).astype(np.int64)
        self._ends = np.cumsum(self.counts)
        self._indices: dict[object, Index] = {}

    @property
    def users(self) -> int:
        """How many there are."""
        return int(self.counts.sum())

    def index(self, view: object) -> Index:
        """The keys of a view, made once."""
        if view not in self._indices:
            self._indices[view] = Index.of(view.keys(self.texts))  # type: ignore[attr-defined] # a view of texts
        return self._indices[view]

    def top(self, k: int) -> tuple[Prefix, ...]:
        """The k most frequent; of equals the smaller comes first."""
        best = np.argsort(-self.counts, kind="stable")[:k]
        spare = -self.bits % 8
        return tuple(Prefix(int.from_bytes(self.texts.rows[at].tobytes(), "big") >> spare, self.bits) for at in best)

    def frequencies(self, k: int) -> Mapping[str, int]:
        """Labels and counts of the k most frequent."""
        counts = -np.sort(-self.counts)[:k]
        return dict(zip((text.label for text in self.top(k)), counts.tolist(), strict=True))

    def score(self, found: Sequence[str], k: int) -> tuple[float, float]:
        """(F1, NCR)."""
        wanted = [text.label for text in self.top(k)]
        hits = [place for place, label in enumerate(wanted) if label in {*found}]
        total = len(wanted) * (len(wanted) + 1) // 2
        gained = sum(len(wanted) - place for place in hits)
        return 2 * len(hits) / (len(wanted) + max(len(found), len(wanted))), gained / total

    def sample(self, users: int, rng: np.random.Generator) -> Counts:
        """How many of so many users, drawn at random, hold each."""
        drawn = np.searchsorted(self._ends, rng.integers(0, self._ends[-1], users), side="right")
        return np.bincount(drawn, minlength=len(self.counts))


class Drawn:
    """Reports of which each candidate's number is drawn when it is asked for.

    With `shares` each user answers one group, without them every group.
    """

    def __init__(
        self,
        holders: Holders,
        views: Sequence[object],
        oracle: GroupedOracle,
        rng: np.random.Generator,
        *,
        shares: Sequence[float] | NDArray[np.float64] | None,
        fakes: int = 0,
        counts: Counts | None = None,
    ) -> None:
        self._holders, self._views, self._oracle, self._rng = holders, views, oracle, rng
        counts = holders.counts if counts is None else counts
        self.users, self.fakes = int(counts.sum()), fakes
        if shares is None:
            self._counts = np.broadcast_to(counts[:, np.newaxis], (len(counts), len(views)))
            of_fakes = np.zeros(len(views), np.int64)
        elif len(shares) == 1:
            self._counts, of_fakes = counts[:, np.newaxis], np.array([fakes])
        else:
            self._counts = rng.multinomial(counts, np.asarray(shares))
            of_fakes = rng.multinomial(fakes, np.asarray(shares))
        self.sizes: tuple[int, ...] = tuple((self._counts.sum(axis=0) + of_fakes).tolist())

    def estimate(self, group: int = 0, candidates: Candidates | None = None) -> GroupEstimate:
        """Of each candidate."""
        assert candidates is not None, "every view is of keys"
        held = self._holders.index(self._views[group]).held(self._counts[:, group], candidates)
        reports, oracle = self.sizes[group], self._oracle
        supports = self._rng.binomial(held, oracle.p) + self._rng.binomial(reports - held, oracle.u)
        return GroupEstimate.of(oracle, supports, reports=reports, users=self.users, fakes=self.fakes)


class DrawnLinked(Drawn):
    """Linked reports: of a group of two or three parts, and of the last part everybody's.

    Pairs are drawn once more, apart from what their parts had by themselves.
    """

    def __init__(
        self, holders: Holders, views: Sequence[object], mechanism: LinkedHash, rng: np.random.Generator
    ) -> None:
        self._groups, columns = mechanism.domain, mechanism.parts - 1
        super().__init__(holders, views, mechanism.each.oracle, rng, shares=mechanism.shares)
        groups = self._counts
        self._counts = np.concatenate((*[groups] * columns, holders.counts[:, np.newaxis]), axis=1)
        self.sizes = (*self.sizes * columns, holders.users)

    def together(self, group: int, firsts: U64, seconds: U64) -> Floats:
        """As `LinkedReports` has it."""
        p, u = self._oracle.p, self._oracle.u
        parts = []
        for part, exts in enumerate((firsts, seconds)):
            index = self._holders.index(self._views[group + part * self._groups])
            own = np.repeat(index.keys["ext"][index.key_of], self._counts[:, group])
            chance = np.where(own[:, np.newaxis] == exts, np.float32(p), np.float32(u))
            parts.append(((self._rng.random(chance.shape, np.float32) < chance) - u) / (p - u))
        found: Floats = parts[0].T @ parts[1] / max(1, len(parts[0]))
        return found


def searched(task: Task, holders: Holders, rng: np.random.Generator) -> Table:
    """What a task finds, each round of other users, as its mechanism is planned."""
    if isinstance(task, PrefixSearch) and len(task.cuts) > MOST_GROUPS:  # PEM1 of long texts: no report has so many
        alone = planned(task.asked, (1,)).mechanism
        shares = np.array(task.weights) / sum(task.weights)
        return task.decode(Drawn(holders, task.views, alone.oracle, rng, shares=shares))
    seen: list[Table] = []
    while isinstance(following := task.next(seen), Round):
        mechanism, views = following.plan.mechanism, following.views
        if isinstance(mechanism, LinkedHash):
            seen.append(following.decode(DrawnLinked(holders, views, mechanism, rng)))
            continue
        assert isinstance(mechanism, GroupedHash), "whose supports are drawn here"
        counts = None if following.share == 1.0 else holders.sample(following.plan.users, rng)
        given = {"shares": mechanism.shares, "fakes": following.plan.fakes, "counts": counts}
        seen.append(following.decode(Drawn(holders, views, mechanism.oracle, rng, **given)))  # type: ignore[arg-type] # by name
    return following.found


def letters(rng: np.random.Generator, count: int, length: int) -> list[str]:
    """Distinct words, each letter the r-th of the alphabet with chance ∝ r^-1.3: some beginnings are much in use."""
    ends = np.cumsum(np.arange(1, 27) ** -1.3)
    found = np.empty((0, length), np.uint8)
    while len(found) < count:
        drawn = np.searchsorted(ends, rng.random((2 * count, length)) * ends[-1], side="right") + ord("a")
        found = np.unique(np.concatenate((found, drawn.astype(np.uint8))), axis=0)
    return [row.tobytes().decode() for row in rng.permutation(found)[:count]]


def by_zipf(users: int, distinct: int, exponent: float, rng: np.random.Generator) -> Counts:
    """How many of the users drew each."""
    chances = np.arange(1, distinct + 1, dtype=np.float64) ** -exponent
    counts: Counts = rng.multinomial(users, chances / chances.sum())
    return counts


def numbers(rng: np.random.Generator, count: int, bits: int) -> U64:
    """Distinct random strings of bits."""
    drawn = np.unique(rng.integers(0, 2**bits, count + 1000, dtype=np.uint64, endpoint=False))
    return rng.permutation(drawn)[:count]


def from_file(path: Path, bits: int) -> Holders:
    """Of a file of texts, one a line, each as often as users hold it."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if not lines:
        raise ValueError("it is empty")
    return Holders(path.name, lines, np.ones(len(lines), np.int64), bits)
