"""The least variance that meets the targets by exact accounting, over sizes, ε_l and the number of fakes.

privacy.md §3. With size and ε_l given, the targets say how many fakes are needed, and more of them only add noise; so
these are searched: the sizes that the mechanism has to try, and ε_l on a grid that closes in on the best.
Saddle points say what is needed, to a few per cent of δ. What they choose is held against the exact bound, and chosen
again with what they were off taken into account, until the bound agrees.
"""

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.ldp.base import Mechanism
from peos.ldp.members import Floats
from peos.ldp.mixture import MIN_EPSILON
from peos.privacy.exact import bound
from peos.privacy.saddlepoint import Laws, saddle
from peos.privacy.targets import MOST_FAKES_PER_USER, Targets

_STEPS: Final = 96  # values of ε_l at a time
_ROUNDS: Final = 3
_AIM: Final = 1 - 3e-4  # of a target, since a claim is computed to about a ten-thousandth
_MARGIN: Final = 0.02  # nats of δ left to the exact bound at the first attempt
_CLOSE: Final = 0.08  # nats; what is left beyond is worth another attempt
_ATTEMPTS: Final = 6
_EQUAL: Final = 1e-9
_NEAR_BITS: Final = 12  # a 4,096th of the fakes too many is near enough
_HALVED: Final = 4  # every so many attempts at their number, what is left is halved


@dataclass(frozen=True)
class Found:
    """A mechanism that meets the targets, as it would be drawn, and its fakes."""

    built: Mechanism
    fakes: int
    mse: float


@dataclass(frozen=True)
class Point:
    """One choice: size (0 where there is nothing to choose), ε_l, fakes, and the variance near frequency 0."""

    size: int
    epsilon_local: float
    fakes: int
    variance: float


@dataclass(frozen=True)
class _Aim:
    """ln δ to stay below by the saddle points, against the analyzer alone and with all other users."""

    server: float
    others: float


def best(targets: Targets, kind: type[Mechanism], limit: float) -> Found | None:
    """The mechanism of that kind with ε_l up to `limit` of the least variance; None if none meets the targets."""
    wanted = math.log(targets.delta)
    aim = _Aim(wanted - _MARGIN, wanted - _MARGIN)
    sizes = _sizes(targets, kind, limit)
    kept: Found | None = None
    spared = 0.0
    for attempt in range(_ATTEMPTS):
        point = _least(targets, kind, limit, sizes, aim)
        if point is None:
            break
        sizes = np.array([point.size])
        found = _drawn(targets, kind, point, aim)
        off_server, left_server = _held_against(targets, found, targets.server, targets.users - 1)
        off_others, left_others = _held_against(targets, found, targets.others, 0)
        left = min(left_server, left_others)
        if left >= 0.0:
            if kept is None or found.mse < kept.mse:
                kept, spared = found, left
            at_limit = found.built.epsilon_local >= limit * (1 - _EQUAL) and not found.fakes
            if left < _CLOSE or at_limit or math.isinf(left):
                break
        spare = _MARGIN / 4 * (1 + attempt)
        aim = _Aim(wanted + off_server - spare, wanted + off_others - spare)
    return kept if kept is None or targets.fakes is not None else _with_fewest_fakes(targets, kept, spared)


def _with_fewest_fakes(targets: Targets, found: Found, left: float) -> Found:
    """The same mechanism with the fewest fakes that keep to the targets by the exact bound, or a 4,096th more.

    `left` nats of δ are left with the fakes that were found. Each further fake takes nearly as many, so a straight line
    through the last two numbers that were tried says which to try next.
    """

    def spare(fakes: int) -> float:
        tried = replace(found, fakes=fakes)
        coalitions = ((targets.server, targets.users - 1), (targets.others, 0))
        return min(_held_against(targets, tried, target, others)[1] for target, others in coalitions)

    low, high, near = -1, found.fakes, max(1, found.fakes >> _NEAR_BITS)  # too few, enough, and close to that
    last, tried = found.fakes, found.fakes - near
    attempts = 0
    while high - low > near:
        attempts += 1
        tried = (low + high) // 2 if attempts % _HALVED == 0 else max(low + 1, min(tried, high - near))
        nats = spare(tried)
        low, high = (low, tried) if nats >= 0.0 else (tried, high)
        each = (left - nats) / (last - tried)
        last, left = tried, nats
        tried = last - math.floor(nats / each) if each > 0.0 and math.isfinite(nats) else low
    return Found(found.built, high, found.built.variance(users=targets.users, fakes=high))


def promising(targets: Targets, kind: type[Mechanism], limit: float) -> Point | None:
    """What the saddle points would choose: nothing to claim, but enough to compare."""
    wanted = math.log(targets.delta)
    return _least(targets, kind, limit, _sizes(targets, kind, limit), _Aim(wanted, wanted))


