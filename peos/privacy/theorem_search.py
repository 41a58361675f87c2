"""The least variance that meets the targets, over the number of cells, ε_l and the number of fakes (privacy.md §3).

For a given mechanism and number of cells the search is done on paper. Reports that tell more need more fakes to hide
among: with blanket γ and n_r fakes, (n − 1)γ + n_r must reach a constant A_c. While that binds, each further fake
lowers the variance, since the γ that it frees is worth more than the noise that it adds; once γ is as small as the
limit on ε_l allows, each further fake raises it. So the best n_r is the least with A_c − n_r ≤ (n − 1)γ_least, within
what ε_s and the cap allow; γ follows.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from peos.ldp.members import Floats, Members

_MARGIN: Final = 1e-11  # above all rounding here, so that the mechanism then built keeps to the targets
_SAME: Final = 1e-3  # variances closer than this count as equal


@dataclass(frozen=True)
class Need:
    """What is asked: means of noise that must be reached (0: not asked), a limit on ε_l, and the fakes at hand."""

    users: int
    server_mean: float
    users_mean: float
    epsilon_local: float
    least_fakes: int
    most_fakes: int


@dataclass(frozen=True)
class Choice:
    """One answer of the search: k, ε_l, n_r, and the variance of one frequency near 0."""

    cells: int
    epsilon_local: float
    fakes: int
    variance: float


def least_variance(need: Need, given: Members) -> Choice | None:
    """The best of the given numbers of cells, or None if none of them meets the targets.

    Where the ideal family's optimum, (m + 2)/3 of the thesis, is as good within a thousandth, it is the one returned.
    """
    ideal = Members(given.cells, given.support, given.support if len(given.cells) > 1 else given.collision)
    fakes, blanket, variance = _evaluate(need, given)
    best = int(np.argmin(variance))
    if not np.isfinite(variance[best]):
        return None
    by_thesis = int(np.argmin(_evaluate(need, ideal)[2]))
    index = by_thesis if variance[by_thesis] <= (1 + _SAME) * variance[best] else best
    γ, μ = float(blanket[index]), float(given.support[index])
    # An ε_l at its limit is the limit itself: through γ it would come back one rounding away.
    at_limit = γ <= _least_blanket(need, given.support)[index]
    epsilon = need.epsilon_local if at_limit else math.log1p((1 - γ) / (γ * μ))
    return Choice(int(given.cells[index]), epsilon, int(fakes[index]), float(variance[index]))


def _least_blanket(need: Need, support: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + math.expm1(need.epsilon_local) * support))


def _evaluate(need: Need, given: Members) -> tuple[Floats, Floats, Floats]:
    """n_r, γ and the variance for each number of cells; the variance is infinite where the targets are out of reach."""
    n, others, μ = need.users, need.users - 1, given.support
    most_telling = _least_blanket(need, μ)
    all_needed = need.server_mean * (1 + _MARGIN) / μ
    fakes_needed = np.maximum(np.ceil(need.users_mean * (1 + _MARGIN) / μ), need.least_fakes)
    fakes = np.clip(
        np.ceil(all_needed - others * most_telling), fakes_needed, np.maximum(fakes_needed, need.most_fakes)
    )
    short = np.maximum(all_needed - fakes, 0.0)
    blanket = np.maximum(most_telling, short / others if others else np.where(short > 0, np.inf, 0.0))
    possible = (fakes <= need.most_fakes) & (blanket < 1.0)
    γ = np.where(possible, blanket, 0.5)
    q = (1 - γ) * given.collision + γ * μ
    distance = (1 - γ) * (1 - given.collision)
    variance = (n * q * (1 - q) + fakes * μ * (1 - μ)) / (n * distance) ** 2
    return fakes, blanket, np.where(possible, variance, np.inf)
