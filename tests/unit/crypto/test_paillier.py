"""Paillier on vectors: sums mod 2^64, passes that bury what was before, and rows that are let in or not."""

import math
from typing import Any

import numpy as np
import pytest
from gmpy2 import mpz
from hypothesis import given, settings
from hypothesis import strategies as st

from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes import packing
from peos.crypto.schemes.base import Packed
from peos.crypto.schemes.paillier import Paillier, PaillierPrivateKey, PaillierPublicKey, rho_bits
from tests.full import full
from tests.raising import raises
from tests.unit.crypto.conftest import Streams, Uniform

word = st.integers(0, 2**64 - 1)
replayed = settings(max_examples=40)


def encrypted(public: PaillierPublicKey, plain: U64, rng: Randomness) -> Packed:
    return public.encrypt(plain, public.zero_source(rng).zeros(len(plain)))


def multiplied(public: PaillierPublicKey, one: Packed, other: Packed) -> Packed:
    """The textbook's homomorphism, by a third party that has the public key only."""
    pairs = zip(packing.integers(one), packing.integers(other), strict=True)
    return packing.pack([a * b % public.square for a, b in pairs], public.ciphertext_bytes)


@replayed
@given(pairs=st.lists(st.tuples(word, word), min_size=1, max_size=5), key=st.binary(min_size=32, max_size=32))
def test_products_of_ciphertexts_are_sums_mod_2_64(
    pairs: list[tuple[int, int]], key: bytes, private: PaillierPrivateKey
) -> None:
    rng, public = Randomness(key), private.public
    one, other = (np.array(column, dtype=np.uint64) for column in zip(*pairs, strict=True))
    product = multiplied(public, encrypted(public, one, rng), encrypted(public, other, rng))
    assert private.decrypt(product).tolist() == [(a + b) % 2**64 for a, b in pairs]
    assert private.decrypt_integers(product) == [a + b for a, b in pairs]


@replayed
@given(plain=word, masks=st.lists(word, min_size=1, max_size=4), key=st.binary(min_size=32, max_size=32))
def test_a_chain_of_passes_adds_its_masks_and_stays_under_the_bound(
    plain: int, masks: list[int], key: bytes, private: PaillierPrivateKey
) -> None:
    rng, public = Randomness(key), private.public
    source = public.zero_source(rng)
    row = encrypted(public, np.array([plain], dtype=np.uint64), rng)
    total = plain
    for hop, mask in enumerate(masks, start=1):
        row = public.remask(row, np.array([mask], dtype=np.uint64), source.zeros(1), hop=hop, rng=rng)
        total += mask
        (whole,) = private.decrypt_integers(row)
        bound = 2**64 * (sum(2 ** (64 * k + 8) for k in range(1, hop + 1)) + hop + 1)
        assert whole % 2**64 == total % 2**64
        assert whole < bound <= 2 ** (64 * hop + 73)
    assert private.decrypt(row).tolist() == [total % 2**64]


@pytest.mark.parametrize("hop", [1, full(2), full(3)])
def test_rho_is_uniform_over_its_stated_width(
    hop: int, private: PaillierPrivateKey, rng: Randomness, uniform: Uniform
) -> None:
    public, n = private.public, 5_000
    assert rho_bits(hop) == 64 * hop + 8
    source = public.zero_source(rng, expected=2 * n)
    zeros = np.zeros(n, dtype=np.uint64)
    sent = public.remask(source.zeros(n), zeros, source.zeros(n), hop=hop, rng=rng)
    wholes = private.decrypt_integers(sent)
    assert all(whole % 2**64 == 0 for whole in wholes)
    rhos = [whole >> 64 for whole in wholes]
    assert max(rhos) < 2 ** rho_bits(hop)
    assert len(set(rhos)) == n
    top = np.bincount([rho >> (rho_bits(hop) - 8) for rho in rhos], minlength=256)
    uniform(top.tolist(), f"highest byte of ρ at pass {hop}")
    low = np.bincount([rho & 255 for rho in rhos], minlength=256)
    uniform(low.tolist(), f"lowest byte of ρ at pass {hop}")


