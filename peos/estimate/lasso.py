"""Nonnegative LASSO over a matrix of zeros and ones: which of many values explain what was seen, with few of them.

It minimises ½‖Xf − y‖² + Σ λ_v f_v over f ≥ 0 by accelerated proximal gradients with restarts (Beck and Teboulle 2009;
O'Donoghue and Candès 2015), and ends at a point at which no value can be moved to advantage (KKT), to `TOLERANCE`.
"""

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peos.errors import LocalFault

Floats = NDArray[np.float64]

TOLERANCE: Final = 1e-9  # of KKT: how far any f_v is from where its own gradient would take it
ROUNDS: Final = 20_000
_FIRST_LOOK: Final = 50
_EXCHANGES: Final = 15
_MORE: Final = 256  # values that join those in hand at a time


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
    f = np.zeros(design.values)
    working = np.zeros(design.values, dtype=bool)
    last = math.inf
    while (residual := (residuals := kkt_residuals(design, f, told)).max()) > TOLERANCE:
        # Values that would move are looked at together with those that were, all others being 0.
        waiting = np.argsort(np.where(working, 0.0, -residuals))[:_MORE]
        waiting = waiting[(residuals[waiting] > 0) & ~working[waiting]]
        if not len(waiting) and residual > last / 2:
            raise LocalFault(
                "estimate.unfitted", f"the fit of the values has not settled at a residual of {residual:.1e}"
            )
        last = math.inf if len(waiting) else residual
        working[waiting] = True
        at = np.flatnonzero(working)
        columns = design.matrix[:, at]
        f[at] = _descended((columns.T @ columns).toarray(), told[at], f[at])
    return f


def _descended(gram: Floats, told: Floats, f: Floats) -> Floats:
    """The same of the values in hand, by accelerated proximal gradients; exactly, once it is known which are not 0."""
    step = 1 / _curvature(gram)
    ahead, momentum, look_at = f, 1.0, _FIRST_LOOK
    for turn in range(1, ROUNDS):
        following = np.maximum(ahead - step * (gram @ ahead - told), 0.0)
        if np.dot(ahead - following, following - f) > 0:
            momentum = 1.0  # it went too far: from here anew
        later = (1 + math.sqrt(1 + 4 * momentum * momentum)) / 2
        ahead = following + (momentum - 1) / later * (following - f)
        f, momentum = following, later
        if turn == look_at:
            look_at *= 2
            if (exact := _solved(gram, told, f > 0)) is not None:
                return exact
    return f


def _solved(gram: Floats, told: Floats, chosen: NDArray[np.bool_]) -> Floats | None:
    """The minimum, if from these values it is found which are not 0 in it: those that should change sides do, at once.

    That need not end (Kim and Park 2011); then more steps make a better guess.
    """
    squares = np.diag(gram)
    for _ in range(_EXCHANGES):
        f = np.zeros(len(told))
        try:
            f[chosen] = np.linalg.solve(gram[np.ix_(chosen, chosen)], told[chosen])
        except np.linalg.LinAlgError:
            return None
        gradient = gram @ f - told
        if f.min(initial=0.0) >= 0 and _residuals(gradient, f, squares).max(initial=0.0) <= TOLERANCE:
            return f
        chosen = np.where(chosen, f > 0, gradient < 0)
    return None


def _curvature(gram: Floats) -> float:
    """No less than the largest eigenvalue of XᵀX: max (XᵀXw)_v/w_v for any w > 0 (Collatz and Wielandt)."""
    w = np.ones(len(gram))
    for _ in range(30):
        w = gram @ w + 1e-6
        w /= w.max()
    return float(np.max(gram @ w / w))


def kkt_residuals(design: Design, f: Floats, told: Floats) -> Floats:
    """|f_v − (f_v − g_v/‖X_v‖²)₊|, g = XᵀXf − `told`: all 0 where f is the minimum, `told` being Xᵀy − λ."""
    return _residuals(design.turned @ (design.matrix @ f) - told, f, design.squares)


def _residuals(gradient: Floats, f: Floats, squares: Floats) -> Floats:
    return np.abs(f - np.maximum(f - gradient / np.maximum(squares, 1.0), 0.0))


def least_squares(design: Design, y: Floats, chosen: NDArray[np.bool_], variances: Floats) -> tuple[Floats, Floats]:
    """f of the least ‖Xf − y‖² with 0 but for `chosen`, and the variance of each chosen one where y has `variances`."""
    columns = design.matrix[:, np.flatnonzero(chosen)].toarray()
    inverse = np.linalg.pinv(columns)
    f, found = np.zeros(design.values), np.zeros(design.values)
    f[chosen] = inverse @ y
    found[chosen] = np.square(inverse) @ variances
    return f, found
