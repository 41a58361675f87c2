"""Every pure mechanism of the registry at d = 1024: estimates are unbiased, and their variance is what it says.

Three values are held by three tenths of the users each, others by no user; there are fakes. The stream is the
mechanism's own, so a run repeats itself.
"""

import math

import numpy as np
import pytest
from scipy import stats

from peos.crypto.randomness import Randomness
from peos.estimate.frequency import estimate_frequencies
from peos.ldp import SHE, PureMechanism
from peos.registry import MECHANISMS

D, USERS, FAKES, REPEATS, EPSILON = 1024, 60, 15, 4000, 2.0
HELD, BY_NOBODY = np.array([0, 511, 1023]), np.array([1, 300, 512])
VALUES = np.concatenate((np.repeat(HELD, 18), np.full(USERS - 54, 77)))  # f = .3 each, and the others' value
PURE = [kind.build(D, EPSILON) for kind in MECHANISMS.values() if issubclass(kind, PureMechanism)]
LOOKS = 6 * len(PURE)
WITHIN = 0.05
assert min(1 - stats.chi2.cdf((1 + WITHIN) * 3 * REPEATS, 3 * REPEATS), 1) < 1e-3, "what is allowed is no accident"


def check(errors: "np.ndarray[tuple[int, int], np.dtype[np.float64]]", variance: float) -> None:
    """Of three values in REPEATS collections: means within 4 standard errors (Bonferroni), and the variance."""
    bound = stats.norm.isf(stats.norm.sf(4) / LOOKS)
    means = errors.mean(axis=0) / math.sqrt(variance / len(errors))
    assert np.abs(means).max() < bound, f"{np.round(means, 2)} standard errors, bound {bound:.2f}"
    assert np.square(errors).mean() == pytest.approx(variance, rel=WITHIN)


@pytest.mark.parametrize("mechanism", PURE, ids=repr)
def test_estimates_are_unbiased_and_their_variance_is_as_said(mechanism: PureMechanism) -> None:
    rng, places = Randomness(mechanism.digest), np.concatenate((HELD, BY_NOBODY))
    found = []
    for _ in range(REPEATS // 100):
        users = mechanism.randomize(np.tile(VALUES, 100), rng).reshape(100, USERS, -1)
        reports = np.concatenate((users, rng.uint64((100, FAKES, mechanism.words))), axis=1)
        found += [mechanism.support_counts(one, places) for one in reports]
    counts = np.stack(found)
    estimate = estimate_frequencies(mechanism.oracle, counts.reshape(-1), users=USERS, fakes=FAKES)
    errors = estimate.frequency.reshape(counts.shape) - np.repeat([0.3, 0.0], 3)
    for frequency, of_it in ((0.3, errors[:, :3]), (0.0, errors[:, 3:])):
        check(of_it, mechanism.variance(USERS, FAKES, frequency=frequency))


@pytest.mark.full
def test_sums_of_laplace_noise_are_unbiased_and_their_variance_is_as_said() -> None:
    """SHE, which has no fakes."""
    mechanism, rng = SHE(D, EPSILON), Randomness(b"\x0a" * 32)
    found = []
    for _ in range(REPEATS // 50):
        reports = mechanism.randomize(np.tile(VALUES, 50), rng).reshape(50, USERS, -1)
        found += [mechanism.estimate(mechanism.tally(one), USERS).frequency for one in reports]
    estimates = np.stack(found)
    for frequency, values in ((0.3, HELD), (0.0, BY_NOBODY)):
        check(estimates[:, values] - frequency, mechanism.variance(USERS, frequency=frequency))
