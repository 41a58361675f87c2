"""The estimator and its variance, in exact arithmetic over all outcomes of a few reports; intervals; bad input."""

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from peos.estimate.frequency import FEW, Estimate, FrequencyOracle, estimate_frequencies, variance_of_frequency
from tests.raising import raises

ORACLE = FrequencyOracle(p=0.75, q=0.25, u=0.125)  # exact as doubles


@pytest.mark.parametrize(("supporters", "others", "fakes"), [(1, 0, 0), (0, 2, 0), (2, 1, 0), (2, 3, 2), (0, 1, 3)])
def test_mean_and_variance_over_all_outcomes_are_the_frequency_and_the_variance_claimed(
    supporters: int, others: int, fakes: int
) -> None:
    """Each report supports v or not; 2^reports outcomes are summed with their exact probabilities."""
    users = supporters + others
    chances = [Fraction(ORACLE.p)] * supporters + [Fraction(ORACLE.q)] * others + [Fraction(ORACLE.u)] * fakes
    mean = square = Fraction(0)
    for outcome in itertools.product((0, 1), repeat=len(chances)):
        weight = Fraction(1)
        for supports, chance in zip(outcome, chances, strict=True):
            weight *= chance if supports else 1 - chance
        counts = np.array([sum(outcome)])
        found = Fraction(float(estimate_frequencies(ORACLE, counts, users=users, fakes=fakes).frequency[0]))
        mean += weight * found
        square += weight * found**2
    truth = Fraction(supporters, users)
    claimed = variance_of_frequency(ORACLE, users=users, fakes=fakes, frequency=float(truth))
    assert float(mean) == pytest.approx(float(truth), abs=1e-14)
    assert float(square - mean**2) == pytest.approx(claimed, rel=1e-12)


def test_the_thesis_formula_is_the_special_case_of_grr() -> None:
    """(9.5): (n + n_r)/n · f̃ − n_r/(n d), where f̃ takes fakes for users; with u = 1/d only."""
    d, users, fakes = 20, 1000, 300
    γ = 0.4
    oracle = FrequencyOracle(p=1 - γ + γ / d, q=γ / d, u=1 / d)
    counts = np.arange(0, 1300, 65)
    naive = (counts / (users + fakes) - oracle.q) / (oracle.p - oracle.q)
    thesis = (users + fakes) / users * naive - fakes / (users * d)
    ours = estimate_frequencies(oracle, counts, users=users, fakes=fakes).frequency
    assert np.allclose(ours, thesis, rtol=0, atol=1e-12)


ORACLES = [ORACLE, FrequencyOracle(p=0.99, q=0.25, u=0.25), FrequencyOracle(0.2, 0.01, 0.01)]


@pytest.mark.parametrize(("users", "fakes"), [(10_000, 0), (10_000, 40), (12_345, 6789)])
@pytest.mark.parametrize("oracle", ORACLES)
def test_from_either_end_of_an_interval_the_estimate_is_z_standard_errors_away(
    users: int, fakes: int, oracle: FrequencyOracle
) -> None:
    """Where there are many supports; how far there may be too few is tests/unit/estimate/test_support.py's."""
    assert min(users * oracle.q, users * (1 - oracle.p)) >= FEW
    estimate = estimate_frequencies(oracle, np.arange(users + fakes + 1), users=users, fakes=fakes)
    narrow, wide = estimate.interval(0.5), estimate.interval(0.95)
    at_0, at_1 = (variance_of_frequency(oracle, users=users, fakes=fakes, frequency=f) for f in (0.0, 1.0))
    for end in wide.T:
        squared = 1.959963984540054**2 * (at_0 + (at_1 - at_0) * end)
        assert np.allclose(np.square(estimate.frequency - end), squared, rtol=1e-9, atol=1e-12)
    _hold_the_estimate(estimate)
    assert np.all(wide[:, 0] < narrow[:, 0])
    assert np.all(narrow[:, 1] < wide[:, 1])


def _hold_the_estimate(estimate: Estimate) -> None:
    narrow, wide = estimate.interval(0.5), estimate.interval(0.95)
    assert np.all(wide[:, 0] <= estimate.frequency)
    assert np.all(estimate.frequency <= wide[:, 1])
    assert np.all(wide[:, 0] <= narrow[:, 0])
    assert np.all(narrow[:, 1] <= wide[:, 1])


