"""δ(ε) and ε(δ) of a shuffled collection, from above and closely (privacy.md §2).

    delta(mechanism, users=10**6, fakes=0, epsilon=0.2)                    # the analyzer alone
    epsilon(mechanism, users=10**6, fakes=10**4, delta=1e-9, known=10**6 - 1)  # with all other users

The adversary is given, for each other user, whether her report is uniform, and her value if it is not. What remains is
N = M + 1 reports in random order: the victim's, the fakes, and those of the others that are uniform, of whom there are
Bin(users − 1 − known, γ). With A and B of the N matching v and v',
    δ(ε) = γ·E_M[ (1/N)·E((E − 1)(A − e^ε B) − N(e^ε − 1))_+ ].
Every step here is an upper bound of that: bins at their worse edge, truncated mass counted in full, errors added.
Neighbours: one user's value is replaced. `users` includes the victim; dummies are not users.
"""

import math
from functools import lru_cache
from typing import Final

import numpy as np

from peos.errors import WrongInput
from peos.ldp.base import Mechanism
from peos.privacy.binomial import Floats, at_least, excess, point
from peos.privacy.blanket import Blanket, blanket_of
from peos.privacy.closed_form import fourteen

MOST_CELLS: Final = 98_304
"""Pairs of bins, of M and of B, that one δ is computed from: the work does not grow with n."""

_FINEST: Final = 512  # bins of M
_COARSEST: Final = 24
_MOST_B: Final = MOST_CELLS // _COARSEST
_CUT: Final = 1e-4  # of δ: the tails that are counted in full
_ROUNDING: Final = 1e-6  # above the rounding of all sums and products here
_LEAST_DELTA: Final = 1e-280
_ATTEMPTS: Final = 8
_CLOSE: Final = 3e-5  # of the search, relative
_LEAST_EPSILON: Final = 1e-9
_SLACK: Final = 1e-4  # a claim this close to the least is not improved any more
_POLISHED: Final = 4  # nor after so many attempts, if there is a good one


def delta(mechanism: Mechanism, users: int, fakes: int, epsilon: float, *, known: int = 0) -> float:
    """An upper bound of δ at ε, at most 1; `known` of the other users tell the adversary everything."""
    blanket = _known_blanket(mechanism)
    others = _others(users, fakes, known)
    if not epsilon >= 0.0:
        raise WrongInput(f"epsilon is at least 0, not {epsilon:g}")
    roughly = at_mean(blanket, others, fakes, epsilon, cut=_LEAST_DELTA)
    return bound(blanket, others, fakes, epsilon, cut=max(roughly * _CUT, _LEAST_DELTA))


def epsilon(mechanism: Mechanism, users: int, fakes: int, delta: float, *, known: int = 0) -> float:
    """An ε with δ(ε) ≤ `delta`, within about a thousandth of the least; never above ε_l, where δ is 0."""
    fourteen(delta)  # refuses what is no probability
    return least_epsilon(_known_blanket(mechanism), _others(users, fakes, known), fakes, delta)


@lru_cache(maxsize=1024)
def least_epsilon(blanket: Blanket, others: int, fakes: int, delta: float) -> float:
    """`epsilon` for the blanket: searched for at the mean of M, then made good by the full bound."""
    cut = max(delta * _CUT, _LEAST_DELTA)
    if at_mean(blanket, others, fakes, 0.0, cut) <= delta and bound(blanket, others, fakes, 0.0, cut) <= delta:
        return 0.0
    high, slope = _search(blanket, others, fakes, delta, cut)
    tried = min(high * (1 + _CLOSE), 0.5 * (high + blanket.local))
    failed, best = 0.0, blanket.local
    for attempt in range(_ATTEMPTS):
        found = bound(blanket, others, fakes, tried, cut)
        off = math.log(found / delta) / slope if found > 0.0 else -tried
        if off <= 0.0:
            best = tried
            if -off < _SLACK * tried or attempt >= _POLISHED:
                break
            tried = max(tried + 0.9 * off, 0.5 * (failed + tried))
        else:
            failed = tried
            step = max(off, 5e-5 * float(1 << attempt) * tried)
            tried = min(tried + step, 0.5 * (tried + best))
    return best


