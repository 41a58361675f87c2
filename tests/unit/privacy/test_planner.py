"""The planner by the theorems: it keeps to every target, nothing on a grid is better, and its refusals help."""

import math
import re
from dataclasses import asdict
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from peos.errors import Refused
from peos.ldp import GRR, MAX_ENUMERABLE, LocalHash
from peos.privacy import guarantees
from peos.privacy import plan as find_plan
from peos.privacy.theorem import ideal_variance, mean_needed, optimal_cells
from tests.full import full
from tests.raising import raises

plan = partial(find_plan, accounting="theorem")
KOSARAK: dict[str, Any] = {"users": 990_002, "domain": 42_178, "delta": 1e-9}
SMALL: dict[str, Any] = {"users": 2000, "domain": 64, "delta": 1e-6}

REQUESTS: list[dict[str, Any]] = [
    {**SMALL, "eps_server": 1.0, "eps_users": 1.0, "eps_local": 4.0},
    {**SMALL, "eps_server": 0.5, "eps_local": 3.0},
    {**SMALL, "eps_users": 0.7, "eps_local": 2.0},
    {**SMALL, "eps_server": 1.0, "eps_users": 1.0, "eps_local": 4.0, "fakes": 3000},
    {**SMALL, "eps_server": 0.6, "eps_local": 5.0, "mechanism": "grr"},
    {**SMALL, "eps_server": 1.0, "eps_local": 5.0, "d_prime": 9},
    {"users": 40_000, "domain": 12, "delta": 1e-6, "eps_server": 0.3, "eps_local": 6.0},
    {
        "users": 40_000,
        "domain": 12,
        "delta": 1e-6,
        "eps_server": 0.5,
        "eps_users": 0.8,
        "eps_local": 1.0,
        "fakes": 5000,
    },
    {"users": 500, "domain": 30, "delta": 1e-2, "eps_server": 0.2, "eps_users": 0.9, "eps_local": 8.0},
]


def best_on_a_grid(request: dict[str, Any]) -> float:
    """The least MSE over GRR and every d', 25 values of ε_l and 400 of n_r, by the mechanisms' own p, q, u and γ."""
    n, d, delta, limit = request["users"], request["domain"], request["delta"], request["eps_local"]
    fixed = request.get("fakes", "auto")
    server = mean_needed(request["eps_server"], delta) if request.get("eps_server", math.inf) < limit else 0.0
    others = mean_needed(request["eps_users"], delta) if request.get("eps_users", math.inf) < limit else 0.0
    fakes = np.array([fixed]) if fixed != "auto" else np.unique(np.geomspace(1, 100 * n, 400).astype(int) - 1)
    kinds = [0] if request.get("mechanism") == "grr" else [request["d_prime"]] if "d_prime" in request else range(d)
    least = math.inf
    for cells in kinds:
        if cells == 1:
            continue
        for local in np.linspace(limit / 25, limit, 25):
            m = GRR(d, local) if cells == 0 else LocalHash(d, local, d_prime=cells)
            support = m.theorem_support
            assert support is not None
            alone = fakes * float(support)
            hides = (n - 1) * float(m.gamma * support) + alone
            o = m.oracle
            variance = (n * o.q * (1 - o.q) + fakes * o.u * (1 - o.u)) / (n * (o.p - o.q)) ** 2
            allowed = variance[(hides >= server) & (alone >= others)]
            least = min(least, float(allowed.min(initial=math.inf)))
    return least


@pytest.mark.parametrize("request_", [*REQUESTS[:4], *map(full, REQUESTS[4:])], ids=range(len(REQUESTS)))
def test_nothing_on_a_grid_is_better_than_the_plan(request_: dict[str, Any]) -> None:
    found = plan(**request_)
    on_grid = best_on_a_grid(request_)
    assert found.mse <= on_grid * 1.001, (found.to_json(), on_grid)
    assert found.mse >= on_grid * 0.8, "the grid is fine enough to come close, or the plan cheats"


