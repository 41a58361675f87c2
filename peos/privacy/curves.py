"""Error against the privacy asked of the analyzer: what each way of accounting, and of trusting, would cost.

    curves(plan(...), targets)   # by exact accounting, by the theorem, without a shuffle, and with a trusted curator

Every point is the least MSE for that ε_c with the other limits as they were asked; where there is none it is left out.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from peos.errors import Refused, WrongInput
from peos.privacy import exact_search
from peos.privacy.planner import LARGEST_EPSILON_LOCAL, Plan, plan
from peos.privacy.targets import Targets, checked
from peos.registry import MECHANISMS

POINTS: Final = 21
_SPAN: Final = 5.0  # on either side of what was asked
_WIDEST: Final = 8.0


@dataclass(frozen=True)
class Curve:
    """(ε_c, standard error) by rising ε_c."""

    name: str
    points: tuple[tuple[float, float], ...]


def asked_of(server: float) -> tuple[float, ...]:
    """The ε_c to draw, evenly by their logarithm, around the one that was asked."""
    low, high = server / _SPAN, min(server * _SPAN, max(_WIDEST, server))
    return tuple(low * (high / low) ** (at / (POINTS - 1)) for at in range(POINTS))


def curves_of(planned: Plan, server: float, *, others: float | None, local: float | None) -> Iterator[list[Curve]]:
    """The curves, again after each ε_c, so that the caller can show progress; fakes are the plan's own number."""
    exact: list[tuple[float, float]] = []
    theorem: list[tuple[float, float]] = []
    alone: list[tuple[float, float]] = []
    curator: list[tuple[float, float]] = []
    for asked in asked_of(server):
        targets = checked(
            users=planned.users,
            domain=planned.domain,
            delta=planned.delta,
            eps_server=asked,
            eps_users=others,
            eps_local=local,
            fakes=planned.fakes,
            size=None,
        )
        _add(exact, asked, _exactly(targets))
        _add(theorem, asked, _planned(targets, "theorem"))
        _add(alone, asked, _planned(replace(targets, server=None, others=None, local=asked, fakes=0), "exact"))
        _add(curator, asked, laplace_variance(asked, planned.users))
        yield [
            Curve("shuffled, by the theorem", tuple(theorem)),
            Curve("shuffled, by exact accounting", tuple(exact)),
            Curve("each user alone (local)", tuple(alone)),
            Curve("a trusted curator (Laplace)", tuple(curator)),
        ]


def laplace_variance(epsilon: float, users: int) -> float:
    """Variance of one frequency from a curator who adds Laplace noise: replacing a value moves two counts by one."""
    return 2 * (2 / (epsilon * users)) ** 2


def _exactly(targets: Targets) -> float | None:
    limit = LARGEST_EPSILON_LOCAL if targets.local is None else targets.local
    kinds = [kind for kind in MECHANISMS.values() if kind.is_proposed(shuffled=True)]
    points = [p for kind in kinds if (p := exact_search.promising(targets, kind, limit)) is not None]
    return min((point.variance for point in points), default=None)


def _planned(targets: Targets, accounting: str) -> float | None:
    """The MSE of the plan, None where there is none."""
    try:
        return plan(
            targets.users,
            targets.domain,
            targets.delta,
            eps_server=targets.server,
            eps_users=targets.others,
            eps_local=targets.local,
            fakes=0 if targets.fakes is None else targets.fakes,
            accounting=accounting,
        ).mse
    except (Refused, WrongInput):
        return None


def _add(points: list[tuple[float, float]], epsilon: float, variance: float | None) -> None:
    if variance is not None and math.isfinite(variance):
        points.append((epsilon, math.sqrt(variance)))