def _search(blanket: Blanket, others: int, fakes: int, delta: float, cut: float) -> tuple[float, float]:
    """Where δ at the mean M falls to `delta`, and how steeply ln δ falls there, or a little less.

    The secant in ln δ, which is nearly a parabola, with the stale end's value halved so that both ends move.
    """

    def excess_nats(epsilon: float) -> float:
        found = at_mean(blanket, others, fakes, epsilon, cut)
        return math.log(found / delta) if found > 0.0 else -math.inf

    low, high = 0.0, blanket.local
    above, below = max(excess_nats(low), 1e-9), -math.inf
    slope = 1.0 / high
    moved = 0
    while high - low > _CLOSE * high and high > _LEAST_EPSILON:
        if math.isinf(below):
            tried = 0.5 * (low + high)
        else:
            slope = (above - below) / (high - low)
            tried = min(max(low + above / slope, low + _CLOSE / 3 * high), high - _CLOSE / 3 * high)
        value = excess_nats(tried)
        if value > 0.0:
            low, above = tried, value
            below = below / 2 if moved > 0 else below
            moved = 1
        else:
            high, below = tried, value
            above = above / 2 if moved < 0 else above
            moved = -1
    step = 1e-3 * high
    slope = excess_nats(high - step) - excess_nats(high)
    return high, max(0.9 * slope / step, 1.0 / high) if math.isfinite(slope) else 1.0 / high


def bound(blanket: Blanket, others: int, fakes: int, epsilon: float, cut: float, *, coarser: int = 1) -> float:
    """The upper bound of δ(ε), with every M in a bin counted as the least of it: δ falls as N grows (privacy.md §2).

    `coarser` bins are fewer by that factor each way, for whole curves: a bound as well, and a looser one.
    """
    if epsilon >= blanket.local:
        return 0.0
    firsts, weights, missed = _bins_of_m(others, blanket.share, fakes, blanket.other, cut, coarser)
    values = _at_numbers(blanket, firsts + 1.0 + fakes, epsilon, cut, coarser)
    return min(1.0, (float(weights @ values) + missed) * (1 + _ROUNDING))


def at_mean(blanket: Blanket, others: int, fakes: int, epsilon: float, cut: float) -> float:
    """δ(ε) were M always its mean: for searching, no bound."""
    if epsilon >= blanket.local:
        return 0.0
    number = np.array([math.floor(others * blanket.share) + fakes + 1.0])
    return float(_at_numbers(blanket, number, epsilon, cut)[0])


