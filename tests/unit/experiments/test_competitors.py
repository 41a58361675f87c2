"""The competitors that peos.ldp does not have err as their formulas say, and each draws what it says it draws."""

import math

import numpy as np
import pytest
from scipy.special import chdtrc

from experiments import appended_unary, hadamard, laplace
from experiments.measuring import Floats, Measurement, measure
from experiments.populations import Counts, values_of, zipf
from experiments.report import ALPHA, NORMAL_ALPHA, as_expected
from peos.crypto.randomness import Randomness

TRUTH = zipf(3_000, 60)


def evidence(found: Measurement) -> str:
    mean = f"measured {found.mse:.4g} ± {found.stderr:.2g} over {found.repeats}"
    return f"{mean}, expected {found.expected:.4g}, α = {ALPHA}"


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_hadamard_response_errs_as_its_formula_says(epsilon: float, rng: Randomness) -> None:
    estimates = hadamard.estimates(epsilon, len(TRUTH), TRUTH, 60, rng)
    found = measure(estimates, TRUTH, hadamard.variance_by_value(epsilon, TRUTH))
    assert as_expected(found), evidence(found)


@pytest.mark.parametrize("domain", [1, 2, 3, 7, 8, 60])
def test_the_fast_transform_is_the_product_with_the_matrix(domain: int, rng: Randomness) -> None:
    rows = hadamard.rows_of(domain)
    assert domain < rows <= 2 * domain
    indices = np.arange(rows)
    matrix = 1.0 - 2.0 * hadamard.negative(indices[:, np.newaxis], indices[np.newaxis, :])
    assert np.array_equal(matrix @ matrix.T, rows * np.eye(rows))
    signals = (rng.uint64(rows) >> np.uint64(50)).astype(np.float64)
    assert np.array_equal(hadamard.transform(signals), matrix @ signals)


def test_appended_unary_encoding_errs_as_its_formula_says(rng: Randomness) -> None:
    p = 0.25
    found = measure(appended_unary.real(p, TRUTH, 60, rng), TRUTH, appended_unary.variance_by_value(p, TRUTH))
    assert as_expected(found), evidence(found)


def test_each_position_is_incremented_by_itself_with_probability_p(rng: Randomness) -> None:
    """n = 60 · 400 sums of 40 users; a chi-square over their distribution, and none below the true count."""
    truth: Counts = np.zeros(60, dtype=np.int64)
    truth[0] = 40
    added = np.stack([appended_unary.real_counts(0.25, truth, rng) - truth for _ in range(400)])
    seen = np.bincount(added.reshape(-1), minlength=41)
    chances = np.array([math.comb(40, k) * 0.25**k * 0.75 ** (40 - k) for k in range(41)])
    kept = chances * added.size >= 10
    expected = np.append(chances[kept], chances[~kept].sum()) * added.size
    found = np.append(seen[kept], seen[~kept].sum())
    strayed = float(np.sum((found - expected) ** 2 / expected))
    assert chdtrc(len(expected) - 1, strayed) >= ALPHA, f"chi-square {strayed:.1f}, {len(expected) - 1} degrees"


def test_the_increment_is_the_papers() -> None:
    assert appended_unary.increment(0.1, 602_325, 1e-9) == pytest.approx(1 - 200 * math.log(4e9) / 6023.25, abs=1e-9)


def test_laplace_noise_errs_as_its_formula_says_and_is_laplaces(rng: Randomness) -> None:
    estimates: list[Floats] = list(laplace.estimates(0.5, TRUTH, 400, rng))
    found = measure(estimates, TRUTH, laplace.variance_by_value(0.5, TRUTH), laplace.KURTOSIS)
    assert as_expected(found), evidence(found)
    noise = np.abs(np.stack(estimates) * 3_000 - TRUTH).reshape(-1)
    beyond = float(np.mean(noise > 4 * math.log(4)))  # scale 2/ε = 4: a quarter lies beyond
    z = (beyond - 0.25) / math.sqrt(0.25 * 0.75 / noise.size)
    assert abs(z) < NORMAL_ALPHA, f"{beyond:.4f} of n = {noise.size} beyond the quartile, z = {z:.2f}"


@pytest.mark.parametrize(("users", "domain"), [(10, 3), (1000, 1000), (990_002, 42_178)])
def test_the_stand_in_has_as_many_users_and_values_as_stated_and_falls_with_rank(users: int, domain: int) -> None:
    truth = zipf(users, domain)
    assert (int(truth.sum()), len(truth), int(truth.min()) >= 0) == (users, domain, True)
    assert np.all(np.diff(truth) <= 0)
    assert np.array_equal(np.bincount(values_of(truth), minlength=domain), truth)
    share = 1 / np.sum(1.0 / np.arange(1, domain + 1))
    assert abs(int(truth[0]) - users * share) <= 1
