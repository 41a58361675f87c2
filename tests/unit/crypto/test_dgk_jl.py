"""What DGK and Joye-Libert have in common: sums mod 2^64, zeros, rows that are let in or not, vectors of any length."""

from typing import Any

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpz
from hypothesis import given, settings
from hypothesis import strategies as st

from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes import fixed_base, packing
from peos.crypto.schemes.base import Packed, PublicKey
from peos.crypto.schemes.dgk import DGKPrivateKey
from peos.crypto.schemes.fixed_base import WORD_TABLE_PAYS_FROM, word_powers, word_table
from peos.crypto.schemes.units import random_units
from tests.keys import small_key
from tests.raising import raises
from tests.unit.crypto.conftest import Uniform

word = st.integers(0, 2**64 - 1)
replayed = settings(max_examples=40)
both = pytest.mark.parametrize("name", ["dgk", "jl"])


def encrypted(public: PublicKey, plain: U64, rng: Randomness) -> Packed:
    return public.encrypt(plain, public.zero_source(rng).zeros(len(plain)))


@both
@replayed
@given(pairs=st.lists(st.tuples(word, word), min_size=1, max_size=5), seed=st.binary(min_size=32, max_size=32))
def test_products_of_ciphertexts_are_sums_mod_2_64(name: str, pairs: list[tuple[int, int]], seed: bytes) -> None:
    rng, private = Randomness(seed), small_key(512, name)
    public = private.public
    one, other = (np.array(column, dtype=np.uint64) for column in zip(*pairs, strict=True))
    factors = zip(
        packing.integers(encrypted(public, one, rng)), packing.integers(encrypted(public, other, rng)), strict=True
    )
    product = packing.pack([a * b % public.modulus for a, b in factors], public.ciphertext_bytes)
    assert public.check(product).all()
    assert private.decrypt(product).tolist() == [(a + b) % 2**64 for a, b in pairs]


@both
@replayed
@given(plain=word, masks=st.lists(word, min_size=1, max_size=6), seed=st.binary(min_size=32, max_size=32))
def test_a_chain_of_passes_adds_its_masks_mod_2_64(name: str, plain: int, masks: list[int], seed: bytes) -> None:
    rng, private = Randomness(seed), small_key(512, name)
    source = private.public.zero_source(rng)
    row = encrypted(private.public, np.array([plain], dtype=np.uint64), rng)
    for hop, mask in enumerate(masks, start=1):
        given_masks = np.array([mask], dtype=np.uint64)
        row = private.public.remask(row, given_masks, source.zeros(1), hop=hop, rng=rng)
        assert private.public.check(row).all()
    assert private.decrypt(row).tolist() == [(plain + sum(masks)) % 2**64]


@both
def test_words_at_the_edges_of_every_window_decrypt(name: str, rng: Randomness) -> None:
    private = small_key(512, name)
    edges = {0, 2**64 - 1}
    for at in range(64):
        edges |= {1 << at, (1 << at) - 1, (2**64 - 1) ^ (1 << at)}
    plain = np.array(sorted(edges), dtype=np.uint64)
    assert private.decrypt(encrypted(private.public, plain, rng)).tolist() == sorted(edges)


@both
@pytest.mark.parametrize("expected", [1, 100, 20_000])
@pytest.mark.parametrize("statistical", [False, True])
def test_zeros_decrypt_to_zero_pass_the_check_and_never_come_twice(
    name: str, expected: int, statistical: bool, rng: Randomness
) -> None:
    private = small_key(512, name)
    sources = [private.public.zero_source(rng, expected=expected, statistical=statistical) for _ in range(2)]
    drawn = np.concatenate([source.zeros(60) for source in sources for _ in range(2)])
    assert private.public.check(drawn).all()
    assert private.decrypt(drawn).tolist() == [0] * 240
    assert len({bytes(row) for row in drawn}) == 240


@both
def test_a_marked_row_is_found_wherever_it_stands_and_costs_no_other(name: str, rng: Randomness) -> None:
    public = small_key(512, name).public
    good = encrypted(public, rng.uint64(130), rng)
    marks = (u for u in random_units(50, public.modulus, rng) if gmpy2.jacobi(u, public.modulus) == -1)
    for at in (0, 63, 64, 129):
        given_rows = good.copy()
        marked = packing.integers(good[at : at + 1])[0] * next(marks) % public.modulus
        given_rows[at] = packing.pack([marked], public.ciphertext_bytes)[0]
        assert public.check(given_rows).tolist() == (np.arange(130) != at).tolist()
    assert public.check(good[:0]).shape == (0,)


