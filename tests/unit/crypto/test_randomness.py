"""Random streams: reproducible by key, exactly uniform, never copied, never shared with a forked child."""

import copy
import os
import pickle
from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from peos.crypto.randomness import U64, Randomness, given, system
from peos.errors import LocalFault
from peos.ldp import GRR
from peos.simulate import run_collection
from tests.raising import raises
from tests.unit.crypto.conftest import Uniform

KEY = b"\x01" * 32


class Scripted(Randomness):
    """A stream whose words are given, to reach what chance would reach once in 2^64."""

    __slots__ = ("words",)

    def __init__(self, *words: list[int]) -> None:
        super().__init__(KEY)
        self.words = list(words)

    def uint64(self, shape: int | Sequence[int]) -> U64:
        """The next scripted vector."""
        return np.array(self.words.pop(0), dtype=np.uint64).reshape(shape)


def test_a_stream_is_its_key_and_does_not_depend_on_how_it_is_asked() -> None:
    whole = Randomness(KEY).bytes(3 << 20)
    rng = Randomness(KEY)
    parts = [rng.bytes(count) for count in (1, 15, 16, 4096, 1 << 20, (1 << 20) + 1)]
    joined = b"".join(parts)
    assert joined == whole[: len(joined)]
    assert Randomness(KEY).uint64(4).tolist() == np.frombuffer(whole[:32], dtype="<u8").tolist()
    assert Randomness(b"\x02" * 32).bytes(32) != whole[:32]


def test_the_system_gives_a_fresh_stream_each_time() -> None:
    assert system().bytes(32) != system().bytes(32)


@pytest.mark.parametrize("length", [0, 16, 31, 33])
def test_a_key_of_another_length_is_refused(length: int) -> None:
    with raises("random.key_length", "32", f"{length}"):
        Randomness(bytes(length))


def test_neither_key_nor_state_shows_in_text() -> None:
    rng = Randomness(KEY)
    assert {repr(rng), str(rng), f"{rng}", f"{rng!s:>5}"} == {"Randomness(...)"}


def test_a_stream_is_not_copied() -> None:
    rng = Randomness(KEY)
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with raises("random.copied"):
            attempt(rng)


def test_a_forked_child_cannot_repeat_its_parents_secret_words() -> None:
    rng = system()
    rng.bytes(16)
    child = os.fork()
    if child == 0:  # nothing of pytest may run in the child, so it reports by its exit code alone
        code = 1
        try:
            rng.bytes(16)
        except LocalFault:
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    rng.bytes(16)  # the parent goes on


@pytest.mark.parametrize("bound", [3, 10, 2**32 + 1, 2**63, 2**63 + 1, 2**64 - 1])
def test_below_keeps_exactly_a_whole_number_of_cycles(bound: int) -> None:
    kept = 2**64 - 2**64 % bound  # words under this are kept: every remainder then has the same number of words
    last = Scripted([kept - 1]).below(np.array([bound], dtype=np.uint64))
    assert last.tolist() == [bound - 1]
    if kept < 2**64:
        first_dropped = Scripted([kept], [5]).below(np.array([bound], dtype=np.uint64))
        assert first_dropped.tolist() == [5 % bound]


def test_below_is_uniform_for_mixed_bounds(rng: Randomness, uniform: Uniform) -> None:
    draws = rng.below(np.tile(np.array([6, 1], dtype=np.uint64), (30_000, 1)))
    assert not draws[:, 1].any()
    uniform(np.bincount(draws[:, 0].astype(np.int64), minlength=6).tolist(), "below(6)")


def test_below_is_uniform_where_half_of_all_words_are_drawn_again(rng: Randomness, uniform: Uniform) -> None:
    bound = 2**63 + 2**61  # a plain remainder would favour the lower 3/5 two to one
    draws = rng.below(np.full(30_000, bound, dtype=np.uint64))
    fifths = (draws // np.uint64(bound // 5)).astype(np.int64)
    uniform(np.bincount(fifths, minlength=5).tolist(), f"below({bound}) by fifths")


def test_nothing_is_below_zero(rng: Randomness) -> None:
    with raises("random.range"):
        rng.below(np.array([3, 0], dtype=np.uint64))
    with raises("random.range"):
        rng.integer_below(0)


@pytest.mark.parametrize("other", [42, np.random.default_rng(), "seed"])
def test_what_is_no_stream_of_ours_is_refused_wherever_one_is_given(other: Any) -> None:
    mechanism = GRR(domain=4, epsilon=2.0)
    for take in (given, lambda rng: mechanism.randomize(np.zeros(1, np.int64), rng)):
        with raises("input.randomness", type(other).__name__):
            take(other)
    with raises("input.randomness", type(other).__name__):
        run_collection([0, 1], mechanism=mechanism, rng=other)


def test_integers_below_a_bound_are_uniform(rng: Randomness, uniform: Uniform) -> None:
    bound = 5 << 100
    counts = Counter(rng.integer_below(bound) >> 100 for _ in range(20_000))
    uniform([counts[i] for i in range(5)], "integer_below(5·2^100) by its top")
    assert sum(counts.values()) == sum(counts[i] for i in range(5))
    assert rng.integer_below(1) == 0


def test_bits_has_the_width_asked_for(rng: Randomness, uniform: Uniform) -> None:
    draws = [rng.bits(11) for _ in range(40_000)]
    assert max(draws) < 2**11
    uniform(np.bincount(draws, minlength=2**11).tolist(), "bits(11)")


def test_permutations_of_four_are_uniform(rng: Randomness, uniform: Uniform) -> None:
    counts = Counter(tuple(rng.permutation(4).tolist()) for _ in range(24_000))
    uniform([counts[order] for order in permutations(range(4))], "permutation(4)")


def test_a_permutation_with_equal_keys_is_drawn_again() -> None:
    rng = Scripted([7, 3, 7], [9, 1, 4])
    assert rng.permutation(3).tolist() == [1, 2, 0]
    assert not rng.words


@pytest.mark.parametrize("count", [0, 1, 1000])
def test_a_permutation_has_every_index_once(rng: Randomness, count: int) -> None:
    assert sorted(rng.permutation(count).tolist()) == list(range(count))
