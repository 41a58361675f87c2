"""What each method makes of an estimate: the mistakes that are usually made, and the corners that are left out."""

import math
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from numpy.typing import NDArray

from peos.estimate.frequency import Estimate, FrequencyOracle
from peos.estimate.post_processing import PostProcessed, post_process
from peos.registry import POST_PROCESSING
from tests.raising import raises
from tests.unit.estimate.post_processing.estimates import EVEN, drawn, of, olh

VECTORS = [name for name, method in POST_PROCESSING.items() if not method.answers_queries]
FREQUENCIES = some.lists(some.floats(-1.5, 1.5, allow_subnormal=False), min_size=1, max_size=40)
LIKELY = some.lists(some.floats(-0.01, 1.0), min_size=1, max_size=40)
PROBABILITIES = some.tuples(some.floats(0.01, 0.45), some.floats(0.05, 0.5), some.integers(0, 2000)).map(
    lambda given: (FrequencyOracle(given[0] + given[1], given[0], given[0]), given[2])
)


def made(method: str, frequency: object, **options: object) -> NDArray[np.float64]:
    return post_process(of(frequency), method, **options).frequency  # type: ignore[arg-type] # a list or a vector


def test_negative_estimates_take_part_in_the_projection() -> None:
    """Zeroing them first would give .65, .35, 0, 0."""
    assert made("norm_sub", [0.5, 0.2, -0.01, -0.2]) == pytest.approx([0.6033, 0.3033, 0.0933, 0.0], abs=5e-5)


@given(FREQUENCIES)
def test_norm_sub_is_the_nearest_point_of_the_simplex(frequency: list[float]) -> None:
    """Karush, Kuhn and Tucker: one shift where something is left, no smaller one elsewhere."""
    found, raw = made("norm_sub", frequency), np.array(frequency)
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.all(found >= 0)
    shifts = raw - found
    kept = found > 1e-12
    assert np.ptp(shifts[kept]) <= 1e-12
    assert np.all(shifts[~kept] <= shifts[kept].max() + 1e-12)


@given(FREQUENCIES, some.randoms(use_true_random=False))
def test_norm_sub_changes_its_own_results_no_more_and_does_not_care_for_order(frequency: list[float], rng) -> None:  # type: ignore[no-untyped-def] # hypothesis' own class
    found = made("norm_sub", frequency)
    assert made("norm_sub", found) == pytest.approx(found, abs=1e-13)
    order = list(range(len(frequency)))
    rng.shuffle(order)
    assert made("norm_sub", np.array(frequency)[order]) == pytest.approx(found[order], abs=1e-13)


@given(some.one_of(FREQUENCIES, LIKELY), PROBABILITIES)
def test_mle_apx_adds_up_to_one_and_nothing_is_likelier(
    frequency: list[float], given: tuple[FrequencyOracle, int]
) -> None:
    oracle, fakes = given
    estimate = of(frequency, oracle, fakes=fakes)
    found = post_process(estimate, "mle_apx").frequency
    assert found.sum() == pytest.approx(1.0, abs=1e-9)
    assert np.all(found >= 0)
    a, b = _variance(estimate, 0.0), _variance(estimate, 1.0) - _variance(estimate, 0.0)
    if max(frequency) > 1 or min(frequency) * b <= -a:
        return  # outside [0, 1] the variance need not be one; so far below 0 a larger variance excuses any frequency
    least = _unlikely(estimate, found)
    for other in (np.full(len(found), 1 / len(found)), made("norm_sub", frequency), np.eye(len(found))[0]):
        for part in (1e-3, 0.1, 1.0):
            assert least <= _unlikely(estimate, (1 - part) * found + part * other) * (1 + 1e-9) + 1e-12


def _unlikely(estimate: Estimate, frequency: NDArray[np.float64]) -> float:
    """Σ (f − f̃)²/Var, up to a factor: what the likelihood falls with (thesis 8.3)."""
    return float(np.sum(np.square(frequency - estimate.frequency) / _variance(estimate, frequency)))


def _variance(estimate: Estimate, frequency: Any) -> Any:
    p, q, u = estimate.oracle.p, estimate.oracle.q, estimate.oracle.u
    return frequency * p * (1 - p) + (1 - frequency) * q * (1 - q) + estimate.fakes / estimate.users * u * (1 - u)


