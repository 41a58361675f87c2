"""Frequencies of values that were reported by bits which they share: each bit's own, and what explains them all.

Of the N reports, fakes among them, N_c are of cohort c, and bit i is set in B of these. A user's report has it set with
probability p if her value sets it, else q, and so has a fake: ŷ = (B/N_c − q)/(p − q)·N/n is the share of the users
whose value sets it, without bias. The values are then found by a nonnegative LASSO, and fitted by least squares.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from peos.errors import WrongInput
from peos.estimate.frequency import Floats, Frequencies, checked_sizes
from peos.estimate.lasso import Design, least_squares, nonnegative_lasso


@dataclass(frozen=True, eq=False, repr=False)
class BitFrequencies(Frequencies):
    """Fitted frequencies; `variance` is that of the fit to noisy bits, the values that were chosen taken as given.

    What a choice of values adds to it is not known: so no value is called found, and an interval goes from nothing to
    what the value's own bits allow, whichever other values have set them.
    """

    bits: Floats  # (cohorts, k): ŷ
    bit_variance: Floats  # (cohorts, k): of each, with the cohort's size given; infinite for a cohort without users
    most: Floats  # (domain,): the mean ŷ of each value's bits
    most_stderr: Floats

    def interval(self, level: float = 0.95) -> Floats:
        """(domain, 2): from 0 to where the mean of a value's bits would be too large by chance."""
        high = self.most + NormalDist().inv_cdf(level) * self.most_stderr
        return np.stack((np.zeros_like(high), np.clip(high, 0.0, 1.0)), axis=1)

    def to_json(self) -> dict[str, object]:
        """The bits, each with its standard error."""
        seen = np.isfinite(self.bit_variance)
        errors = np.sqrt(np.where(seen, self.bit_variance, 1.0))
        return {**super().to_json(), "bits": {"frequency": self.bits.tolist(), "stderr": errors.tolist()}}


def fit(
    design: Design, tally: NDArray[np.int64], p: float, q: float, *, users: int, fakes: int, together: int
) -> BitFrequencies:
    """From the counts (cohorts, k + 1) of bits and, last, of reports; a value has at most `together` bits in each."""
    checked_sizes(users, fakes)
    counts, sizes = tally[:, :-1], tally[:, -1:]
    total = users + fakes
    if tally.dtype.kind not in "iu" or np.any(counts < 0) or np.any(counts > sizes) or int(sizes.sum()) != total:
        raise WrongInput(
            "estimate.counts", f"counts of bits are at most those of a cohort's reports, which add up to {total}"
        )
    seen = np.broadcast_to(sizes > 0, counts.shape)
    raised = total / (np.maximum(sizes, 1) * users * (p - q))
    bits = np.where(seen, (counts - sizes * q) * raised, 0.0)
    shares = np.clip(bits * users / total, 0.0, 1.0)
    variances = np.where(seen, _variance(shares, sizes, total, p, q) * raised**2, math.inf)
    kept = np.ravel(seen)
    used = design if kept.all() else design.keeping(kept)
    y, of_y = np.ravel(bits), np.where(kept, np.ravel(variances), 0.0)
    # With more values than bits, the many that are rare are noise to those that are not.
    flips = (sizes * q * (1 - q) * raised**2)[sizes > 0]
    noise = float(np.std(y[kept])) if used.values > kept.sum() else float(np.sqrt(np.mean(flips)))
    lengths = np.sqrt(used.squares)
    penalties = noise * math.sqrt(2 * math.log(used.values)) * lengths
    chosen = nonnegative_lasso(used, y, penalties) > 0
    frequency, variance = least_squares(used, y, chosen, of_y)
    squares = np.maximum(used.squares, 1.0)
    alone = used.turned @ of_y / squares**2
    # Bits of one cohort may err together, as the same users have them, and those of different ones do not.
    most, most_stderr = used.turned @ y / squares, np.sqrt(together * (used.turned @ of_y)) / squares
    return BitFrequencies(
        *(frequency, np.where(chosen, variance, alone), users, fakes, bits, variances, most, most_stderr)
    )


def _variance(shares: Floats, sizes: NDArray[np.int64], total: int, p: float, q: float) -> Floats:
    """Of B given N_c: its reports are any N_c of the N, of which a share φ are of users whose value sets the bit."""
    of_reports = sizes * (shares * p * (1 - p) + (1 - shares) * q * (1 - q))
    of_members = (p - q) ** 2 * sizes * shares * (1 - shares) * (total - sizes) / max(total - 1, 1)
    return np.asarray(of_reports + of_members)