@pytest.mark.parametrize("request_", REQUESTS, ids=range(len(REQUESTS)))
def test_a_plan_keeps_to_every_target_when_its_figures_are_taken_at_their_word(request_: dict[str, Any]) -> None:
    """The mechanism is built anew from the published figures; ε_l meets what the shuffle is not needed for."""
    found = plan(**request_)
    m = (
        GRR(found.domain, found.eps_local)
        if found.d_prime is None
        else LocalHash(found.domain, found.eps_local, d_prime=found.d_prime)
    )
    claims = guarantees(m, found.users, found.fakes, found.delta)
    assert claims.server.epsilon <= request_.get("eps_server", math.inf)
    assert claims.users.epsilon <= request_.get("eps_users", math.inf)
    assert claims.local <= request_["eps_local"]
    assert found.mse == pytest.approx(m.variance(users=found.users, fakes=found.fakes), rel=1e-9)
    assert found.stderr == math.sqrt(found.mse)
    assert found.halfwidth95 == pytest.approx(1.96 * found.stderr, rel=1e-4)


def test_auto_is_no_worse_than_any_fixed_number_of_fakes() -> None:
    asked = {**SMALL, "eps_server": 1.0, "eps_users": 1.0, "eps_local": 4.0}
    auto = plan(**asked)
    for fakes in (500, 1000, 2000, auto.fakes - 100, auto.fakes, auto.fakes + 100, 5000, 20_000):
        assert auto.mse <= plan(**asked, fakes=fakes).mse * 1.001


def test_fakes_also_buy_epsilon_server() -> None:
    """With ε_l bounded, more fakes allow more answers to be told apart, and lower the error."""
    asked = {**KOSARAK, "eps_server": 0.2, "eps_local": 5.0}
    with_fakes, without = plan(**asked), plan(**asked, fakes=0)
    assert with_fakes.fakes > 0
    assert with_fakes.mse < 0.8 * without.mse


def test_where_the_fakes_are_fixed_d_prime_is_the_corrected_optimum() -> None:
    for fakes in (0, 30_000, 200_000):
        formula = optimal_cells(0.4, 990_002, fakes, 1e-9)
        found = plan(**KOSARAK, eps_server=0.4, fakes=fakes)
        assert formula is not None
        assert found.d_prime is not None
        assert abs(found.d_prime - formula) <= 1


def test_without_fakes_needed_none_are_added() -> None:
    assert plan(users=10**6, domain=10, delta=1e-9, eps_server=1.0, eps_local=1.5).fakes == 0
    assert plan(**SMALL, eps_local=4.0).fakes == 0


def test_n_r_is_the_least_that_meets_epsilon_users_where_more_does_not_help() -> None:
    found = plan(**KOSARAK, eps_server=1.0, eps_users=0.5, eps_local=4.0, mechanism="solh", d_prime=16)
    fewer = guarantees(found.randomizer, 990_002, found.fakes - 1, 1e-9)
    assert found.guarantees.users.theorem is not None
    assert found.guarantees.users.theorem <= 0.5
    assert fewer.users.theorem is not None
    assert fewer.users.theorem > 0.5


def test_without_a_limit_on_epsilon_local_a_modest_one_is_taken_and_said() -> None:
    found = plan(**SMALL, eps_users=1.0)
    assert found.eps_local <= 4.0
    assert any("no limit on ε_l was asked, and 4.0000 was taken" in note for note in found.notes)
    asked = plan(**SMALL, eps_users=1.0, eps_local=4.0)
    assert (asked.mse, asked.fakes) == (found.mse, found.fakes)
    assert not asked.notes


def test_without_a_limit_on_epsilon_local_fakes_do_not_push_it_beyond_the_plan_without_them() -> None:
    without, auto = plan(**KOSARAK, eps_server=0.2, fakes=0), plan(**KOSARAK, eps_server=0.2)
    assert auto.eps_local <= without.eps_local * (1 + 1e-12)
    assert auto.mse < without.mse


