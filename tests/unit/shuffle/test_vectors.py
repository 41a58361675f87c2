"""The arithmetic behind the effects, roots, fakes, and the analyzer's end."""

import hashlib

import numpy as np
import pytest

from peos.crypto.kdf import Context, StreamKey
from peos.crypto.randomness import Randomness
from peos.shuffle import merkle
from peos.shuffle.combine import FinalVector, combine, without_dummies
from peos.shuffle.effects import Mix, Pass, Split
from peos.shuffle.fakes import fake_shares
from peos.shuffle.schedule import Schedule
from peos.shuffle.vectors import Workbench, as_rows, as_words, composed
from tests.keys import small_key
from tests.raising import raises

FROZEN = Context(b"c" * 32, b"f" * 32)
ROWS, WORDS = 20, 2
KEY = small_key()


def key(number: int) -> StreamKey:
    return StreamKey(bytes([number]) * 32)


@pytest.fixture
def bench(rng: Randomness) -> Workbench:
    bench = Workbench(ROWS, WORDS, KEY.public, rng)
    bench.vectors["a"] = rng.uint64((ROWS, WORDS))
    bench.vectors["b"] = rng.uint64((ROWS, WORDS))
    return bench


def test_a_split_leaves_the_remainder(bench: Workbench) -> None:
    before = bench.plain("a").copy()
    assert bench.work(Split(1, "a", (key(1), key(2)), "rest")) == b""
    streams = key(1).stream().uint64((ROWS, WORDS)) + key(2).stream().uint64((ROWS, WORDS))
    assert np.array_equal(bench.plain("rest") + streams, before)
    assert np.array_equal(bench.plain("a"), before)


def test_a_mix_adds_permutes_and_then_masks(bench: Workbench) -> None:
    bench.work(Mix(1, "a", ("b",), (key(1),), key(2), (key(3),), (key(4),), key(5), "out"))
    shape = (ROWS, WORDS)
    taken = bench.plain("a") + bench.plain("b") + key(1).stream().uint64(shape)
    moved = taken[key(2).stream().permutation(ROWS)]
    expected = moved + key(3).stream().uint64(shape) - key(4).stream().uint64(shape)
    assert np.array_equal(bench.plain("out"), expected)


def test_masks_of_all_hiders_cancel(rng: Randomness) -> None:
    zero = Workbench(ROWS, WORDS, KEY.public, rng)
    total = np.zeros((ROWS, WORDS), np.uint64)
    for plus, minus in (((key(1), key(2)), ()), ((key(3),), (key(1),)), ((), (key(2), key(3)))):
        zero.work(Mix(1, None, (), (), key(9), plus, minus, key(8), "out"))
        total += zero.plain("out")
    assert not total.any()


def test_a_pass_permutes_adds_and_keeps_rows_together(bench: Workbench, rng: Randomness) -> None:
    plain = rng.uint64((ROWS, WORDS))
    zeros = bench.zeros.zeros(ROWS * WORDS)
    bench.vectors["c"] = KEY.public.encrypt(plain.reshape(-1), zeros).reshape(ROWS, -1)
    root = bench.work(Pass(1, "c", (key(1), key(2)), "a", 1, key(5), "out"))
    out = bench.ciphertexts("out")
    decrypted = KEY.decrypt(out.reshape(ROWS * WORDS, -1)).reshape(ROWS, WORDS)
    assert np.array_equal(decrypted, plain[composed((key(1), key(2)), ROWS)] + bench.plain("a"))
    assert root == merkle.root(out, key(5))
    before = {row.tobytes() for row in bench.ciphertexts("c")}
    assert not any(row.tobytes() in before for row in out)


def test_permutations_compose_in_their_order() -> None:
    first, second = key(1).stream().permutation(ROWS), key(2).stream().permutation(ROWS)
    rows = np.arange(ROWS)
    assert np.array_equal(rows[composed((key(1), key(2)), ROWS)], rows[first][second])


def test_rows_and_words_are_the_same_bytes(rng: Randomness) -> None:
    vector = rng.uint64((ROWS, WORDS))
    assert as_rows(vector).tobytes() == b"".join(int(word).to_bytes(8, "little") for word in vector.reshape(-1))
    assert np.array_equal(as_words(as_rows(vector)), vector)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 8, 9])
