"""The planner by exact accounting: privacy.md's table, targets kept, nothing on a grid better, refusals that help."""

import math
import re
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pytest

from peos.errors import Refused
from peos.ldp import GRR, SUE, LocalHash, Mechanism
from peos.privacy import exact_search, guarantees, plan
from peos.privacy.curves import asked_of, curves_of, laplace_variance
from peos.privacy.exact import bound
from peos.privacy.exact_search import best, promising
from peos.privacy.infeasible import USELESS
from peos.privacy.planner import LARGEST_EPSILON_LOCAL
from peos.privacy.targets import Size, checked
from tests.full import full
from tests.raising import raises

KOSARAK: dict[str, Any] = {"users": 990_002, "domain": 42_178, "delta": 1e-9}
SMALL: dict[str, Any] = {"users": 2000, "domain": 64, "delta": 1e-6}

REQUESTS: list[dict[str, Any]] = [
    {**SMALL, "eps_server": 1.0, "eps_users": 1.0, "eps_local": 4.0},
    {**SMALL, "eps_server": 0.1, "eps_local": 3.0},
    {**SMALL, "eps_users": 0.4, "eps_local": 2.0},
    {**SMALL, "eps_server": 1.0, "eps_users": 0.5, "eps_local": 4.0, "fakes": 3000},
    {**SMALL, "eps_server": 0.3, "eps_local": 5.0, "mechanism": "grr"},
    {**SMALL, "eps_server": 0.5, "eps_local": 5.0, "d_prime": 9},
    {**SMALL, "eps_server": 0.3, "eps_users": 0.9, "eps_local": 4.0, "mechanism": "sue"},
    {"users": 40_000, "domain": 1000, "delta": 1e-9, "eps_server": 0.1, "eps_users": 0.8, "eps_local": 6.0},
    {"users": 300, "domain": 30, "delta": 1e-2, "eps_server": 0.2, "eps_users": 2.5, "eps_local": 8.0},
]


@pytest.mark.parametrize("request_", [*REQUESTS[:4], *map(full, REQUESTS[4:])], ids=range(len(REQUESTS)))
def test_a_plan_keeps_to_every_target_when_its_figures_are_taken_at_their_word(request_: dict[str, Any]) -> None:
    found = plan(**request_)
    claims = guarantees(found.randomizer, found.users, found.fakes, found.delta)
    assert found.guarantees == claims
    assert claims.server.epsilon <= request_.get("eps_server", math.inf)
    assert claims.users.epsilon <= request_.get("eps_users", math.inf)
    assert claims.local <= request_["eps_local"]
    assert found.mse == found.randomizer.variance(users=found.users, fakes=found.fakes)
    assert found.accounting == "exact"
    # What binds is used up: nothing is given away for nothing.
    used = [
        claims.server.epsilon / request_.get("eps_server", math.inf),
        claims.users.epsilon / request_.get("eps_users", math.inf),
    ]
    no_choice = not found.fakes or "fakes" in request_
    assert max(used) > 0.97 or (no_choice and claims.local > 0.999 * request_["eps_local"]), used


@pytest.mark.parametrize("request_", [REQUESTS[0], *map(full, REQUESTS[1:6])], ids=range(6))
def test_nothing_on_a_grid_is_better_than_the_plan(request_: dict[str, Any]) -> None:
    """GRR and powers of two, 12 values of ε_l, 24 of n_r; each judged by the exact bound itself."""
    n, d, limit = request_["users"], request_["domain"], request_["eps_local"]
    fixed = request_.get("fakes", "auto")
    numbers = [fixed] if fixed != "auto" else [0, *np.unique(np.geomspace(20, 20_000, 23).astype(int)).tolist()]
    kinds = [0] if request_.get("mechanism") == "grr" else [request_.get("d_prime", 0), 2, 8, 16, 32]
    if "d_prime" in request_:
        kinds = kinds[:1]
    least = math.inf
    for cells in kinds:
        for local in np.linspace(limit / 12, limit, 12):
            mechanism = GRR(d, float(local)) if cells == 0 else LocalHash(d, float(local), d_prime=cells)
            blanket = mechanism.blanket
            assert blanket is not None
            for fakes in numbers:
                mse = mechanism.variance(users=n, fakes=fakes)
                if mse >= least:
                    continue
                pairs = ((request_.get("eps_users"), 0), (request_.get("eps_server"), n - 1))
                if all(
                    target is None
                    or mechanism.epsilon_local <= target
                    or bound(blanket, others, fakes, target, 1e-11, coarser=2) <= request_["delta"]
                    for target, others in pairs
                ):
                    least = mse
    found = plan(**request_)
    assert found.mse <= least * 1.002, (found.to_json(), least)
    assert found.mse >= least * 0.5, "the grid comes close, or the plan cheats"


