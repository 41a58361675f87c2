"""Saddle points against exact accounting, wherever a plan might look: within a tenth of δ, or a fifth."""

import math

import numpy as np
import pytest

from peos.ldp import GRR, SUE, LocalHash
from peos.ldp.base import PureMechanism
from peos.privacy.exact import delta, epsilon
from peos.privacy.saddlepoint import Laws, saddle

MECHANISMS: list[PureMechanism] = [GRR(4, 1.0), GRR(1000, 7.0), LocalHash(500, 4.0, d_prime=16), SUE(30, 4.0)]


def laws(mechanism: PureMechanism) -> Laws:
    blanket = mechanism.blanket
    assert blanket is not None
    return Laws(*(np.array([x]) for x in (blanket.share, blanket.gain, blanket.own, blanket.both / blanket.other)))


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize(("users", "fakes"), [(1, 2000), (3000, 0), (3000, 500), (10**6, 0)])
@pytest.mark.parametrize("at", [1e-4, 1e-9])
def test_delta_is_within_a_tenth_or_a_fifth_where_few_reports_match_a_value(
    mechanism: PureMechanism, users: int, fakes: int, at: float
) -> None:
    found = epsilon(mechanism, users, fakes, at)
    if 0.0 < found < 0.9 * mechanism.epsilon_local:
        near = math.exp(float(saddle(laws(mechanism), found).log_delta(users - 1, float(fakes))[0]))
        matching = ((users - 1) * float(mechanism.gamma) + fakes) * mechanism.oracle.u
        tolerance = 0.1 if matching > 20 else 0.2
        assert near == pytest.approx(delta(mechanism, users, fakes, found), rel=tolerance)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_the_fakes_needed_are_where_delta_comes_down_to_the_target(mechanism: PureMechanism) -> None:
    points = saddle(laws(mechanism), 0.4)
    needed = float(points.fakes_needed(0, math.log(1e-6), 10**9)[0])
    assert 1 < needed < 10**9
    assert float(points.log_delta(0, needed)[0]) == pytest.approx(math.log(1e-6), abs=1e-6)
    assert math.isinf(points.fakes_needed(0, math.log(1e-6), math.floor(needed) - 1)[0])
    assert points.fakes_needed(10**9, math.log(1e-6), 10)[0] == 0.0
