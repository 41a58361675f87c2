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
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import numpy as np

from peos.errors import WrongInput
from peos.ldp.base import Mechanism
from peos.ldp.blanket import Blanket
from peos.privacy.binomial import Floats, at_least, excess, point
from peos.privacy.theorem import fourteen

MOST_CELLS: Final = 98_304
"""Pairs of bins, of M and of B, that one δ is computed from: the work does not grow with n."""

_FINEST: Final = 512  # bins of M
_COARSEST: Final = 24
_MOST_B: Final = MOST_CELLS // _COARSEST
_CUT: Final = 1e-4  # of δ: the tails that are counted in full
_ROUNDING: Final = 1e-6  # above the rounding of all sums and products here
_LEAST_DELTA: Final = 1e-280
_CLOSE: Final = 2e-4  # of a claim: no ε below it by more is left
_HALVED: Final = 4  # each so many attempts, what is left is halved


def delta(mechanism: Mechanism, users: int, fakes: int, epsilon: float, *, known: int = 0) -> float:
    """An upper bound of δ at ε, at most 1; `known` of the other users tell the adversary everything."""
    blanket = _known_blanket(mechanism)
    others = _others(users, fakes, known)
    if not epsilon >= 0.0:
        raise WrongInput("plan.epsilon", f"epsilon is at least 0, not {epsilon:g}")
    roughly, _ = _at_mean(blanket, others, fakes, epsilon, cut=_LEAST_DELTA)
    return bound(blanket, others, fakes, epsilon, cut=max(roughly * _CUT, _LEAST_DELTA))


def epsilon(mechanism: Mechanism, users: int, fakes: int, delta: float, *, known: int = 0) -> float:
    """An ε with δ(ε) ≤ `delta`, within a thousandth of the least by this bound; never above ε_l, where δ is 0."""
    fourteen(delta)  # refuses what is no probability
    return least_epsilon(_known_blanket(mechanism), _others(users, fakes, known), fakes, delta)


@lru_cache(maxsize=1024)
def least_epsilon(blanket: Blanket, others: int, fakes: int, delta: float) -> float:
    """`epsilon` for the blanket: searched for at the mean of M, then with the full bound."""
    cut = max(delta * _CUT, _LEAST_DELTA)

    def at_mean_of_m(epsilon: float) -> tuple[float, float]:
        return _at_mean(blanket, others, fakes, epsilon, cut)

    def everywhere(epsilon: float) -> tuple[float, float]:
        return bound_and_slope(blanket, others, fakes, epsilon, cut)

    return _least(everywhere, delta, blanket.local, _least(at_mean_of_m, delta, blanket.local, 0.0))


def _least(curve: Callable[[float], tuple[float, float]], delta: float, local: float, start: float) -> float:
    """An ε where the curve is at most `delta`, less than `_CLOSE` of itself above the least.

    The curve is convex in e^ε, so it lies above its tangents, and above δ up to where a tangent comes down to δ: below
    that nothing need be looked for. The tangent of ln δ, which is nearly always concave in ε, says where to look.
    """
    above, best, tried = -math.inf, local, start
    attempts = 0
    while best > 0.0 and best - above > _CLOSE * best:
        found, slope = curve(tried)
        if found <= delta:
            best = tried
        else:
            above = max(above, tried)
        steepness = slope * math.exp(tried)
        if steepness > 0.0 and found > 0.0:
            reached = (found - delta) / steepness
            above = max(above, tried + math.log1p(reached)) if reached > -1.0 else above
            tried += math.log(found / delta) * found / steepness
            tried += _CLOSE / 4 * abs(tried)
        attempts += 1
        if not above < tried < best or attempts % _HALVED == 0:
            tried = 0.5 * (above + best)
        tried = max(tried, 0.0)
    return best


def bound(blanket: Blanket, others: int, fakes: int, epsilon: float, cut: float, *, coarser: int = 1) -> float:
    """The upper bound of δ(ε), with every M in a bin counted as the least of it: δ falls as N grows (privacy.md §2).

    `coarser` bins are fewer by that factor each way, for whole curves: a bound as well, and a looser one.
    """
    return min(1.0, bound_and_slope(blanket, others, fakes, epsilon, cut, coarser=coarser)[0])


def bound_and_slope(
    blanket: Blanket, others: int, fakes: int, epsilon: float, cut: float, *, coarser: int = 1
) -> tuple[float, float]:
    """`bound`, also where it is above 1, and by how much it falls as e^ε grows."""
    if epsilon >= blanket.local:
        return 0.0, 0.0
    firsts, weights, missed = _bins_of_m(others, blanket.share, fakes, blanket.other, cut, coarser)
    values, slopes = _at_numbers(blanket, firsts + 1.0 + fakes, epsilon, cut, coarser)
    return (float(weights @ values) + missed) * (1 + _ROUNDING), float(weights @ slopes) * (1 + _ROUNDING)


def _at_mean(blanket: Blanket, others: int, fakes: int, epsilon: float, cut: float) -> tuple[float, float]:
    """δ(ε) were M always its mean, and its slope: for searching, no bound."""
    if epsilon >= blanket.local:
        return 0.0, 0.0
    number = np.array([math.floor(others * blanket.share) + fakes + 1.0])
    values, slopes = _at_numbers(blanket, number, epsilon, cut)
    return float(values[0]), float(slopes[0])


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


def _at_numbers(
    blanket: Blanket, numbers: Floats, epsilon: float, cut: float, coarser: int = 1
) -> tuple[Floats, Floats]:
    """(1/N)·γ(E − 1)·E(A − h)_+ for each N, h = e^ε·B + N(e^ε − 1)/(E − 1), with B ~ Bin(N, match) in bins; its slope.

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
    over, tail = excess(threshold, trials, chance)
    told = blanket.share * blanket.gain
    values = told / numbers * np.sum(weights * over, axis=1)
    slopes = told / numbers * np.sum(weights * tail * (blanket.uneven * B + N / blanket.gain), axis=1)
    # With B below the first bin: at most the chance that one report matches v while fewer than `low` others match v'.
    missed = told * blanket.own * at_most(low[:, 0] - 1, numbers - 1, blanket.other)
    return np.asarray(values + missed), np.asarray(slopes)


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
    blanket = mechanism.blanket
    if blanket is None:
        raise WrongInput("plan.no_accounting", f"exact accounting does not know {mechanism.name}")
    return blanket


def _others(users: int, fakes: int, known: int) -> int:
    """The other users who hide the victim."""
    if users < 1 or fakes < 0 or not 0 <= known < users:
        raise WrongInput(
            "plan.sizes",
            f"{users} users of whom {known} others are known, and {fakes} fakes, make no collection",
            hint="at least one user is not known, and no number is negative",
        )
    return users - 1 - known