@pytest.mark.parametrize(
    ("target", "by_hashing", "local", "by_grr", "grr_local", "gain"),
    [
        (0.2, 1.41e-9, 8.59, 1.34e-9, 8.70, 39),
        full(0.4, 3.84e-10, None, 3.41e-10, 9.45, 38),
        full(0.8, 1.14e-10, None, 8.78e-11, 10.26, 37),
    ],
)
def test_the_table_of_privacy_md_for_kosarak(
    target: float, by_hashing: float, local: float | None, by_grr: float, grr_local: float, gain: float
) -> None:
    found = plan(**KOSARAK, eps_server=target, fakes=0, mechanism="grr")
    # Randomised response over 2^16 values, as Hadamard response has it, is better still where ε_l may be higher.
    assert plan(**KOSARAK, eps_server=target, fakes=0).mse <= found.mse * 1.001
    assert (found.mechanism, found.fakes) == ("grr", 0)
    assert found.mse == pytest.approx(by_grr, rel=5e-3)
    assert found.eps_local == pytest.approx(grr_local, abs=0.006)
    hashed = plan(**KOSARAK, eps_server=target, fakes=0, mechanism="solh")
    assert hashed.d_prime == 32_768
    assert hashed.mse == pytest.approx(by_hashing, rel=6e-3)
    if local is not None:
        assert hashed.eps_local == pytest.approx(local, abs=0.006)
    by_theorem = plan(**KOSARAK, eps_server=target, fakes=0, accounting="theorem")
    assert by_theorem.mse / found.mse == pytest.approx(gain, abs=1.0)


@pytest.mark.parametrize(("limit", "gain"), [full(4.49, 1.14), (5.0, 1.9), full(6.0, 5.2), full(7.0, 14.5)])
def test_the_gain_is_bought_with_epsilon_local(limit: float, gain: float) -> None:
    """privacy.md §2 says 1.14, 1.9, 5 and 14: the first with a d' that lies between the powers of two."""
    by_theorem = plan(**KOSARAK, eps_server=0.2, fakes=0, accounting="theorem")
    found = plan(**KOSARAK, eps_server=0.2, eps_local=limit, fakes=0)
    assert by_theorem.mse / found.mse == pytest.approx(gain, rel=0.02)


@pytest.mark.parametrize(
    ("asked", "power", "gain"),
    [
        ({"users": 10**5, "domain": 50_000, "eps_server": 1.0, "eps_local": 5.19}, 128, 0.029),
        full({"users": 10**6, "domain": 42_178, "eps_server": 0.5, "eps_local": 6.6}, 1024, 0.025),
        full({"users": 10**5, "domain": 20_000, "eps_server": 0.5, "eps_users": 2.0, "eps_local": 4.5}, 128, 0.027),
    ],
    ids=["5.19", "6.6", "4.5"],
)
def test_where_the_limit_on_epsilon_local_binds_d_prime_is_the_best_for_it_and_no_power_of_two(
    asked: dict[str, Any], power: int, gain: float
) -> None:
    found, with_power = (plan(**asked, delta=1e-9, mechanism="solh", d_prime=cells) for cells in (None, power))
    assert found.d_prime == round(math.exp(asked["eps_local"])) + 1
    assert found.mse <= (1 - gain) * with_power.mse


