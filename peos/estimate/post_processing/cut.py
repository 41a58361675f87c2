"""base_cut and norm_cut: small estimates become 0, the others stay as they are."""

import math
from statistics import NormalDist
from typing import Final

import numpy as np

from peos.errors import WrongInput
from peos.estimate.frequency import Estimate, variance_of_frequency
from peos.estimate.post_processing.method import Changed, Method

ALPHA: Final = 2.0  # how many values that no user holds stay, on average


def noise(estimate: Estimate) -> float:
    """σ: the standard error of a value that no user holds, the fakes' share in it included."""
    return math.sqrt(variance_of_frequency(estimate.oracle, users=estimate.users, fakes=estimate.fakes, frequency=0.0))


def threshold(estimate: Estimate, alpha: float = ALPHA) -> float:
    """T = Φ⁻¹(1 − α/d)·σ, above which `alpha` of d values that no user holds are expected; never below 0."""
    chance = alpha / len(estimate.frequency)
    return NormalDist().inv_cdf(1.0 - chance) * noise(estimate) if chance < 0.5 else 0.0


def above_noise(estimate: Estimate, alpha: float = ALPHA) -> Changed:
    """0 for what is below T."""
    if not (isinstance(alpha, float | int) and 0.0 < alpha < math.inf):
        raise WrongInput("post_process.option", f"alpha is a number above 0, not {alpha!r}")
    cut = threshold(estimate, alpha)
    kept = np.where(estimate.frequency < cut, 0.0, estimate.frequency)
    return kept, (f"estimates below {cut:.3g} are 0",)


def within_one(estimate: Estimate) -> Changed:
    """The largest estimates that add up to at most 1, of equal ones all or none; 0 for the others."""
    kept = np.maximum(estimate.frequency, 0.0)
    if float(kept.sum()) <= 1.0:
        return kept, ()
    sizes, numbers = np.unique(kept, return_counts=True)
    fits = np.cumsum((sizes * numbers)[::-1])[::-1] <= 1.0  # all from this size on
    if not fits[-1]:
        return np.zeros(len(kept)), ("the largest estimates alone are above 1: everything is 0",)
    cut = float(sizes[int(np.argmax(fits))])
    return np.where(kept < cut, 0.0, kept), (f"estimates below {cut:.3g} are 0",)


BASE_CUT: Final = Method(
    "base_cut",
    "takes estimates that noise alone may well bring for 0, and leaves the others as they are",
    above_noise,
    nonnegative=True,
    sums_to_one=False,
    options=("alpha",),
)
NORM_CUT: Final = Method(
    "norm_cut",
    "keeps the largest estimates as far as they add up to at most 1, and takes the others for 0",
    within_one,
    nonnegative=True,
    sums_to_one=False,
)
