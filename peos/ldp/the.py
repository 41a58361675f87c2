"""Thresholding with histogram encoding, which is unary encoding once it is drawn bit by bit."""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.errors import WrongInput
from peos.ldp.base import UNASKED, Question
from peos.ldp.members import Floats, Grid
from peos.ldp.mixture import MAX_EPSILON, checked_epsilon
from peos.ldp.ue import UE

_STEPS: Final = 100  # halvings, and places of a grid


class THE(UE):
    """Thresholding with histogram encoding (Wang et al. 2017): Laplace noise on every bit, and whether it exceeds θ.

    That is a bit with p = 1 − ½e^{ε(θ−1)/2}, q = ½e^{−εθ/2}, so it is unary encoding; its true ε is below the nominal
    one, and is what it claims. Without `theta` the one of least variance is taken.
    """

    short = "thresholded histogram encoding"

    def __init__(
        self,
        domain: int,
        epsilon: float,
        theta: float | None = None,
        field_bits: int | None = None,
        *,
        question: Question = UNASKED,
    ) -> None:
        nominal = checked_epsilon(epsilon)
        at = best_theta(nominal) if theta is None else theta
        if not 0.0 <= at <= 1.0:
            raise WrongInput("mechanism.share", f"the threshold of a bit lies between 0 and 1, not at {at}")
        true, q = _thresholded(nominal, at)
        super().__init__(domain, true, q, field_bits, question=question)

    @classmethod
    def build(cls, domain: int, epsilon: float, size: int = 0) -> "THE":
        """The one whose true ε is this."""
        return cls(domain, _nominal(checked_epsilon(epsilon)), field_bits=size or None)

    @classmethod
    def grid(cls, domain: int, sizes: NDArray[np.int64], local: Floats) -> Grid:  # noqa: ARG003 - nearly the same
        """q of each true ε, between those at hand."""
        known = np.geomspace(1e-3, MAX_EPSILON, _STEPS)
        pairs = [_thresholded(float(nominal), best_theta(float(nominal))) for nominal in known]
        q = np.interp(local, [true for true, _ in pairs], [share for _, share in pairs])
        return Grid(q, q, q)


def best_theta(nominal: float) -> float:
    """θ in (½, 1) of least variance, q(1 − q)/(p − q)²."""

    def variance(theta: float) -> float:
        p, q = 1 - 0.5 * math.exp(nominal * (theta - 1) / 2), 0.5 * math.exp(-nominal * theta / 2)
        return q * (1 - q) / (p - q) ** 2

    low, high = 0.5, 1.0
    for _ in range(_STEPS):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if variance(left) <= variance(right) else (left, high)
    return (low + high) / 2


def _thresholded(nominal: float, theta: float) -> tuple[float, float]:
    """The true ε, ln[p(1 − q)/((1 − p)q)], and q."""
    p, q = 1 - 0.5 * math.exp(nominal * (theta - 1) / 2), 0.5 * math.exp(-nominal * theta / 2)
    return math.log(p * (1 - q) / ((1 - p) * q)), q


def _nominal(true: float) -> float:
    """Whose true ε at the best θ is `true`, from below."""
    low, high = true, min(MAX_EPSILON, 2 * true)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _thresholded(middle, best_theta(middle))[0] <= true else (low, middle)
    return low
