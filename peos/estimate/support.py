"""The exact law of a support count: which values are found, and intervals where few reports support a value.

If k of n users hold v, then S_v = Bin(k, p) + Bin(n − k, q) + Bin(m, u), independent of each other: each report
supports v or does not, by its own coin (privacy.md §4). S_v grows with k. What is left out of a sum here is added to
the tail that it belongs to, so that no tail is below the true one and what is concluded from a small tail holds.
"""

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_ROUNDING: Final = 1e-6  # relative: above the errors of all products, sums and incomplete beta functions here
_CUT: Final = 1e-4  # of a chance: what a sum may leave out of it
_MISSED: Final = 1e-12  # what a sum leaves out of tails that are compared with hundredths


def least_found(q: float, u: float, *, users: int, fakes: int, chance: float) -> int:
    """The smallest s with Pr[Bin(users, q) + Bin(fakes, u) ≥ s] ≤ `chance`; more than all reports if there is none."""
    cut = chance * _CUT
    lowest, highest = _window(fakes, u, cut)
    hits = np.arange(lowest, highest + 1, dtype=float)
    weights = _points(np.array([float(fakes)]), u, lowest, highest)[0]

    def tail(count: int) -> float:
        return (float(weights @ _at_least(count - hits, users, q)) + 2 * cut) * (1 + _ROUNDING)

    low, high = 0, users + fakes + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if tail(middle) > chance else (low, middle)
    return high


def ends(
    counts: Counts, p: float, q: float, u: float, *, users: int, fakes: int, level: float
) -> tuple[Floats, Floats]:
    """For each count the fewest and the most holders k that it does not speak against (Clopper and Pearson 1934).

    k stays unless Pr_k[S ≥ s] or Pr_k[S ≤ s] is at most (1 − level)/2, so that whatever k is, it is missed with a
    probability of at most 1 − level. Where every k goes, the fewest are more than `users`, or the most −1. The work
    grows with the fewer of the reports that support v although no user holds it, and that fail to although all do.
    """
    if _few(q, u, users, fakes) > _few(1 - p, 1 - u, users, fakes):
        # A report that does not support v, of a user who does not hold it: the same sum with the roles exchanged.
        turned = ends(users + fakes - counts, 1 - q, 1 - p, 1 - u, users=users, fakes=fakes, level=level)
        return users - turned[1], users - turned[0]
    found, places = np.unique(counts, return_inverse=True)
    last = _window(users, q, _MISSED)[1] + _window(fakes, u, _MISSED)[1]
    hits, s = np.arange(last + 1, dtype=float), found[:, np.newaxis].astype(float)
    of_fakes = _points(np.array([float(fakes)]), u, 0, last)[0]
    adding = np.array([np.concatenate((np.zeros(i), of_fakes[: last + 1 - i])) for i in range(last + 1)])

    def weighed(k: Floats, tails: Floats) -> Floats:
        total: Floats = np.sum(_points(users - k, q, 0, last) @ adding * tails, axis=1)
        return (total + 3 * _MISSED) * (1 + _ROUNDING)

    def at_least(k: Floats) -> Floats:
        return weighed(k, _at_least(s - hits, k[:, np.newaxis], p))

    def at_most(k: Floats) -> Floats:
        return weighed(k, _at_least(k[:, np.newaxis] - (s - hits), k[:, np.newaxis], 1 - p))

    half = (1 - level) / 2
    fewest = _first(users, len(found), lambda k: at_least(k) > half)
    most = _first(users, len(found), lambda k: at_most(k) <= half) - 1
    return fewest[places], most[places]


def _few(q: float, u: float, users: int, fakes: int) -> float:
    """How many reports are expected to support a value that no user holds."""
    return users * q + fakes * u


def _first(users: int, rows: int, holds: Callable[[Floats], NDArray[np.bool_]]) -> Floats:
    """For each row the smallest k from 0 to `users` for which `holds`, as it does from there on; else `users` + 1."""
    low, high = np.full(rows, -1.0), np.full(rows, users + 1.0)
    while np.any(open_ := high - low > 1):
        middle = np.where(open_, np.floor((low + high) / 2), 0.0)
        held = holds(middle)
        low, high = np.where(open_ & ~held, middle, low), np.where(open_ & held, middle, high)
    return high


def _window(trials: int, chance: float, cut: float) -> tuple[int, int]:
    """Between these a Bin(trials, chance) lies, but for less than `cut` on either side (Bernstein)."""
    mean, nats = trials * chance, -math.log(cut)
    reach = nats / 3 + math.sqrt(nats * nats / 9 + 2 * mean * (1 - chance) * nats) + 1
    return max(0, math.floor(mean - reach)), min(trials, math.ceil(mean + reach))


def _points(trials: Floats, chance: float, first: int, last: int) -> Floats:
    """A row for each of `trials`: Pr[Bin(trials, chance) = j] for j from `first` to `last`, scaled to a sum of 1.

    By the ratios of neighbours, in logarithms. The scaling raises each by what lies outside, and lowers none.
    """
    j = np.arange(first, last, dtype=float)
    with np.errstate(divide="ignore"):
        odds = np.log(chance) - math.log1p(-min(chance, 1 - 2.0**-53))
        steps = np.log(np.maximum(trials[:, np.newaxis] - j, 0.0)) - np.log(j + 1) + odds
    logs = np.concatenate((np.zeros((len(trials), 1)), np.cumsum(steps, axis=1)), axis=1)
    found: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
    found /= found.sum(axis=1, keepdims=True)
    return found


def _at_least(hits: ArrayLike, trials: ArrayLike, chance: float) -> Floats:
    """Pr[Bin(trials, chance) ≥ hits], broadcast."""
    from scipy.special import betainc  # loaded here: a user's device has mechanisms, and estimates nothing

    x, n = np.broadcast_arrays(np.asarray(hits, dtype=float), np.asarray(trials, dtype=float))
    possible = (x >= 1) & (x <= n)
    tail = betainc(np.where(possible, x, 1.0), np.where(possible, n - x + 1, 1.0), chance)
    return np.asarray(np.where(possible, tail, (x < 1).astype(float)))
