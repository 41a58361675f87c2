"""Several collections together: never below the truth of tiny ones, as tight as it should be, lazily loaded."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal, localcontext
from math import comb, factorial

import numpy as np
import pytest

from peos.ldp import GRR, SUE, LocalHash
from peos.ldp.blanket import Blanket
from peos.privacy import composition
from peos.privacy.composition import Composed, Release, Study, composed, spent
from peos.privacy.exact import bound, epsilon
from peos.privacy.losses import losses
from tests.full import full
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
        nodes, deltas = composition.curve(blanket, others, fakes, delta * 1e-5)
        one = losses(nodes, deltas, 1e-3)
        total = one if total is None else total.composed(one, delta * 1e-5)
    assert total is not None
    return total.epsilon(delta)


def exact_product(fakes: int, rounds: int, at: float) -> Decimal:
    """The true δ of collections of one user over two values and `fakes` each, to forty digits."""
    with localcontext() as context:
        context.prec = 60
        γ = Decimal(GRR(2, 1.5).gamma.numerator) / Decimal(GRR(2, 1.5).gamma.denominator)
        own, other = 1 - γ / 2, γ / 2
        fair = Decimal(2) ** -fakes
        # The number of reports that say v: of the fakes, and hers.
        first, second = (
            [
                fair * (p * (comb(fakes, k - 1) if k else 0) + (1 - p) * (comb(fakes, k) if k <= fakes else 0))
                for k in range(fakes + 2)
            ]
            for p in (own, other)
        )
        total, e = Decimal(0), Decimal(at).exp()
        for counts in itertools.combinations_with_replacement(range(fakes + 2), rounds):
            ways = factorial(rounds)
            for times in Counter(counts).values():
                ways //= factorial(times)
            p, q = (Decimal(math.prod(side[k] for k in counts)) for side in (first, second))
            total += ways * max(Decimal(0), p - e * q)
        return total


@pytest.mark.parametrize(("fakes", "delta"), [(40, 1e-9), (40, 1e-12), (60, 1e-14), (60, 1e-17), (60, 1e-20)])
def test_at_any_delta_the_composed_claim_is_the_truth_and_never_below_it(fakes: int, delta: float) -> None:
    """Against all other users δ(ε) of one collection is exact. Three are summed over all outcomes, to sixty digits."""
    release = Release("tiny", GRR(2, 1.5), hiding=0, fakes=fakes)
    found = composed([release] * 3, delta)
    assert found.by == "pld"
    truth = exact_product(fakes, 3, found.epsilon)
    assert 0.8 * delta < truth <= delta, truth / Decimal(delta)
    assert exact_product(fakes, 3, found.epsilon * 0.997) > delta, "three thousandths less would be false"


@pytest.mark.parametrize("releases", [[ONE] * 2, [ONE] * 12, [ONE, OTHER, UNARY]], ids=["two", "twelve", "mixed"])
def test_where_fourier_transforms_can_be_relied_on_they_say_the_same(releases: list[Release]) -> None:
    """`dp-accounting`, which shares no code with ours, on the same points of the same curves."""
    from dp_accounting.pld.pld_pmf import create_pmf_pessimistic_connect_dots
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    step, total = 1e-3, None
    for release in releases:
        blanket = release.mechanism.blanket
        assert blanket is not None
        nodes, deltas = composition.curve(blanket, release.hiding, release.fakes, DELTA * 1e-6)
        grid = np.arange(-math.ceil(nodes[-1] / step), math.ceil(nodes[-1] / step) + 1)
        right = np.interp(np.exp(np.maximum(grid, 0) * step), np.exp(nodes), deltas)
        mirrored = 1 - np.exp(grid * step) * (1 - np.interp(np.exp(np.maximum(-grid, 0) * step), np.exp(nodes), deltas))
        heights = np.minimum.accumulate(np.where(grid < 0, mirrored, right))
        one = PrivacyLossDistribution(create_pmf_pessimistic_connect_dots(step, grid, heights))
        total = one if total is None else total.compose(one, DELTA * 1e-6)
    assert total is not None
    assert composed(releases, DELTA).epsilon == pytest.approx(total.get_epsilon_for_delta(DELTA), rel=1e-3)


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


@pytest.mark.full
def test_a_smaller_delta_costs_a_little_more_and_no_way_of_composing_ends() -> None:
    """Below 10^-11, where Fourier transforms end, three collections used to cost twice what they cost above."""
    for releases in ([ONE] * 3, [ONE, OTHER]):
        found = [composed(releases, delta) for delta in (1e-9, 1e-11, 1e-12, 1e-14, 1e-30)]
        assert all(one.by == "pld" for one in found)
        assert all(a.epsilon < b.epsilon for a, b in itertools.pairwise(found))
        assert found[2].epsilon < 1.25 * found[0].epsilon
        assert found[4].epsilon < 2.2 * found[0].epsilon


@pytest.mark.parametrize("step", [full(2e-3), 1e-2])
def test_a_smaller_delta_costs_no_relative_accuracy(step: float) -> None:
    """Randomised response of ε = 1, many times: its δ is a sum over a binomial, in fractions."""
    rounds, keep = 24, 1 / (1 + math.exp(-1.0))
    one = losses(np.array([0.0, 1.0]), np.array([2 * keep - 1, 0.0]), step).repeated(rounds, 1e-60)
    with localcontext() as context:
        context.prec = 60
        p = 1 / (1 + Decimal(-1).exp())
        for at in (1.5, 8.5, 17.5, 22.5, 23.5):
            truth = sum(
                comb(rounds, k)
                * max(Decimal(0), p**k * (1 - p) ** (rounds - k) - Decimal(at).exp() * (1 - p) ** k * p ** (rounds - k))
                for k in range(rounds + 1)
            )
            assert float(truth) <= one.delta(at) <= float(truth) * (1 + 1e-6), at
    assert float(truth) < 1e-3


@pytest.mark.parametrize("rule", [composed, spent])
def test_what_is_asked_next_because_of_a_result_breaks_what_is_fixed_beforehand_but_not_what_is_spent(
    rule: Callable[[Sequence[Release], float], Composed],
) -> None:
    """The truth of two collections against all other users, where after each result of the first that second one is
    asked which gives most away, of those that the rule allows."""
    delta, fakes = 1e-3, (1, 3, 8, 20, 60)
    kinds = [Release(f"{n} fakes", GRR(2, local), 0, n) for local in (0.5, 1.0, 1.5, 2.0, 3.0, 5.0) for n in fakes]
    first = Release("first", GRR(2, 0.5), 0, 20)
    worst = 0.0
    claims = {kind: rule([first, kind], delta).epsilon for kind in kinds}
    for budget in sorted(claims.values()):
        seconds = [_outcomes(kind) for kind in kinds if claims[kind] <= budget]
        truth = 0.0
        for p, q in _outcomes(first):
            truth += max(sum(max(0.0, p * r - math.exp(budget) * q * s) for r, s in pairs) for pairs in seconds)
        worst = max(worst, truth / delta)
    if rule is spent:
        assert 0.01 < worst <= 1.0
    else:
        assert worst > 1.8, "or this would show nothing"


def _outcomes(release: Release) -> list[tuple[float, float]]:
    """The chances that k of the fakes and her report say v, where she says v, and where she does not."""
    n, γ = release.fakes, float(release.mechanism.gamma)
    fair = [comb(n, k) / 2**n for k in range(n + 1)]
    with_hers, without = [0.0, *fair], [*fair, 0.0]
    return [(a * (1 - γ / 2) + b * γ / 2, b * (1 - γ / 2) + a * γ / 2) for a, b in zip(with_hers, without, strict=True)]


def test_a_schedule_composes_and_everything_else_adds_up() -> None:
    one = replace(ONE, least=999)
    scheduled, other = spent([one] * 4, DELTA), replace(one, fakes=435)
    assert scheduled.by == "pld"
    assert scheduled.epsilon == composed([replace(one, hiding=999)] * 4, DELTA / 2).epsilon, "as promised beforehand"
    grown = [replace(one, hiding=hiding) for hiding in (1999, 1500, 1234, 3000)]
    assert spent(grown, DELTA).epsilon <= scheduled.epsilon, "how many came is known only afterwards"
    for changed in (other, replace(one, least=1000), replace(one, mechanism=GRR(64, 3.9))):
        found = spent([one, one, one, changed], DELTA)
        assert found.by == "sum"
        assert found.epsilon > 3 * composed([one], DELTA).epsilon
    assert spent([one], DELTA) == composed([one], DELTA), "one alone has all of δ"
    assert spent([], DELTA).epsilon == 0.0
    alone = [replace(one, hiding=0)] * 4
    assert spent(alone, DELTA).epsilon == composed(alone, DELTA / 2).epsilon, "against all other users, too"


def test_nothing_costs_nothing_and_what_nothing_hides_costs_its_local_epsilon() -> None:
    assert composed([], DELTA).epsilon == 0.0
    bare = Release("bare", GRR(8, 1.0), hiding=0, fakes=0)
    found = composed([bare, bare], DELTA)
    assert found.epsilon <= 2 * bare.mechanism.epsilon_local


def test_a_curve_of_coarser_bins_is_above_the_finer_one_and_near_it() -> None:
    blanket = ONE.mechanism.blanket
    assert blanket is not None
    for at in (0.0, 0.2, 0.5, 0.8):
        fine, coarse = (bound(blanket, ONE.hiding, ONE.fakes, at, 1e-14, coarser=c) for c in (1, 3))
        assert fine * (1 - 1e-5) <= coarse < 1.5 * fine


def test_a_curve_that_is_not_quite_convex_is_taken_at_its_hull() -> None:
    """Bounds of different slack are wavy; the pair's own δ is above the hull, and not above the points."""
    nodes = np.linspace(0.0, 1.0, 41)
    wavy = (1.0 - nodes) ** 2 / 10 + 0.002 * (1 + np.cos(40 * nodes)) * (nodes < 1)
    pair = losses(nodes, wavy, 1e-3)
    for at, height in zip(nodes, wavy, strict=True):
        assert (1.0 - at) ** 2 / 10 <= pair.delta(float(at)) <= height + 2e-6


