"""Which method to take: the collection is drawn again and again, from frequencies that the estimates allow.

The truth of these simulations are the estimates after norm_sub, as whole users for each value: power_ns would favour
itself (thesis §8.2). Nothing here is secret: what is simulated was published.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.errors import WrongInput
from peos.estimate.frequency import Estimate, FrequencyOracle, estimate_frequencies
from peos.estimate.post_processing.applied import post_process
from peos.estimate.post_processing.method import Floats
from peos.registry import POST_PROCESSING

RUNS: Final = 50
SETS: Final = 64
_NOTHING: Final = 1e-9  # what rounding may leave of a 0
_LEFT_OUT: Final = "power"  # as dear as power_ns, which is power made consistent
GOALS: Final = "values|top:K|sets:SHARE"


@dataclass(frozen=True)
class Choice:
    """The method with the least mean squared error that is to be expected, and the errors of all."""

    goal: str
    method: str
    errors: Mapping[str, float]


@dataclass(frozen=True)
class _Goal:
    """What errors are of: every value's frequency, or that of each row of values."""

    rows: tuple[NDArray[np.int64], ...] | None

    def of(self, frequency: Floats) -> Floats:
        if self.rows is None:
            return frequency
        return np.array([frequency[row].sum() for row in self.rows])


def choose_by_simulation(estimate: Estimate, goal: str = "values", *, rng: np.random.Generator) -> Choice:
    """The best of all methods but power for the goal: every value, the K largest, or sets of a share of the values.

    Of equally good ones it is the first of the registry, which change less. post_pos is simulated for sets, and is
    never the choice: it gives no vector.
    """
    if not isinstance(rng, np.random.Generator):
        raise WrongInput(
            "post_process.rng",
            f"rng is a numpy Generator, not a {type(rng).__name__}",
            hint="numpy.random.default_rng(1) gives the same choice again",
        )
    kind, number = goal_in(goal, len(estimate.frequency))
    holders = whole_users(post_process(estimate, "norm_sub").frequency, estimate.users)
    truth = holders / estimate.users
    aim = _rows(kind, number, truth, rng)
    names = [
        name
        for name, method in POST_PROCESSING.items()
        if name != _LEFT_OUT and (not method.answers_queries or kind == "sets")
    ]
    errors = dict.fromkeys(names, 0.0)
    for _ in range(RUNS):
        again = redrawn(estimate, holders, rng)
        for name in names:
            if POST_PROCESSING[name].answers_queries:
                told = post_process(again, name, queries=aim.rows).frequency
            else:
                told = aim.of(post_process(again, name).frequency)
            errors[name] += float(np.mean(np.square(told - aim.of(truth)))) / RUNS
    vectors = [name for name in names if not POST_PROCESSING[name].answers_queries]
    least = min(errors[name] for name in vectors) * (1.0 + _NOTHING)
    return Choice(goal, next(name for name in vectors if errors[name] <= least), errors)


def redrawn(estimate: Estimate, holders: NDArray[np.int64], rng: np.random.Generator) -> Estimate:
    """The estimate of another run of the collection, if so many users hold each value.

    Each value's count has its own law exactly; two counts are correlated as they are among uniform reports. Where a
    report supports one value and no other, all is drawn from the joint law.
    """
    oracle, users, fakes = estimate.oracle, estimate.users, estimate.fakes
    together = _both(oracle)
    if together < _NOTHING and abs(len(holders) * oracle.u - 1.0) < _NOTHING:
        told = rng.binomial(holders, oracle.p - oracle.q)
        counts = told + rng.multinomial(users + fakes - int(told.sum()), np.full(len(holders), 1.0 / len(holders)))
    else:
        counts = rng.binomial(holders, oracle.p) + rng.binomial(users - holders, oracle.q)
        counts += rng.binomial(fakes, oracle.u, size=len(holders))
        counts = _correlated(counts, estimate, holders, (together - oracle.u) / (1.0 - oracle.u))
    return estimate_frequencies(oracle, counts, users=users, fakes=fakes)


def _both(oracle: FrequencyOracle) -> float:
    """c: how likely a report that tells a value supports another one.

    Of two-level reports p = t + (1 − t)u and q = tc + (1 − t)u, where t is how often they tell. Others count as
    independent, with c = u.
    """
    told = (oracle.p - oracle.u) / (1.0 - oracle.u) if oracle.u < 1.0 else 0.0
    return (oracle.q - (1.0 - told) * oracle.u) / told if told > 0.0 else oracle.u


def _correlated(
    counts: NDArray[np.int64], estimate: Estimate, holders: NDArray[np.int64], correlation: float
) -> NDArray[np.int64]:
    """Independent counts made to have that correlation, with the same means and variances.

    A report that supports one value supports fewer of the others: if it always supports equally many of d values, the
    correlation is −1/(d − 1), and sums over many values vary far less than those of independent counts.
    """
    oracle, users, fakes, domain = estimate.oracle, estimate.users, estimate.fakes, len(counts)
    if domain == 1 or correlation > -_NOTHING / domain:
        return counts
    p, q, u = oracle.p, oracle.q, oracle.u
    means = holders * p + (users - holders) * q + fakes * u
    deviations = np.sqrt(holders * p * (1 - p) + (users - holders) * q * (1 - q) + fakes * u * (1 - u))
    scores = np.divide(counts - means, deviations, out=np.zeros(domain), where=deviations > 0)
    own = math.sqrt(1.0 - correlation)
    common = own - math.sqrt(max(1.0 + (domain - 1) * correlation, 0.0))
    moved = means + deviations * (own * scores - common * float(scores.mean()))
    return np.clip(np.rint(moved), 0, users + fakes).astype(np.int64)


def whole_users(frequency: Floats, users: int) -> NDArray[np.int64]:
    """As many users for each value as its share asks for, `users` together: by the largest remainders."""
    shares = users * frequency
    holders = np.floor(shares).astype(np.int64)
    largest = np.argsort(holders - shares, kind="stable")
    holders[largest[: users - int(holders.sum())]] += 1
    return holders


def goal_in(goal: str, domain: int) -> tuple[str, float]:
    """What kind of goal it is, and its number: K or SHARE."""
    kind, _, number = goal.partition(":")
    if goal == "values":
        return kind, 0.0
    if kind == "top" and number.isascii() and number.isdigit() and len(number) <= 9 and 1 <= int(number) <= domain:
        return kind, float(number)
    if kind == "sets" and 0.0 < (share := _share(number)) < 1.0:
        return kind, share
    raise WrongInput(
        "post_process.goal",
        f"{goal[:60]!r} is no goal to choose a method for",
        hint=f"{GOALS}, with K from 1 to {domain} and SHARE, of the values, between 0 and 1",
    )


def _rows(kind: str, number: float, truth: Floats, rng: np.random.Generator) -> _Goal:
    if kind == "values":
        return _Goal(None)
    if kind == "top":
        return _Goal(tuple(np.argsort(-truth, kind="stable")[: int(number), np.newaxis]))
    size = max(1, round(number * len(truth)))
    return _Goal(tuple(rng.choice(len(truth), size=size, replace=False) for _ in range(SETS)))


def _share(number: str) -> float:
    try:
        return float(number)
    except ValueError:
        return 0.0
