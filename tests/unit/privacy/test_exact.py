"""Exact accounting: privacy.md's numbers, its order, its limits, and what it is compared with."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import betainc

from peos.ldp import GRR, SUE, LocalHash
from peos.ldp.base import PureMechanism
from peos.ldp.blanket import least_collision
from peos.privacy.exact import MOST_CELLS, bound, delta, epsilon, least_epsilon
from peos.privacy.theorem import epsilon_server, epsilon_users, fourteen
from tests.full import full
from tests.raising import raises
from tests.unit.privacy.clones import clones_epsilon
from tests.unit.privacy.test_true_delta import exact_delta

N, D, DELTA = 990_002, 42_178, 1e-9
HASHED: dict[float, PureMechanism] = {0.2: LocalHash(D, 4.49, d_prime=44), 0.8: LocalHash(D, 7.251, d_prime=705)}
SHUFFLED: list[PureMechanism] = [
    GRR(12, 3.0),
    GRR(1000, 6.0),
    LocalHash(5000, 4.0, d_prime=16),
    LocalHash(5000, 4.0, d_prime=21),
    LocalHash(40, 3.0, d_prime=64),
    SUE(50, 4.0),
]
SOME = [SHUFFLED[0], *map(full, SHUFFLED[1:4]), SHUFFLED[4], full(SHUFFLED[5])]


@pytest.mark.parametrize(
    ("mechanism", "quoted"),
    [(HASHED[0.2], 0.0528), (HASHED[0.8], 0.2258), (GRR(D, 8.705), 0.2001)],
    ids=["d' = 44", "d' = 705", "grr"],
)
def test_the_claims_that_privacy_md_quotes(mechanism: PureMechanism, quoted: float) -> None:
    found = epsilon(mechanism, N, 0, DELTA)
    assert found == pytest.approx(quoted, rel=1.2e-3), "four digits, and a thousandth of slack"


@pytest.mark.parametrize(("cells", "local", "quoted"), [full(44, 4.49, 0.0930), (705, 7.251, 0.4050)])
def test_the_clones_bound_of_2021_claims_nearly_twice_as_much(cells: int, local: float, quoted: float) -> None:
    """Feldman, McMillan, Talwar (FOCS 2021), evaluated numerically by code that shares nothing with ours."""
    clones = clones_epsilon(local, N, DELTA)
    assert clones == pytest.approx(quoted, rel=2e-3)
    assert epsilon(LocalHash(D, local, d_prime=cells), N, 0, DELTA) < 0.6 * clones


def test_for_grr_over_a_large_domain_the_clones_bound_claims_more_than_four_times_as_much() -> None:
    clones = clones_epsilon(8.705, N, DELTA)
    assert clones == pytest.approx(0.9218, rel=2e-3)
    assert epsilon(GRR(D, 8.705), N, 0, DELTA) < 0.22 * clones


@pytest.mark.parametrize(
    ("mechanism", "quoted"),
    [(HASHED[0.2], 1243), (HASHED[0.8], 20_255), (GRR(D, 8.705), 31_469)],
    ids=["d' = 44", "d' = 705", "grr"],
)
def test_the_fakes_for_epsilon_users_of_one_are_those_that_privacy_md_quotes(
    mechanism: PureMechanism, quoted: int
) -> None:
    """Within 1 % of the quoted number; the theorem asks ten times as many for hashing, 400 times for GRR."""
    least = next(k for k in range(round(quoted * 0.98), 2 * quoted, 4) if users_delta(mechanism, k, 1.0) <= DELTA)
    assert least == pytest.approx(quoted, rel=0.01)
    assert least * 10 < fourteen(DELTA) * mechanism.cells


def users_delta(mechanism: PureMechanism, fakes: int, at: float) -> float:
    return delta(mechanism, N, fakes, at, known=N - 1)


@pytest.mark.parametrize("mechanism", SHUFFLED, ids=repr)
def test_it_never_claims_more_than_the_local_epsilon_where_delta_is_nothing(mechanism: PureMechanism) -> None:
    assert delta(mechanism, 10, 3, mechanism.epsilon_local) == 0.0
    for users, fakes in ((1, 0), (1, 1), (2, 0), (10, 0), (1000, 50)):
        for at in (1e-200, 1e-12, 1e-3):
            assert 0.0 <= epsilon(mechanism, users, fakes, at) <= mechanism.epsilon_local


@pytest.mark.parametrize("mechanism", SOME, ids=repr)
def test_a_claim_is_one_that_its_own_delta_bears_out_and_hardly_more(mechanism: PureMechanism) -> None:
    for users, fakes, known in ((3000, 0, 0), (3000, 500, 0), (3000, 2000, 2999), (200_000, 0, 1000)):
        found = epsilon(mechanism, users, fakes, 1e-6, known=known)
        assert delta(mechanism, users, fakes, found, known=known) <= 1e-6
        if found < mechanism.epsilon_local:
            assert delta(mechanism, users, fakes, found * 0.995, known=known) > 1e-6


@pytest.mark.parametrize("mechanism", [SHUFFLED[0], *map(full, SHUFFLED[1:])], ids=repr)
def test_claims_fall_with_users_fakes_and_delta(mechanism: PureMechanism) -> None:
    by_users = [epsilon(mechanism, n, 0, 1e-6) for n in (1000, 1300, 2000, 10**4, 10**6, 10**9)]
    by_fakes = [epsilon(mechanism, 5000, k, 1e-6) for k in (0, 100, 400, 2000, 10**5)]
    by_fakes_alone = [epsilon(mechanism, 5000, k, 1e-6, known=4999) for k in (50, 200, 2000, 10**5)]
    by_delta = [epsilon(mechanism, 5000, 100, at) for at in (1e-15, 1e-12, 1e-9, 1e-6, 1e-3)]
    by_known = [epsilon(mechanism, 5000, 100, 1e-6, known=k) for k in (4999, 4000, 1000, 0)]
    for falling in (by_users, by_fakes, by_fakes_alone, by_delta, by_known):
        assert all(later <= earlier for earlier, later in pairwise(falling)), falling
        assert falling[-1] < falling[0]


@pytest.mark.full
def test_claims_rise_with_epsilon_local_and_delta_falls_with_epsilon() -> None:
    for make in (lambda e: GRR(64, e), lambda e: LocalHash(500, e, d_prime=16), lambda e: SUE(20, e, field_bits=16)):
        rising = [epsilon(make(local), 20_000, 0, 1e-9) for local in (1.0, 2.0, 3.0, 5.0, 8.0)]
        assert all(later > earlier for earlier, later in pairwise(rising)), rising
        falling = [delta(make(4.0), 20_000, 0, at) for at in (0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 3.9)]
        assert all(later <= earlier for earlier, later in pairwise(falling)), falling


@pytest.mark.parametrize("mechanism", [SHUFFLED[0], *map(full, SHUFFLED[1:3]), *SHUFFLED[3:5]], ids=repr)  # no SUE
@pytest.mark.parametrize("at", [full(1e-12), 1e-6, full(1e-2)])
def test_wherever_the_theorem_claims_something_exact_accounting_claims_less_than_half(
    mechanism: PureMechanism, at: float
) -> None:
    compared = 0
    for users, fakes in ((10**5, 0), (10**5, 30_000), (10**7, 0), (10**7, 10**6), (1, 10**6)):
        by_theorem = epsilon_server(mechanism, users, fakes, at)
        if by_theorem is not None:
            compared += 1
            assert epsilon(mechanism, users, fakes, at) < 0.5 * by_theorem, (users, fakes)
        by_theorem = epsilon_users(mechanism, fakes, at)
        if by_theorem is not None:
            compared += 1
            assert epsilon(mechanism, users, fakes, at, known=users - 1) < 0.5 * by_theorem, (users, fakes)
    assert compared >= 3


@pytest.mark.parametrize(
    ("reports", "mechanism"),
    [
        *((reports, GRR(16, 3.0)) for reports in (40, 700, 8000)),
        *((reports, LocalHash(5000, 4.0, d_prime=16)) for reports in (40, 700)),
    ],
    ids=str,
)
@pytest.mark.parametrize("at", [full(0.02), 0.15, full(0.6)])
def test_bins_and_dominations_are_above_the_sum_over_all_counts_and_near_it(
    reports: int, mechanism: PureMechanism, at: float
) -> None:
    """Against all other users, every (A, B) summed one by one: no bins, no binomial in place of the sum of two."""
    blanket = mechanism.blanket
    assert blanket is not None
    summed = exact_delta(reports, mechanism.cells, blanket.both / blanket.other, blanket.share, at)
    found = bound(blanket, 0, reports - 1, at, cut=max(summed * 1e-6, 1e-200))
    left_out = 1e-16  # the direct sum counts its tails in full as well, and has no others
    assert summed - left_out <= found <= summed * 1.01 + left_out


@pytest.mark.parametrize("mechanism", SOME, ids=repr)
def test_coarser_bins_only_ever_raise_the_bound(mechanism: PureMechanism) -> None:
    """An edge on the wrong side of a bin, of B or of M, would lower it."""
    blanket = mechanism.blanket
    assert blanket is not None
    for others, fakes in ((100_000, 0), (0, 40_000), (20_000, 5000)):
        for at in (0.0, 0.5 * epsilon(mechanism, others + 1, fakes, 1e-6)):
            found = [bound(blanket, others, fakes, at, 1e-12, coarser=coarser) for coarser in (1, 8, 64)]
            assert found[0] <= found[1] * (1 + 1e-9), found
            assert found[1] * (1 + 1e-9) < found[2], found


@pytest.mark.parametrize("mechanism", SHUFFLED, ids=repr)
def test_a_handful_of_bins_is_still_above_the_sum_over_every_count(mechanism: PureMechanism) -> None:
    """So wide that the chances of a bin, taken at their largest, could not make up for a value at its lesser edge."""
    blanket = mechanism.blanket
    assert blanket is not None
    for fakes in (1000, 3000):
        for at in (0.25, 0.5, 1.0):
            each, few, fewest = (bound(blanket, 0, fakes, at, 1e-12, coarser=c) for c in (1, 256, 2048))
            assert each <= few <= fewest, (fakes, at)


def test_a_known_user_hides_nobody() -> None:
    m = GRR(12, 3.0)
    assert epsilon(m, 1000, 50, 1e-6, known=300) == epsilon(m, 700, 50, 1e-6)


def test_whole_unary_vectors_are_ideal_local_hashing() -> None:
    """privacy.md §1: γ, matches and collisions are those of d' = e^(ε_l/2) + 1 cells with c = 1/d'."""
    m = SUE(30, 5.0, field_bits=12)
    found = m.blanket
    assert found is not None
    cells = math.exp(m.epsilon_local / 2) + 1
    assert found.own == found.other == pytest.approx(1 / cells)
    assert found.both == pytest.approx(1 / cells**2)
    assert found.share == pytest.approx(cells / (math.exp(m.epsilon_local) + cells - 1))
    assert found.gain == pytest.approx(math.expm1(m.epsilon_local))


def test_seeds_are_taken_at_their_least_collisions_because_fewer_make_delta_larger() -> None:
    m = LocalHash(5000, 4.0, d_prime=16)
    assert least_collision(m.collision_probability) < float(m.collision_probability)
    assert least_collision(LocalHash(16, 4.0, d_prime=17).collision_probability) == 0.0
    usual = m.blanket
    assert usual is not None
    deltas = [bound(replace(usual, both=c / 16), 3000, 0, 0.3, 1e-12) for c in (0.0, 0.02, 1 / 16)]
    assert deltas == sorted(deltas, reverse=True)
    assert deltas[0] > deltas[-1]


@pytest.mark.parametrize(
    ("cells", "usual", "broken"),
    [(2, 0.11517, 0.16495), (16, 0.14176, 0.14658), (64, 0.11052, 0.11142), (1024, 0.03529, 0.03531)],
)
def test_a_broken_hash_would_cost_3_4_per_cent_from_16_cells_on(cells: int, usual: float, broken: float) -> None:
    """limitations.md says so: n = 100,000, ε_l = 4, δ = 10^-9, if two values met under no seed at all."""
    blanket = LocalHash(10**5, 4.0, d_prime=cells).blanket
    assert blanket is not None
    claims = [least_epsilon(replace(blanket, both=c * blanket.other), 99_999, 0, 1e-9) for c in (1 / cells, 0.0)]
    assert claims == pytest.approx([usual, broken], rel=5e-4)
    assert claims[1] <= 1.0345 * claims[0] or cells < 16


@pytest.mark.parametrize("setting", [(4.0, 999, 0), (4.0, 0, 3000), (8.0, 9999, 0)])
def test_a_broken_hash_costs_no_more_in_other_settings(setting: tuple[float, int, int]) -> None:
    local, others, fakes = setting
    for cells in (16, 64):
        blanket = LocalHash(10**5, local, d_prime=cells).blanket
        assert blanket is not None
        usual, broken = (
            least_epsilon(replace(blanket, both=c * blanket.other), others, fakes, 1e-9) for c in (1 / cells, 0.0)
        )
        assert usual < broken <= 1.0345 * usual


def test_uneven_cells_cost_next_to_nothing_at_full_width() -> None:
    even, uneven = (epsilon(LocalHash(10**5, 5.0, d_prime=k), 10**6, 0, DELTA) for k in (1024, 1023))
    assert even == pytest.approx(uneven, rel=2e-3)


@pytest.mark.parametrize(
    ("mechanism", "users"),
    [(HASHED[0.2], N), (LocalHash(D, 5.0, d_prime=64), 10**9), (LocalHash(10**6, 9.0, d_prime=60_000), 10**6)],
    ids=["million", "thousand million", "wide"],
)
def test_the_work_does_not_grow_with_users_or_cells(
    mechanism: PureMechanism, users: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted, as the tail probabilities that one claim takes: a few hundred thousand, whatever n."""
    counted: list[int] = []
    tail = betainc

    def counting(a: NDArray[np.float64], b: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
        counted.append(int(np.broadcast(a, b, p).size))
        return np.asarray(tail(a, b, p))

    monkeypatch.setattr("scipy.special.betainc", counting)
    least_epsilon.cache_clear()
    epsilon(mechanism, users, 0, DELTA)
    assert MOST_CELLS / 40 < sum(counted) < 10 * MOST_CELLS, sum(counted)


@pytest.mark.parametrize(
    ("users", "fakes", "known"), [(0, 0, 0), (10, -1, 0), (10, 0, 10), (10, 0, -1)], ids=["none", "-", "all", "-k"]
)
def test_collections_that_cannot_be_are_refused(users: int, fakes: int, known: int) -> None:
    with raises("plan.sizes"):
        delta(GRR(4, 1.0), users, fakes, 0.5, known=known)


def test_targets_that_make_no_sense_are_refused() -> None:
    with raises("plan.epsilon", "-1"):
        delta(GRR(4, 1.0), 10, 0, -1.0)
    with raises("plan.epsilon", "nan"):
        delta(GRR(4, 1.0), 10, 0, math.nan)
    with raises("plan.delta"):
        epsilon(GRR(4, 1.0), 10, 0, 0.0)
