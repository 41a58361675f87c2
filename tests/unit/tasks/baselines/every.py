"""The exact law of what a baseline sends: its own code, run once with a user for every way to draw."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from peos.crypto.randomness import Randomness
from peos.ldp.mixture import Coin
from peos.tasks.baselines.base import Draws, Ints

Law = dict[tuple[int, ...], float]
Outcomes = tuple[Fraction, ...]
"""How likely each outcome of a draw is."""
Exact = dict[tuple[int, ...], Fraction]


class Apart(Exception):
    """Some users draw what others do not."""


class Every(Draws):
    """A user for each way to draw: `fixed` is what all of them draw first, `free` are the draws that tell them apart.

    Further draws have their first outcome; `seen` are all that there were, `coins` what each user threw.
    """

    functions = 6

    def __init__(self, fixed: Sequence[int] = (), free: Sequence[Outcomes] = ()) -> None:
        super().__init__(Randomness(bytes(32)))
        self._fixed, self._free = fixed, free
        self.users = self._ways = prod(map(len, free))
        self.seen: list[Outcomes] = []
        self.coins: list[tuple[Outcomes, Ints]] = []

    def below(self, bound: int | Ints, count: int) -> Ints:
        if count % self.users:
            raise Apart
        bounds = np.broadcast_to(np.asarray(bound), count).reshape(self.users, -1)
        if np.any(bounds != bounds[0]):
            raise Apart
        return self._drawn([(Fraction(1, one),) * one for one in bounds[0].tolist()])

    def tells(self, coin: Coin, count: int) -> Any:
        if count % self.users:
            raise Apart
        return self._drawn([(coin.gamma, 1 - coin.gamma)] * (count // self.users)).astype(np.bool_)

    def _drawn(self, draws: Sequence[Outcomes]) -> Ints:
        return np.array([self._one(outcomes) for outcomes in draws], np.int64).T.reshape(-1)

    def _one(self, outcomes: Outcomes) -> Ints:
        at = len(self.seen)
        self.seen.append(outcomes)
        if at < len(self._fixed):
            return np.full(self.users, self._fixed[at])
        if at - len(self._fixed) >= len(self._free):
            return np.zeros(self.users, np.int64)
        self._ways //= len(outcomes)
        chosen: Ints = np.arange(self.users) // max(self._ways, 1) % len(outcomes)
        if len({*outcomes}) > 1:
            self.coins.append((outcomes, chosen))
        return chosen


def law(randomize: Callable[[Any, Draws], Any], records: Callable[[int], Any]) -> Law:
    """The probability of each report of one user; `records(n)` are n users with her record."""
    found = _law(randomize, records, ())
    assert sum(found.values()) == 1
    return {report: float(chance) for report, chance in found.items()}


def largest_ratio(laws: Iterable[Law]) -> float:
    """How much likelier any report is under one record than under another."""
    given = list(laws)
    reports = set().union(*given)
    return max(max(one[at] for one in given) / min(one[at] for one in given) for at in reports)


def _law(randomize: Callable[[Any, Draws], Any], records: Callable[[int], Any], fixed: tuple[int, ...]) -> Exact:
    first = Every(fixed)
    randomize(records(1), first)
    free = first.seen[len(fixed) :]
    every = Every(fixed, free)
    try:
        sent = _flat(randomize(records(every.users), every), every.users)
    except Apart:
        sent = None
    found: defaultdict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    if sent is None or every.seen != first.seen:  # what is drawn later depends on this draw: outcome by outcome
        for outcome, chance in enumerate(free[0]):
            for report, part in _law(randomize, records, (*fixed, outcome)).items():
                found[report] += chance * part
        return found
    even = Fraction(1, prod(len(one) for one in free if len({*one}) == 1))
    width = sent.shape[1]
    rows, times = np.unique(np.column_stack([sent, *(chosen for _, chosen in every.coins)]), axis=0, return_counts=True)
    for row, count in zip(rows.tolist(), times.tolist(), strict=True):
        thrown = zip((outcomes for outcomes, _ in every.coins), row[width:], strict=True)
        found[tuple(row[:width])] += count * even * prod(outcomes[at] for outcomes, at in thrown)
    return found


def _flat(sent: Any, users: int) -> Ints:
    """(users, numbers of a report)."""
    if isinstance(sent, tuple):
        return np.hstack([_flat(part, users) for part in sent])
    return np.asarray(sent, np.int64).reshape(users, -1)
