"""δ of privacy.md §2 within a few per cent, for thousands of candidates at once: how the planner finds its way.

Nothing is claimed from here; what the planner chooses is made good by `peos.privacy.exact`. Each of the N reports adds
s = 1, −h, 1 − h or 0 to A − hB, h = e^ε. With κ(t) = ln E e^{t(s − τ)}, τ = (e^ε − 1)/(E − 1), the positive part is
e^L·σ·(1/√(2π) − λ·Φ(−λ)e^{λ²/2}) at the t of least κ, λ = tσ (Lugannani and Rice), where
L = (n − 1)·ln(1 − γ + γe^κ) + (n_r + 1)κ. The best t depends on neither n nor n_r.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_STEEPEST: Final = 200.0  # t beyond which e^(−t) is nothing to the counts here
_HALVINGS: Final = 48


@dataclass(frozen=True)
class Laws:
    """Candidates: γ, E − 1, u (a uniform report matches a value) and c (two matches coincide) of each."""

    share: Floats
    gain: Floats
    match: Floats
    collision: Floats


@dataclass(frozen=True)
class Saddle:
    """Each candidate at one ε: least κ, its curvature, and the t where it is."""

    laws: Laws
    tilt: Floats
    least: Floats
    curvature: Floats

    def log_delta(self, others: int, fakes: Floats | float) -> Floats:
        """ln δ with that many other users and fakes."""
        γ = self.laws.share
        shrunk = γ * np.exp(self.least)
        number = others * γ + fakes + 1
        exponent = others * np.log1p(γ * np.expm1(self.least)) + (fakes + 1) * self.least
        variance = self.curvature * (others * shrunk / (1 - γ + shrunk) + fakes + 1)
        λ = self.tilt * np.sqrt(variance)
        from scipy.special import erfcx  # as in `binomial`

        shape = 1 / math.sqrt(2 * math.pi) - 0.5 * λ * erfcx(λ / math.sqrt(2))
        with np.errstate(divide="ignore"):
            over = np.log(np.maximum(shape, 1e-300)) + 0.5 * np.log(variance)
        return np.asarray(np.log(γ * self.laws.gain / number) + exponent + over)

    def fakes_needed(self, others: int, log_delta: float, most: int) -> Floats:
        """The least number of fakes, not rounded, at which ln δ comes down to `log_delta`; infinite beyond `most`."""
        enough = self.log_delta(others, 0.0) <= log_delta
        needed = np.where(enough, 0.0, np.inf)
        open_ = ~enough & (self.log_delta(others, float(most)) <= log_delta) if most else np.zeros_like(enough)
        if np.any(open_):
            needed[open_] = self._among(open_)._least_number(others, log_delta, most)
        return needed

    def _among(self, some: NDArray[np.bool_]) -> "Saddle":
        laws = self.laws
        kept = Laws(*(one[some] for one in (laws.share, laws.gain, laws.match, laws.collision)))
        return Saddle(kept, self.tilt[some], self.least[some], self.curvature[some])

    def _least_number(self, others: int, log_delta: float, most: int) -> Floats:
        """By halving; none is not enough for any of these, and `most` is for all."""
        low, high = np.zeros_like(self.least), np.full_like(self.least, float(most))
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            fine = self.log_delta(others, middle) <= log_delta
            low, high = np.where(fine, low, middle), np.where(fine, middle, high)
        return high


def saddle(laws: Laws, epsilon: float) -> Saddle:
    """The saddle points at this ε, which must lie below each candidate's ε_l."""
    h, τ = math.exp(epsilon), math.expm1(epsilon) / laws.gain
    both = laws.collision * laws.match
    alone = laws.match - both

    neither = 1 - 2 * alone - both

    def terms(t: Floats) -> tuple[Floats, Floats, Floats]:
        rise, fall = np.exp(t), np.exp(-h * t)
        return alone * rise, alone * fall, both * rise * fall

    low, high = np.zeros_like(laws.share), np.full_like(laws.share, _STEEPEST)
    for _ in range(_HALVINGS):
        t = 0.5 * (low + high)
        up, down, tie = terms(t)
        below = up - h * down + (1 - h) * tie < τ * (neither + up + down + tie)
        low, high = np.where(below, t, low), np.where(below, high, t)
    t = 0.5 * (low + high)
    up, down, tie = terms(t)
    total = neither + up + down + tie
    first = (up - h * down + (1 - h) * tie) / total
    second = (up + h * h * down + (1 - h) ** 2 * tie) / total
    return Saddle(laws, t, np.log(total) - t * τ, np.maximum(second - first * first, 1e-300))
