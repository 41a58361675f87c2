"""Mechanisms at full width, from values to estimates: unbiased, as exact as claimed, covered as claimed.

Every test has α = 1e-6 in all, shared out evenly over what it looks at, and prints its evidence. Collections of
N_USERS users and N_FAKES fakes are repeated N_REPEATS times: 1,250,000 reports a mechanism.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from peos.crypto.randomness import Randomness
from peos.estimate.frequency import estimate_frequencies
from peos.ldp import GRR, SUE, HadamardResponse, LocalHash, PureMechanism, SubsetSelection
from peos.ldp.hashing import HashFamily
from tests.full import full

ALPHA = 1e-6
N_USERS, N_FAKES, N_REPEATS = 500, 125, 2000
MECHANISMS: list[PureMechanism] = [
    GRR(12, 2.0),
    GRR(16, 3.5),
    LocalHash(30, 2.0, d_prime=8),
    LocalHash(30, 2.5, d_prime=7),
    LocalHash(6, 3.0, d_prime=100),
    SUE(12, 2.2),
    SUE(12, 3.0),
    HadamardResponse(30, 2.0),
    HadamardResponse(20, 1.0, signs=1),
    SubsetSelection(30, 2.0),
    SubsetSelection(16, 3.5, size=1),
]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Runs:
    """What came of the repeats: true frequencies (d,), estimates (R, d) and 95 % intervals (R, d, 2)."""

    mechanism: PureMechanism
    truth: Floats
    counts: NDArray[np.int64]
    estimates: Floats
    intervals: Floats


@pytest.fixture(scope="module", params=MECHANISMS, ids=repr)
def runs(request: pytest.FixtureRequest) -> Runs:
    mechanism: PureMechanism = request.param
    rng = Randomness(mechanism.digest)
    weights = 1 / (1 + np.arange(mechanism.domain))
    shares = np.floor(N_USERS * weights / weights.sum()).astype(int)
    shares[0] += N_USERS - shares.sum()
    values = np.repeat(np.arange(mechanism.domain), shares)
    users = mechanism.randomize(np.tile(values, N_REPEATS), rng).reshape(N_REPEATS, N_USERS, -1)
    fakes = rng.uint64((N_REPEATS, N_FAKES, mechanism.words))
    reports = np.concatenate((users, fakes), axis=1)
    counts = np.stack([mechanism.support_counts(one) for one in reports])
    estimate = estimate_frequencies(mechanism.oracle, counts.reshape(-1), users=N_USERS, fakes=N_FAKES)
    return Runs(
        mechanism,
        shares / N_USERS,
        counts,
        estimate.frequency.reshape(counts.shape),
        estimate.interval(0.95).reshape(*counts.shape, 2),
    )


def exact_variances(runs: Runs) -> Floats:
    return np.array([runs.mechanism.variance(N_USERS, N_FAKES, frequency=float(f)) for f in runs.truth])


def deviations(runs: Runs, estimates: Floats) -> Floats:
    """Mean error of each frequency in its own standard errors; normal, the counts being sums of 10^6 indicators."""
    errors = (estimates - runs.truth).mean(axis=0)
    return np.asarray(errors / np.sqrt(exact_variances(runs) / N_REPEATS), dtype=np.float64)


def limit(looks: int) -> float:
    return float(stats.norm.isf(ALPHA / looks / 2))


def test_frequencies_are_unbiased_with_fakes_among_the_reports(runs: Runs) -> None:
    found, bound = deviations(runs, runs.estimates), limit(runs.mechanism.domain)
    assert np.all(np.abs(found) < bound), f"α {ALPHA}, bound {bound:.2f}, deviations {np.round(found, 2)}"


def test_an_estimator_that_takes_fakes_for_users_would_be_seen(runs: Runs) -> None:
    """The same test throws it out for every mechanism, so it has the power to see such a mistake."""
    wrong = [runs.mechanism.estimate(one, users=N_USERS + N_FAKES).frequency for one in runs.counts]
    found, bound = deviations(runs, np.stack(wrong)), limit(runs.mechanism.domain)
    assert np.any(np.abs(found) > bound), f"bound {bound:.2f}, deviations {np.round(found, 2)}"


def test_the_thesis_formula_errs_by_what_it_misses_of_u(runs: Runs) -> None:
    """(9.5) subtracts n_r/(nd) where n_r(u − q)/(n(p − q)) is right: equal for GRR, seen to be wrong for unary.

    For local hashing with P near d the two nearly meet, since this family spreads the domain evenly over the cells.
    """
    oracle, d = runs.mechanism.oracle, runs.mechanism.domain
    naive = (runs.counts / (N_USERS + N_FAKES) - oracle.q) / (oracle.p - oracle.q)
    thesis = (N_USERS + N_FAKES) / N_USERS * naive - N_FAKES / (N_USERS * d)
    missed = N_FAKES / N_USERS * ((oracle.u - oracle.q) / (oracle.p - oracle.q) - 1 / d)
    found, bound = deviations(runs, thesis - missed), limit(d)
    assert np.all(np.abs(found) < bound), f"α {ALPHA}, bound {bound:.2f}, deviations {np.round(found, 2)}"
    if isinstance(runs.mechanism, GRR):
        assert abs(missed) < 1e-12
    if isinstance(runs.mechanism, SUE):
        assert np.all(np.abs(deviations(runs, thesis)) > bound)


def test_the_empirical_variance_is_the_exact_one(runs: Runs) -> None:
    """Σ(f̂ − f)²/Var is χ² of N_REPEATS degrees; α bounds both sides of each value's."""
    ratio = np.square(runs.estimates - runs.truth).sum(axis=0) / exact_variances(runs)
    share = ALPHA / runs.mechanism.domain / 2
    low, high = stats.chi2.ppf(share, N_REPEATS), stats.chi2.isf(share, N_REPEATS)
    evidence = f"α {ALPHA}, between {low:.0f} and {high:.0f}: {np.round(ratio)}"
    assert np.all((low < ratio) & (ratio < high)), evidence
    # The bounds are narrow enough to tell a variance that is a quarter off.
    assert low > N_REPEATS / 1.25
    assert high < N_REPEATS * 1.25


