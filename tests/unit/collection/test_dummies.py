"""When dummies are sent: among users however they come, and no rank of theirs in the order of arrival tells them."""

from bisect import bisect, bisect_left
from collections.abc import Callable, Sequence
from math import sqrt

import numpy as np
import pytest

from peos.collection.document import MIN_DUMMIES
from peos.collection.dummies import LEAST_SENT, Spread, answered, require_sure
from peos.crypto.randomness import Randomness
from tests.full import full, many
from tests.raising import raises

USERS, WINDOW = 1_000, 3_600.0
DUMMIES = MIN_DUMMIES  # for as many users as are expected; there are as many again for more
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
    """When users and dummies arrive in one collection, which the analyst closes at `stop`, or is closed when full."""
    rng = Randomness(seed.to_bytes(32, "big"))
    spread = Spread(expected, expected // 2 if minimum is None else minimum)
    salts = _salts(rng, spread.dummies)
    sent: dict[int, float] = {}
    now, looked, before = 0.0, 0.0, 0
    while now < stop:
        here = bisect(came, now)
        due = spread.due(salts, sent.keys(), answered=here)
        pause = spread.pause(came=here - before, within=now - looked)
        if here >= spread.full:
            stop = now
        looked, before = now, here
        for number in due:
            now += rng.integer_below(1000) / 1000 * min(1.0, pause) / len(due) + TAKES
            if now < stop:
                sent[number] = now
        now += pause
    here = bisect(came, stop)
    for number in spread.due(salts, sent.keys(), answered=here):  # before it is closed
        stop += TAKES
        sent[number] = stop
    if here >= spread.minimum:
        assert len(sent) >= LEAST_SENT, "enough are in for a result"
    return [time for time in came if time <= stop], list(sent.values())


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


@pytest.mark.parametrize("stop", [WINDOW / 2, full(WINDOW * 0.8)])
def test_if_it_is_closed_early_those_that_are_in_are_enough_and_no_other_is_sent(stop: float) -> None:
    places, sent = _found(_evenly, USERS, stop=stop)
    _require_fair(places)
    assert abs(sent - DUMMIES * stop / WINDOW) < 1


@pytest.mark.parametrize("share", [0.6, full(0.8)])
def test_if_fewer_come_than_were_expected_fewer_dummies_are_among_them(share: float) -> None:
    places, sent = _found(lambda seed: _evenly(seed, int(share * USERS)), USERS)
    _require_fair(places)
    assert abs(sent - share * DUMMIES) < 1


@pytest.mark.parametrize("times", [1.4, full(1.9)])
def test_if_more_come_than_were_expected_more_dummies_are_among_them(times: float) -> None:
    places, sent = _found(lambda seed: _evenly(seed, int(times * USERS)), USERS)
    _require_fair(places)
    assert abs(sent - times * DUMMIES) < 1.5


def test_with_twice_as_many_it_is_full_and_is_closed_with_dummies_among_all() -> None:
    came = {}

    def more(seed: int) -> Times:
        came[seed] = _evenly(seed, 3 * USERS)
        return came[seed]

    places, sent = _found(more, USERS)
    _require_fair(places)
    assert sent == 2 * DUMMIES
    users, _ = _arrivals(1, came[1], USERS)
    assert 2 * USERS <= len(users) < 2.02 * USERS


@pytest.mark.parametrize(("minimum", "users"), [(USERS // 8, USERS // 8), full(USERS // 8, USERS), (USERS // 3, USERS)])
def test_with_a_small_minimum_there_are_more_dummies_and_enough_among_it(minimum: int, users: int) -> None:
    places, sent = _found(lambda seed: _evenly(seed, users), USERS, minimum=minimum)
    _require_fair(places)
    assert abs(sent - LEAST_SENT * users / minimum) < 1.5


@pytest.mark.parametrize(
    ("expected", "minimum", "dummies"),
    [(1000, 500, 64), (1000, 1000, 64), (1000, 5000, 64), (1000, 125, 256), (1001, 126, 255), (1, 1, 64), (8, 1, 256)],
)
def test_there_are_dummies_for_twice_as_many_users_and_sixteen_for_the_minimum(
    expected: int, minimum: int, dummies: int
) -> None:
    require_sure(expected, minimum)
    spread = Spread(expected, minimum)
    salts = _salts(Randomness(b"\x03" * 32), spread.dummies)
    assert len(salts) == dummies
    assert len(spread.due(salts, frozenset(), answered=minimum)) >= min(LEAST_SENT, dummies)
    assert len(spread.due(salts, frozenset(), answered=spread.full)) >= dummies - 1, "the last part may go beyond"


def test_a_minimum_far_below_what_is_expected_is_refused_with_what_would_do() -> None:
    with raises("dummies.minimum", "124", "1,000") as no:
        require_sure(1000, 124)
    assert "125 reports" in no.value.hint
    assert "992 users" in no.value.hint
    require_sure(1000, 125)
    require_sure(992, 124)


@pytest.mark.parametrize(("minimum", "dummies"), [(USERS // 2, 64), (USERS // 8, 256)])
def test_the_first_of_the_document_are_early_and_late_ones_alike(minimum: int, dummies: int) -> None:
    """Where rows are very long, only these are opened."""
    spread = Spread(USERS, minimum)
    for seed in range(RUNS):
        salts = _salts(Randomness(seed.to_bytes(32, "big")), spread.dummies)
        assert len(salts) == dummies
        stretches = [0, *(minimum << step for step in range((dummies // LEAST_SENT).bit_length()))]
        for first in (6, 12, 30):
            among = [
                sum(number < first for number in spread.due(salts, frozenset(), answered=end)) for end in stretches
            ]
            each = np.diff(among)
            assert max(each) - min(each) <= 1, "as many of each stretch, each as long as all before it"


def test_an_analyzer_that_sends_them_first_is_seen_by_the_same_test() -> None:
    for at in (0.0, WINDOW):
        places = [place for seed in range(RUNS) for place in _places(_evenly(seed), [at] * DUMMIES)]
        with pytest.raises(AssertionError, match="mean place"):
            _require_fair(places, 2 * LATE)
    half = _places(_evenly(1), [0.0, WINDOW] * (DUMMIES // 2) * RUNS)
    with pytest.raises(AssertionError, match="from equal ranks"):
        _require_fair(half)


def test_among_a_share_of_the_users_is_that_share_of_the_dummies_and_no_more() -> None:
    spread = Spread(USERS, USERS // 2)
    for seed in range(RUNS):
        salts = _salts(Randomness(seed.to_bytes(32, "big")), spread.dummies)
        for here in range(0, 2 * USERS + 1, 50):
            due = spread.due(salts, frozenset(), answered=here)
            assert abs(len(due) - DUMMIES * here / USERS) <= 1
            assert not spread.due(salts, frozenset(due), answered=here), "while no user comes no dummy does"
        assert len(set(due)) == 2 * DUMMIES


def test_a_shuffler_that_invents_reports_does_not_call_the_dummies_in() -> None:
    spread = Spread(USERS, USERS // 2)
    salts = [bytes([number]) * 32 for number in range(DUMMIES)]
    for honest, liars in (((3, 4), 1), ((3, 4, 5), 1), ((3, 4, 5), 2), ((2, 3, 4, 5), 3)):
        said = answered([*honest, *[10**9] * liars], 0)
        assert said <= max(honest)
        assert len(spread.due(salts, frozenset(), answered=said)) <= 1
    assert answered([40, 40, 40], 32) == 8
    assert answered([40, 0, 0], 0) == 0, "two that say nothing do not hurry"


def test_a_page_is_looked_at_for_a_while_but_not_past_the_dummys_place() -> None:
    rng = Randomness(b"\x06" * 32)
    spread = Spread(USERS, USERS // 2)
    slow = [spread.reading(20.0, each=6.0, rng=rng) for _ in range(1_000)]  # and a dummy in 188 s
    assert float(np.median(slow)) == pytest.approx(20.0, rel=0.15)
    assert np.mean([10.0 < one < 40.0 for one in slow]) == pytest.approx(0.68, abs=0.07)
    rush = [spread.reading(20.0, each=0.1, rng=rng) for _ in range(1_000)]
    assert max(rush) == pytest.approx(USERS / DUMMIES / 4 / 10), "a rush leaves no time"