FIRST = Study("first", (ONE, UNARY))
SECOND = Study("second", (OTHER, replace(ONE, hiding=799)))


def test_a_study_is_its_weakest_round_and_of_one_round_is_that() -> None:
    for delta in (1e-6, DELTA):
        alone = [composed([one], delta).epsilon for one in FIRST.rounds]
        assert composed([FIRST], delta).epsilon == max(alone)
        assert composed([Study("one", (ONE,))], delta).epsilon == composed([ONE], delta).epsilon


def test_studies_together_are_above_any_rounds_that_a_user_answered_and_below_the_sum() -> None:
    found = composed([FIRST, SECOND], DELTA)
    answered = [composed(pair, DELTA).epsilon for pair in itertools.product(FIRST.rounds, SECOND.rounds)]
    # All are bounds from above, by lines between nodes: a study's are those of all its rounds, and so a little nearer.
    assert found.epsilon >= max(answered) * (1 - 1e-3), (found, answered)
    assert found.epsilon <= sum(composed([one], DELTA / 2).epsilon for one in (FIRST, SECOND))
    assert found.by == "pld", "and not only the sum"


def test_a_study_asked_for_because_of_earlier_results_counts_what_was_promised() -> None:
    promised = Study("promised", tuple(replace(one, least=99) for one in FIRST.rounds))
    assert spent([promised, promised], DELTA).epsilon >= composed([FIRST, FIRST], DELTA).epsilon
    assert promised.alone.rounds == tuple(replace(one, hiding=0, least=0) for one in promised.rounds)
