"""Stocks of zeros: filled while reports come in, as far as needed and as there is memory, gone when it is over."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from peos.collection.document import MechanismChoice
from peos.collection.lifecycle import State
from peos.compute import Engine, Inline
from peos.crypto.randomness import Randomness
from peos.errors import LocalFault
from peos.ldp import SUE
from shuffler.workbench import Bench
from shuffler.zero_pool import ZeroPool, ZeroStock
from tests.keys import small_key
from tests.raising import raises
from tests.unit.collection.made import DOCUMENT, PUBLIC
from tests.unit.shuffler_process.played import OBSERVER

KEY = small_key(512)
ROW = PUBLIC.ciphertext_bytes
FAKES, MINIMUM = DOCUMENT.fakes, DOCUMENT.minimum


class Worked(Inline):
    """Makes zeros here, and notes when; may be held up."""

    def __init__(self) -> None:
        super().__init__(Randomness(b"\x01" * 32))
        self.asked: list[tuple[int, int]] = []
        self.let = threading.Event()
        self.let.set()
        self.ended = False

    def zeros(self, public: Any, count: int, *, expected: int, statistical: bool = False) -> Any:
        self.asked.append((count, expected))
        assert self.let.wait(60)
        return super().zeros(public, count, expected=expected, statistical=statistical)

    def close(self) -> None:
        super().close()
        self.let.set()
        self.ended = True


class Made:
    """The engines that were started."""

    def __init__(self, kind: Callable[[], Worked] = Worked) -> None:
        self.engines: list[Worked] = []
        self.kind = kind

    def __call__(self) -> Engine:
        self.engines.append(self.kind())
        return self.engines[-1]

    @property
    def asked(self) -> list[tuple[int, int]]:
        return [one for engine in self.engines for one in engine.asked]


@pytest.fixture
def made() -> Made:
    return Made()


@pytest.fixture
def ahead(made: Made) -> Iterator[ZeroPool]:
    kept = ZeroPool(worth=1, workers=made)
    yield kept
    kept.close()


def stock(ahead: ZeroPool, number: int = 1, **changes: Any) -> ZeroStock:
    return ahead.stock(replace(DOCUMENT, **changes), PUBLIC, number, OBSERVER)


def reached(holds: Callable[[], bool], what: str) -> None:
    give_up = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < give_up, what
        time.sleep(0.005)


def filled(one: ZeroStock) -> bool:
    return len(one.ready) == one.wanted > 0


@pytest.mark.parametrize(
    ("number", "zeros"),
    [
        (1, 2 * FAKES + 100),  # encrypts its shares of the fakes, and makes the first pass
        (2, FAKES + 100),  # makes the second
        (3, 0),  # never holds the ciphertexts
    ],
)
def test_a_shuffler_needs_zeros_for_its_own_fakes_and_passes(number: int, zeros: int, ahead: ZeroPool) -> None:
    assert stock(ahead, number).needed(100) == zeros
    wide = SUE(130, 2.0)
    assert wide.words > 1
    assert stock(ahead, number, choice=MechanismChoice.of(wide)).needed(100) == wide.words * zeros


def test_an_open_collections_stock_is_filled_and_the_workers_leave(ahead: ZeroPool, made: Made) -> None:
    one = stock(ahead)
    one.follow(State.OPEN, 0)
    assert one.wanted >= one.needed(MINIMUM)
    reached(lambda: filled(one) and made.engines[0].ended, "a full stock, and an engine that ended")
    assert sum(count for count, _ in made.asked) == one.wanted
    drawn = one.ready.take(one.wanted)
    assert len(np.unique(drawn, axis=0)) == one.wanted
    assert not KEY.decrypt(drawn).any()


def test_it_grows_with_the_reports_and_not_at_each_of_them(ahead: ZeroPool, made: Made) -> None:
    one = stock(ahead)
    for reports in range(0, 2000, 10):
        one.follow(State.OPEN, reports)
        assert one.wanted >= one.needed(reports)
        reached(lambda: filled(one), "a full stock")
    assert len(made.engines) < 20, "each half more than the one before"


def test_nothing_is_made_where_nothing_is_needed_or_little_is_saved(made: Made) -> None:
    ahead = ZeroPool(worth=1000, workers=made)
    third, first = stock(ahead, 3), stock(ahead, 1)
    third.follow(State.OPEN, 10**6)
    first.follow(State.OPEN, 100)
    assert made.engines == []
    first.follow(State.OPEN, 1000)
    reached(lambda: filled(first), "a full stock")
    ahead.close()
    assert len(third.ready) == 0


def test_the_close_ends_the_making_and_the_stock_stays(ahead: ZeroPool, made: Made) -> None:
    one = stock(ahead)
    one.follow(State.OPEN, 10_000)
    reached(lambda: len(one.ready) > 0, "some zeros")
    one.follow(State.CLOSED)
    reached(lambda: made.engines[0].ended and ahead._thread is None, "an engine that ended")
    left = len(one.ready)
    assert 0 < left < one.needed(10_000)
    one.follow(State.FROZEN)
    one.follow(State.SHUFFLING)
    assert len(one.ready) == left
    assert len(made.engines) == 1


@pytest.mark.parametrize("end", [State.DELIVERED, State.ABORTED, State.PUBLISHED])
def test_the_end_erases_what_was_not_used(end: State, ahead: ZeroPool) -> None:
    one = stock(ahead)
    one.follow(State.OPEN, 0)
    reached(lambda: filled(one), "a full stock")
    one.follow(end)
    assert len(one.ready) == 0
    assert len(one.ready.take(1)) == 0
    one.follow(end)  # again: nothing changes


def test_work_for_a_collection_that_ends_is_given_up_and_the_others_are_served(ahead: ZeroPool, made: Made) -> None:
    ending, other = stock(ahead), stock(ahead)
    made.kind = Held
    ending.follow(State.OPEN, 10_000)
    reached(lambda: made.asked != [], "an engine at work")
    made.kind = Worked
    other.follow(State.OPEN, 0)
    ending.follow(State.ABORTED)
    reached(lambda: filled(other), "the other's stock")
    assert made.engines[0].ended
    assert len(ending.ready) == 0


def test_zeros_that_come_after_the_end_are_not_kept(ahead: ZeroPool, made: Made) -> None:
    one = stock(ahead)
    made.kind = Held
    one.follow(State.OPEN, 0)
    reached(lambda: made.asked != [], "an engine at work")
    one.follow(State.ABORTED)
    made.engines[0].let.set()
    reached(lambda: bool(made.engines) and made.engines[0].ended, "an engine that ended")
    assert len(one.ready) == 0


class Held(Worked):
    """Makes zeros when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.let.clear()


