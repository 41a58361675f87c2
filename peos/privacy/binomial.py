"""Binomial probabilities to more digits than the difference of two of them takes away.

Exact accounting weighs sums of 10^9 reports, where probabilities by way of ln n! keep six digits. Point probabilities
are Loader's (2000), by the deviance; tails are the incomplete beta function's. Both err by less than `error_of(n)`.
"""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_TABLE: Final = 16
_HALF_LOG_TWO_PI: Final = 0.9189385332046727
_NEAR: Final = 0.1  # where (1 + t) ln(1 + t) − t cancels


def error_of(trials: ArrayLike) -> Floats:
    """A bound on the relative error of both: four times what tests find against forty digits, up to n = 10^10."""
    return np.asarray(1e-12 * (1 + np.sqrt(np.asarray(trials, dtype=float)) / 1e3))


def point(hits: ArrayLike, trials: ArrayLike, chance: ArrayLike) -> Floats:
    """Pr[Bin(trials, chance) = hits], broadcast; 0 outside 0 … trials."""
    x, n, p = np.broadcast_arrays(
        np.asarray(hits, dtype=float), np.asarray(trials, dtype=float), np.asarray(chance, dtype=float)
    )
    result = np.zeros(x.shape)
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        none, all_ = (x == 0) & (n >= 0), (x == n) & (n > 0)
        result[none] = np.exp(n[none] * np.log1p(-p[none]), where=n[none] > 0, out=np.ones(int(none.sum())))
        result[all_] = np.exp(n[all_] * np.log(p[all_]))
        inner = (x > 0) & (x < n) & (p > 0) & (p < 1)
        x, n, p = x[inner], n[inner], p[inner]
        deviance = _deviance(x, n * p) + _deviance(n - x, n * (1 - p))
        surplus = _stirling(n) - _stirling(x) - _stirling(n - x)
        result[inner] = np.exp(surplus - deviance) * np.sqrt(n / (2 * np.pi * x * (n - x)))
    return result


def at_least(hits: ArrayLike, trials: ArrayLike, chance: ArrayLike) -> Floats:
    """Pr[Bin(trials, chance) ≥ hits], broadcast."""
    x, n, p = np.broadcast_arrays(
        np.asarray(hits, dtype=float), np.asarray(trials, dtype=float), np.asarray(chance, dtype=float)
    )
    possible = (x >= 1) & (x <= n)
    from scipy.special import betainc  # loaded here: a user's device has guarantees, and computes none

    tail: Floats = betainc(np.where(possible, x, 1.0), np.where(possible, n - x + 1, 1.0), p)
    return np.asarray(np.where(possible, tail, (x < 1).astype(float)))


def excess(threshold: ArrayLike, trials: ArrayLike, chance: ArrayLike) -> tuple[Floats, Floats]:
    """E(X − h)_+ of X ~ Bin(trials, chance), rounded up, h ≥ 0; and Pr[X > h], by which it falls as h grows.

    With K = ⌊h⌋ + 1 it is K(1 − p)·Pr[X = K] − (h − np)·Pr[X ≥ K] (Todhunter). The two terms nearly cancel in the
    tail, so each is moved by its possible error towards the larger result.
    """
    h = np.asarray(threshold, dtype=float)
    n, p = np.asarray(trials, dtype=float), np.asarray(chance, dtype=float)
    h = h * (1 - 2.0**-50)  # above the rounding of whatever h was computed from
    first, error = np.floor(h) + 1, error_of(n)
    lead = first * (1 - p) * point(first, n, p) * (1 + error)
    behind = h - n * p
    above = at_least(first, n, p)
    tail = above * (1 - np.sign(behind) * error)
    return np.asarray(np.maximum(lead - behind * tail, 0.0)), above


def _deviance(x: Floats, mean: Floats) -> Floats:
    """x ln(x/mean) + mean − x, without cancellation where x is near the mean."""
    t = (x - mean) / mean
    v = t / (2 + t)
    square = v * v
    series = np.zeros_like(v)
    for odd in range(21, 1, -2):  # 2x·artanh-like series of Loader; at |t| < 0.1 the terms left out are below 10^-28
        series = (series + 1 / odd) * square
    near = (x - mean) * v + 2 * x * v * series
    return np.where(np.abs(t) < _NEAR, near, x * np.log1p(t) - (x - mean))


def _stirling(x: Floats) -> Floats:
    """ln x! minus Stirling's formula."""
    large = np.maximum(x, _TABLE)
    r = 1 / (large * large)
    terms = 1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r * (1 / 1188 - r * (691 / 360360)))))
    return np.where(x < _TABLE, _SMALL[np.minimum(x, _TABLE - 1).astype(np.intp)], terms / large)


def _small() -> Floats:
    x = np.arange(_TABLE, dtype=float)
    logs = np.concatenate(([0.0], np.cumsum(np.log(x[1:]))))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(logs - ((x + 0.5) * np.log(x) - x + _HALF_LOG_TWO_PI))


_SMALL: Final = _small()
