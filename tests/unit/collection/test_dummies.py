"""When dummies are sent: among users however they come, and no rank of theirs in the order of arrival tells them."""

from bisect import bisect
from collections.abc import Callable, Sequence
from math import sqrt

import numpy as np
import pytest

from peos.collection.dummies import REST_SECONDS, Spread, answered
from peos.crypto.randomness import Randomness
from tests.full import full

USERS, DUMMIES, WINDOW = 1_000, 32, 3_600.0
RUNS = 100
SIGMAS = 4.9  # one run in a million of an honest program fails

Times = list[float]


def _arrivals(seed: int, came: Times, expected: int, *, stop: float | None = None) -> tuple[Times, Times]:
    """When users and dummies arrive in one collection; `stop` is when the analyst closes it early."""
    rng = Randomness(seed.to_bytes(32, "big"))
    spread = Spread(0.0, WINDOW, expected)
    salts = [rng.bytes(32) for _ in range(DUMMIES)]
    sent: dict[int, float] = {}
    end, now = stop or WINDOW, 0.0
    step = end / 400
    while now < end:
        now += step
        here = bisect(came, now)
        for number in spread.due(salts, now=now, answered=here):
            sent.setdefault(number, now + rng.integer_below(1000) / 1000 * step)
    if stop is not None:
        here = bisect(came, now)
        for pause in spread.pauses(DUMMIES - len(sent), now=now, answered=here, rng=rng):
            now += pause
            sent[len(sent) + DUMMIES] = now
    assert len(sent) == DUMMIES, "all are in before it closes"
    return [time for time in came if time <= now], list(sent.values())


def _place(users: Sequence[float], dummies: Sequence[float]) -> float:
    """The probability that a dummy comes after a user, ties by halves: 1/2 if the order tells nothing."""
    order = np.sort(users)
    below, through = np.searchsorted(order, dummies, "left"), np.searchsorted(order, dummies, "right")
    return float(np.mean((below + through) / 2 / len(users)))


def _rank_test(came: Callable[[int], Times], expected: int, *, stop: float | None = None) -> float:
    """The mean place of dummies over many collections; a fair one has mean 1/2 and the spread of a rank sum."""
    return float(np.mean([_place(*_arrivals(seed, came(seed), expected, stop=stop)) for seed in range(RUNS)]))


def _allowed() -> float:
    return SIGMAS * sqrt((1 / 12) * (1 / DUMMIES + 1 / USERS) / RUNS)


def _evenly(seed: int) -> Times:
    return sorted(np.random.default_rng(seed).uniform(0.0, WINDOW, USERS).tolist())


def _at_once(seed: int) -> Times:
    return sorted(np.random.default_rng(seed).uniform(0.0, 60.0, USERS).tolist())


@pytest.mark.parametrize("expected", [USERS, full(2 * USERS), full(10 * USERS)])
def test_users_who_come_evenly_have_dummies_evenly_among_them(expected: int) -> None:
    """Also if fewer come than were expected: the end of the time does not find all dummies still waiting."""
    found = _rank_test(_evenly, expected)
    allowed = _allowed() + 0.025  # the last 30 seconds are for repeats
    assert abs(found - 0.5) <= allowed, f"mean place {found:.4f}, allowed 0.5 ± {allowed:.4f}"


def test_users_who_all_come_at_once_have_them_among_them_too() -> None:
    """All but one in eight of the dummies; of those, three in four come after the rush, at the freeze."""
    found = _rank_test(_at_once, USERS, stop=90.0)
    residue = 0.5 * (1 / 8) * (3 / 4)
    allowed = _allowed() + residue
    assert abs(found - 0.5) <= allowed, f"mean place {found:.4f}, allowed 0.5 ± {allowed:.4f}"


def test_if_it_is_closed_at_half_its_time_half_of_them_are_among_the_users_and_the_rest_at_the_end() -> None:
    """What limitations.md says of an early freeze."""
    half, places, early = WINDOW / 2, [], 0
    for seed in range(RUNS):
        users, dummies = _arrivals(seed, _evenly(seed), USERS, stop=half)
        among = [time for time in dummies if time <= half]
        places.append(_place([time for time in users if time <= half], among))
        early += len(among)
        assert max(dummies) <= half + REST_SECONDS + 1e-9
    found, allowed = float(np.mean(places)), SIGMAS * sqrt((1 / 12) * (2 / DUMMIES + 2 / USERS) / RUNS) + 0.025
    assert abs(found - 0.5) <= allowed, f"mean place {found:.4f}, allowed 0.5 ± {allowed:.4f}"
    assert 0.45 < early / RUNS / DUMMIES < 0.6, f"{early / RUNS:.1f} of {DUMMIES} are in before it is closed"


def test_an_analyzer_that_sends_them_first_is_seen_by_the_same_test() -> None:
    users = _evenly(1)
    assert _place(users, [0.0] * DUMMIES) == 0.0
    assert abs(0.0 - 0.5) > _allowed() + 0.025


@pytest.mark.parametrize("factor", [full(1.5), full(3.0)])
def test_when_more_come_than_were_expected_some_dummies_are_still_among_the_last(factor: float) -> None:
    expected = int(USERS / factor)
    late = 0
    for seed in range(RUNS):
        users, dummies = _arrivals(seed, _at_once(seed), expected, stop=90.0)
        beyond = sorted(users)[expected]
        late += sum(beyond < dummy <= max(users) for dummy in dummies)
    least = DUMMIES / 8 * (min(1.0, factor / 4) - 1 / 4) / 2
    assert late / RUNS > least, f"{late / RUNS:.2f} of {DUMMIES} dummies come among the users beyond those expected"


def test_a_shuffler_that_invents_reports_does_not_call_the_dummies_in() -> None:
    spread = Spread(0.0, WINDOW, USERS)
    salts = [bytes([number]) * 32 for number in range(DUMMIES)]
    for honest, liars in (((3, 4), 1), ((3, 4, 5), 1), ((3, 4, 5), 2), ((2, 3, 4, 5), 3)):
        said = answered([*honest, *[10**9] * liars], 0)
        assert said <= max(honest)
        assert not spread.due(salts, now=1.0, answered=said)
    assert answered([40, 40, 40], 32) == 8
    assert answered([40, 0, 0], 0) == 0, "two that say nothing do not hurry"


def test_what_is_left_at_an_early_freeze_comes_in_the_users_tempo_and_soon() -> None:
    rng = Randomness(b"\x05" * 32)
    spread = Spread(0.0, WINDOW, USERS)
    quick = [sum(spread.pauses(8, now=10.0, answered=1_000, rng=rng)) for _ in range(400)]
    slow = [sum(spread.pauses(8, now=3_000.0, answered=10, rng=rng)) for _ in range(400)]
    assert 0.04 < float(np.mean(quick)) < 0.16, "8 pauses of 10 ms"
    assert max(slow) <= REST_SECONDS + 1e-9
    assert float(np.mean(slow)) > REST_SECONDS / 4