def test_all_stocks_together_keep_to_the_memory_and_each_to_its_rows(made: Made) -> None:
    megabyte = 10**6 // ROW
    ahead = ZeroPool(worth=1, megabytes=1, rows=6000, workers=made)
    first, second = stock(ahead), stock(ahead)
    first.follow(State.OPEN, 10**6)
    second.follow(State.OPEN, 10**6)
    reached(lambda: bool(made.engines) and made.engines[-1].ended, "an engine that ended")
    assert (first.wanted, second.wanted) == (6000, 6000)
    assert len(first.ready) == 6000
    assert len(second.ready) == megabyte - 6000
    ahead.close()
    assert (len(first.ready), len(second.ready)) == (0, 0)


def test_an_operator_without_memory_to_spare_has_none_made(made: Made) -> None:
    ahead = ZeroPool(worth=1, megabytes=0, workers=made)
    one = stock(ahead)
    one.follow(State.OPEN, 10**6)
    one.follow(State.CLOSED)
    ahead.close()
    assert (one.wanted, one.ready.capacity, made.engines) == (0, 0, [])


class Failing(Worked):
    """Cannot work."""

    def zeros(self, *_: Any, **__: Any) -> Any:
        raise LocalFault("test.localfault", "3 times in a row the worker processes died before they finished anything")


def test_zeros_that_cannot_be_made_ahead_are_made_by_the_pass(made: Made, rng: Randomness) -> None:
    made.kind = Failing
    ahead = ZeroPool(worth=1, workers=made)
    one = stock(ahead)
    one.follow(State.OPEN, 0)
    reached(lambda: bool(made.engines) and made.engines[0].ended, "an engine that ended")
    ahead.close()
    bench = Bench(20, 1, PUBLIC, Inline(rng), ready=one.ready)
    words, masks = rng.uint64(20), rng.uint64(20)
    assert np.array_equal(KEY.decrypt(bench.remask(bench.encrypt(words), masks, 1)), words + masks)


def test_workers_that_cannot_be_started_now_are_started_at_the_next_report(made: Made) -> None:
    tried: list[Exception] = []

    def workers() -> Engine:
        if not tried:
            tried.append(OSError(24, "too many open files"))
            raise tried[0]
        return made()

    ahead = ZeroPool(worth=1, workers=workers)
    one = stock(ahead)
    one.follow(State.OPEN, 0)
    reached(lambda: bool(tried) and not one.wanted, "a thread that gave up")

    def asked() -> bool:
        one.follow(State.OPEN, 0)
        return filled(one)

    reached(asked, "a stock that is filled all the same")
    ahead.close()


def test_closing_gives_up_what_is_under_way_and_begins_nothing(made: Made) -> None:
    made.kind = Held
    ahead = ZeroPool(worth=1, workers=made)
    one = stock(ahead)
    one.follow(State.OPEN, 10**5)
    reached(lambda: made.asked != [], "an engine at work")
    ahead.close()
    assert made.engines[0].ended
    one.follow(State.OPEN, 10**6)
    assert len(made.engines) == 1
    assert len(one.ready) == 0


def test_a_bench_uses_the_stock_for_fakes_and_passes_and_leaves_a_left_attempts_zeros_behind(
    ahead: ZeroPool, rng: Randomness
) -> None:
    one = stock(ahead)
    one.follow(State.OPEN, 200)
    reached(lambda: filled(one), "a full stock")
    before = len(one.ready)
    bench = Bench(100, 1, PUBLIC, Inline(rng), ready=one.ready)
    words = rng.uint64(100)
    sent = bench.encrypt(words)
    assert len(one.ready) == before - 100
    bench.discard(1)
    bench._at_work.attempt = 1
    with raises("shuffle.attempt_left"):
        bench.remask(sent, words, 1)
    between = len(one.ready)
    assert between < before - 100, "the left attempt took zeros, and they are gone"
    bench._at_work.attempt = 2
    again = bench.remask(sent, words, 1)
    assert len(one.ready) == between - 100
    assert np.array_equal(KEY.decrypt(again), words + words)