@given(FREQUENCIES)
def test_mle_apx_is_norm_sub_where_the_variance_is_the_same_everywhere(frequency: list[float]) -> None:
    assert EVEN.p + EVEN.q == 1
    assert made("mle_apx", frequency) == pytest.approx(made("norm_sub", frequency), abs=1e-12)


def test_mle_apx_as_the_thesis_prints_it_does_not_add_up() -> None:
    """(8.6) with the x below it, whose derivation has the wrong sign in its denominator."""
    estimate, _ = drawn(1, olh(0.5))
    p, q = estimate.oracle.p, estimate.oracle.q
    factor = (p - q) * (1 - p - q)
    kept = np.ones(len(estimate.frequency), dtype=bool)
    while True:
        x = (p - q) * (estimate.frequency[kept].sum() - 1) / (factor - kept.sum() * q * (1 - q))
        printed = (q * (1 - q) * x + (p - q) * estimate.frequency) / (p - q - factor * x)
        if np.all(printed[kept] >= 0):
            break
        kept &= printed >= 0
    assert printed[kept].sum() == pytest.approx(0.9989, abs=2e-4)
    assert post_process(estimate, "mle_apx").frequency.sum() == pytest.approx(1.0, abs=1e-12)


def test_fakes_are_noise_too() -> None:
    """A value between the two thresholds: σ as if there were no fakes would keep it."""
    frequency = [0.0115] + 99 * [0.01]
    honest, fakes = of(frequency, olh(3.0), users=10_000), of(frequency, olh(3.0), users=10_000, fakes=10_000)
    assert post_process(honest, "base_cut").frequency[0] == 0.0115
    assert post_process(fakes, "base_cut").frequency[0] == 0.0
    rough = [0.3, 0.12] + 48 * [0.01] + 50 * [-0.005]
    for method in ("mle_apx", "power", "power_ns"):
        with_fakes = post_process(of(rough, olh(3.0), users=10_000, fakes=10_000), method).frequency
        without = post_process(of(rough, olh(3.0), users=10_000), method).frequency
        assert np.abs(with_fakes - without).max() > 1e-4


def test_base_cut_keeps_alpha_values_that_nobody_holds() -> None:
    rng = np.random.default_rng(5)
    users, domain = 100_000, 1000
    sigma = math.sqrt(0.375 * 0.625 / users) / 0.25
    for alpha in (2.0, 20.0):
        runs = [
            np.count_nonzero(post_process(of(noise, users=users), "base_cut", alpha=alpha).frequency)
            for noise in rng.normal(0, sigma, size=(200, domain))
        ]
        assert np.mean(runs) == pytest.approx(alpha, abs=4 * math.sqrt(alpha / 200))


def test_norm_cut_keeps_equal_estimates_together() -> None:
    assert made("norm_cut", [0.4, 0.3, 0.3, 0.3]).tolist() == [0.4, 0.0, 0.0, 0.0]
    assert made("norm_cut", [0.3, 0.4, 0.3, -0.1]).tolist() == [0.3, 0.4, 0.3, 0.0]
    assert made("norm_cut", [0.3, 0.3, 0.5, 0.1]).tolist() == [0.0, 0.0, 0.5, 0.0]
    assert made("norm_cut", [1.2, 0.1]).tolist() == [0.0, 0.0]


def test_norm_and_norm_mul() -> None:
    assert made("norm", [0.5, 0.2, -0.1]) == pytest.approx([0.5 + 0.4 / 3, 0.2 + 0.4 / 3, -0.1 + 0.4 / 3])
    assert made("norm_mul", [0.6, 0.2, -0.1]) == pytest.approx([0.75, 0.25, 0.0])
    assert made("norm_mul", [-0.6, -0.2]).tolist() == [0.5, 0.5]


def test_post_pos_answers_each_query_by_itself() -> None:
    told = post_process(of([0.5, -0.2, -0.4]), "post_pos", queries=[[0, 1], [1, 2], [0, 1, 2], [2, 0, 0]])
    assert told.frequency == pytest.approx([0.3, 0.0, 0.0, 0.1])
    assert not told.monotone


