"""power and power_ns: the mean of what a value's count may be, if counts follow a power law and the noise is Gaussian.

Pr[c] ∝ c^−α for c = 1 … n, with the α for which the mean of a count is that of the estimates (about n/d). Given the
estimated count ĉ, n·f' = Σ c·c^−α·φ((ĉ − c)/s) / Σ c^−α·φ((ĉ − c)/s) with s = nσ, σ as base_cut has it. Sums go over
counts within 8 s, by cells at most as wide as 1/128 of the count and 1/16 of s.
"""

import math
from typing import Final

import numpy as np

from peos.estimate.frequency import Estimate
from peos.estimate.post_processing.cut import noise
from peos.estimate.post_processing.method import Changed, Floats, Method
from peos.estimate.post_processing.norm import projected

_HEAVY: Final = 1.01  # α where no power law has so small a mean, as the authors of the method take it
_STEEPEST: Final = 64.0
_EXACT: Final = 4096  # counts that sums take one by one, before they take integrals
_REACH: Final = 8.0  # in s
_OF_COUNT: Final = 128.0
_OF_SPREAD: Final = 16.0
_ROWS: Final = 256  # values that share their cells
_NOISELESS: Final = 2.0**-10  # s at the least: far below the distance of two counts


def exponent(mean: float, users: int) -> float:
    """The α of the power law over 1 … users with that mean: 0 if it is above that of equal chances."""
    if mean <= 1.0:
        return _HEAVY
    low, high = 0.0, _STEEPEST
    for _ in range(60):
        middle = (low + high) / 2
        is_flatter = _sum_of_powers(users, middle - 1) > mean * _sum_of_powers(users, middle)
        low, high = (middle, high) if is_flatter else (low, middle)
    return low


def _sum_of_powers(last: int, power: float) -> float:
    """Σ_{c ≤ last} c^−power, by Euler and Maclaurin beyond _EXACT."""
    head = float(np.sum(np.arange(1.0, min(last, _EXACT) + 1) ** -power))
    if last <= _EXACT:
        return head
    nats = math.log(last / _EXACT)
    turned = (1 - power) * nats
    integral = math.exp((1 - power) * math.log(_EXACT)) * nats * (math.expm1(turned) / turned if turned else 1.0)
    ends = math.exp(-power * math.log(_EXACT)), math.exp(-power * math.log(last))
    return head + integral + (ends[1] - ends[0]) / 2 + power * (ends[0] / _EXACT - ends[1] / last) / 12


def expected(estimate: Estimate) -> Changed:
    """The mean of each value's frequency, given its estimate."""
    users = estimate.users
    mean = users * float(estimate.frequency.mean())
    fitted = exponent(mean, users)
    spread = max(users * noise(estimate), _NOISELESS)
    counts, places = np.unique(users * estimate.frequency, return_inverse=True)
    fine = _cells_by_count(users, max(1.0, spread / _OF_SPREAD))
    found = np.empty(len(counts))
    start = 0
    while start < len(counts):
        stop = min(start + _ROWS, int(np.searchsorted(counts, counts[start] + _REACH * spread, side="right")))
        found[start:stop] = _means(counts[start:stop], spread, users, fitted, fine)
        start = stop
    # Cells may differ from one group of values to the next: not so as to turn round their order.
    found = np.maximum.accumulate(found) / users
    law = f"fitted a power law with the exponent {fitted:.3f}"
    if mean <= 1.0:
        law = f"the mean count is not above 1, which no power law has: took the exponent {_HEAVY}"
    return found[places], (law,)


def _means(counts: Floats, spread: float, users: int, fitted: float, fine: Floats) -> Floats:
    """Of neighbouring estimated counts, sorted, the mean of the true one."""
    low = math.floor(max(1.0, min(float(counts[0]), users) - _REACH * spread))
    high = math.ceil(min(users, max(float(counts[-1]), 1.0) + _REACH * spread)) + 1
    step = max(1.0, spread / _OF_SPREAD)
    first = max(float(fine[-1]), float(low))
    coarse = np.rint(np.arange(first, high + step, step))
    edges = np.unique(np.clip(np.concatenate((fine, coarse)), low, min(high, users + 1)))
    middles, widths = (edges[:-1] + edges[1:] - 1) / 2, np.diff(edges)
    weights = np.log(widths) - fitted * np.log(middles)
    logs = weights - np.square((counts[:, np.newaxis] - middles) / spread) / 2
    chances = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray((chances @ middles) / chances.sum(axis=1))


def _cells_by_count(users: int, step: float) -> Floats:
    """Where cells begin that are as wide as their count allows: up to where that is `step`, or to the end."""
    last = min(_OF_COUNT * step, users + 1.0)
    steps = math.ceil(_OF_COUNT * math.log(max(last / _OF_COUNT, 1.0)) * 1.01)
    grown = np.floor(_OF_COUNT * (1 + 1 / _OF_COUNT) ** np.arange(steps + 1))
    edges = np.concatenate((np.arange(1.0, _OF_COUNT), grown))
    return np.unique(np.append(edges[edges < last], math.floor(last)))


def consistent(estimate: Estimate) -> Changed:
    """Power, then the nearest frequencies that add up to 1."""
    found, notes = expected(estimate)
    return projected(found), notes


POWER: Final = Method(
    "power",
    "takes the mean of each frequency given its estimate, as if frequencies followed a power law",
    expected,
    nonnegative=True,
    sums_to_one=False,
)
POWER_NS: Final = Method(
    "power_ns",
    "takes the mean of each frequency given its estimate, as if frequencies followed a power law, and then the nearest "
    "frequencies that add up to 1",
    consistent,
    nonnegative=True,
    sums_to_one=True,
)
