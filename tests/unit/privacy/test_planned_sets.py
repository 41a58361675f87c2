"""Plans of sampled items: both ways to randomise compete by exact MSE, and what is planned keeps to every target."""

import itertools
import math

import numpy as np
import pytest

from peos.errors import Refused
from peos.ldp.sampled import Sampled, SampledGRR, SampledHash
from peos.privacy.exact import epsilon
from peos.privacy.planner import Plan, plan
from tests.raising import raises

N, DELTA = 50_000, 1e-9


def planned(items: int, slots: int, **targets: float) -> Plan:
    kinds = (SampledGRR.padding_to(slots), SampledHash.padding_to(slots))
    return plan(N, items, DELTA, mechanism=kinds, **targets)  # type: ignore[arg-type] # targets by name


@pytest.mark.parametrize(("items", "slots"), [(128, 6), (3_000, 1), (20_000, 4)])
def test_no_member_that_meets_the_targets_has_a_smaller_error(items: int, slots: int) -> None:
    """Over ε_l and, for hashing, the sizes near the best: without fakes, at ε_c = .5."""
    found = planned(items, slots, eps_server=0.5, fakes=0)
    assert isinstance(found.randomizer, Sampled)
    assert found.randomizer.slots == slots
    assert found.guarantees.server.epsilon <= 0.5
    assert found.mse == pytest.approx(found.randomizer.variance(N))
    tried: list[SampledGRR | SampledHash] = []
    for local in np.linspace(0.5, 9.0, 35):
        try:
            tried.append(SampledGRR(items, slots, float(local)))
            tried += [SampledHash(items, slots, float(local), 2**bits) for bits in range(1, 14)]
        except Refused:
            continue
    better = [one for one in tried if one.variance(N) < found.mse * 0.98 and one.blanket is not None]
    assert all(epsilon(one, N, 0, DELTA) > 0.5 for one in better), found


def test_the_best_of_the_two_depends_on_how_many_items_there_are() -> None:
    few, many = planned(128, 6, eps_server=0.2), planned(100_000, 1, eps_server=0.2, eps_local=3.0)
    assert (few.mechanism, many.mechanism) == ("sampled_grr", "sampled_hash")
    assert few.runner_up is not None
    assert few.runner_up.mechanism == "sampled_hash"
    assert few.runner_up.mse > few.mse


def test_a_smaller_group_keeps_to_the_same_targets_with_a_smaller_local_epsilon() -> None:
    kinds = (SampledGRR.padding_to(5), SampledHash.padding_to(5))
    plans = [plan(n, 128, DELTA, mechanism=kinds, eps_server=0.2, fakes=0) for n in (20_000, 50_000, 200_000)]
    assert all(0.19 < one.guarantees.server.epsilon <= 0.2 for one in plans)
    assert all(one.eps_local < other.eps_local for one, other in itertools.pairwise(plans))


def test_an_error_grows_with_the_slots_and_not_with_their_square() -> None:
    """At the same ε_c, for randomised response."""
    errors = [
        plan(N, 128, DELTA, mechanism=(SampledGRR.padding_to(slots),), eps_server=0.3, fakes=0).mse for slots in (4, 16)
    ]
    assert math.log(errors[1] / errors[0], 4) < 1.5


def test_where_only_local_privacy_is_asked_both_compete_as_well() -> None:
    for items, slots, mechanism in ((128, 6, "sampled_grr"), (10_000, 1, "sampled_hash")):
        found = planned(items, slots, eps_local=1.0, fakes=0)
        assert found.mechanism == mechanism
        assert found.eps_local <= 1.0


def test_targets_that_leave_nothing_are_refused_with_the_nearest() -> None:
    with raises("plan.useless"):
        plan(50, 128, DELTA, mechanism=(SampledGRR.padding_to(20),), eps_server=0.01, fakes=0)