@pytest.mark.parametrize(("users", "fakes"), [(3, 0), (100, 0), (100, 40)])
@pytest.mark.parametrize("oracle", ORACLES)
def test_of_few_reports_too_an_interval_holds_its_estimate_and_every_narrower_one(
    users: int, fakes: int, oracle: FrequencyOracle
) -> None:
    _hold_the_estimate(estimate_frequencies(oracle, np.arange(users + fakes + 1), users=users, fakes=fakes))


def test_with_many_reports_an_interval_is_the_estimate_and_its_standard_errors() -> None:
    users = 10**8
    estimate = estimate_frequencies(ORACLE, np.array([3 * 10**7, 5 * 10**7]), users=users, fakes=0)
    expected = estimate.frequency[:, np.newaxis] + 1.959963984540054 * np.outer(estimate.stderr, [-1, 1])
    assert np.allclose(estimate.interval(0.95), expected, rtol=0, atol=1e-3 * float(estimate.stderr.max()))


def test_an_estimate_beyond_the_unit_interval_still_has_a_variance() -> None:
    """The estimate is left as it is, unbiased; only the variance is taken at the nearest possible frequency."""
    estimate = estimate_frequencies(ORACLE, np.array([0, 100]), users=100, fakes=0)
    assert estimate.frequency.tolist() == [-0.5, 1.5]
    bounds = [variance_of_frequency(ORACLE, users=100, fakes=0, frequency=f) for f in (0.0, 1.0)]
    assert estimate.variance.tolist() == bounds


LEVEL = "estimate.probability"
WRONG: list[tuple[Callable[[], object], tuple[str, ...]]] = [
    (lambda: FrequencyOracle(0.5, 0.5, 0.5), ("estimate.probabilities",)),
    (lambda: FrequencyOracle(0.2, 0.5, 0.5), ("estimate.probabilities",)),
    (lambda: FrequencyOracle(1.2, 0.5, 0.5), ("estimate.probabilities",)),
    (lambda: FrequencyOracle(0.7, -0.1, 0.5), ("estimate.probabilities",)),
    (lambda: FrequencyOracle(0.7, 0.1, float("nan")), ("estimate.probabilities",)),
    (lambda: estimate_frequencies(ORACLE, np.array([1]), users=0, fakes=0), ("estimate.sizes",)),
    (lambda: estimate_frequencies(ORACLE, np.array([1]), users=5, fakes=-1), ("estimate.sizes",)),
    (lambda: estimate_frequencies(ORACLE, np.array([6]), users=5, fakes=0), ("estimate.counts", "5")),
    (lambda: estimate_frequencies(ORACLE, np.array([-1]), users=5, fakes=0), ("estimate.counts", "5")),
    (lambda: estimate_frequencies(ORACLE, np.array([0.5]), users=5, fakes=0), ("estimate.counts",)),
    (lambda: variance_of_frequency(ORACLE, users=0, fakes=0, frequency=0.0), ("estimate.sizes",)),
    (lambda: variance_of_frequency(ORACLE, users=2.5, fakes=0, frequency=0.0), ("estimate.sizes",)),  # type: ignore[arg-type]  # the type is the mistake
    (lambda: variance_of_frequency(ORACLE, users=1, fakes=0, frequency=1.1), ("estimate.probability",)),
    (lambda: variance_of_frequency(ORACLE, users=1, fakes=0, frequency=float("nan")), ("estimate.probability",)),
    (
        lambda: estimate_frequencies(ORACLE, np.array([1]), users=5, fakes=0).interval(1.0),
        (LEVEL, "confidence level"),
    ),
    (
        lambda: estimate_frequencies(ORACLE, np.array([1]), users=5, fakes=0).interval(0.0),
        (LEVEL, "confidence level"),
    ),
    (
        lambda: estimate_frequencies(ORACLE, np.array([1]), users=5, fakes=0).significant(1.0),
        (LEVEL, "significance"),
    ),
    (
        lambda: estimate_frequencies(ORACLE, np.array([1]), users=5, fakes=0).significant(float("nan")),
        (LEVEL, "significance"),
    ),
    (lambda: FrequencyOracle(0.7, 0.1, 0.1, -0.1), ("estimate.probabilities",)),
]


@pytest.mark.parametrize(("call", "mistake"), WRONG)
def test_what_cannot_be_estimated_gets_one_sentence(call: Callable[[], object], mistake: tuple[str, ...]) -> None:
    with raises(*mistake):
        call()