def test_a_root_is_the_tree_that_protocol_md_draws(count: int, rng: Randomness) -> None:
    rows = as_rows(rng.uint64((count, WORDS))) if count else np.empty((0, 16), np.uint8)
    salts = key(1).stream().bytes(16 * count)
    level = [hashlib.sha256(b"\0" + salts[16 * i : 16 * i + 16] + row.tobytes()).digest() for i, row in enumerate(rows)]
    while len(level) > 1:
        pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
        level = [hashlib.sha256(b"\1" + b"".join(pair)).digest() if len(pair) == 2 else pair[0] for pair in pairs]
    assert merkle.root(rows, key(1)) == (level[0] if level else hashlib.sha256(b"\1").digest())


def test_a_root_depends_on_every_row_and_hides_them_by_salts(rng: Randomness) -> None:
    rows = as_rows(rng.uint64((9, 1)))
    roots = {merkle.root(rows, key(1)), merkle.root(rows, key(2))}
    for changed in range(9):
        other = rows.copy()
        other[changed, 0] ^= 1
        roots.add(merkle.root(other, key(1)))
    assert len(roots) == 11


def test_fakes_are_the_same_in_every_attempt_and_different_for_everything_else() -> None:
    seed = b"s" * 32
    shares = fake_shares(seed, FROZEN, 10, WORDS)
    assert np.array_equal(shares, fake_shares(seed, Context(b"c" * 32, b"f" * 32, 7), 10, WORDS))
    for other in (
        fake_shares(b"t" * 32, FROZEN, 10, WORDS),
        fake_shares(seed, Context(b"c" * 32, b"g" * 32), 10, WORDS),
    ):
        assert not np.any(shares == other)


def parts(rng: Randomness, words: np.ndarray[tuple[int, ...], np.dtype[np.uint64]]) -> dict[int, FinalVector]:
    mask = rng.uint64(words.shape)
    zeros = KEY.public.zero_source(rng).zeros(words.size)
    encrypted = KEY.public.encrypt((words - mask).reshape(-1), zeros).reshape(len(words), -1)
    context = Context(b"c" * 32, b"f" * 32, 1)
    return {2: FinalVector(context, b"t" * 32, encrypted), 3: FinalVector(context, b"t" * 32, mask)}


def test_the_analyzer_combines_parts_of_one_shuffle(rng: Randomness) -> None:
    words = rng.uint64((ROWS, WORDS))
    assert np.array_equal(combine(Schedule(3), parts(rng, words), KEY, rng), words)


def test_the_analyzer_refuses_parts_of_two_shuffles(rng: Randomness) -> None:
    delivered = parts(rng, rng.uint64((4, 1)))
    for context, transcript in (
        (Context(b"c" * 32, b"f" * 32, 2), b"t" * 32),
        (Context(b"c" * 32, b"g" * 32, 1), b"t" * 32),
        (Context(b"d" * 32, b"f" * 32, 1), b"t" * 32),
        (Context(b"c" * 32, b"f" * 32, 1), b"u" * 32),
    ):
        other = {**delivered, 3: FinalVector(context, transcript, delivered[3].vector)}
        with raises("delivery.other_shuffle", "shuffler 3, delivery"):
            combine(Schedule(3), other, KEY, rng)


def test_the_analyzer_says_who_has_not_delivered_or_delivered_another_shape(rng: Randomness) -> None:
    delivered = parts(rng, rng.uint64((4, 1)))
    with raises("delivery.missing", "shuffler 3, delivery"):
        combine(Schedule(3), {2: delivered[2]}, KEY, rng)
    short = FinalVector(delivered[3].context, delivered[3].transcript, delivered[3].vector[:3])
    with raises("delivery.vector_shape"):
        combine(Schedule(3), {2: delivered[2], 3: short}, KEY, rng)


def test_dummies_are_taken_out_once_each(rng: Randomness) -> None:
    reports, dummies = rng.uint64((50, WORDS)), rng.uint64((5, WORDS))
    dummies[4] = dummies[3]  # two dummies that happen to be equal
    everything = np.concatenate((reports, dummies, dummies[:1]))[rng.permutation(56)]
    left = without_dummies(everything, dummies)
    assert sorted(map(tuple, left.tolist())) == sorted(map(tuple, np.concatenate((reports, dummies[:1])).tolist()))


def test_a_dummy_that_did_not_come_out_stops_everything(rng: Randomness) -> None:
    reports, dummies = rng.uint64((50, WORDS)), rng.uint64((5, WORDS))
    damaged = dummies.copy()
    damaged[2, 1] ^= np.uint64(1)
    with raises("result.dummies_lost", "1", "5"):
        without_dummies(np.concatenate((reports, damaged)), dummies)