def _bins_of_m(
    others: int, γ: float, fakes: int, match: float, cut: float, coarser: int
) -> tuple[Floats, Floats, float]:
    """The first M of each bin, the bin's probability, and the probability that was left out on the left."""
    spread = _reach(others * γ * (1 - γ), cut)
    low = max(0, math.floor(others * γ - spread))
    high = min(others, math.ceil(others * γ + spread))
    columns = min(_MOST_B // coarser, 2 * _reach((others * γ + fakes) * match, cut))
    rows = int(min(max(1, _COARSEST // coarser, MOST_CELLS // coarser**2 // (columns + 1)), _FINEST, high - low + 1))
    edges = np.unique(np.floor(np.linspace(low, high + 1, rows + 1)))
    tail = at_least(edges, others, γ)
    tail[-1] = 0.0  # the last bin has no end
    weights = tail[:-1] - tail[1:]
    return (
        edges[:-1],
        np.maximum(weights, 0.0) + 1e-16,
        float(at_least(others - low + 1, others, 1 - γ)) if low else 0.0,
    )


def _reach(variance: float, cut: float) -> float:
    """Outside mean ± this there is less than `cut` on either side of a binomial (Bernstein)."""
    nats = -math.log(cut)
    return nats / 3 + math.sqrt(nats * nats / 9 + 2 * variance * nats) + 1


def _at_numbers(blanket: Blanket, numbers: Floats, epsilon: float, cut: float, coarser: int = 1) -> Floats:
    """(1/N)·γ(E − 1)·E(A − h)_+ for each N, h = e^ε·B + N(e^ε − 1)/(E − 1), with B ~ Bin(N, match) in bins.

    A bin counts as its left edge, since A falls and h grows with B; in the rare case that A grows with B, A counts as
    at the bin's right edge.
    """
    N = numbers[:, np.newaxis]
    mean = N * blanket.other
    nats = -math.log(cut)
    low = np.floor(np.maximum(0.0, mean - np.sqrt(2 * mean * nats) - 1))
    high = np.minimum(N, np.ceil(mean + nats / 3 + np.sqrt(nats * nats / 9 + 2 * mean * nats) + 1))
    columns = int(min(_MOST_B // coarser, (high - low).max() + 1))
    width = np.ceil((high - low + 1) / columns)
    left: Floats = low + width * np.arange(columns)
    right: Floats = left + width - 1
    B = np.minimum(left, N)
    weights = _weights(left, right, N, blanket.other)
    weights[:, -1] = at_least(left[:, -1], numbers, blanket.other)  # the last bin has no end
    right[:, -1] = numbers
    threshold = math.exp(epsilon) * blanket.uneven * B + N * (math.expm1(epsilon) / blanket.gain)
    if blanket.both == 0.0:
        trials, chance = N - B, np.full_like(B, min(1.0, blanket.own / (1 - blanket.other)))
    else:
        alone, along = (blanket.own - blanket.both) / (1 - blanket.other), blanket.both / blanket.other
        at = B if along <= alone else np.minimum(right, N)
        # A is a sum of independent indicators; one binomial of the same mean dominates it (Hoeffding 1956).
        trials, chance = np.broadcast_to(N, B.shape), (at * along + (N - at) * alone) / N
    values = np.sum(weights * excess(threshold, trials, chance), axis=1)
    told = blanket.share * blanket.gain
    # With B below the first bin: at most the chance that one report matches v while fewer than `low` others match v'.
    missed = told * blanket.own * at_most(low[:, 0] - 1, numbers - 1, blanket.other)
    found: Floats = told * values / numbers + missed
    return found


def at_most(hits: Floats, trials: Floats, chance: float) -> Floats:
    """Pr[Bin(trials, chance) ≤ hits], as the other tail of the misses."""
    return at_least(trials - hits, trials, 1 - chance)


def _weights(left: Floats, right: Floats, N: Floats, chance: float) -> Floats:
    """Pr[left ≤ B ≤ right] from above: the width times the largest probability in the bin."""
    if np.all(right == left):
        return point(left, N, chance)
    ends = np.maximum(point(left, N, chance), point(np.minimum(right, N), N, chance))
    mode = np.floor((N + 1) * chance)
    peak = point(mode, N, chance)
    largest = np.where((left <= mode) & (mode <= right), peak, ends)
    return np.asarray((right - left + 1) * largest)


def _known_blanket(mechanism: Mechanism) -> Blanket:
    blanket = blanket_of(mechanism)
    if blanket is None:
        raise WrongInput(f"exact accounting does not know {mechanism.name}")
    return blanket


def _others(users: int, fakes: int, known: int) -> int:
    """The other users who hide the victim."""
    if users < 1 or fakes < 0 or not 0 <= known < users:
        raise WrongInput(
            f"{users} users of whom {known} others are known, and {fakes} fakes, make no collection",
            hint="at least one user is not known, and no number is negative",
        )
    return users - 1 - known
