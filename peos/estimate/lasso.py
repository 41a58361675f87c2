"""Nonnegative LASSO over a matrix of zeros and ones: which of many values explain what was seen, with few of them.

It minimises ½‖Xf − y‖² + Σ λ_v f_v over f ≥ 0: first by accelerated proximal gradients with restarts (Beck and Teboulle
2009; O'Donoghue and Candès 2015), then by proximal points, each found by Newton steps on its dual (Li, Sun and Toh
2018), which has a variable for each row however many values there are. It ends at a point at which no value can be
moved to advantage (KKT), to `TOLERANCE`.
"""

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from peos.errors import LocalFault

Floats = NDArray[np.float64]

TOLERANCE: Final = 1e-9  # of KKT: how far any f_v is from where its own gradient would take it
ROUNDS: Final = 30  # proximal points; each is bound more loosely to the one before
STEPS: Final = 150  # of gradients, before the points
_LOOSE: Final = 20.0
_LOOSER: Final = 10.0
_NEWTON: Final = 60
_SOLVED: Final = 1e-11  # of the dual's gradient
_SINGULAR: Final = 1e-10  # of the largest eigenvalue


class Design:
    """X: column v has a 1 in each of the rows `places[v]`, which may name one twice."""

    def __init__(self, places: NDArray[np.int64], rows: int) -> None:
        from scipy.sparse import csr_array  # loaded here: a user's device has mechanisms, and estimates nothing

        columns = np.repeat(np.arange(len(places)), places.shape[1])
        self.matrix: Any = csr_array((np.ones(places.size), (places.reshape(-1), columns)), shape=(rows, len(places)))
        self.matrix.sum_duplicates()
        self.matrix.data[:] = 1.0  # a row that is named twice is one
        self.turned: Any = self.matrix.T.tocsr()
        self.squares = np.asarray(self.matrix.sum(axis=0), dtype=np.float64)  # ‖X_v‖²

    @property
    def values(self) -> int:
        """How many columns."""
        return len(self.squares)

    def keeping(self, rows: NDArray[np.bool_]) -> "Design":
        """With zeros for all other rows."""
        kept = Design.__new__(Design)
        kept.matrix = self.matrix.multiply(rows[:, np.newaxis].astype(np.float64)).tocsr()
        kept.turned = kept.matrix.T.tocsr()
        kept.squares = np.asarray(kept.matrix.sum(axis=0), dtype=np.float64)
        return kept


def nonnegative_lasso(design: Design, y: Floats, penalties: Floats) -> Floats:
    """f of the least ½‖Xf − y‖² + Σ λ_v f_v with f ≥ 0."""
    told = design.turned @ y - penalties  # what the gradient at 0 falls short of
    f = _descended(design, told)
    at, loose = _Point(f, y - design.matrix @ f), _LOOSE
    for _ in range(ROUNDS):
        if kkt_residuals(design, at.f, told).max() <= TOLERANCE:
            return at.f
        at = _proximal(design, y, penalties, at, loose)
        loose *= _LOOSER
    residual = kkt_residuals(design, at.f, told).max()
    if residual > TOLERANCE:
        raise LocalFault("estimate.unfitted", f"the fit of the values has not settled at a residual of {residual:.1e}")
    return at.f


def _descended(design: Design, told: Floats) -> Floats:
    """A point near the minimum, by accelerated proximal gradients."""
    step = 1 / _curvature(design)
    f = ahead = np.zeros(design.values)
    momentum = 1.0
    for _ in range(STEPS):
        following = np.maximum(ahead - step * (design.turned @ (design.matrix @ ahead) - told), 0.0)
        if np.dot(ahead - following, following - f) > 0:
            momentum = 1.0  # it went too far: from here anew
        later = (1 + math.sqrt(1 + 4 * momentum * momentum)) / 2
        ahead = following + (momentum - 1) / later * (following - f)
        f, momentum = following, later
    return np.asarray(f)


class _Point(NamedTuple):
    """A point, and what it leaves of y."""

    f: Floats
    left: Floats


def _proximal(design: Design, y: Floats, penalties: Floats, near: _Point, loose: float) -> _Point:
    """The minimum with ‖f − near‖²/(2·loose) added, by Newton's method on its dual: over u, the rest y − Xf.

    There f = (near + loose·(Xᵀu − λ))₊, the gradient is u − y + Xf, and the second derivative I + loose·XXᵀ over the
    values that are not 0, which is inverted over values or over rows, whichever are fewer.
    """

    def at(u: Floats) -> tuple[Floats, float]:
        f = np.maximum(near.f + loose * (design.turned @ u - penalties), 0.0)
        return f, float(u @ u / 2 - y @ u + f @ f / (2 * loose))

    u = near.left
    f, height = at(u)
    for _ in range(_NEWTON):
        gradient = u - y + design.matrix @ f
        if np.abs(gradient).max() <= _SOLVED:
            break
        step = -_inverted(design.turned[np.flatnonzero(f > 0)], gradient, loose)
        slope, share = float(gradient @ step), 1.0
        while share > 1e-6:
            moved, (there, lower) = u + share * step, at(u + share * step)
            if lower <= height + 1e-4 * share * slope + 1e-15 * abs(height):
                break
            share /= 2
        u, f, height = moved, there, lower
    return _Point(f, u)


def _inverted(chosen: Any, gradient: Floats, loose: float) -> Floats:
    """(I + loose·CᵀC)⁻¹ of the gradient, C being the chosen values' rows of the turned matrix."""
    from scipy.linalg import cho_factor, cho_solve

    if chosen.shape[0] < chosen.shape[1]:
        inner = (chosen @ chosen.T).toarray() + np.eye(chosen.shape[0]) / loose
        return np.asarray(gradient - chosen.T @ cho_solve(cho_factor(inner), chosen @ gradient))
    return np.asarray(cho_solve(cho_factor(loose * (chosen.T @ chosen).toarray() + np.eye(len(gradient))), gradient))


def _curvature(design: Design) -> float:
    """No less than the largest eigenvalue of XᵀX: max (XᵀXw)_v/w_v for any w > 0 (Collatz and Wielandt)."""
    w = np.ones(design.values)
    for _ in range(10):
        w = design.turned @ (design.matrix @ w) + 1e-6
        w /= w.max()
    return float(np.max(design.turned @ (design.matrix @ w) / w))


def kkt_residuals(design: Design, f: Floats, told: Floats) -> Floats:
    """|f_v − (f_v − g_v/‖X_v‖²)₊|, g = XᵀXf − `told`: all 0 where f is the minimum, `told` being Xᵀy − λ."""
    gradient = design.turned @ (design.matrix @ f) - told
    return np.asarray(np.abs(f - np.maximum(f - gradient / np.maximum(design.squares, 1.0), 0.0)))


def least_squares(design: Design, y: Floats, chosen: NDArray[np.bool_], variances: Floats) -> tuple[Floats, Floats]:
    """f of the least ‖Xf − y‖² with 0 but for `chosen`, and the variance of each chosen one where y has `variances`."""
    f, found = np.zeros(design.values), np.zeros(design.values)
    if not chosen.any():
        return f, found
    columns = design.turned[np.flatnonzero(chosen)]
    eigenvalues, vectors = np.linalg.eigh((columns @ columns.T).toarray())
    kept = eigenvalues > _SINGULAR * eigenvalues[-1]
    inverse = (columns.T @ (vectors[:, kept] / eigenvalues[kept]) @ vectors[:, kept].T).T
    f[chosen] = inverse @ y
    found[chosen] = np.square(inverse) @ variances
    return f, found
