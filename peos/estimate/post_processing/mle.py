"""mle_apx: the likeliest frequencies that are not below 0 and add up to 1, if the noise is Gaussian.

n (p−q)²·Var f̃ = A + f·B with A = q(1−q) + (m/n)·u(1−u) and B = (p−q)(1−p−q). Of the r values that stay above 0, S being
the sum of their estimates,
    x = (p−q)(1−S)/(rA + B),    f' = (A x + (p−q) f̃)/((p−q) − B x) = (A(1−S) + (rA + B) f̃)/(rA + B S).
The second form has no x, and a sum of 1 at sight. The thesis prints an x for which the first form's sum is not 1.
"""

from typing import Final

import numpy as np

from peos.estimate.frequency import Estimate
from peos.estimate.post_processing.method import Changed, Floats, Method
from peos.estimate.post_processing.norm import projected, scaled


def likeliest(estimate: Estimate) -> Changed:
    """f', where every round of dropping what is below 0 is looked up in one sorted list.

    Going on from r to r + 1 values lowers (r + B/A) u_r − S_r by (r + B/A)(u_r − u_{r+1}), and A + B ≥ 0; so that those
    for which the last stays above 0, whose figure is above −1, are a beginning of the list.
    """
    oracle = estimate.oracle
    p, q, u = oracle.p, oracle.q, oracle.u
    a = q * (1 - q) + estimate.fakes / estimate.users * u * (1 - u)
    b = (p - q) * (1 - p - q)
    if a <= 0.0:
        return scaled(estimate.frequency), ("no report supports a value that no user holds: this is norm_mul",)
    # Of a frequency above A/|B| > 1 the variance would be below 0, where B is.
    frequency: Floats = np.minimum(estimate.frequency, 1.0) if b < 0 else estimate.frequency
    ordered = np.sort(frequency)[::-1]
    totals, ranks = np.cumsum(ordered), np.arange(1, len(ordered) + 1)
    last = max(1, int(np.count_nonzero((ranks + b / a) * ordered - totals > -1.0)))
    total = float(totals[last - 1])
    scale = last * a + b * total
    if scale <= 0.0:  # only of reports that always support their own value
        return projected(frequency), ("the variance of a frequency of 1 is 0: this is norm_sub",)
    return np.maximum((a * (1.0 - total) + (last * a + b) * frequency) / scale, 0.0), ()


MLE_APX: Final = Method(
    "mle_apx",
    "takes the likeliest frequencies that are not below 0 and add up to 1, as if the noise were Gaussian",
    likeliest,
    nonnegative=True,
    sums_to_one=True,
)
