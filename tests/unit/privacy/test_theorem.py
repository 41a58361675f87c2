"""The theorems' claims: their numbers, their conditions, and the direction in which everything is rounded."""

import math
from fractions import Fraction
from itertools import pairwise

import pytest

from peos.ldp import GRR, SUE, LocalHash
from peos.privacy.theorem import (
    binomial_epsilon,
    epsilon_server,
    epsilon_users,
    fourteen,
    ideal_epsilon_server,
    ideal_variance,
    largest_epsilon_local,
    mean_needed,
    optimal_cells,
)
from tests.raising import raises

N, D, DELTA = 990_002, 42_178, 1e-9


@pytest.mark.parametrize(("cells", "local", "claimed"), [(44, 4.49, 0.2000), (705, 7.251, 0.8001)])
def test_epsilon_server_is_what_privacy_md_quotes(cells: int, local: float, claimed: float) -> None:
    found = epsilon_server(LocalHash(D, local, d_prime=cells), N, 0, DELTA)
    assert found is not None
    assert round(found, 4) == claimed


def test_nothing_is_claimed_for_grr_over_a_domain_too_large_for_the_theorem() -> None:
    assert epsilon_server(GRR(D, 8.705), N, 0, DELTA) is None


@pytest.mark.parametrize(("cells", "quoted", "least"), [(44, 13_192, 13_193), (705, 211_379, 211_381)])
def test_fakes_for_epsilon_users_of_one_are_what_privacy_md_quotes(cells: int, quoted: int, least: int) -> None:
    """It quotes 14 ln(2/δ)d' rounded down; the least integer that will do is above, and 705 does not divide 2^32."""
    mechanism = LocalHash(D, 4.5, d_prime=cells)
    assert math.floor(fourteen(DELTA) * cells) == quoted
    claimed = epsilon_users(mechanism, least, DELTA)
    assert claimed is not None
    assert 1 - 1e-4 < claimed <= 1
    assert epsilon_users(mechanism, least - 1, DELTA) is None


def test_grr_over_42178_values_needs_12_million_fakes_for_epsilon_users_of_one() -> None:
    fakes = math.ceil(mean_needed(1.0, DELTA) / GRR(D, 5.0).theorem_support)
    assert 12.6e6 < fakes < 12.7e6
    assert epsilon_users(GRR(D, 5.0), fakes, DELTA) is not None


@pytest.mark.parametrize("mean", [0.0, 1e-3, 26.9, 100.0, 299.8])
def test_nothing_is_claimed_above_epsilon_of_one(mean: float) -> None:
    assert binomial_epsilon(mean, DELTA) is None


def test_nothing_is_claimed_where_the_mean_is_below_27_over_epsilon() -> None:
    delta = 0.9  # only so large a delta lets the first condition hold without the second
    mean = 20.0
    assert math.sqrt(fourteen(delta) / mean) < 1
    assert mean * math.sqrt(fourteen(delta) / mean) < 27
    assert binomial_epsilon(mean, delta) is None
    assert binomial_epsilon(80.0, delta) is not None


def test_both_conditions_hold_wherever_something_is_claimed() -> None:
    for delta in (1e-300, 1e-12, 1e-6, 0.1, 0.5, 0.99):
        for mean in (10.0**k for k in range(-2, 12)):
            claimed = binomial_epsilon(mean, delta)
            if claimed is not None:
                assert claimed <= 1
                assert mean * claimed >= 27
                assert claimed >= math.sqrt(14 * (math.log(2) - math.log(delta)) / mean)


@pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-3, 0.3, 0.9])
@pytest.mark.parametrize("epsilon", [0.01, 0.2, 0.999, 1.0, 5.0])
def test_the_mean_needed_is_enough_and_hardly_more(epsilon: float, delta: float) -> None:
    mean = mean_needed(epsilon, delta)
    claimed = binomial_epsilon(mean, delta)
    assert claimed is not None
    assert claimed <= min(epsilon, 1.0)
    less = binomial_epsilon(mean * (1 - 1e-9), delta)
    assert less is None or less > epsilon


@pytest.mark.parametrize("cells", [2, 64, 1024])
@pytest.mark.parametrize("local", [0.5, 4.0, 9.0])
@pytest.mark.parametrize("fakes", [0, 5000])
def test_for_powers_of_two_the_mixture_gives_the_thesis_form(cells: int, local: float, fakes: int) -> None:
    """The mean (n − 1)γμ + n_r μ equals (n − 1)/(E + k − 1) + n_r/k, so the two claims agree to rounding."""
    users = 10**8
    for mechanism in (GRR(cells, local), LocalHash(D, local, d_prime=cells)):
        ours = epsilon_server(mechanism, users, fakes, DELTA)
        thesis = ideal_epsilon_server(cells, mechanism.epsilon_local, users, fakes, DELTA)
        assert ours is not None
        assert thesis is not None
        assert ours == pytest.approx(thesis, rel=1e-11)


