"""Counts drawn value by value have the law of counts of real reports; the fast counter is the mechanism's own."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import chdtrc
from scipy.stats import binom

from experiments.measuring import measure, real, real_counts, variance_by_value
from experiments.methods import ideal_hash, unary
from experiments.populations import Counts, values_of, zipf
from experiments.report import ALPHA, as_expected
from experiments.shortcuts import binomials, by_position, chance_of_counts, counts_by_position
from peos.crypto.randomness import Randomness
from peos.ldp import GRR, SUE, LocalHash
from peos.ldp.base import PureMechanism

FEW: Counts = np.array([9, 5, 2, 0])
REPEATS = 3_000


def exact(holders: int, users: int, p: float, q: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Pr[S_v = k] by convolution."""
    mine = binom.pmf(np.arange(holders + 1), holders, p)
    others = binom.pmf(np.arange(users - holders + 1), users - holders, q)
    return np.convolve(mine, others)


def chance_of(counts: Counts, law: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """Chi-square of observed counts against an exact law, rare outcomes put together."""
    seen = np.bincount(counts, minlength=len(law))
    common = law * len(counts) >= 10
    expected = np.append(law[common], max(law[~common].sum(), 1e-300)) * len(counts)
    found = np.append(seen[common], seen[~common].sum())
    return float(chdtrc(common.sum(), np.sum((found - expected) ** 2 / np.maximum(expected, 1.0))))


def drawn_really(mechanism: SUE, rng: Randomness) -> Counts:
    return np.stack([real_counts(mechanism, values_of(FEW), rng) for _ in range(REPEATS)])


def drawn_by_position(mechanism: SUE, rng: Randomness) -> Counts:
    return counts_by_position(mechanism.oracle.p, mechanism.oracle.q, FEW, REPEATS, rng)


@pytest.mark.parametrize("draw", [drawn_really, drawn_by_position])
def test_real_reports_and_the_shortcut_have_one_and_the_same_exact_law(
    draw: Callable[[SUE, Randomness], Counts], rng: Randomness
) -> None:
    """16 users, 4 positions, n = 3000 repeats: each position's counts, and the sums of two, against convolutions."""
    mechanism = unary(4.0, 4)
    counts = draw(mechanism, rng)
    p, q = mechanism.oracle.p, mechanism.oracle.q
    laws = [exact(int(holders), 16, p, q) for holders in FEW]
    for at, law in enumerate(laws):
        chance = chance_of(counts[:, at], law)
        assert chance >= ALPHA, f"position {at}: p = {chance:.2g}"
    # Positions are independent: so the sum of two has the convolution of their laws.
    chance = chance_of(counts[:, 0] + counts[:, 1], np.convolve(laws[0], laws[1]))
    assert chance >= ALPHA, f"positions 0 and 1 together: p = {chance:.2g}"


def test_a_shortcut_with_a_wrong_probability_is_seen(rng: Randomness) -> None:
    mechanism = unary(4.0, 4)
    p, q = mechanism.oracle.p, mechanism.oracle.q
    counts = counts_by_position(p, q * 1.15, FEW, REPEATS, rng)
    assert chance_of(counts[:, 3], exact(0, 16, p, q)) < ALPHA


def test_the_chi_square_that_full_runs_use_accepts_real_counts_and_sees_wrong_ones(rng: Randomness) -> None:
    truth = zipf(4_000, 300)
    mechanism = unary(20.0, 300)
    counts = real_counts(mechanism, values_of(truth), rng)
    assert chance_of_counts(mechanism.oracle, counts, truth) >= ALPHA
    assert chance_of_counts(mechanism.oracle, counts, truth[::-1].copy()) < ALPHA
    assert chance_of_counts(unary(21.5, 300).oracle, counts, truth) < ALPHA
    # Too even is as wrong as too uneven.
    mean = np.round(truth * mechanism.oracle.p + (4_000 - truth) * mechanism.oracle.q).astype(np.int64)
    assert chance_of_counts(mechanism.oracle, mean, truth) < ALPHA


@pytest.mark.parametrize(("trials", "chance"), [(0, 0.3), (1, 0.5), (40, 0.02), (5000, 0.4), (10**6, 3e-6)])
def test_binomials_have_their_law(trials: int, chance: float, rng: Randomness) -> None:
    drawn = binomials(trials, chance, (20_000,), rng)
    law = binom.pmf(np.arange(max(int(drawn.max()) + 1, min(trials, 60) + 1)), trials, chance)
    assert chance_of(drawn, law) >= ALPHA, f"n = {drawn.size}, mean {drawn.mean():.5g} of {trials * chance:.5g}"


@pytest.mark.parametrize(
    "mechanism", [GRR(40, 2.0), LocalHash(40, 2.0, d_prime=5), LocalHash(40, 3.0, d_prime=32), unary(6.0, 40)]
)
def test_measured_errors_are_the_exact_variances_mean(mechanism: PureMechanism, rng: Randomness) -> None:
    """n = 40 repeats of 2000 users at α = 1e-6, drawn really and value by value."""
    truth = zipf(2_000, 40)
    variance = variance_by_value(mechanism.oracle, truth)
    for estimates in (real(mechanism, truth, 40, rng), by_position(mechanism.oracle, truth, 40, rng)):
        found = measure(estimates, truth, variance)
        assert as_expected(found), f"{found.mse:.4g} ± {found.stderr:.2g}, expected {found.expected:.4g}"


def test_the_expected_error_is_the_same_for_all_data_of_one_size() -> None:
    """Why stand-in data will do."""
    oracle = LocalHash(50, 2.0, d_prime=8).oracle
    even, one = np.full(50, 40), np.array([2_000] + [0] * 49)
    means = [float(variance_by_value(oracle, truth).mean()) for truth in (even, one, zipf(2_000, 50))]
    assert means == pytest.approx([means[0]] * 3, rel=1e-12)


def test_an_ideal_hash_family_collides_as_often_as_a_random_function() -> None:
    mechanism = LocalHash(1000, 3.0, d_prime=64)
    ideal = ideal_hash(mechanism)
    assert ideal.q == 1 / 64
    assert ideal.p == pytest.approx(np.exp(3) / (np.exp(3) + 63), rel=1e-9)
    assert ideal.q > mechanism.oracle.q, "our family collides less often"
