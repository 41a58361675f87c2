"""When dummies are sent: among users however they come, and no rank of theirs in the order of arrival tells them."""

from bisect import bisect, bisect_left
from collections.abc import Callable, Sequence
from math import sqrt

import numpy as np
import pytest

from peos.collection.document import MIN_DUMMIES
from peos.collection.dummies import LEAST_SENT, REST_SECONDS, Spread, answered, dummies_for
from peos.crypto.randomness import Randomness
from tests.full import full, many

USERS, MANY, WINDOW = 1_000, 10_000, 3_600.0
DUMMIES, ALL = MIN_DUMMIES, dummies_for(USERS)  # for as many users as were expected, and for more
TAKES = 0.1  # seconds, to send one
RUNS = many(15, 100)
SIGMAS = 4.9  # one run in a million of an honest program fails
LATE = 0.012  # of the users: those who come between a dummy's place and its arrival

Times = list[float]


def _salts(rng: Randomness, count: int = DUMMIES) -> list[bytes]:
    return [rng.bytes(32) for _ in range(count)]


def _arrivals(
    seed: int, came: Times, expected: int, *, stop: float = WINDOW, minimum: int | None = None
) -> tuple[Times, Times]:
    """When users and dummies arrive in one collection, which the analyst closes at `stop`."""
    rng = Randomness(seed.to_bytes(32, "big"))
    spread = Spread(0.0, WINDOW, expected, expected // 2 if minimum is None else minimum)
    salts = _salts(rng, dummies_for(expected))
    sent: dict[int, float] = {}
    now, looked, before = 0.0, 0.0, 0
    while now < stop:
        here = bisect(came, now)
        due = spread.due(salts, sent.keys(), now=now, answered=here, before=before)
        pause = spread.pause(came=here - before, within=now - looked)
        looked, before = now, here
        for number in due:
            now += rng.integer_below(1000) / 1000 * min(1.0, pause) / len(due) + TAKES
            if now < stop:
                sent[number] = now
        now += pause
    here, now = bisect(came, stop), stop
    rest = spread.rest(salts, sent.keys(), answered=here)
    pauses = spread.pauses(len(rest), now=now, answered=here, rng=rng)
    for number, pause in zip(rest, pauses, strict=True):
        now += pause
        sent[number] = now
    assert len(sent) >= LEAST_SENT, "enough are in for a result"
    return [time for time in came if time <= now], list(sent.values())


def _places(users: Sequence[float], dummies: Sequence[float]) -> list[float]:
    """For each dummy the share of the users who came before it, those at the same moment by halves."""
    return [(bisect_left(users, one) + bisect(users, one)) / 2 / len(users) for one in dummies]


def _found(came: Callable[[int], Times], expected: int, **more: float) -> tuple[list[float], float]:
    """The places of the dummies of many collections, and how many of them there were in one."""
    pairs = [_arrivals(seed, came(seed), expected, **more) for seed in range(RUNS)]  # type: ignore[arg-type]  # as there
    places = [place for users, dummies in pairs for place in _places(sorted(users), dummies)]
    return places, len(places) / RUNS


def _require_fair(places: list[float], late: float = LATE) -> None:
    """Mean and distribution of the places: those of equal ranks, but for how late a dummy arrives."""
    mean, allowed = float(np.mean(places)), SIGMAS * sqrt(1 / 12 / len(places)) + late
    assert abs(mean - 0.5) <= allowed, f"mean place {mean:.4f}, allowed 0.5 ± {allowed:.4f}"
    ranks = np.arange(1, len(places) + 1) / len(places)
    worst = float(np.max(np.abs(np.sort(places) - ranks)))
    allowed = sqrt(np.log(2 / 1e-6) / 2 / len(places)) + 1 / USERS + late  # Dvoretzky, Kiefer and Wolfowitz
    assert worst <= allowed, f"places are {worst:.4f} from equal ranks, allowed {allowed:.4f}"


def _evenly(seed: int, users: int = USERS) -> Times:
    return sorted(np.random.default_rng(seed).uniform(0.0, WINDOW, users).tolist())


def _at_once(seed: int) -> Times:
    return sorted(np.random.default_rng(seed).uniform(0.0, 60.0, USERS).tolist())


def _at_the_end(seed: int) -> Times:
    return sorted(np.random.default_rng(seed).uniform(WINDOW - 120.0, WINDOW - 60.0, USERS).tolist())


def _in_two_waves(seed: int) -> Times:
    """Half of them in a minute after the invitation, half after a reminder."""
    rng = np.random.default_rng(seed)
    return sorted([*rng.uniform(0.0, 60.0, USERS // 2), *rng.uniform(3_000.0, 3_060.0, USERS // 2)])


@pytest.mark.parametrize("come", [_evenly, full(_at_once), _at_the_end, full(_in_two_waves)])
def test_however_users_come_dummies_are_evenly_among_them(come: Callable[[int], Times]) -> None:
    """A rush of seventeen a second, too: a dummy arrives while half a dozen users do."""
    places, sent = _found(come, USERS)
    _require_fair(places, LATE if come is _evenly else 2 * LATE)
    assert sent > DUMMIES - 1, "all but one that is on its way when the last user has come"


@pytest.mark.parametrize("stop", [WINDOW / 2 + 240.0, full(WINDOW * 0.8)])
def test_if_it_is_closed_early_those_that_are_in_are_enough_and_no_other_is_sent(stop: float) -> None:
    places, sent = _found(_evenly, USERS, stop=stop)
    _require_fair(places)
    assert LEAST_SENT <= sent < DUMMIES * (stop / WINDOW) + 1


@pytest.mark.parametrize("share", [0.6, full(0.8)])
def test_if_fewer_come_than_were_expected_fewer_dummies_are_among_them(share: float) -> None:
    places, sent = _found(lambda seed: _evenly(seed, int(share * USERS)), USERS)
    _require_fair(places)
    assert abs(sent - share * DUMMIES) < 1


@pytest.mark.parametrize("times", [1.4, full(1.9)])
def test_if_more_come_than_were_expected_more_dummies_are_among_them(times: float) -> None:
    """Of a large collection, where they cost little."""
    places, sent = _found(lambda seed: _evenly(seed, int(times * MANY)), MANY)
    _require_fair(places)
    assert abs(sent - times * DUMMIES) < 1.5


def test_those_beyond_have_no_dummy_among_them() -> None:
    """What limitations.md says."""
    for expected, dummies, share in ((USERS, 35, 0.37), (MANY, 64, 2 / 3)):
        users, sent = _arrivals(1, _evenly(1, 3 * expected), expected)
        assert len(sent) == dummies
        assert max(_places(users, sent)) < share + LATE


def test_where_the_minimum_is_a_twentieth_half_of_the_dummies_are_among_a_tenth_of_the_users() -> None:
    """Time counts there, as far as users come; the last dummy waits for what is left of the time."""
    places, sent = _found(lambda seed: _evenly(seed, USERS // 10), USERS, minimum=USERS // 20)
    _require_fair(places, 1 / LEAST_SENT)
    assert abs(sent - LEAST_SENT) < 1


def test_what_is_needed_in_any_case_comes_last_and_soon() -> None:
    """What limitations.md says: with hardly more users than the minimum, all dummies are needed."""
    stop = WINDOW / 2
    last = []
    for seed in range(RUNS):
        users, dummies = _arrivals(seed, _evenly(seed), USERS, stop=stop)
        assert len(dummies) == ALL or bisect(sorted(users), stop) >= USERS // 2 + ALL
        assert max(dummies) <= stop + REST_SECONDS + 1e-9
        last.append(sum(stop < one for one in dummies))
    assert 15 < float(np.mean(last)) < 20


def test_an_analyzer_that_sends_them_first_is_seen_by_the_same_test() -> None:
    for at in (0.0, WINDOW):
        places = [place for seed in range(RUNS) for place in _places(_evenly(seed), [at] * DUMMIES)]
        with pytest.raises(AssertionError, match="mean place"):
            _require_fair(places, 2 * LATE)
    half = _places(_evenly(1), [0.0, WINDOW] * (DUMMIES // 2) * RUNS)
    with pytest.raises(AssertionError, match="from equal ranks"):
        _require_fair(half)


def test_among_a_share_of_the_users_is_that_share_of_the_dummies_and_no_more() -> None:
    spread = Spread(0.0, WINDOW, USERS, USERS // 2)
    for seed in range(RUNS):
        salts = _salts(Randomness(seed.to_bytes(32, "big")))
        for here in range(0, USERS + 1, 50):
            due = spread.due(salts, frozenset(), now=1.0, answered=here, before=0)
            assert abs(len(due) - DUMMIES * here / USERS) <= 1
            assert due == spread.due(salts, frozenset(), now=WINDOW / 2, answered=here, before=here)
        assert sum(number % 2 == 0 for number in due[: DUMMIES // 2]) == DUMMIES // 2, "half of the first are in early"
        assert len(set(due)) == DUMMIES


def test_while_no_user_comes_no_dummy_does() -> None:
    spread = Spread(0.0, WINDOW, USERS, 1)
    salts = _salts(Randomness(b"\x02" * 32))
    taken = frozenset(spread.due(salts, frozenset(), now=100.0, answered=10, before=0))
    assert not spread.due(salts, taken, now=WINDOW / 2, answered=10, before=10)
    assert spread.due(salts, taken, now=WINDOW / 2, answered=11, before=10)
    assert spread.due(salts, taken, now=WINDOW - 20.0, answered=10, before=10), "at the end comes what is needed"


def test_a_shuffler_that_invents_reports_does_not_call_the_dummies_in() -> None:
    spread = Spread(0.0, WINDOW, USERS, USERS // 2)
    salts = [bytes([number]) * 32 for number in range(DUMMIES)]
    for honest, liars in (((3, 4), 1), ((3, 4, 5), 1), ((3, 4, 5), 2), ((2, 3, 4, 5), 3)):
        said = answered([*honest, *[10**9] * liars], 0)
        assert said <= max(honest)
        assert len(spread.due(salts, frozenset(), now=1.0, answered=said, before=0)) <= 1
    assert answered([40, 40, 40], 32) == 8
    assert answered([40, 0, 0], 0) == 0, "two that say nothing do not hurry"


def test_a_page_is_looked_at_for_a_while_but_not_past_the_dummys_place() -> None:
    rng = Randomness(b"\x06" * 32)
    spread = Spread(0.0, WINDOW, USERS, USERS // 2)

    def drawn(*, came: int, within: float) -> list[float]:
        look = {"now": 1800.0, "answered": 300, "came": came, "within": within}
        return [spread.reading(20.0, rng=rng, **look) for _ in range(1_000)]  # type: ignore[arg-type]  # as there

    slow = drawn(came=0, within=3.0)  # one in 6 s, and a dummy in 188
    assert float(np.median(slow)) == pytest.approx(20.0, rel=0.15)
    assert np.mean([10.0 < one < 40.0 for one in slow]) == pytest.approx(0.68, abs=0.07)
    assert max(drawn(came=30, within=3.0)) == pytest.approx(USERS / DUMMIES / 4 / 10), "a rush leaves no time"


def test_what_is_left_at_an_early_freeze_comes_in_the_users_tempo_and_soon() -> None:
    rng = Randomness(b"\x05" * 32)
    spread = Spread(0.0, WINDOW, USERS, USERS // 2)
    quick = [sum(spread.pauses(8, now=10.0, answered=1_000, rng=rng)) for _ in range(400)]
    slow = [sum(spread.pauses(8, now=3_000.0, answered=10, rng=rng)) for _ in range(400)]
    assert 0.04 < float(np.mean(quick)) < 0.16, "8 pauses of 10 ms"
    assert max(slow) <= REST_SECONDS + 1e-9
    assert float(np.mean(slow)) > REST_SECONDS / 4
