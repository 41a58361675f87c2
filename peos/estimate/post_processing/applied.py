"""`post_process`: a method by its name, on an estimate that is looked at first."""

import numpy as np

from peos.errors import WrongInput
from peos.estimate.frequency import Estimate
from peos.estimate.post_processing.method import Method, PostProcessed
from peos.registry import POST_PROCESSING


def post_process(estimate: Estimate, method: str, **options: object) -> PostProcessed:
    """The estimate after a method of `POST_PROCESSING`; `alpha` is an option of base_cut, `queries` of post_pos.

    O(d log d), but for power and power_ns, which integrate for each value.
    """
    chosen = method_named(method)
    if not isinstance(estimate, Estimate):
        raise WrongInput(
            "post_process.estimate",
            f"an estimate is post-processed, with its errors, not a {type(estimate).__name__}",
            hint="give what `mechanism.estimate` or a collection returned, not its frequencies alone",
        )
    unknown = sorted(set(options) - set(chosen.options))
    if unknown:
        takes = f"takes {' and '.join(chosen.options)} alone" if chosen.options else "takes no option"
        raise WrongInput("post_process.option", f"{method} {takes}, not {', '.join(unknown)}")
    frequency = np.asarray(estimate.frequency)
    if frequency.ndim != 1 or not frequency.size or frequency.shape != np.shape(estimate.counts):
        raise WrongInput(
            "post_process.estimate",
            f"an estimate has one frequency for each of its {np.size(estimate.counts)} support counts, "
            f"not frequencies of shape {frequency.shape}",
        )
    if not np.all(np.isfinite(frequency)):
        raise WrongInput(
            "post_process.estimate", f"the estimate of value {int(np.argmin(np.isfinite(frequency)))} is not a number"
        )
    found, notes = chosen.apply(estimate, **options)
    promised = chosen.sums_to_one, chosen.nonnegative, chosen.monotone
    return PostProcessed(found, method, *promised, notes, chosen.answers_queries)


def method_named(name: str) -> Method:
    """The method of that name."""
    method = POST_PROCESSING.get(name)
    if method is None:
        raise WrongInput(
            "post_process.method",
            f"{str(name)[:60]!r} is not a method of post-processing",
            hint=f"choose one of {', '.join(POST_PROCESSING)}",
        )
    return method