@pytest.mark.parametrize(("local", "name"), [(0.5, "solh"), (1.0, "solh"), (5.0, "grr")])
def test_with_a_local_target_alone_the_best_local_mechanism_is_chosen(local: float, name: str) -> None:
    found = plan(**SMALL, eps_local=local)
    others = [plan(**SMALL, eps_local=local, mechanism=kind) for kind in ("grr", "solh")]
    assert found.mechanism == name
    assert found.mse == min(other.mse for other in others)
    assert found.runner_up is not None
    assert found.runner_up.mse == sorted(other.mse for other in others)[1]


def test_a_local_target_alone_over_a_large_domain_gives_the_known_optimum() -> None:
    """d' next to e^ε + 1, variance next to 4e^ε/(n(e^ε − 1)²)."""
    found = plan(10**6, 10**6, 1e-9, eps_local=3.0)
    assert found.d_prime == round(math.exp(3.0) + 1)
    assert found.mse == pytest.approx(ideal_variance(found.d_prime, 3.0, 10**6), rel=1e-3)
    assert found.mse == pytest.approx(4 * math.exp(3.0) / (10**6 * math.expm1(3.0) ** 2), rel=1e-3)


def test_a_limit_on_epsilon_local_below_a_target_meets_it_without_the_shuffle() -> None:
    found = plan(100, 64, 1e-9, eps_server=0.5, eps_users=0.5, eps_local=0.5)
    assert found.fakes == 0
    assert found.guarantees.server.theorem is None
    assert found.guarantees.server.epsilon <= 0.5


def test_targets_above_one_ask_for_what_one_asks_for() -> None:
    strict, loose = (plan(**SMALL, eps_server=x, eps_users=x, eps_local=4.0) for x in (1.0, 3.0))
    assert (strict.fakes, strict.d_prime) == (loose.fakes, loose.d_prime)


@pytest.mark.full
def test_the_error_falls_with_users_and_with_every_target() -> None:
    def errors(**change: list[float]) -> list[float]:
        base: dict[str, Any] = {**SMALL, "eps_server": 0.8, "eps_users": 0.9, "eps_local": 3.0}
        ((key, values),) = change.items()
        return [plan(**{**base, key: value}).mse for value in values]

    for falling in (
        errors(users=[1000, 2000, 10**4, 10**6]),
        errors(eps_server=[0.05, 0.2, 0.8]),
        errors(eps_users=[0.05, 0.2, 0.9]),
        errors(eps_local=[1.5, 3.0, 6.0]),
        errors(delta=[1e-12, 1e-6, 1e-3]),
    ):
        assert all(later <= earlier for earlier, later in pairwise(falling)), falling


INFEASIBLE: list[dict[str, Any]] = [
    {"users": 1000, "domain": 64, "delta": 1e-9, "eps_server": 0.01},
    {"users": 1000, "domain": 64, "delta": 1e-9, "eps_server": 0.5, "fakes": 0},
    {"users": 1000, "domain": 64, "delta": 1e-9, "eps_users": 0.5, "fakes": 1500},
    {"users": 1000, "domain": 64, "delta": 1e-9, "eps_users": 0.01},
    {"users": 1000, "domain": 64, "delta": 1e-9, "eps_server": 1.0, "eps_users": 0.5, "eps_local": 3.0, "fakes": 0},
    {**KOSARAK, "eps_server": 0.2, "fakes": 0, "d_prime": 1000},
    {**KOSARAK, "eps_server": 0.2, "fakes": 0, "mechanism": "grr"},
    {"users": 1, "domain": 2, "delta": 1e-9, "eps_server": 1.0},
]


