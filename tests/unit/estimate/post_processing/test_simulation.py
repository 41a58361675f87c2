"""What is drawn again has the mechanism's own law, and the method that is chosen is the one that does best."""

import time

import numpy as np
import pytest

from peos.crypto.randomness import Randomness
from peos.estimate.frequency import Estimate, FrequencyOracle, estimate_frequencies
from peos.estimate.post_processing import choose_by_simulation, post_process
from peos.estimate.post_processing.simulation import GOALS, redrawn, whole_users
from peos.ldp import LocalHash, PureMechanism
from peos.registry import MECHANISMS, POST_PROCESSING
from tests.full import full
from tests.raising import raises
from tests.unit.estimate.post_processing.estimates import drawn, of, olh

PURE = [kind.build(24, 1.0) for kind in MECHANISMS.values() if issubclass(kind, PureMechanism)]
PURE += [LocalHash(24, 1.0, 3), LocalHash(24, 3.0, 12)]


@pytest.fixture(scope="module")
def collected() -> Estimate:
    return drawn(1, olh(1.0))[0]


@pytest.mark.parametrize("goal", ["sets:0.9", "sets:0.5"])
def test_of_a_power_law_it_takes_power_ns_for_sets(collected: Estimate, goal: str) -> None:
    choice = choose_by_simulation(collected, goal, rng=np.random.default_rng(3))
    assert choice.method == "power_ns"
    assert set(choice.errors) == set(POST_PROCESSING) - {"power"}


def test_it_leaves_the_top_ten_as_they_are_within_seconds(collected: Estimate) -> None:
    start = time.process_time()
    choice = choose_by_simulation(collected, "top:10", rng=np.random.default_rng(3))
    assert time.process_time() - start <= 20
    assert choice.method in ("base", "norm", "base_cut")
    assert min(choice.errors.values()) == choice.errors[choice.method]
    assert choice.errors["norm_mul"] > 100 * choice.errors["norm"]


def test_the_errors_it_predicts_are_those_there_are(collected: Estimate) -> None:
    """Of methods that say little of the truth they started from: base exactly, norm_sub nearly."""
    predicted = choose_by_simulation(collected, rng=np.random.default_rng(4)).errors
    runs = [drawn(seed, olh(1.0)) for seed in range(10, 20)]
    for method, within in (("base", 0.05), ("norm_sub", 0.4)):
        real = np.mean([np.mean(np.square(post_process(one, method).frequency - truth)) for one, truth in runs])
        assert predicted[method] == pytest.approx(real, rel=within)


@pytest.mark.parametrize("mechanism", [*PURE[:3], *map(full, PURE[3:])])
def test_collections_are_drawn_again_by_the_mechanisms_own_law(mechanism: PureMechanism) -> None:
    """Means and variances of counts and of sums of counts, next to those of reports that the mechanism made."""
    holders, fakes, runs = np.array([200, 100, 40, 10, *([0] * 20)]), 50, 2000
    users = int(holders.sum())
    rng, stream = np.random.default_rng(7), Randomness(b"\x07" * 32)
    estimate = of(holders / users, mechanism.oracle, users, fakes)
    again = np.array([redrawn(estimate, holders, rng).counts for _ in range(runs)])
    words = mechanism.randomize(np.tile(np.repeat(np.arange(24), holders), runs), stream).reshape(runs, users, -1)
    noise = stream.uint64((runs, fakes, mechanism.words))
    real = np.array([mechanism.tally(np.concatenate(one)) for one in zip(words, noise, strict=True)])
    sums = np.concatenate((np.eye(24), [[1.0] * 24, [1.0] * 12 + [0.0] * 12, [0.0] * 8 + [1.0] * 16]))
    drawn_again, drawn_first = again @ sums.T, real @ sums.T
    error = np.sqrt((drawn_again.var(axis=0) + drawn_first.var(axis=0)) / runs)
    assert np.all(np.abs(drawn_again.mean(axis=0) - drawn_first.mean(axis=0)) <= 6 * error + 1e-9)
    # Of all 24 together there may be nothing to vary but what rounding leaves.
    assert drawn_again.var(axis=0) == pytest.approx(drawn_first.var(axis=0), rel=0.25, abs=24 / 12 * 1.5)


def test_users_are_whole_and_all_there() -> None:
    assert whole_users(np.array([0.5, 0.26, 0.24]), 10).tolist() == [5, 3, 2]
    assert whole_users(np.array([1.0]), 7).tolist() == [7]
    shares = np.full(7, 1 / 7)
    assert whole_users(shares, 10).sum() == 10
    assert np.ptp(whole_users(shares, 10)) == 1


def test_a_domain_of_one_value_and_few_users() -> None:
    oracle = FrequencyOracle(0.9, 0.1, 0.1)
    estimate = estimate_frequencies(oracle, np.array([5]), users=5, fakes=0)
    for goal in ("values", "top:1", "sets:0.5"):
        assert choose_by_simulation(estimate, goal, rng=np.random.default_rng(1)).method in POST_PROCESSING


@pytest.mark.parametrize(
    "goal",
    [
        "",
        "best",
        "values:3",
        "top",
        "top:0",
        "top:1025",
        "top:x",
        "top:-1",
        "sets",
        "sets:0",
        "sets:1",
        "sets:nan",
        "sets:x",
    ],
)
def test_other_goals_are_refused(collected: Estimate, goal: str) -> None:
    with raises("post_process.goal", repr(goal)) as refusal:
        choose_by_simulation(collected, goal, rng=np.random.default_rng(1))
    assert GOALS in refusal.value.hint
