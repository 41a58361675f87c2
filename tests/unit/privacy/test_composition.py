"""Several collections together: never below the truth of tiny ones, as tight as it should be, lazily loaded."""

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest

from peos.ldp import GRR, SUE, LocalHash
from peos.privacy import composition
from peos.privacy.blanket import Blanket
from peos.privacy.composition import Release, composed
from peos.privacy.exact import bound, epsilon
from tests.unit.privacy.outcomes import grr, view

DELTA = 1e-9
ONE = Release("one", GRR(64, 4.0), hiding=1999, fakes=434)
OTHER = Release("other", LocalHash(500, 3.0, d_prime=16), hiding=2999, fakes=100)
UNARY = Release("unary", SUE(20, 3.0), hiding=999, fakes=50)


def product_delta(rounds: int, fakes: int, at: float) -> float:
    """The true δ of that many collections of two users and `fakes` each: all combinations of their outcomes."""
    laws, fake, _ = grr(2, 1.5)
    first, second = (view([*[fake] * fakes, laws[0], laws[v]]) for v in (0, 1))
    pairs = [(p, second.get(key, 0.0)) for key, p in first.items()]
    total = 0.0
    for combination in itertools.product(pairs, repeat=rounds):
        p, q = (math.prod(side) for side in zip(*combination, strict=True))
        total += max(0.0, p - math.exp(at) * q)
    return total


@pytest.mark.parametrize("rounds", [2, 3])
@pytest.mark.parametrize("delta", [0.1, 1e-2, 1e-3])
def test_the_truth_of_tiny_collections_is_within_the_composed_claim(rounds: int, delta: float) -> None:
    _, _, blanket = grr(2, 1.5)
    found = by_pld([(blanket, 1, 2)] * rounds, delta)
    assert product_delta(rounds, 2, found) <= delta
    alone = by_pld([(blanket, 1, 2)], delta)
    assert found < rounds * alone + 0.3, "less than adding up"


def by_pld(kinds: list[tuple[Blanket, int, int]], delta: float) -> float:
    """The distributions' ε for blankets as such."""
    total = None
    for blanket, others, fakes in kinds:
        nodes, deltas = composition._curve(blanket, others, fakes, delta * 1e-5)
        one = composition._distribution(nodes, deltas, 1e-3)
        total = one if total is None else total.compose(one, delta * 1e-5)
    assert total is not None
    return float(total.get_epsilon_for_delta(delta * (1 - 1e-4)))


def test_without_other_users_the_composed_claim_is_the_truth_to_a_thousandth() -> None:
    """Against all other users δ(ε) is exact, so nothing but the grid stands between claim and truth."""
    laws, fake, blanket = grr(2, 1.5)
    first, second = (view([*[fake] * 3, laws[v]]) for v in (0, 1))
    found = by_pld([(blanket, 0, 3), (blanket, 0, 3)], 1e-2)
    truth = sum(
        max(0.0, p * r - math.exp(found) * second[a] * second[b])
        for (a, p), (b, r) in itertools.product(first.items(), repeat=2)
    )
    assert 0.8e-2 < truth <= 1e-2


@pytest.mark.parametrize("release", [ONE, OTHER, UNARY], ids=lambda release: release.name)
def test_one_collection_alone_costs_what_it_claims(release: Release) -> None:
    found = composed([release], DELTA)
    assert found.by == "sum"
    assert found.epsilon == epsilon(release.mechanism, release.hiding + 1, release.fakes, DELTA)


def test_what_is_composed_never_costs_more_than_the_sum_and_grows_with_every_collection() -> None:
    series = [composed([ONE] * rounds, DELTA) for rounds in (1, 2, 3, 6, 12)]
    assert all(later.epsilon > earlier.epsilon for earlier, later in itertools.pairwise(series))
    assert all(found.by == "pld" for found in series[1:])
    alone = series[0].epsilon
    assert alone * math.sqrt(6) * 0.95 < series[3].epsilon < 6 * alone / 1.5
    mixed = composed([ONE, OTHER, UNARY], DELTA)
    assert mixed.by == "pld"
    assert mixed.epsilon < sum(composed([one], DELTA / 3).epsilon for one in (ONE, OTHER, UNARY))


def test_the_order_of_collections_does_not_matter() -> None:
    found = [composed(order, DELTA).epsilon for order in itertools.permutations((ONE, OTHER, UNARY))]
    assert max(found) - min(found) < 1e-6 * max(found), found


def test_below_what_convolutions_can_tell_they_are_not_used() -> None:
    found = composed([ONE] * 40, 1e-14)
    assert found.by == "advanced" or found.by == "sum"
    assert found.epsilon >= composed([ONE] * 40, DELTA).epsilon


def test_nothing_costs_nothing_and_what_nothing_hides_costs_its_local_epsilon() -> None:
    assert composed([], DELTA).epsilon == 0.0
    bare = Release("bare", GRR(8, 1.0), hiding=0, fakes=0)
    found = composed([bare, bare], DELTA)
    assert found.epsilon <= 2 * bare.mechanism.epsilon_local


def test_a_curve_of_coarser_bins_is_above_the_finer_one_and_near_it() -> None:
    blanket = composition._blanket(ONE)
    assert blanket is not None
    for at in (0.0, 0.2, 0.5, 0.8):
        fine, coarse = (bound(blanket, ONE.hiding, ONE.fakes, at, 1e-14, coarser=c) for c in (1, 3))
        assert fine * (1 - 1e-5) <= coarse < 1.5 * fine


def test_the_convex_hull_lies_below_every_point_and_above_every_line_below_them() -> None:
    x = np.linspace(0.5, 2.0, 40)
    y = (2.0 - x) ** 2 / 3 + 0.01 * np.cos(40 * x)  # wavy, as bounds of different slack are
    corners, heights = composition._convex(x, y)
    hull = np.interp(x, corners, heights)
    assert np.all(hull <= y + 1e-15)
    assert np.all(np.diff(np.diff(heights) / np.diff(corners)) >= -1e-12)
    assert np.all(hull >= (2.0 - x) ** 2 / 3 - 0.01 - 1e-12)


def test_the_library_of_composition_is_loaded_only_when_collections_are_composed() -> None:
    code = "import sys, peos.privacy.ledger; assert not any(name.startswith('dp_accounting') for name in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)  # noqa: S603 # our own interpreter