@pytest.mark.parametrize("asked", [*INFEASIBLE[:4], *map(full, INFEASIBLE[4:])], ids=range(len(INFEASIBLE)))
def test_an_infeasible_target_is_refused_by_name_and_each_choice_proposed_is_feasible(asked: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refused:
        plan(**asked)
    sentence, hint = str(refused.value), refused.value.hint
    name = sentence.split(" = ")[0]
    assert name == ("eps_users" if "eps_users" in asked else "eps_server")
    assert "\n" not in sentence + hint
    found = {
        name: re.search(rf"{name} = ([\d.e-]+)", hint),
        "d_prime": re.search(r"d_prime = (\d+)", hint),
        "users": re.search(r"([\d,]+) users", hint),
        "fakes": re.search(r"([\d,]+) fakes", hint),
        "eps_local": re.search(r"eps_local = ([\d.e-]+)", hint),
    }
    proposals = {key: match[1].replace(",", "") for key, match in found.items() if match}
    assert len(proposals) >= 2, hint
    for key, text in proposals.items():
        value = int(text) if key in ("d_prime", "users", "fakes") else float(text.rstrip("."))
        changed = plan(**{**asked, key: value})
        assert math.isfinite(changed.mse), (key, value)


@pytest.mark.parametrize("asked", [{"eps_server": 1.0}, {"eps_users": 1.0}])
def test_sue_is_refused_where_a_claim_is_asked_that_it_cannot_make(asked: dict[str, float]) -> None:
    with raises("plan.local_only", "sue", "9.3.1"):
        plan(**SMALL, **asked, eps_local=4.0, mechanism="sue")  # type: ignore[arg-type] # keyword by keyword


@pytest.mark.parametrize(
    ("change", "mistake"),
    [
        ({"accounting": "renyi"}, ("plan.accounting", "'renyi'")),
        ({"eps_local": None}, ("plan.no_target",)),
        ({"users": 0}, ("mechanism.range", "the number of users", "1")),
        ({"domain": 1}, ("mechanism.range", "the size of the domain", "2", "16777216", "1")),
        ({"domain": MAX_ENUMERABLE + 1}, ("mechanism.range", "the size of the domain", "2", "16777216")),
        ({"delta": 0.0}, ("plan.delta", "0")),
        ({"eps_server": -1.0}, ("plan.target", "eps_server", "-1")),
        ({"eps_users": math.nan}, ("plan.target", "eps_users", "nan")),
        ({"eps_local": 30.0}, ("plan.target", "eps_local", "24", "30")),
        ({"fakes": -1}, ("mechanism.range", "the number of fakes", "0")),
        ({"fakes": "many"}, ("plan.fakes", "'many'")),
        (
            {"mechanism": "oracle"},
            ("plan.mechanism", "auto, grr, solh, sue", "hadamard", "'oracle'"),
        ),
        ({"mechanism": "grr", "d_prime": 8}, ("plan.size", "grr")),
        ({"d_prime": 1}, ("mechanism.range", "d_prime", "2", "65536", "1")),
        ({"shufflers": 2}, ("plan.shufflers", "2")),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_in_one_sentence(
    change: dict[str, Any], mistake: tuple[str, ...]
) -> None:
    with raises(*mistake):
        plan(**{**SMALL, "eps_local": 4.0, **change})


def test_the_json_has_the_shape_that_the_design_fixes() -> None:
    shape = plan(**SMALL, eps_server=1.0, eps_users=1.0, eps_local=4.0).to_json()
    fixed = {"mechanism", "eps_local", "d_prime", "fakes", "mse", "stderr", "halfwidth95", "guarantees", "cost"}
    assert fixed <= set(shape)
    assert isinstance(shape["cost"], dict)
    assert {"user_bytes", "user_ms", "shuffler_mb", "analyzer_s"} <= set(shape["cost"])
    assert plan(**SMALL, eps_local=5.0).to_json()["d_prime"] is None


def test_the_runner_up_is_the_other_mechanism_at_its_best() -> None:
    asked = {**SMALL, "eps_server": 1.0, "eps_users": 1.0, "eps_local": 4.0}
    found, other = plan(**asked), plan(**asked, mechanism="grr")
    assert found.mechanism == "solh"
    assert found.runner_up is not None
    assert asdict(found.runner_up) == {
        "mechanism": "grr",
        "eps_local": other.eps_local,
        "d_prime": None,
        "fakes": other.fakes,
        "mse": other.mse,
    }