def is_known(kind: type[Mechanism], domain: int) -> bool:
    """Whether exact accounting has anything to go by."""
    sizes = kind.sizes_to_try(domain, 1.0)[:1]
    return kind.grid(domain, sizes, np.ones((len(sizes), 1))) is not None


def _sizes(targets: Targets, kind: type[Mechanism], limit: float) -> NDArray[np.int64]:
    """The one that is asked for, or all that are worth trying."""
    return kind.sizes_to_try(targets.domain, limit) if targets.size is None else np.array([targets.size.value])


def _least(targets: Targets, kind: type[Mechanism], limit: float, sizes: NDArray[np.int64], aim: _Aim) -> Point | None:
    """The point of least variance that keeps to the aims, over the given sizes and all ε_l."""
    if not len(sizes):
        return None
    lowest = max(MIN_EPSILON, min(targets.strictest, limit))
    low, high = np.full(len(sizes), lowest), np.full(len(sizes), max(limit, lowest))
    rows = np.arange(len(sizes))
    for _ in range(_ROUNDS):
        grid = np.linspace(low, high, _STEPS, axis=1)
        fakes, variance = _evaluate(targets, kind, sizes, grid, aim)
        at = np.argmin(variance, axis=1)
        low, high = grid[rows, np.maximum(at - 1, 0)], grid[rows, np.minimum(at + 1, _STEPS - 1)]
    least = variance[rows, at]
    row = int(np.argmin(least))
    if not math.isfinite(least[row]):
        return None
    column = int(at[row])
    return Point(int(sizes[row]), float(grid[row, column]), int(fakes[row, column]), float(least[row]))


def _evaluate(
    targets: Targets, kind: type[Mechanism], sizes: NDArray[np.int64], local: Floats, aim: _Aim
) -> tuple[Floats, Floats]:
    """Fakes needed and variance at each (size, ε_l); infinite where the targets are out of reach."""
    gain = np.expm1(local)
    members = kind.grid(targets.domain, sizes, local)
    if members is None:
        return np.zeros_like(local), np.full_like(local, np.inf)
    match, worst = (np.broadcast_to(one, local.shape) for one in (members.match, members.least_collision))
    share = 1 / (1 + gain * match)
    fakes = np.ceil(_needed(targets, Laws(share, gain, match, worst), local, aim))
    most = MOST_FAKES_PER_USER * targets.users if targets.fakes is None else targets.fakes
    possible = fakes <= most
    fakes = np.where(possible, fakes if targets.fakes is None else float(most), 0.0)
    return fakes, np.where(possible, members.variance(share, targets.users, fakes), np.inf)


def _needed(targets: Targets, laws: Laws, local: Floats, aim: _Aim) -> Floats:
    """The fakes that both targets need; none where ε_l meets a target by itself."""
    most = MOST_FAKES_PER_USER * targets.users if targets.fakes is None else targets.fakes
    needed = np.zeros_like(local)
    for target, others, log_delta in (
        (targets.server, targets.users - 1, aim.server),
        (targets.others, 0, aim.others),
    ):
        if target is not None and targets.by_shuffle(target):
            each = saddle(laws, target * _AIM).fakes_needed(others, log_delta, most)
            needed = np.maximum(needed, np.where(local <= target, 0.0, each))
    return needed


def _drawn(targets: Targets, kind: type[Mechanism], point: Point, aim: _Aim) -> Found:
    """The mechanism itself, met from below, with the fakes that it then needs."""
    built = kind.build(targets.domain, point.epsilon_local, point.size)
    fakes = targets.fakes
    if fakes is None:
        needed = float(_needed(targets, _laws(built), np.array([built.epsilon_local]), aim)[0])
        fakes = math.ceil(needed) if math.isfinite(needed) else point.fakes
    return Found(built, fakes, built.variance(users=targets.users, fakes=fakes))


def _held_against(targets: Targets, found: Found, target: float | None, others: int) -> tuple[float, float]:
    """How far saddle points are above the exact bound, and that below δ, in nats; infinitely if nothing binds."""
    built = found.built
    if target is None or not targets.by_shuffle(target) or built.epsilon_local <= target:
        return 0.0, math.inf
    blanket = built.blanket
    assert blanket is not None
    at = target * _AIM
    if others + found.fakes == 0:
        return 0.0, -math.inf
    exact = math.log(max(bound(blanket, others, found.fakes, at, cut=targets.delta * 1e-4), 1e-300))
    near = float(saddle(_laws(built), at).log_delta(others, float(found.fakes))[0])
    return near - exact, math.log(targets.delta) - exact


def _laws(built: Mechanism) -> Laws:
    blanket = built.blanket
    assert blanket is not None
    return Laws(*(np.array([x]) for x in (blanket.share, blanket.gain, blanket.own, blanket.both / blanket.other)))
