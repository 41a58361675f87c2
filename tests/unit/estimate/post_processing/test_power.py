"""The power law that is fitted, and the means under it, compared with sums over every count."""

import numpy as np
import pytest

from peos.estimate.post_processing import post_process
from peos.estimate.post_processing.cut import noise
from peos.estimate.post_processing.power import exponent
from tests.unit.estimate.post_processing.estimates import DOMAIN, USERS, of, olh, zipf


def test_the_exponent_is_that_of_the_mean_count() -> None:
    assert exponent(USERS / DOMAIN, USERS) == pytest.approx(1.476, abs=5e-4)
    (note,) = post_process(of(zipf(), olh(1.0), USERS), "power").notes
    assert note.endswith(" 1.476")


@pytest.mark.parametrize("users", [1, 2, 4096, 4097, 100_000])
@pytest.mark.parametrize("share", [0.001, 0.02, 0.3, 0.49])
def test_the_law_has_that_mean_indeed(users: int, share: float) -> None:
    mean = 1 + share * (users - 1)
    counts = np.arange(1.0, users + 1)
    weights = counts ** -exponent(mean, users)
    assert weights @ counts / weights.sum() == pytest.approx(mean, rel=1e-9)


def test_no_law_has_a_mean_of_one_or_more_than_the_middle() -> None:
    assert exponent(0.3, 1000) == 1.01
    assert exponent(900.0, 1000) == pytest.approx(0.0, abs=1e-12)
    (note,) = post_process(of([0.0003] * 4), "power").notes
    assert "1.01" in note


@pytest.mark.parametrize(("users", "epsilon"), [(50, 1.0), (3000, 6.0), (20_000, 1.0), (20_000, 4.0), (20_000, 0.2)])
def test_means_are_those_of_sums_over_every_count(users: int, epsilon: float) -> None:
    rng = np.random.default_rng(users)
    frequency = np.concatenate((zipf()[:200], [-0.3, -0.01, 0.0, 0.97, 1.02, 1.3]))
    estimate = of(frequency + rng.normal(0, 0.01, size=len(frequency)), olh(epsilon), users, fakes=users // 5)
    spread = users * noise(estimate)
    counts = np.arange(1.0, users + 1)
    prior = -exponent(users * float(estimate.frequency.mean()), users) * np.log(counts)
    logs = prior - np.square((users * estimate.frequency[:, np.newaxis] - counts) / spread) / 2
    chances = np.exp(logs - logs.max(axis=1, keepdims=True))
    exact = chances @ counts / chances.sum(axis=1) / users
    found = post_process(estimate, "power").frequency
    assert found == pytest.approx(exact, rel=2e-3, abs=2e-4 * spread / users)


def test_power_ns_is_norm_sub_of_power() -> None:
    estimate = of(zipf() + np.random.default_rng(1).normal(0, 0.002, size=DOMAIN), olh(1.0), USERS)
    power = post_process(estimate, "power").frequency
    expected = post_process(of(power), "norm_sub").frequency
    assert post_process(estimate, "power_ns").frequency.tolist() == expected.tolist()