def test_the_search_takes_few_exact_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are most of its time: halving for the fewest fakes took 63 in the first of these, and 27 in the second."""
    counted: list[float] = []

    def counting(*arguments: Any, **options: Any) -> float:
        counted.append(1)
        return bound(*arguments, **options)

    monkeypatch.setattr(exact_search, "bound", counting)
    for asked, most in (
        ({**KOSARAK, "eps_server": 0.2, "eps_users": 1.0}, 45),
        ({"users": 8364, "domain": 1000, "delta": 1e-9, "eps_server": 0.3, "eps_users": 1.0, "eps_local": 5.0}, 20),
        ({**KOSARAK, "eps_server": 0.03, "eps_local": 5.0}, 10),
    ):
        counted.clear()
        assert plan(**asked).fakes > 0
        assert len(counted) <= most


def test_the_same_run_deserves_a_claim_nearly_four_times_smaller() -> None:
    for target, least in ((0.2, 3.7), (0.8, 3.5)):
        claim = plan(**KOSARAK, eps_server=target, fakes=0, accounting="theorem").guarantees.server
        assert claim.theorem is not None
        assert claim.exact is not None
        assert claim.theorem / claim.exact > least


def test_exact_plans_are_better_than_the_theorems_under_all_targets_and_never_claim_more() -> None:
    for request_ in REQUESTS[:2]:
        exact, theorem = plan(**request_), plan(**{**request_, "eps_server": 1.0}, accounting="theorem")
        loose = plan(**{**request_, "eps_server": 1.0})
        assert loose.mse < theorem.mse
        assert loose.fakes < theorem.fakes or not theorem.fakes
        assert exact.guarantees.server.epsilon <= request_["eps_server"]


@pytest.mark.parametrize(
    "asked",
    [
        full({**KOSARAK, "eps_server": 1.0, "eps_users": 0.5, "eps_local": 4.0, "mechanism": "solh", "d_prime": 16}),
        full({**KOSARAK, "eps_server": 0.2, "eps_users": 1.0}),
        {**SMALL, "eps_users": 0.5, "eps_local": 4.0},
        {**SMALL, "eps_server": 0.03, "eps_local": 5.0},
    ],
    ids=range(4),
)
def test_n_r_is_the_least_that_meets_the_targets_where_more_does_not_help(asked: dict[str, Any]) -> None:
    """A thousandth fewer do not: an ε is computed to a ten-thousandth, and n_r grows with its square."""
    found = plan(**asked)
    assert found.fakes > 0
    fewer = guarantees(found.randomizer, found.users, math.floor(found.fakes * 0.999) - 1, found.delta)
    for claims, kept in ((found.guarantees, True), (fewer, False)):
        meets = [claims.server.epsilon <= asked.get("eps_server", math.inf)]
        meets.append(claims.users.epsilon <= asked.get("eps_users", math.inf))
        assert all(meets) == kept, (found.fakes, claims)


def test_fakes_also_buy_epsilon_server_though_a_larger_d_prime_buys_nearly_as_much() -> None:
    asked = {**KOSARAK, "eps_server": 0.03, "eps_local": 5.0, "mechanism": "solh"}
    with_fakes, without = plan(**asked), plan(**asked, fakes=0)
    assert with_fakes.fakes > 0
    assert 0.9 * without.mse < with_fakes.mse < 0.99 * without.mse


@pytest.mark.full
def test_the_error_falls_with_users_and_with_every_target() -> None:
    def errors(**change: list[float]) -> list[float]:
        base: dict[str, Any] = {**SMALL, "eps_server": 0.2, "eps_users": 0.5, "eps_local": 3.0}
        ((key, values),) = change.items()
        return [plan(**{**base, key: value}).mse for value in values]

    for falling in (
        errors(users=[1000, 2000, 10**5]),
        errors(eps_server=[0.03, 0.1, 0.3]),
        errors(eps_users=[0.05, 0.2, 0.9]),
        errors(eps_local=[1.5, 3.0, 6.0]),
        errors(delta=[1e-12, 1e-6, 1e-3]),
    ):
        assert all(later <= earlier * 1.002 for earlier, later in pairwise(falling)), falling


def test_unary_reports_can_be_planned_and_are_no_better_than_hashing() -> None:
    asked = {**SMALL, "eps_server": 0.5, "eps_users": 1.0, "eps_local": 4.0}
    unary, hashed = plan(**asked, mechanism="sue"), plan(**asked, mechanism="solh")
    assert isinstance(unary.randomizer, SUE)
    assert unary.guarantees.server.theorem is None
    assert unary.guarantees.server.exact is not None
    assert unary.guarantees.server.exact <= 0.5
    assert unary.mse > hashed.mse


def test_a_target_that_the_limit_on_epsilon_local_meets_needs_no_shuffle() -> None:
    found = plan(100, 64, 1e-9, eps_server=0.5, eps_users=0.5, eps_local=0.5)
    assert found.fakes == 0
    assert found.guarantees.users.epsilon == found.guarantees.local <= 0.5


def test_what_saddle_points_promise_the_exact_bound_keeps() -> None:
    kinds: tuple[tuple[type[Mechanism], Size | None], ...] = (
        (GRR, None),
        (LocalHash, None),
        (LocalHash, Size("d_prime", 64)),
        (SUE, None),
    )
    for kind, size in kinds:
        targets = checked(**{**SMALL, "eps_server": 0.3, "eps_users": 0.8, "eps_local": 4.0}, fakes="auto", size=size)
        point, found = promising(targets, kind, 4.0), best(targets, kind, 4.0)
        assert point is not None
        assert found is not None
        assert point.variance == pytest.approx(found.mse, rel=0.02)


INFEASIBLE: list[dict[str, Any]] = [
    {"users": 50, "domain": 64, "delta": 1e-9, "eps_server": 0.02, "mechanism": "grr"},
    {"users": 1000, "domain": 64, "delta": 1e-9, "eps_server": 0.01},
    {"users": 1000, "domain": 64, "delta": 1e-9, "eps_users": 0.01},
    {"users": 1000, "domain": 64, "delta": 1e-9, "eps_server": 1.0, "eps_users": 0.03, "eps_local": 3.0, "fakes": 0},
    {"users": 100, "domain": 1000, "delta": 1e-12, "eps_users": 0.1, "fakes": 10},
    {"users": 1, "domain": 2, "delta": 1e-9, "eps_server": 1.0},
]


@pytest.mark.parametrize("asked", [INFEASIBLE[0], *map(full, INFEASIBLE[1:])], ids=range(len(INFEASIBLE)))
def test_what_leaves_no_useful_estimate_is_refused_by_name_and_each_choice_proposed_is_feasible(
    asked: dict[str, Any],
) -> None:
    with pytest.raises(Refused) as refused:
        plan(**asked)
    sentence, hint = str(refused.value), refused.value.hint
    name = sentence.split(" = ")[0]
    assert name == ("eps_users" if "eps_users" in asked else "eps_server")
    assert "leaves only estimates whose standard error is above one half" in sentence
    target, users = re.search(rf"{name} = ([\d.e-]+)", hint), re.search(r"([\d,]+) users", hint)
    assert target is not None, hint
    assert users is not None, hint
    for key, value in ((name, float(target[1].rstrip("."))), ("users", int(users[1].replace(",", "")))):
        assert plan(**{**asked, key: value}).mse < USELESS, (key, value)
        halfway = {**asked, key: type(value)(math.sqrt(asked[key] * value))}
        with pytest.raises(Refused):
            plan(**halfway)
    if "fakes = auto" in hint:
        assert plan(**{**asked, "fakes": "auto"}).mse < USELESS


def test_without_a_limit_on_epsilon_local_the_plan_goes_no_further_than_it_must() -> None:
    without, auto = plan(**KOSARAK, eps_server=0.2, fakes=0), plan(**KOSARAK, eps_server=0.2)
    assert auto.eps_local <= without.eps_local * (1 + 1e-3) < LARGEST_EPSILON_LOCAL
    assert auto.mse <= without.mse * 1.001


@pytest.mark.full
def test_the_curves_stand_in_the_order_of_trust_and_a_curator_needs_noise_for_two_counts() -> None:
    """Laplace noise of scale 2/ε on each count, since replacing a value moves two of them by one."""
    assert laplace_variance(0.5, 1000) == 2 * (2 / 0.5) ** 2 / 1000**2
    planned = plan(**SMALL, eps_server=0.5, eps_local=4.0, fakes=500)
    *_, curves = islice(curves_of(planned, 0.5, others=None, local=4.0), 11)
    theorem, exact, alone, curator = (dict(curve.points) for curve in curves)
    middle = asked_of(0.5)[10]
    assert middle == pytest.approx(0.5)
    assert curator[middle] < exact[middle] < theorem[middle] < alone[middle]
    assert exact[middle] == pytest.approx(planned.stderr, rel=0.02)
    assert min(exact) < min(theorem), "where the theorem claims nothing there is no point of it"


CROWD: dict[str, Any] = {"users": 10**5, "domain": 1024, "delta": 1e-9, "fakes": 0}


@pytest.mark.parametrize(
    ("server", "local", "most"),
    [
        (0.5, 2.0, 0.7216),
        full(0.5, 4.0, 0.0741),
        full(0.5, 5.0, 0.02537),
        full(0.5, 6.0, 0.00791),
        full(0.5, None, 0.00228),
        full(0.1, 4.0, 0.0812),
        (0.1, None, 0.0506),
    ],
)
def test_the_best_mechanism_comes_within_a_per_cent_of_the_best_design_that_there_is(
    server: float, local: float | None, most: float
) -> None:
    """n·MSE of a balanced design of any size, found by searching them all: .7212, .07391, .02534, .00787, .002263, …"""
    found = plan(**CROWD, eps_server=server, eps_local=local)
    assert found.mse * CROWD["users"] <= most, (found.mechanism, found.randomizer)


def test_between_equals_the_one_that_is_counted_sooner_is_taken() -> None:
    """For 64 values Hadamard response with six signs is randomised response, and is counted by more work."""
    asked = {**SMALL, "eps_server": 1.0, "eps_users": 1.0, "eps_local": 4.0}
    found, hadamard = plan(**asked), plan(**asked, mechanism="hadamard", signs=6)
    assert found.mechanism == "grr"
    assert hadamard.mse == pytest.approx(found.mse, rel=1e-3)
    assert found.randomizer.steps(2000) < hadamard.randomizer.steps(2000)


def test_a_size_belongs_to_its_mechanism() -> None:
    asked = {**SMALL, "eps_server": 1.0, "eps_local": 4.0}
    assert plan(**asked, signs=3).randomizer.shown == {"signs": 3}
    assert plan(**asked, size=5).randomizer.shown == {"size": 5}
    with raises("plan.size", "signs", "(hadamard)", "subset"):
        plan(**asked, signs=3, mechanism="subset")
    with raises("plan.size", "d_prime", "(solh)", "olh"):
        plan(**asked, d_prime=8, mechanism="olh")
    assert plan(**asked, field_bits=6, mechanism="ue").randomizer.shown["field_bits"] == 6
    for name in ("oue", "the"):
        assert plan(**asked, mechanism=name).mechanism == "ue"
    with raises("plan.size", "d_prime and signs"):
        plan(**asked, d_prime=8, signs=3)
    for name, d_prime in (("olh", None), ("blh", 2)):
        found = plan(**asked, mechanism=name)
        assert found.mechanism == "solh"
        assert found.d_prime == (d_prime or round(math.exp(found.eps_local)) + 1)
