"""One shuffler's place in a sequential shuffle: what it leaves out, what it adds, what it refuses."""

import hashlib

import numpy as np
import pytest

from peos.crypto.kdf import Context, StreamKey
from peos.crypto.onion import Layer, OnionKeys, OnionPrivateKey
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.base import Packed
from peos.shuffle import merkle
from peos.shuffle.effects import CIPHERTEXTS, Peel, Split
from peos.shuffle.fakes import fake_shares, wrapping
from peos.shuffle.messages import Header, Kind, Step, VectorHeader
from peos.shuffle.relay import Line, Relay, peeled
from tests.raising import raises

CONTEXT = Context(b"c" * 32, b"f" * 32)
PRIVATE = [OnionPrivateKey.generate(Randomness(bytes([number]) * 32)) for number in range(1, 5)]
KEYS = OnionKeys(tuple(one.point for one in PRIVATE))
REPORTS = 20
FAKES = 7
SALT = StreamKey(b"\x05" * 32)


def line(*, least: int = 1) -> Line:
    return Line(KEYS, CONTEXT, report_bytes=8, frozen=REPORTS, fakes=FAKES, least=least)


def relay(number: int = 1, *, least: int = 1) -> Relay:
    """A shuffler with its fakes, and as the first one with nothing to shuffle yet."""
    found = Relay(number, line(least=least), PRIVATE[number - 1])
    seed = bytes([number]) * 32
    own = fake_shares(seed, CONTEXT, line().own_fakes(number), 1)
    found.lay_out(np.empty((0, KEYS.row_bytes(8, 1)), np.uint8), own, wrapping(seed, CONTEXT))
    return found


def onions(words: U64, rng: Randomness, *, first: int = 1) -> Packed:
    return KEYS.wrap(CONTEXT.collection, words.astype("<u8").view(np.uint8).reshape(-1, 8), rng, first=first)


def peel(number: int = 1) -> Peel:
    return Peel(number, CIPHERTEXTS, StreamKey(bytes([number]) * 32), SALT, f"1/pass/{number}")


def opened(rows: Packed, number: int) -> list[int]:
    """The words behind rows that come to shuffler `number`, the remaining layers removed by all in their turn."""
    for layer in range(number, 5):
        rows, lost = peeled(rows, Layer(PRIVATE[layer - 1], CONTEXT.collection, layer).under)
        assert not lost
    return sorted(rows.copy().view("<u8")[:, 0].tolist())


def test_a_pass_removes_a_layer_adds_the_fakes_and_loses_nothing(rng: Randomness) -> None:
    first = relay()
    words = rng.uint64((REPORTS, 1))
    first.vectors[CIPHERTEXTS] = onions(words, rng)
    root = first.work(peel())
    out = first.vectors["1/pass/1"]
    assert root == merkle.root(out, SALT)
    assert out.shape == (REPORTS + 3, KEYS.row_bytes(8, 2))  # 7 fakes of three shufflers: 3, 2, 2
    fakes = fake_shares(b"\x01" * 32, CONTEXT, 3, 1)
    assert opened(out, 2) == sorted([*words[:, 0].tolist(), *fakes[:, 0].tolist()])
    assert first.lost == 0


def test_rows_are_permuted_by_the_tasks_own_key(rng: Randomness) -> None:
    first = relay()
    first.vectors[CIPHERTEXTS] = onions(rng.uint64((REPORTS, 1)), rng)
    first.work(peel(1))
    first.work(peel(2))
    one, other = first.vectors["1/pass/1"], first.vectors["1/pass/2"]
    assert not np.array_equal(one, other)
    assert np.array_equal(one[np.lexsort(one.T)], other[np.lexsort(other.T)])


def test_the_fakes_are_the_same_bytes_in_every_attempt_and_after_a_restart(rng: Randomness) -> None:
    came = onions(rng.uint64((REPORTS, 1)), rng)

    def out() -> Packed:
        first = relay()
        first.vectors[CIPHERTEXTS] = came
        first.work(peel())
        return first.vectors["1/pass/1"]

    assert np.array_equal(out(), out())


def test_what_does_not_open_and_copies_are_left_out_and_counted(rng: Randomness) -> None:
    first = relay()
    words = np.arange(100, 110, dtype=np.uint64).reshape(-1, 1)
    good = onions(words, rng)
    spoilt = good[:3].copy()
    spoilt[:, 40] ^= 1
    for_another = KEYS.wrap(b"d" * 32, np.zeros((1, 8), np.uint8), rng)  # of another collection
    first.vectors[CIPHERTEXTS] = np.concatenate((good, spoilt, good[[4, 4, 7]], for_another))
    first.work(peel())
    assert first.lost == 3 + 3 + 1
    found = opened(first.vectors["1/pass/1"], 2)
    assert len(found) == 10 + 3
    assert set(words[:, 0].tolist()) <= set(found)


def test_with_fewer_reports_left_than_the_minimum_nothing_is_handed_on(rng: Randomness) -> None:
    first = relay(least=9)
    good = onions(rng.uint64((9, 1)), rng)
    first.vectors[CIPHERTEXTS] = good
    first.work(peel())
    first.vectors[CIPHERTEXTS] = good[:8]
    with raises("shuffle.too_few", "8", "20"):
        first.work(peel(2))
    assert "1/pass/2" not in first.vectors


def test_the_fakes_of_those_before_are_no_reports(rng: Randomness) -> None:
    """Shuffler 2 gets three fakes of shuffler 1: seven rows are four reports."""
    second = relay(2, least=5)
    second.vectors[CIPHERTEXTS] = onions(rng.uint64((7, 1)), rng, first=2)
    with raises("shuffle.too_few", "4"):
        second.work(peel(2))


def announced(rows: int, row_bytes: int, *, hash_: str = "rows", attempt: int = 1) -> VectorHeader:
    place = Header(Context(CONTEXT.collection, CONTEXT.frozen, attempt), Step(1, Kind.HANDOVER), 1, 2)
    return VectorHeader(place, rows, row_bytes, hashlib.sha256(hash_.encode()).digest())


def test_a_hand_over_is_named_once_and_a_different_one_refused() -> None:
    second, width = relay(2), KEYS.row_bytes(8, 2)
    header = announced(REPORTS + 3, width)
    handle = second.expect(header)
    assert handle is not None
    second.take_in(handle, header, np.zeros((REPORTS + 3, width), np.uint8))
    assert second.expect(header) is None
    with raises("shuffle.two_vectors", "shuffler 1, round 1, handover"):
        second.expect(announced(REPORTS, width, hash_="others"))
    second.discard(1)
    assert handle not in second.vectors
    assert second.expect(announced(REPORTS, width, hash_="others", attempt=2)) is not None


@pytest.mark.parametrize(("more", "wider"), [(1, 0), (0, 1), (0, -1), (10**6, 0)])
def test_more_rows_than_there_are_reports_and_fakes_or_longer_ones_are_refused(more: int, wider: int) -> None:
    second = relay(2)
    with raises("shuffle.onions"):
        second.expect(announced(REPORTS + 3 + more, KEYS.row_bytes(8, 2) + wider))


def test_tasks_of_the_other_shuffle_are_not_worked() -> None:
    with raises("shuffle.no_step"):
        relay().work(Split(1, "shares", (), "1/part/1"))
