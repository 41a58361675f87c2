"""base, base_pos and post_pos: the estimates as they are, and without what is below zero."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from peos.errors import WrongInput
from peos.estimate.frequency import Estimate
from peos.estimate.post_processing.method import Changed, Floats, Method, of_frequencies


def positive(frequency: Floats) -> Floats:
    """max(f̃, 0): each value's estimate becomes too high on average."""
    return np.maximum(frequency, 0.0)


def answered(estimate: Estimate, queries: Sequence[Sequence[int]] | None = None) -> Changed:
    """For each set of values max(Σ f̃, 0). Answers do not add up: that of a union is not the sum of two answers."""
    if queries is None:
        raise WrongInput(
            "post_process.queries",
            "post_pos answers queries about sets of values, and none is given",
            hint="base_pos does the same to each value alone",
        )
    return np.array([max(_total(estimate.frequency, query), 0.0) for query in queries], dtype=np.float64), ()


def _total(frequency: Floats, query: Sequence[int]) -> float:
    values = np.unique(np.asarray(query))
    if values.dtype.kind not in "iu" or values.ndim != 1 or values[0] < 0 or values[-1] >= len(frequency):
        raise WrongInput(
            "post_process.queries",
            f"a query is a set of values, of whole numbers from 0 to {len(frequency) - 1}, and not empty",
        )
    return float(frequency[values].sum())


BASE: Final = Method(
    "base",
    "leaves the estimates as they are",
    of_frequencies(np.copy),
    nonnegative=False,
    sums_to_one=False,
)
BASE_POS: Final = Method(
    "base_pos",
    "raises estimates below 0 to 0",
    of_frequencies(positive),
    nonnegative=True,
    sums_to_one=False,
)
POST_POS: Final = Method(
    "post_pos",
    "answers a query about a set of values with the sum of their estimates, and 0 if that is below 0",
    answered,
    nonnegative=True,
    sums_to_one=False,
    monotone=False,
    options=("queries",),
    answers_queries=True,
)
