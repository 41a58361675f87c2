"""Zeros made ahead: each given out once, whatever becomes of the work; a pass with them costs one multiplication."""

import os
import signal
import threading
import time
from typing import Any

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpz

from peos.compute import Background, Engine, Inline, ReadyZeros
from peos.crypto.randomness import Randomness
from peos.crypto.schemes import packing
from peos.crypto.schemes.base import Packed
from peos.crypto.schemes.freshness import zeros_used
from peos.crypto.schemes.paillier import PaillierPublicKey
from peos.errors import LocalFault
from tests.keys import small_key
from tests.raising import raises
from tests.unit.compute.conftest import Eager

KEY = small_key()
PUBLIC = KEY.public


def filled(count: int, rng: Randomness) -> tuple[ReadyZeros, Packed]:
    """A supply of so many zeros, and a copy of them."""
    zeros = PUBLIC.zero_source(rng, expected=count).zeros(count)
    ready = ReadyZeros(PUBLIC, count)
    assert ready.put(zeros) == count
    return ready, zeros


def as_set(zeros: Packed) -> set[bytes]:
    return {bytes(row) for row in zeros}


def used(before: Packed, after: Packed, masks: Any) -> set[int]:
    """The zero behind each row mod N; all are distinct."""
    found = zeros_used(PUBLIC, before, after, masks)
    assert len(set(found)) == len(found), "a zero was used twice"
    return set(found)


def mod_n(zeros: Packed) -> set[int]:
    return {int(zero % PUBLIC.modulus) for zero in packing.integers(zeros)}


def test_each_zero_is_given_out_once_in_whatever_portions(rng: Randomness) -> None:
    ready = ReadyZeros(PUBLIC, 1000)
    zeros = PUBLIC.zero_source(rng, expected=100).zeros(100)
    for start in range(0, 100, 30):
        ready.put(zeros[start : start + 30])
    given = [ready.take(count) for count in (1, 40, 0, 17, 60, 5)]
    assert [len(rows_) for rows_ in given] == [1, 40, 0, 17, 42, 0]
    assert len(ready) == 0
    together = np.concatenate(given)
    assert len(as_set(together)) == 100
    assert as_set(together) == as_set(zeros)


def test_threads_that_take_at_a_time_never_get_the_same_zero(rng: Randomness) -> None:
    ready, zeros = filled(600, rng)
    taken: list[Packed] = []

    def take() -> None:
        while len(found := ready.take(7)):
            taken.append(found)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    together = np.concatenate(taken)
    assert len(together) == 600
    assert as_set(together) == as_set(zeros)


def test_no_more_is_kept_than_there_is_room_for(rng: Randomness) -> None:
    ready = ReadyZeros(PUBLIC, 10)
    zeros = PUBLIC.zero_source(rng).zeros(7)
    assert (ready.put(zeros), ready.put(zeros), ready.put(zeros)) == (7, 3, 0)
    assert len(ready) == 10


def test_what_is_taken_or_erased_is_overwritten_and_nothing_comes_in_afterwards(rng: Randomness) -> None:
    ready, zeros = filled(20, rng)
    (kept,) = ready._rows
    ready.take(5)
    assert np.count_nonzero(kept.any(axis=1)) == 15
    assert ready.erase() == 15
    assert not kept.any()
    assert ready.put(zeros) == 0
    assert len(ready.take(1)) == 0
    assert ready.erase() == 0


def test_zeros_of_another_key_are_refused(rng: Randomness) -> None:
    other = small_key(768).public
    words = rng.uint64(3)
    with raises("compute.other_key"):
        Inline(rng).encrypt(PUBLIC, words, ready=ReadyZeros(other, 10))


class Factor:
    """An integer that counts products of two numbers longer than N."""

    products = 0

    def __init__(self, value: Any) -> None:
        self.value = mpz(value)

    def __mul__(self, other: Any) -> "Factor":
        value = other.value if isinstance(other, Factor) else mpz(other)
        Factor.products += min(self.value, value) > PUBLIC.modulus
        return Factor(self.value * value)

    __rmul__ = __mul__

    def __add__(self, other: Any) -> "Factor":
        return Factor(self.value + (other.value if isinstance(other, Factor) else other))

    __radd__ = __add__

    def __mod__(self, other: Any) -> "Factor":
        return Factor(self.value % other)

    def to_bytes(self, size: int, order: Any) -> bytes:
        return bytes(self.value.to_bytes(size, order))