CORNERS = [
    *([[0.4]], [[-0.4]], [[1.7]], [[0.0]], [[0.0] * 5], [[-0.5, -0.2, -0.9]], [[0.2] * 5], [[0.3, 0.3, -0.1]]),
    *(
        [[1.4, 0.1, -0.5]],
        [[1.4, 1.4, 0.2]],
        [[1e-300, -1e-300]],
        [[0.1, 0.2, 0.3, 0.4]],
        [[1.0, 0.0]],
        [[5.0, 4.0, 3.0]],
    ),
]
ORACLES = [
    *(EVEN, olh(0.2), olh(4.0), FrequencyOracle(0.99, 0.25, 0.25), FrequencyOracle(1.0, 0.25, 0.25)),
    *(FrequencyOracle(0.9, 0.0, 0.1), FrequencyOracle(1.0, 0.0, 0.5)),
]


@pytest.mark.parametrize("method", VECTORS)
@pytest.mark.parametrize("oracle", ORACLES)
def test_every_method_keeps_its_promises_in_every_corner(method: str, oracle: FrequencyOracle) -> None:
    for (frequency,) in CORNERS:
        for users, fakes in ((1, 0), (7, 3), (1000, 0), (1000, 400)):
            _keeps_its_promises(post_process(of(frequency, oracle, users, fakes), method), frequency)


@settings(max_examples=30)
@given(FREQUENCIES, PROBABILITIES)
def test_every_method_keeps_its_promises(frequency: list[float], given: tuple[FrequencyOracle, int]) -> None:
    for method in VECTORS:
        _keeps_its_promises(post_process(of(frequency, given[0], fakes=given[1]), method), frequency)


def _keeps_its_promises(found: PostProcessed, frequency: list[float]) -> None:
    assert found.monotone
    assert found.frequency.shape == (len(frequency),)
    assert np.all(np.isfinite(found.frequency)), (found.method, frequency)
    if found.nonnegative:
        assert np.all(found.frequency >= 0)
    if found.sums_to_one:
        assert found.frequency.sum() == pytest.approx(1.0, abs=1e-9), (found.method, frequency)
    raw = np.array(frequency)
    ordered = found.frequency[np.argsort(raw, kind="stable")]
    assert np.all(np.diff(ordered) >= -1e-15), (found.method, frequency)
    for size in np.unique(raw):
        assert np.ptp(found.frequency[raw == size]) == 0


def test_what_cannot_be_post_processed_is_refused() -> None:
    estimate = of([0.5, 0.5])
    for number in (math.nan, math.inf):
        with raises("post_process.estimate", "value 1"):
            post_process(of([0.5, number]), "norm_sub")
    for wrong in (np.array([0.5]), np.array([[0.5, 0.5]]), np.zeros(0)):
        with raises("post_process.estimate", "2"):
            post_process(Estimate(wrong, wrong, 10, 0, EVEN, np.array([1, 2])), "base")
    with raises("post_process.method", "norm_add"):
        post_process(estimate, "norm_add")
    with raises("post_process.option", "norm_sub", "alpha"):
        post_process(estimate, "norm_sub", alpha=2.0)
    with raises("post_process.option", "base_cut", "queries"):
        post_process(estimate, "base_cut", queries=[[0]])
    for alpha in (0.0, -1.0, math.nan, math.inf, "2"):
        with raises("post_process.option", "alpha"):
            post_process(estimate, "base_cut", alpha=alpha)
    wrong_queries: tuple[object, ...] = (None, [[2]], [[-1]], [[]], [[0.5]])
    for queries in wrong_queries:
        with raises("post_process.queries"):
            post_process(estimate, "post_pos", queries=queries)


@pytest.mark.parametrize("method", VECTORS)
def test_large_domains_take_milliseconds(method: str) -> None:
    """Kosarak's d = 42,178: 50 ms of processor time, and 5 s where each value has its integral."""
    users, domain = 1_000_000, 42_178
    rng = np.random.default_rng(2)
    weights = np.arange(1, domain + 1.0) ** -1.5
    estimate = of(weights / weights.sum() + rng.normal(0, 0.0019, size=domain), olh(1.0), users)
    took = []
    for _ in range(3):
        start = time.process_time()
        post_process(estimate, method)
        took.append(time.process_time() - start)
    assert min(took) <= (5.0 if method.startswith("power") else 0.05)
