"""The ε of every baseline, by the exact law of its reports: reached, and never exceeded."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

from peos.tasks import baselines
from peos.tasks.baselines.base import Ints
from peos.tasks.baselines.joins import Services
from peos.tasks.ranges.levels import Levels
from tests.unit.tasks.baselines.every import largest_ratio, law

EPSILON = 1.0
TREE = Levels(4, 2)
TWO = baselines.categorical(2)

MARGINALS: dict[str, tuple[int, Any]] = {
    "InpRR": (2, lambda: baselines.inp_rr(2, EPSILON)),
    "InpRR, OUE": (2, lambda: baselines.inp_rr(2, EPSILON, optimised=True)),
    "InpPS": (4, lambda: baselines.inp_ps(4, EPSILON)),
    "FC": (2, lambda: baselines.fc(2, EPSILON)),
    "InpHT": (4, lambda: baselines.inp_ht(4, 2, EPSILON)),
    "FT": (4, lambda: baselines.ft(4, 3, EPSILON)),
    "InpOLH": (3, lambda: baselines.inp_olh(3, EPSILON)),
    "InpHTCMS": (3, lambda: baselines.inp_htcms(3, EPSILON, functions=2, width=8)),
    "InpEM": (3, lambda: baselines.inp_em(3, EPSILON)),
    "EM": (2, lambda: baselines.em(2, EPSILON)),
    "MargRR": (3, lambda: baselines.marg_rr(3, 2, EPSILON)),
    "MargRR, OUE": (2, lambda: baselines.marg_rr(2, 1, EPSILON, optimised=True)),
    "MargPS": (4, lambda: baselines.marg_ps(4, 2, EPSILON)),
    "MargHT": (4, lambda: baselines.marg_ht(4, 2, EPSILON)),
    "AM": (3, lambda: baselines.am(3, 2, EPSILON)),
    "CALM": (4, lambda: baselines.calm([(0, 1, 2), (1, 2, 3)], EPSILON)),
}

RANGES: dict[str, tuple[tuple[int, ...], Any]] = {
    "weighted FO": ((4,), lambda: baselines.weighted_fo(4, EPSILON)),
    "MG": ((2, 3), lambda: baselines.mg([TWO, baselines.categorical(3)], EPSILON)),
    "HIO": ((4,), lambda: baselines.hio([TREE], EPSILON)),
    "HIO, two": ((4, 2), lambda: baselines.hio([TREE, TWO], EPSILON)),
    "HI": ((4,), lambda: baselines.hi([TREE], EPSILON)),
    "SC": ((2, 2), lambda: baselines.sc([TWO, TWO], EPSILON)),
    "HIO of a measure": ((4, 2), lambda: baselines.hio_sum([TREE, TWO], {0: 0.0}, EPSILON)),
    "HIO-PUB": ((4,), lambda: baselines.hio_pub([TREE], EPSILON)),
    "SR-HIO": ((2, 2), lambda: baselines.sr_hio([TWO, TWO], {0: 0.0, 1: 0.0}, EPSILON)),
    "AHIO": ((2, 2), lambda: baselines.ahio([TWO, TWO], {0: 0.0, 1: 0.0}, EPSILON)),
    "EHIO": ((2, 2), lambda: baselines.ehio([TWO, TWO], {0: 0.0, 1: 0.0}, EPSILON)),
}


def tiled(record: Sequence[int], users: int) -> Ints:
    """So many users with the same record."""
    return np.tile(np.array(record, np.int64), (users, 1))


def held(ratio: float) -> None:
    assert ratio <= math.exp(EPSILON) * (1 + 1e-9)


@pytest.mark.parametrize("name", MARGINALS)
def test_of_marginals_the_largest_ratio_is_the_claim(name: str) -> None:
    d, build = MARGINALS[name]
    made = build()
    ratio = largest_ratio(law(made.randomize, partial(np.full, fill_value=record)) for record in range(2**d))
    held(ratio)
    assert ratio == pytest.approx(math.exp(EPSILON), rel=1e-9)


@pytest.mark.parametrize("name", RANGES)
def test_of_ranges_the_largest_ratio_is_the_claim(name: str) -> None:
    domains, build = RANGES[name]
    made = build()
    records = product(*(range(one) for one in domains))
    ratio = largest_ratio(law(made.randomize, partial(tiled, record)) for record in records)
    held(ratio)
    assert ratio > math.exp(EPSILON) * 0.85  # it is reached where some function keeps all that is hashed apart


@pytest.mark.parametrize("build", [baselines.sc_join, baselines.hio_join])
def test_of_joins_the_largest_ratio_over_both_services_is_the_claim(build: Callable[..., Any]) -> None:
    made = build([TWO], [TWO], EPSILON)

    def records(one: int, other: int, users: int) -> tuple[Ints, Ints]:
        return tiled([one], users), tiled([other], users)

    ratio = largest_ratio(law(made.randomize, partial(records, *each)) for each in product(range(2), range(2)))
    held(ratio)
    assert ratio == pytest.approx(math.exp(EPSILON), rel=1e-9)


def test_truncation_hides_how_many_records_there_are() -> None:
    made = baselines.truncated([TWO], [TWO], EPSILON, τ=1, most=2)

    def services(first: int, second: tuple[int, ...], users: int) -> Services:
        counts, behind = np.full(users, len(second)), np.zeros((1, 1), np.int64)
        return Services(tiled([first], users), counts, np.vstack([tiled(second * users, 1).T, behind]))

    held_by_users = [(), (0,), (1,), (0, 1), (1, 1)]
    laws = [law(made.randomize, partial(services, first, second)) for first, second in product(range(2), held_by_users)]
    ratio = largest_ratio(laws)
    held(ratio)
    assert ratio > math.exp(EPSILON / 2)