def test_with_ready_zeros_a_pass_makes_none_and_multiplies_once_a_ciphertext(
    rng: Randomness, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 40
    ready, zeros = filled(count, rng)
    words, masks = rng.uint64(count), rng.uint64(count)
    sent = Inline(rng).encrypt(PUBLIC, words)
    read = packing.integers
    monkeypatch.setattr(packing, "integers", lambda packed: [Factor(value) for value in read(packed)])

    def forbidden(*_: Any, **__: Any) -> Any:
        raise AssertionError("an exponentiation, or a zero that was made")

    for name in ("powmod", "powmod_base_list", "powmod_exp_list"):
        monkeypatch.setattr(gmpy2, name, forbidden)
    monkeypatch.setattr(PaillierPublicKey, "zero_source", forbidden)
    Factor.products = 0
    passed = Inline(rng).remask(PUBLIC, sent, masks, 1, ready=ready)
    assert Factor.products == count
    monkeypatch.undo()
    assert len(ready) == 0
    assert np.array_equal(KEY.decrypt(passed), words + masks)
    assert used(sent, passed, masks) == mod_n(zeros)


@pytest.fixture(params=["inline", "processes"])
def either(request: pytest.FixtureRequest, eager: Eager, rng: Randomness) -> Engine:
    return Inline(rng) if request.param == "inline" else eager


@pytest.mark.parametrize("made_ahead", [0, 1, 299, 300, 500])
def test_a_supply_that_runs_dry_is_completed_and_not_stretched(
    made_ahead: int, either: Engine, rng: Randomness
) -> None:
    count = 300
    ready, zeros = filled(made_ahead, rng)
    words, masks = rng.uint64(count), rng.uint64(count)
    sent = Inline(rng).encrypt(PUBLIC, words)
    passed = either.remask(PUBLIC, sent, masks, 1, ready=ready)
    assert np.array_equal(KEY.decrypt(passed), words + masks)
    assert len(used(sent, passed, masks) & mod_n(zeros)) == min(made_ahead, count)
    assert len(ready) == max(0, made_ahead - count)


def test_encryption_takes_ready_zeros_too(either: Engine, rng: Randomness) -> None:
    ready, zeros = filled(50, rng)
    words = rng.uint64(60)
    sent = either.encrypt(PUBLIC, words, ready=ready)
    assert np.array_equal(KEY.decrypt(sent), words)
    ones = packing.pack([1] * 60, PUBLIC.ciphertext_bytes)
    assert mod_n(zeros) < used(ones, sent, words)


def test_the_work_of_a_killed_worker_is_done_again_with_other_zeros(rng: Randomness) -> None:
    count = 2000
    ready, zeros = filled(count, rng)
    taken: list[Packed] = []
    take = ready.take

    killed: list[int] = []

    def noted(count: int) -> Packed:
        taken.append(take(count))
        if len(taken) == 4 and not killed:  # the chunk that has just got its zeros will find no worker
            killed.extend(engine.worker_ids)
            for worker in killed:
                os.kill(worker, signal.SIGKILL)
        return taken[-1].copy()

    ready.take = noted  # type: ignore[method-assign] # to see what is given out
    words, masks = rng.uint64(count), rng.uint64(count)
    sent = Inline(rng).encrypt(PUBLIC, words)
    with Eager(2) as engine:
        passed = engine.remask(PUBLIC, sent, masks, 1, ready=ready)
    assert np.array_equal(KEY.decrypt(passed), words + masks)
    given = np.concatenate(taken)
    assert len(as_set(given)) == len(given) == count, "every zero was given out once"
    lost = mod_n(zeros) - used(sent, passed, masks)
    assert lost, "no chunk was lost with the worker, so nothing is shown"


def test_work_that_fails_or_is_given_up_brings_no_zero_back(either: Engine, rng: Randomness) -> None:
    ready, _ = filled(400, rng)
    words = rng.uint64(300)
    sent = Inline(rng).encrypt(PUBLIC, words)
    with raises("key.rows"):
        either.remask(PUBLIC, sent[:, 1:], words, 1, ready=ready)
    after_failure = len(ready)
    assert after_failure < 400

    def leave(*_: int) -> None:
        raise LocalFault("test.localfault", "the attempt was left")

    with raises("test.localfault", kind=LocalFault):
        either.remask(PUBLIC, sent, words, 1, ready=ready, progress=leave)
    assert len(ready) < after_failure


@pytest.mark.parametrize("name", ["paillier", "dgk", "jl"])
def test_every_schemes_zeros_are_made_ahead_and_used(
    name: str, rng: Randomness, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, engine, count = small_key(512, name), Inline(rng), 30
    public = key.public
    ready = ReadyZeros(public, 3 * count)
    zeros = engine.zeros(public, 2 * count, expected=2 * count)
    ready.put(zeros)
    words, masks = rng.uint64(count), rng.uint64(count)

    def forbidden(*_: Any, **__: Any) -> Any:
        raise AssertionError("a zero was made")

    monkeypatch.setattr(type(public), "zero_source", forbidden)
    sent = engine.encrypt(public, words, ready=ready)
    passed = engine.remask(public, sent, masks, 1, ready=ready)
    assert len(ready) == 0
    assert np.array_equal(key.decrypt(passed), words + masks)
    found = zeros_used(public, sent, passed, masks)
    left = {int(zero % public.modulus) for zero in packing.integers(zeros)}
    assert len(set(found)) == count
    assert set(found) < left


def test_an_engine_makes_zeros_that_are_distinct_and_zero(either: Engine) -> None:
    zeros = either.zeros(PUBLIC, 300, expected=300)
    assert len(as_set(zeros)) == 300
    assert not KEY.decrypt(zeros).any()
    assert bool(PUBLIC.check(zeros).all())


def test_background_workers_yield_to_all_others_and_end_at_once() -> None:
    with Background(2) as engine:
        engine.zeros(PUBLIC, 8, expected=8)
        workers = engine.worker_ids
        assert workers
        deadline = time.monotonic() + 60
        while (found := {os.getpriority(os.PRIO_PROCESS, worker) for worker in workers}) != {19}:
            assert time.monotonic() < deadline, f"a worker has the niceness {found}"  # one may not have begun yet
            time.sleep(0.02)
        assert os.getpriority(os.PRIO_PROCESS, 0) < 19
    assert engine.worker_ids == ()


def test_closing_gives_up_zeros_that_are_being_made() -> None:
    key, ended = small_key(1024), []
    begun = threading.Event()
    engine = Background(1)

    def make() -> None:
        try:
            while True:
                engine.zeros(key.public, 200, expected=200, statistical=True)
                begun.set()
        except LocalFault as fault:
            ended.append(str(fault))

    maker = threading.Thread(target=make)
    maker.start()
    assert begun.wait(120)
    engine.close()
    maker.join(60)
    assert len(ended) == 1, "it went on"
    assert "cancelled" in ended[0]


def test_the_repr_shows_how_many_and_nothing_else(rng: Randomness) -> None:
    assert repr(filled(3, rng)[0]) == "ReadyZeros(3 of 3)"
