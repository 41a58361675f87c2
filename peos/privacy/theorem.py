"""What the theorems of the thesis claim, and nothing beyond their conditions (privacy.md §1).

Everything rests on the binomial mechanism (thesis theorem 9.2.1, after Balle, Bell, Gascón and Nissim): if at least a
sum of independent [0, 1] variables of mean θ hides how many reports support a value, one user's replacement is
    (√(14 ln(2/δ)/θ), δ)-private, for ε ≤ 1 and θ ≥ 27/ε.
A shuffled collection of honest users has θ = (n − 1)γμ + n_r μ, where a report of the blanket, like a fake, supports
any given value with probability at least μ. For an ideal mechanism γμ = 1/(e^{ε_l} + k − 1) and μ = 1/k, the thesis'
form; for ours μ = ⌊2^b/k⌋/2^b, which is what the proof needs when k does not divide 2^b: weigh each supporting report
by (smallest preimage)/(its preimage) ≤ 1, and the ratio of likelihoods is a ratio of two such sums, whose means are
exactly θ for every value.

Here n counts honest users whom the adversary does not know; replacement neighbours. Every ε is rounded up.
"""

import math
from fractions import Fraction
from numbers import Real
from typing import Final

from peos.errors import WrongInput
from peos.ldp.base import Mechanism

LARGEST_EPSILON: Final = 1.0
"""The theorem is proved up to here."""

_LEAST_PRODUCT: Final = 27.0  # θ ≥ 27/ε
_SLACK: Final = 2.0**-48  # above the rounding of the half-dozen operations that a bound takes, each below 2^-53


def fourteen(delta: float) -> float:
    """14 ln(2/δ), the constant of every bound here."""
    if not isinstance(delta, Real) or not 0.0 < delta < 1.0:
        raise WrongInput(
            "plan.delta",
            f"delta lies between 0 and 1, not at {delta}",
            hint="well below one over the number of users",
        )
    return 14.0 * (math.log(2.0) - math.log(delta))


def binomial_epsilon(mean: Fraction | float, delta: float) -> float | None:
    """ε of the binomial mechanism with noise of this mean, rounded up; None where the theorem does not apply."""
    constant = fourteen(delta)
    if mean <= 0:
        return None
    epsilon = math.sqrt(constant / float(mean)) * (1.0 + _SLACK)
    if epsilon > LARGEST_EPSILON or float(mean) * epsilon < _LEAST_PRODUCT * (1.0 + _SLACK):
        return None
    return epsilon


def mean_needed(epsilon: float, delta: float) -> float:
    """The least mean of the noise, rounded up, for which `binomial_epsilon` claims `epsilon` or less.

    Targets above 1 ask for what 1 asks for: the theorem claims nothing in between.
    """
    if not epsilon > 0.0:
        raise WrongInput("plan.epsilon", f"a target for epsilon is above 0, not {epsilon:g}")
    constant = fourteen(delta)
    least = max(constant / min(epsilon, LARGEST_EPSILON) ** 2, _LEAST_PRODUCT**2 / constant)
    return least * (1.0 + 4.0 * _SLACK)


def epsilon_server(mechanism: Mechanism, users: int, fakes: int, delta: float) -> float | None:
    """ε_c, against the analyzer alone (thesis theorem 9.3.2, corollaries 9.5.2 and 9.5.3), or None."""
    support = mechanism.theorem_support
    if support is None:
        return None
    return binomial_epsilon(((users - 1) * mechanism.gamma + fakes) * support, delta)


def epsilon_users(mechanism: Mechanism, fakes: int, delta: float) -> float | None:
    """ε_s, against the analyzer with all other users (thesis corollaries 9.5.2 and 9.5.3): the fakes alone hide."""
    support = mechanism.theorem_support
    return None if support is None else binomial_epsilon(fakes * support, delta)


def ideal_epsilon_server(cells: int, epsilon_local: float, users: int, fakes: int, delta: float) -> float | None:
    """ε_c as the thesis writes it, for k cells of equal size (equation 9.6)."""
    return binomial_epsilon((users - 1) / (math.expm1(epsilon_local) + cells) + fakes / cells, delta)


def largest_epsilon_local(epsilon: float, cells: int, users: int, fakes: int, delta: float) -> float | None:
    """The ε_l at which (9.6) meets ε_c = `epsilon` with k equal cells: the inverse of `ideal_epsilon_server`.

    None if not even reports without content would meet it; infinite if the fakes alone do.
    """
    wanted = mean_needed(epsilon, delta) - fakes / cells
    if wanted <= 0.0:
        return math.inf
    gain = (users - 1) / wanted - cells
    return math.log1p(gain) if gain > 0.0 else None


def optimal_cells(epsilon: float, users: int, fakes: int, delta: float) -> float | None:
    """The real d' of the least variance at ε_c = `epsilon`: (ε_c²(n − 1 + n_r)/(14 ln(2/δ)) + 2)/3.

    The thesis (§9.5.3) has n − 1 − n_r, a slip of sign: its own variance, n_r included, is least here. None where that
    has no solution, because the fakes alone already meet ε_c with so many cells.
    """
    constant = fourteen(delta)
    cells = (epsilon**2 * (users - 1 + fakes) / constant + 2.0) / 3.0
    return cells if fakes / cells < constant / epsilon**2 else None


def ideal_variance(cells: int, epsilon_local: float, users: int, fakes: int = 0) -> float:
    """Variance of one frequency near 0 under ideal local hashing, thesis (9.3), with fakes.

    (n + n_r)(e^{ε_l} + k − 1)²/(n²(e^{ε_l} − 1)²(k − 1)); ideal means that two values collide with probability 1/k.
    """
    truth = -math.expm1(-epsilon_local) / (1.0 + (cells - 1) * math.exp(-epsilon_local))
    return (users + fakes) / (users**2 * truth**2 * (cells - 1))