def test_intervals_cover_the_truth_as_often_as_they_say(runs: Runs) -> None:
    """Counts are whole and the variance is plugged in, so the true coverage may stray from 95 % by 1 % at this n."""
    covered = (runs.intervals[..., 0] <= runs.truth) & (runs.truth <= runs.intervals[..., 1])
    hits = covered.sum(axis=0)
    share = ALPHA / runs.mechanism.domain / 2
    low, high = stats.binom.ppf(share, N_REPEATS, 0.94), stats.binom.isf(share, N_REPEATS, 0.96)
    evidence = f"α {ALPHA}, {low:.0f} to {high:.0f} of {N_REPEATS}: {hits}"
    assert np.all((low <= hits) & (hits <= high)), evidence


@pytest.mark.parametrize("d_prime", [full(8), 7])
def test_the_seeds_that_there_are_meet_as_often_as_all_functions(d_prime: int) -> None:
    """n = 2,000,000 seeds under one salt, twelve pairs of values: each meets in Bin(n, c_P) of them."""
    n, family = 2_000_000, HashFamily(30, d_prime, salt=0x0123456789ABCDEF)
    seeds = Randomness(b"\x01" * 32).uint64(n) >> np.uint64(32)
    c = float(family.collision_probability)
    bound = limit(12)
    for x in range(12):
        met = int(np.sum(family.hash(seeds, np.array(x)) == family.hash(seeds, np.array(x + 13))))
        deviation = (met - n * c) / np.sqrt(n * c * (1 - c))
        assert abs(deviation) < bound, f"values {x}, {x + 13}: {met} of {n}, {deviation:.2f} against {bound:.2f}"


@pytest.mark.parametrize("mechanism", [GRR(11, 2.0), LocalHash(11, 2.0, d_prime=7)], ids=repr)
def test_numbers_of_encoded_answers_are_uniform_in_their_cells(mechanism: GRR | LocalHash) -> None:
    """n = 400,000 encodings of one value; place within the cell in 64 parts, χ² of 63 degrees at α."""
    n, bits, parts = 400_000, (64 if isinstance(mechanism, GRR) else 32), 64
    words = mechanism.encode(np.full(n, 5), Randomness(b"\x01" * 32))[:, 0]
    # z·k·64 / 2^b is the answer in the high digits and the place in 64ths below it; k·64 < 2^11 leaves 53 bits.
    top = (words << np.uint64(64 - bits)) >> np.uint64(11)
    place = (top * np.uint64(mechanism.cells * parts) >> np.uint64(53)) % np.uint64(parts)
    tally = np.bincount(place.astype(np.int64), minlength=parts)
    found = float(np.square(tally - n / parts).sum() / (n / parts))
    bound = float(stats.chi2.isf(ALPHA, parts - 1))
    assert found < bound, f"α {ALPHA}, n {n}: χ² {found:.1f} against {bound:.1f}"


def spread_over_neighbours(family: HashFamily) -> tuple[float, float]:
    """How the supports of 32 neighbours of a told value vary in sum, against independent ones: ratio and its error."""
    n, value = 50_000, 500
    neighbours = np.array([value + step for step in range(-16, 17) if step])
    seeds = Randomness(b"\x01" * 32).uint64((n, 1)) >> np.uint64(32)
    totals = (family.hash(seeds, neighbours) == family.hash(seeds, np.array([value]))).sum(axis=1)
    c = float(family.collision_probability)
    squares = np.square(totals - 32 * c) / (32 * c * (1 - c))
    return float(squares.mean()), float(squares.std() / np.sqrt(n))


def test_pi_keeps_the_errors_of_neighbouring_values_from_adding_up() -> None:
    """α decides both; n = 50,000 reports of one value, d = 1000, d' = 32. Without π a range query errs fourfold."""
    family, bare = (HashFamily(1000, 32, salt=0x0123456789ABCDEF) for _ in range(2))
    bare.__dict__["ranks"] = np.arange(1000, dtype=np.uint64)
    ratio, error = spread_over_neighbours(family)
    without, its_error = spread_over_neighbours(bare)
    assert ratio + limit(1) * error < 1.25, f"α {ALPHA}: {ratio:.3f} ± {error:.3f} of the independent variance"
    assert without - limit(1) * its_error > 2, f"α {ALPHA}: {without:.3f} ± {its_error:.3f} without π"
