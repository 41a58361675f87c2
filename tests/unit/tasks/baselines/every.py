"""The exact law of what a baseline sends: its own code, run once for every outcome of every draw."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peos.crypto.randomness import Randomness
from peos.ldp.mixture import Coin
from peos.tasks.baselines.base import Draws, Ints

Law = dict[tuple[int, ...], float]


class Every(Draws):
    """Draws that follow a path; beyond it the first outcome of each."""

    functions = 6

    def __init__(self, path: list[int]) -> None:
        super().__init__(Randomness(bytes(32)))
        self.path, self.taken, self.weight = path, list[tuple[int, int]](), Fraction(1)

    def _one(self, outcomes: list[Fraction]) -> int:
        at = len(self.taken)
        chosen = self.path[at] if at < len(self.path) else 0
        self.taken.append((chosen, len(outcomes)))
        self.weight *= outcomes[chosen]
        return chosen

    def below(self, bound: int | Ints, count: int) -> Ints:
        bounds = np.broadcast_to(np.asarray(bound), count).tolist()
        return np.array([self._one([Fraction(1, one)] * one) for one in bounds], np.int64)

    def tells(self, coin: Coin, count: int) -> NDArray[np.bool_]:
        return np.array([self._one([coin.gamma, 1 - coin.gamma]) for _ in range(count)], np.bool_)


def law(randomize: Callable[[Any, Draws], Any], record: Any) -> Law:
    """The probability of each report of one user."""
    found: defaultdict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    path: list[int] | None = []
    while path is not None:
        draws = Every(path)
        found[tuple(_flat(randomize(record, draws)))] += draws.weight
        path = _next(draws.taken)
    assert sum(found.values()) == 1
    return {report: float(chance) for report, chance in found.items()}


def largest_ratio(laws: Iterable[Law]) -> float:
    """How much likelier any report is under one record than under another."""
    given = list(laws)
    reports = set().union(*given)
    return max(max(one[at] for one in given) / min(one[at] for one in given) for at in reports)


def _flat(sent: Any) -> list[int]:
    if isinstance(sent, tuple):
        return [number for part in sent for number in _flat(part)]
    return [int(number) for number in np.asarray(sent).reshape(-1)]


def _next(taken: list[tuple[int, int]]) -> list[int] | None:
    while taken and taken[-1][0] + 1 == taken[-1][1]:
        taken.pop()
    return [*(one for one, _ in taken[:-1]), taken[-1][0] + 1] if taken else None