@pytest.mark.parametrize("cells", [3, 45, 705, 65_535])
def test_other_numbers_of_cells_claim_less_than_the_ideal_and_hardly(cells: int) -> None:
    mechanism = LocalHash(1 << 20, 5.0, d_prime=cells)
    ours = epsilon_server(mechanism, 10**9, 0, DELTA)
    ideal = ideal_epsilon_server(cells, mechanism.epsilon_local, 10**9, 0, DELTA)
    assert ours is not None
    assert ideal is not None
    assert ideal * (1 - 1e-12) <= ours <= ideal * (1 + 2 * cells / 2**32)


@pytest.mark.parametrize("cells", [2, 3, 7, 45, 64, 65_535])
def test_the_theorems_support_is_the_share_of_the_rarest_answer(cells: int) -> None:
    """Answer y = ⌊z·k/2^b⌋ begins at z = ⌈y·2^b/k⌉: count every answer's numbers."""
    starts = [-(-y * 2**32 // cells) for y in range(cells + 1)]
    rarest = min(after - start for start, after in pairwise(starts))
    assert LocalHash(D, 3.0, d_prime=cells).theorem_support == Fraction(rarest, 2**32)


def test_whole_unary_vectors_get_no_closed_form() -> None:
    mechanism = SUE(64, 4.0)
    assert epsilon_server(mechanism, 10**9, 10**9, 1e-3) is None
    assert epsilon_users(mechanism, 10**9, 1e-3) is None


def test_claims_fall_with_users_fakes_and_delta_and_rise_with_epsilon_local() -> None:
    def claim(local: float = 4.0, users: int = 10**6, fakes: int = 10**4, delta: float = 1e-9) -> float:
        found = epsilon_server(LocalHash(D, local, d_prime=45), users, fakes, delta)
        assert found is not None
        return found

    by_users = [claim(users=n) for n in (200_000, 10**6, 10**6 + 1, 10**9)]
    by_fakes = [claim(fakes=n) for n in (0, 1, 10**4, 10**7)]
    by_delta = [claim(delta=d) for d in (1e-12, 1e-9, 1e-6, 1e-2)]
    by_local = [claim(local=e) for e in (5.0, 4.0, 3.9999, 1.0)]
    for falling in (by_users, by_fakes, by_delta, by_local):
        assert all(later < earlier for earlier, later in pairwise(falling)), falling
    alone = [epsilon_users(LocalHash(D, 4.0, d_prime=45), n, 1e-9) for n in (14_000, 14_001, 10**6)]
    assert alone == sorted(alone, reverse=True)  # type: ignore[type-var] # None would fail the comparison


@pytest.mark.parametrize("cells", [4, 45, 100])
@pytest.mark.parametrize("fakes", [0, 20_000])
def test_the_largest_epsilon_local_meets_the_target_and_nothing_larger_does(cells: int, fakes: int) -> None:
    local = largest_epsilon_local(0.2, cells, N, fakes, DELTA)
    assert local is not None
    met = ideal_epsilon_server(cells, local, N, fakes, DELTA)
    missed = ideal_epsilon_server(cells, local * (1 + 1e-9), N, fakes, DELTA)
    assert met is not None
    assert missed is not None
    assert met <= 0.2 * (1 + 1e-13)
    assert missed > 0.2


def test_the_largest_epsilon_local_is_none_out_of_reach_and_infinite_where_fakes_suffice() -> None:
    assert largest_epsilon_local(0.2, 1000, N, 0, DELTA) is None
    assert largest_epsilon_local(1.0, 44, N, 13_300, DELTA) == math.inf


@pytest.mark.parametrize("epsilon", [0.2, 0.4, 0.8])
@pytest.mark.parametrize("fakes", [0, 30_000, 300_000])
def test_the_optimal_number_of_cells_adds_the_fakes_and_does_not_subtract_them(epsilon: float, fakes: int) -> None:
    """Brute force over d' with the thesis' own variance agrees with plus n_r (the thesis prints minus)."""
    variances = {}
    for cells in range(2, int(epsilon**2 * (N + fakes) / fourteen(DELTA))):
        local = largest_epsilon_local(epsilon, cells, N, fakes, DELTA)
        if local is not None and local < math.inf:
            variances[cells] = ideal_variance(cells, local, N, fakes)
    least = min(variances, key=variances.__getitem__)
    formula = optimal_cells(epsilon, N, fakes, DELTA)
    assert formula is not None
    assert abs(least - formula) <= 1, (least, formula)
    if fakes:
        minus = (epsilon**2 * (N - 1 - fakes) / fourteen(DELTA) + 2) / 3
        assert abs(least - minus) > 1, (least, minus)


def test_the_optimal_number_of_cells_has_no_solution_where_the_fakes_alone_meet_the_target() -> None:
    assert optimal_cells(0.2, N, N // 2, DELTA) is not None
    assert optimal_cells(0.2, N, N // 2 + 10_000, DELTA) is None


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-9, 2.0, math.nan])
def test_a_delta_that_is_no_probability_is_refused_in_one_sentence(delta: float) -> None:
    with raises("plan.delta"):
        epsilon_users(GRR(4, 1.0), 10, delta)
