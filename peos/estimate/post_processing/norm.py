"""norm, norm_mul and norm_sub: frequencies that add up to 1, by shifting, by scaling, and by the nearest point."""

from typing import Final

import numpy as np

from peos.estimate.post_processing.method import Floats, Method, of_frequencies


def shifted(frequency: Floats) -> Floats:
    """All estimates moved by the same amount: still unbiased, and below 0 as before."""
    return frequency + (1.0 - float(frequency.sum())) / len(frequency)


def scaled(frequency: Floats) -> Floats:
    """What is above 0, multiplied by one factor; all the same if nothing is above 0."""
    kept = np.maximum(frequency, 0.0)
    total = float(kept.sum())
    return np.asarray(kept / total if total > 0.0 else np.full(len(kept), 1.0 / len(kept)))


def projected(frequency: Floats) -> Floats:
    """The point of the simplex that is nearest: max(f̃ − t, 0) with the t that makes the sum 1.

    With the estimates sorted, u_1 ≥ u_2 ≥ …, those stay above 0 for which u_r > t_r = (Σ_{i ≤ r} u_i − 1)/r: a
    beginning of the list, never empty. Values below 0 take part: shifting up may bring some of them above it.
    """
    ordered = np.sort(frequency)[::-1]
    thresholds = (np.cumsum(ordered) - 1.0) / np.arange(1, len(ordered) + 1)
    last = max(1, int(np.count_nonzero(ordered > thresholds)))
    return np.asarray(np.maximum(frequency - float(thresholds[last - 1]), 0.0))


NORM: Final = Method(
    "norm",
    "moves all estimates by the same amount, so that they add up to 1",
    of_frequencies(shifted),
    nonnegative=False,
    sums_to_one=True,
)
NORM_MUL: Final = Method(
    "norm_mul",
    "drops estimates below 0 and multiplies the others by one factor, so that they add up to 1",
    of_frequencies(scaled),
    nonnegative=True,
    sums_to_one=True,
)
NORM_SUB: Final = Method(
    "norm_sub",
    "takes the nearest frequencies that are not below 0 and add up to 1",
    of_frequencies(projected),
    nonnegative=True,
    sums_to_one=True,
)