@both
def test_more_rows_than_a_block_are_worked_in_order(name: str, rng: Randomness) -> None:
    private, n = small_key(512, name), 2 * packing.BLOCK + 3
    public = private.public
    source = public.zero_source(rng, expected=2 * n)
    plain, masks = rng.uint64(n), rng.uint64(n)
    sent = public.encrypt(plain, source.zeros(n))
    passed = public.remask(sent, masks, source.zeros(n), hop=1, rng=rng)
    assert public.check(passed).all()
    assert private.decrypt(sent).tolist() == plain.tolist()
    assert private.decrypt(passed).tolist() == (plain + masks).tolist()
    assert private.decrypt(sent[:0]).shape == (0,)


@both
def test_vectors_of_the_wrong_shape_are_the_callers_fault(name: str, rng: Randomness) -> None:
    private = small_key(512, name)
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
        for use in (public.check, private.decrypt):
            with raises("key.rows"):
                use(packed)
        with raises("key.rows"):
            public.remask(packed, plain, zeros, hop=1, rng=rng)
        with raises("key.rows"):
            public.encrypt(plain, packed)


@both
def test_rows_that_were_never_checked_are_refused_and_not_decrypted_to_nonsense(name: str, rng: Randomness) -> None:
    private: Any = small_key(512, name)
    sent = encrypted(private.public, rng.uint64(3), rng)
    sent[1] = packing.pack([private.p * 12345], private.public.ciphertext_bytes)[0]
    with raises("key.not_ciphertexts"):
        private.decrypt(sent)


def test_only_rows_from_outside_the_groups_take_dgks_long_way(rng: Randomness, monkeypatch: pytest.MonkeyPatch) -> None:
    private = small_key(512, "dgk")
    asked: list[int] = []
    true = DGKPrivateKey._strangers

    def noted(self: DGKPrivateKey, powers: list[mpz]) -> list[int]:
        asked.append(len(powers))
        return true(self, powers)

    monkeypatch.setattr(DGKPrivateKey, "_strangers", noted)
    words = rng.uint64(50)
    sent = encrypted(private.public, words, rng)
    assert private.decrypt(sent).tolist() == words.tolist()
    assert sum(asked) == 0
    sent[[3, 17]] = packing.pack([mpz(4), mpz(9)], private.public.ciphertext_bytes)
    others = np.setdiff1d(np.arange(50), [3, 17])
    assert private.decrypt(sent)[others].tolist() == words[others].tolist()
    assert sum(asked) == 2


@both
def test_nothing_given_is_changed(name: str, rng: Randomness) -> None:
    private = small_key(512, name)
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


@pytest.mark.parametrize("count", [1, WORD_TABLE_PAYS_FROM - 1, WORD_TABLE_PAYS_FROM, 200])
def test_powers_of_a_fixed_base_are_pythons(count: int, rng: Randomness) -> None:
    modulus, base = mpz(2**127 - 1), mpz(0xABCDEF)
    words = rng.uint64(count)
    words[0] = 2**64 - 1
    assert word_powers(base, words, modulus) == [pow(0xABCDEF, w, 2**127 - 1) for w in words.tolist()]


def test_few_words_build_no_table_and_many_build_one_for_all_copies_of_a_key(
    monkeypatch: pytest.MonkeyPatch, rng: Randomness
) -> None:
    built: list[int] = []
    true = fixed_base.table

    def counted(base: mpz, width: int, count: int, modulus: mpz) -> Any:
        built.append(width)
        return true(base, width, count, modulus)

    monkeypatch.setattr(fixed_base, "table", counted)
    word_table.cache_clear()
    modulus = mpz(2**127 - 1)
    word_powers(mpz(3), rng.uint64(WORD_TABLE_PAYS_FROM - 1), modulus)
    assert built == []
    for _ in range(3):  # chunks, each with its own copy
        word_powers(mpz(3), rng.uint64(WORD_TABLE_PAYS_FROM), mpz(int(modulus)))
    assert built == [8]


def test_units_are_uniform_and_never_share_a_factor_with_the_modulus(rng: Randomness, uniform: Uniform) -> None:
    modulus = mpz(251 * 241)  # 16 bits: one draw in a hundred is no unit, one in thirteen is not below the modulus
    drawn = random_units(20_000, modulus, rng)
    assert len(drawn) == 20_000
    assert all(gmpy2.gcd(u, modulus) == 1 and 0 < u < modulus for u in drawn)
    for prime in (251, 241):
        uniform(np.bincount([int(u % prime) for u in drawn], minlength=prime)[1:].tolist(), f"units mod {prime}")
