"""A claim is within a thousandth of the least ε that the bound itself certifies, in every setting, at a few bounds."""

import math
from collections.abc import Iterator

import numpy as np
import pytest

from peos.errors import WrongInput
from peos.ldp import GRR, SUE, LocalHash
from peos.ldp.base import Mechanism
from peos.privacy import exact
from peos.privacy.exact import bound, least_epsilon

DOMAIN = 100_000
THOUSANDTH = 1.001e-3
Setting = tuple[Mechanism, int, int, float]  # the mechanism, the other users who hide, the fakes, δ


def hashed(local: float, cells: int) -> LocalHash:
    """Local hashing over a domain that is larger than its cells."""
    return LocalHash(DOMAIN, local, d_prime=cells)


KINKED: list[tuple[Setting, float]] = [
    ((hashed(6.446, 1024), 35, 1, 1.1e-11), 5.151),
    ((hashed(5.208, 256), 54, 0, 4.965e-12), 3.862),
    ((hashed(5.208, 256), 54, 1, 1.964e-12), 3.862),
    ((hashed(1.0, 65536), 4, 1, 1.457e-8), 0.2517),
    ((hashed(9.65, 32768), 75, 0, 1.597e-3), 5.81),
    ((GRR(32768, 9.65), 75, 1, 1.037e-3), 5.81),
    ((hashed(6.045, 8), 1072, 1, 1.114e-10), 5.968),
    ((GRR(8, 6.045), 1072, 0, 1.598e-9), 5.968),
]
"""Few reports a cell, or an ε near ε_l: δ(ε) then has kinks, and ln δ has no slope that would lead to the claim."""


def is_within_a_thousandth(setting: Setting) -> float:
    """The claim, which its own bound bears out, and which a thousandth less would not be."""
    mechanism, others, fakes, delta = setting
    blanket = mechanism.blanket
    assert blanket is not None
    claim, cut = least_epsilon(blanket, others, fakes, delta), max(1e-4 * delta, 1e-280)
    assert bound(blanket, others, fakes, claim, cut) <= delta, setting
    assert claim == 0.0 or bound(blanket, others, fakes, claim * (1 - THOUSANDTH), cut) > delta, setting
    return claim


@pytest.mark.parametrize(("setting", "certified"), KINKED, ids=repr)
def test_where_delta_has_kinks_the_claim_is_what_the_bound_certifies(setting: Setting, certified: float) -> None:
    assert is_within_a_thousandth(setting) == pytest.approx(certified, rel=1e-3)


def random_settings(seed: int, count: int, most_users: int) -> Iterator[Setting]:
    """Mechanisms, users, fakes, δ and colluders from one to many."""
    rng = np.random.default_rng(seed)

    def spread(most: int) -> int:
        return round(math.exp(rng.uniform(0.0, math.log(most))))

    while count:
        users, local = spread(most_users), rng.uniform(0.1, 10.0)
        fakes = (0, 1, spread(100), int(rng.integers(1, 2 * users + 2)))[rng.integers(4)]
        known = (0, 0, users - 1, int(rng.integers(users)))[rng.integers(4)]
        cells = (1 + spread(65535), 1 + spread(65535), 2 ** int(rng.integers(1, 17)), 0)[kind := rng.integers(4)]
        delta = 10.0 ** rng.uniform(-14.0, -1.0)
        try:
            mechanism = SUE(20, local) if not cells else GRR(cells, local) if not kind else hashed(local, cells)
        except WrongInput:
            continue  # an ε_l that this mechanism cannot be drawn at
        if users - 1 - known + fakes:
            count -= 1
            yield mechanism, users - 1 - known, fakes, delta


def test_it_is_so_in_random_settings() -> None:
    claims = [is_within_a_thousandth(setting) for setting in random_settings(1, 24, 20_000)]
    assert len({round(claim, 6) for claim in claims}) > 12, "not all at 0 or ε_l"


@pytest.mark.long
@pytest.mark.parametrize(("seed", "count", "most_users"), [(2, 106, 20_000), (3, 40, 10**9)])
def test_it_is_so_in_many_random_settings(seed: int, count: int, most_users: int) -> None:
    """`pytest -m long tests/unit/privacy/test_least_epsilon.py`."""
    for setting in random_settings(seed, count, most_users):
        is_within_a_thousandth(setting)


def test_a_claim_takes_few_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three are needed as a rule: at the estimate, at what its tangent says, and none where the tangent proves it."""
    counted: list[float] = []
    evaluate = exact.bound_and_slope

    def counting(*arguments: object, **options: object) -> tuple[float, float]:
        counted.append(1)
        return evaluate(*arguments, **options)  # type: ignore[arg-type]  # handed on

    monkeypatch.setattr(exact, "bound_and_slope", counting)
    settings = [*random_settings(1, 24, 20_000), *random_settings(4, 12, 10**9), *(known for known, _ in KINKED)]
    for mechanism, others, fakes, delta in settings:
        blanket = mechanism.blanket
        assert blanket is not None
        least_epsilon.cache_clear()
        before = len(counted)
        least_epsilon(blanket, others, fakes, delta)
        assert len(counted) - before <= 16, (mechanism, others, fakes, delta)
    assert len(counted) < 4 * len(settings), len(counted) / len(settings)


def test_the_slope_is_the_slope_of_the_bound_in_the_exponential_of_epsilon() -> None:
    for mechanism, others, fakes in ((GRR(16, 3.0), 4000, 0), (LocalHash(500, 4.0, d_prime=21), 900, 60)):
        blanket = mechanism.blanket
        assert blanket is not None
        for at in (0.01, 0.3, 1.0):
            (before, slope), (after, _) = (
                exact.bound_and_slope(blanket, others, fakes, math.log(math.exp(at) + step), 1e-14)
                for step in (0.0, 1e-6)
            )
            assert (before - after) / 1e-6 == pytest.approx(slope, rel=1e-3)