def test_after_a_pass_the_size_of_a_plaintext_no_longer_tells_how_often_it_was_touched(
    private: PaillierPrivateKey, rng: Randomness, uniform: Uniform
) -> None:
    public, n = private.public, 3_000
    source = public.zero_source(rng, expected=5 * n)
    fresh = public.encrypt(rng.uint64(n), source.zeros(n))
    touched = public.remask(
        public.encrypt(rng.uint64(n), source.zeros(n)), rng.uint64(n), source.zeros(n), hop=1, rng=rng
    )
    before = private.decrypt_integers(fresh), private.decrypt_integers(touched)
    assert max(before[0]) < 2**64 < sorted(before[1])[n // 100], "before the pass, sizes tell them apart"
    for name, given_rows in (("fresh", fresh), ("touched", touched)):
        passed = public.remask(given_rows, rng.uint64(n), source.zeros(n), hop=2, rng=rng)
        tops = [whole >> (64 + rho_bits(2) - 6) for whole in private.decrypt_integers(passed)]
        uniform(np.bincount(tops, minlength=64).tolist(), f"top six bits after pass 2 of {name} rows")


def test_the_last_pass_with_room_works_and_the_next_is_refused(stream: Streams) -> None:
    for bits in (256, 512, 768):
        private = Paillier().generate(stream(f"room {bits}"), bits=bits)
        public = private.public
        last = public.most_hops
        assert 64 * last + 128 <= bits < 64 * (last + 1) + 128
        assert math.log2(2 ** (64 * last + 73)) <= bits - 55
        rng = stream(f"passes {bits}")
        source = public.zero_source(rng)
        top = np.array([2**64 - 1], dtype=np.uint64)
        row, total = public.encrypt(top, source.zeros(1)), 2**64 - 1
        for hop in range(1, last + 1):
            row = public.remask(row, top, source.zeros(1), hop=hop, rng=rng)
            total += 2**64 - 1
        assert private.decrypt(row).tolist() == [total % 2**64]
        for hop in (0, -1, last + 1):
            with raises("key.passes", f"{last}"):
                public.remask(row, top, source.zeros(1), hop=hop, rng=rng)
    assert PaillierPublicKey(mpz(1) << 3071).most_hops == 46


def test_a_plaintext_of_any_size_is_reduced_mod_n_and_then_mod_2_64(
    private: PaillierPrivateKey, rng: Randomness
) -> None:
    public = private.public
    n, p, q = int(public.modulus), int(private.p), int(private.q)
    wholes = [p - 1, p, p + 1, q, n - 1, n // 2, 2**64, rng.integer_below(n)]
    zeros = packing.integers(public.zero_source(rng).zeros(len(wholes)))
    packed = packing.pack(
        [(1 + m * public.modulus) * z % public.square for m, z in zip(wholes, zeros, strict=True)], 128
    )
    assert private.decrypt_integers(packed) == wholes
    assert private.decrypt(packed).tolist() == [m % 2**64 for m in wholes]


def test_one_bad_row_is_found_wherever_it_stands_and_costs_no_other(
    private: PaillierPrivateKey, rng: Randomness
) -> None:
    public = private.public
    good = encrypted(public, rng.uint64(130), rng)
    bad = packing.pack([private.p * 12345], public.ciphertext_bytes)[0]
    for at in (0, 63, 64, 100, 129):
        given_rows = good.copy()
        given_rows[at] = bad
        expected = np.arange(130) != at
        assert public.check(given_rows).tolist() == expected.tolist()
    assert public.check(good[:0]).shape == (0,)


def test_more_rows_than_a_block_are_worked_in_order(private: PaillierPrivateKey, rng: Randomness) -> None:
    public, n = private.public, 2 * packing.BLOCK + 3
    source = public.zero_source(rng, expected=2 * n)
    plain, masks = rng.uint64(n), rng.uint64(n)
    sent = public.encrypt(plain, source.zeros(n))
    passed = public.remask(sent, masks, source.zeros(n), hop=1, rng=rng)
    assert public.check(passed).all()
    assert private.decrypt(sent).tolist() == plain.tolist()
    assert private.decrypt(passed).tolist() == (plain + masks).tolist()


def test_vectors_of_the_wrong_shape_are_the_callers_fault(private: PaillierPrivateKey, rng: Randomness) -> None:
    public = private.public
    zeros, plain = public.zero_source(rng).zeros(2), rng.uint64(2)
    bad_words: list[Any] = [rng.uint64(3), rng.uint64((2, 1)), plain.astype(np.int64)]
    bad_rows: list[Any] = [zeros[:, :-1], zeros.reshape(-1), zeros.astype(np.uint16)]
    for words, id_ in zip(bad_words, ("key.rows_count", "key.plaintexts", "key.plaintexts"), strict=True):
        with raises(id_):
            public.encrypt(words, zeros)
        with raises(id_):
            public.remask(zeros, words, zeros, hop=1, rng=rng)
    for packed in bad_rows:
        for use in (public.check, private.decrypt, private.decrypt_integers):
            with raises("key.rows"):
                use(packed)
        with raises("key.rows"):
            public.remask(packed, plain, zeros, hop=1, rng=rng)
        with raises("key.rows"):
            public.encrypt(plain, packed)


def test_nothing_given_is_changed(private: PaillierPrivateKey, rng: Randomness) -> None:
    public = private.public
    plain, zeros = rng.uint64(3), public.zero_source(rng).zeros(3)
    kept = plain.copy(), zeros.copy()
    sent = public.encrypt(plain, zeros)
    for array in (plain, zeros, sent):
        array.setflags(write=False)  # as a memory-mapped file opened for reading is
    public.remask(sent, plain, zeros, hop=1, rng=rng)
    public.check(sent)
    private.decrypt(sent)
    assert np.array_equal(plain, kept[0])
    assert np.array_equal(zeros, kept[1])
