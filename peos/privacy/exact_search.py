"""The least variance that meets the targets by exact accounting, over k, ε_l and the number of fakes (privacy.md §3).

With k and ε_l given, the targets say how many fakes are needed, and more of them only add noise; so k and ε_l are
searched: d' over the powers of two and the best for the limit on ε_l, and ε_l on a grid that closes in on the best.
Saddle points say what is needed, to a few per cent of δ. What they choose is held against the exact bound, and chosen
again with what they were off taken into account, until the bound agrees.
"""

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.ldp import GRR, SUE, LocalHash
from peos.ldp.base import Mechanism
from peos.ldp.hashing import HashFamily
from peos.ldp.local_hash import MAX_CELLS
from peos.ldp.mixture import MIN_EPSILON
from peos.privacy.blanket import blanket_of, least_collision
from peos.privacy.exact import bound
from peos.privacy.saddlepoint import Laws, saddle
from peos.privacy.targets import MOST_FAKES_PER_USER, Targets

Floats = NDArray[np.float64]

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
    """One choice: cells (0 where ε_l decides them, as for unary), ε_l, fakes, and the variance near frequency 0."""

    cells: int
    epsilon_local: float
    fakes: int
    variance: float


@dataclass(frozen=True)
class _Aim:
    """ln δ to stay below by the saddle points, against the analyzer alone and with all other users."""

    server: float
    others: float


def best(targets: Targets, kind: str, limit: float) -> Found | None:
    """The mechanism of that kind with ε_l up to `limit` of the least variance; None if none meets the targets."""
    wanted = math.log(targets.delta)
    aim = _Aim(wanted - _MARGIN, wanted - _MARGIN)
    cells = _numbers_of_cells(targets, kind, limit)
    kept: Found | None = None
    spared = 0.0
    for attempt in range(_ATTEMPTS):
        point = _least(targets, kind, limit, cells, aim)
        if point is None:
            break
        cells = np.array([point.cells])
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


def promising(targets: Targets, kind: str, limit: float) -> Point | None:
    """What the saddle points would choose: nothing to claim, but enough to compare."""
    wanted = math.log(targets.delta)
    return _least(targets, kind, limit, _numbers_of_cells(targets, kind, limit), _Aim(wanted, wanted))


def _numbers_of_cells(targets: Targets, kind: str, limit: float) -> NDArray[np.int64]:
    """d for GRR; d' as asked, or every power of two below the domain's size and, where `limit` binds, the best for it.

    With ε_l given, e^(ε_l) + 1 cells have the least variance. Unary has as many as ε_l makes of it.
    """
    if kind == "grr":
        return np.array([targets.domain])
    if kind == "sue":
        return np.array([0])
    if targets.d_prime is not None:
        return np.array([targets.d_prime])
    most = min(MAX_CELLS, max(targets.domain, 3) - 1)
    powers = {1 << j for j in range(1, most.bit_length())}
    at_limit = round(math.exp(min(limit, math.log(MAX_CELLS)))) + 1
    return np.array(sorted(powers | ({at_limit} if at_limit <= most else set())))


def _least(targets: Targets, kind: str, limit: float, cells: NDArray[np.int64], aim: _Aim) -> Point | None:
    """The point of least variance that keeps to the aims, over the given cells and all ε_l."""
    lowest = max(MIN_EPSILON, min(targets.strictest, limit))
    low, high = np.full(len(cells), lowest), np.full(len(cells), max(limit, lowest))
    rows = np.arange(len(cells))
    for _ in range(_ROUNDS):
        grid = np.linspace(low, high, _STEPS, axis=1)
        fakes, variance = _evaluate(targets, kind, cells, grid, aim)
        at = np.argmin(variance, axis=1)
        low, high = grid[rows, np.maximum(at - 1, 0)], grid[rows, np.minimum(at + 1, _STEPS - 1)]
    least = variance[rows, at]
    row = int(np.argmin(least))
    if not math.isfinite(least[row]):
        return None
    column = int(at[row])
    return Point(int(cells[row]), float(grid[row, column]), int(fakes[row, column]), float(least[row]))


def _evaluate(targets: Targets, kind: str, cells: NDArray[np.int64], local: Floats, aim: _Aim) -> tuple[Floats, Floats]:
    """Fakes needed and variance at each (cells, ε_l); infinite where the targets are out of reach."""
    gain = np.expm1(local)
    if kind == "sue":
        match = 1 / (np.exp(local / 2) + 1)
        collision = worst = match
    else:
        k = cells[:, np.newaxis]
        match = np.broadcast_to(1.0 / k, local.shape)
        pairs = [_collisions(targets.domain, int(c)) if kind == "solh" else (0.0, 0.0) for c in cells]
        collision, worst = (np.broadcast_to(np.array(c)[:, np.newaxis], local.shape) for c in zip(*pairs, strict=True))
    share = 1 / (1 + gain * match)
    fakes = np.ceil(_needed(targets, Laws(share, gain, match, worst), local, aim))
    most = MOST_FAKES_PER_USER * targets.users if targets.fakes is None else targets.fakes
    possible = fakes <= most
    fakes = np.where(possible, fakes if targets.fakes is None else float(most), 0.0)
    n, q = targets.users, (1 - share) * collision + share * match
    distance = (1 - share) * (1 - collision)
    variance = (n * q * (1 - q) + fakes * match * (1 - match)) / (n * distance) ** 2
    return fakes, np.where(possible, variance, np.inf)


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


def _drawn(targets: Targets, kind: str, point: Point, aim: _Aim) -> Found:
    """The mechanism itself, met from below, with the fakes that it then needs."""
    built: Mechanism
    if kind == "grr":
        built = GRR(targets.domain, point.epsilon_local)
    elif kind == "sue":
        built = SUE(targets.domain, point.epsilon_local)
    else:
        built = LocalHash(targets.domain, point.epsilon_local, d_prime=point.cells)
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
    blanket = blanket_of(built)
    assert blanket is not None
    at = target * _AIM
    if others + found.fakes == 0:
        return 0.0, -math.inf
    exact = math.log(max(bound(blanket, others, found.fakes, at, cut=targets.delta * 1e-4), 1e-300))
    near = float(saddle(_laws(built), at).log_delta(others, float(found.fakes))[0])
    return near - exact, math.log(targets.delta) - exact


def _laws(built: Mechanism) -> Laws:
    blanket = blanket_of(built)
    assert blanket is not None
    return Laws(*(np.array([x]) for x in (blanket.share, blanket.gain, blanket.own, blanket.both / blanket.other)))


def _collisions(domain: int, cells: int) -> tuple[float, float]:
    """c_P, and the least that the seeds' functions may have of it."""
    expected = HashFamily(domain, cells, salt=0).collision_probability
    return float(expected), least_collision(expected)
