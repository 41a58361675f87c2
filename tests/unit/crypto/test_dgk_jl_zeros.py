"""Zeros of DGK and Joye-Libert: what they are made of, when tables are built, and that a single report builds none."""

from typing import Any

import gmpy2
import numpy as np
import pytest

from peos.crypto.randomness import Randomness
from peos.crypto.schemes import dgk, dgk_zeros, fixed_base, joye_libert, packing, windows
from peos.crypto.schemes.base import PublicKey
from peos.crypto.schemes.dgk import DGKPublicKey
from peos.crypto.schemes.dgk_zeros import (
    TABLES_PAY_FROM,
    WIDE_TABLES_PAY_FROM,
    PowerZeros,
    WindowZeros,
    window_width,
)
from peos.crypto.schemes.joye_libert import JoyeLibert
from peos.crypto.schemes.units import random_units
from tests.keys import small_key
from tests.unit.crypto.conftest import Streams, Uniform


@pytest.fixture(scope="module")
def public() -> DGKPublicKey:
    """A key of DGK."""
    made = small_key(512, "dgk").public
    assert isinstance(made, DGKPublicKey)
    return made


@pytest.mark.parametrize("bits", [640, 768])
def test_a_power_zero_is_h_to_the_next_bits_of_the_stream(public: DGKPublicKey, bits: int, stream: Streams) -> None:
    drawn = PowerZeros(public.modulus, public.h, stream("powers"), bits=bits).zeros(5)
    replay = stream("powers")
    expected = [pow(int(public.h), replay.bits(bits), int(public.modulus)) for _ in range(5)]
    assert [int(z) for z in packing.integers(drawn)] == expected


@pytest.mark.parametrize(("bits", "width"), [(640, 8), (640, 12), (768, 8)])
def test_a_window_zero_is_h_to_the_exponent_that_its_digits_spell(
    public: DGKPublicKey, bits: int, width: int, stream: Streams
) -> None:
    supply = WindowZeros(public.modulus, public.h, stream("windows"), bits=bits, width=width)
    count = max(54, -(-bits // width))
    digits = windows.digits(count, width, 20, stream("windows")).astype(object)
    exponents = [sum(digit << (width * row) for row, digit in enumerate(digits[:, k].tolist())) for k in range(20)]
    assert max(exponents).bit_length() > bits - 8, "the exponents fill their width"
    expected = [pow(int(public.h), exponent, int(public.modulus)) for exponent in exponents]
    assert [int(z) for z in packing.integers(supply.zeros(20))] == expected


def test_tables_are_built_only_where_they_pay_and_their_exponents_have_640_bits(
    public: DGKPublicKey, rng: Randomness, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert window_width(1) == window_width(TABLES_PAY_FROM - 1) == 0
    assert window_width(TABLES_PAY_FROM) == window_width(WIDE_TABLES_PAY_FROM - 1) == 8
    assert window_width(WIDE_TABLES_PAY_FROM) == window_width(10**6) == 12
    built: list[tuple[int, int]] = []

    def noted(_base: Any, width: int, count: int, _modulus: Any) -> list[Any]:
        built.append((width, count))
        return []

    monkeypatch.setattr(dgk_zeros, "table", noted)
    for expected in (1, TABLES_PAY_FROM - 1):
        assert isinstance(public.zero_source(rng, expected=expected), PowerZeros)
        assert isinstance(public.zero_source(rng, expected=expected, statistical=True), PowerZeros)
    assert built == []
    for expected in (TABLES_PAY_FROM, WIDE_TABLES_PAY_FROM):
        assert isinstance(public.zero_source(rng, expected=expected), WindowZeros)
    assert built == [(8, 80), (12, 54)]
    assert all(width * count >= 640 for width, count in built)
    public.zero_source(rng, expected=10**6, statistical=True)
    assert built[-1] == (8, (512 + 256) // 8)


class Counted:
    """gmpy2 as a module sees it, counting exponentiations and their bits."""

    def __init__(self) -> None:
        self.bits: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(gmpy2, name)

    def powmod_exp_list(self, base: Any, exponents: list[Any], modulus: Any) -> Any:
        self.bits += [int(exponent).bit_length() for exponent in exponents]
        return gmpy2.powmod_exp_list(base, exponents, modulus)

    def powmod_base_list(self, bases: list[Any], exponent: Any, modulus: Any) -> Any:
        self.bits += [int(exponent).bit_length()] * len(bases)
        return gmpy2.powmod_base_list(bases, exponent, modulus)


@pytest.mark.parametrize(("name", "longest"), [("dgk", 640), ("jl", 65)])
def test_one_users_one_report_takes_two_exponentiations_and_builds_no_table(
    name: str, longest: int, rng: Randomness, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = Counted()
    for module in (dgk, dgk_zeros, fixed_base, joye_libert):
        if hasattr(module, "gmpy2"):
            monkeypatch.setattr(module, "gmpy2", counted)

    def none(*_: Any) -> Any:
        raise AssertionError("a table was built for one report")

    monkeypatch.setattr(fixed_base, "table", none)
    monkeypatch.setattr(dgk_zeros, "table", none)
    fixed_base.word_table.cache_clear()
    private = small_key(512, name)
    key: PublicKey = private.public
    plain = rng.uint64(1)
    sent = key.encrypt(plain, key.zero_source(rng).zeros(1))
    assert len(counted.bits) == 2
    assert max(counted.bits) <= longest, "the blinding's exponent"
    assert min(counted.bits) <= 64, "the word"
    monkeypatch.undo()
    assert private.decrypt(sent).tolist() == plain.tolist()


def test_joye_libert_zeros_are_the_powers_of_their_units(stream: Streams) -> None:
    key: Any = small_key(512, "jl").public
    n = int(key.modulus)
    expected = [pow(int(x), 2**64, n) for x in random_units(30, key.modulus, stream("units"))]
    for asked in ({}, {"expected": 10**6}, {"statistical": True}):
        drawn = key.zero_source(stream("units"), **asked).zeros(30)
        assert [int(z) for z in packing.integers(drawn)] == expected


def test_the_symbols_of_a_ciphertext_tell_the_lowest_bit_of_its_word_to_the_key_holder_and_nothing_else(
    rng: Randomness,
) -> None:
    """They say what a decryption says as well, and a mask changes them as it changes the word."""
    for name in ("dgk", "jl"):
        private: Any = small_key(512, name)
        plain = rng.uint64(300)
        sent = private.public.encrypt(plain, private.public.zero_source(rng, expected=300).zeros(300))
        for prime in (private.p, private.q):
            symbols = [gmpy2.legendre(c, prime) for c in packing.integers(sent)]
            assert symbols == [-1 if m % 2 else 1 for m in plain.tolist()]


def test_joye_libert_zeros_take_every_coset_of_the_seventh_powers_equally_often(
    stream: Streams, uniform: Uniform
) -> None:
    rng = stream("a key with 7 dividing q - 1")
    private = JoyeLibert().generate(rng, bits=512)
    while private.q % 7 != 1:
        private = JoyeLibert().generate(rng, bits=512)
    zeros = packing.integers(private.public.zero_source(rng).zeros(7_000))
    classes = [int(gmpy2.powmod(z, (private.q - 1) // 7, private.q)) for z in zeros]
    names = sorted(set(classes))
    assert len(names) == 7
    uniform([classes.count(name) for name in names], "cosets of the seventh powers mod q")


def test_dgk_zeros_lie_in_the_group_of_h_and_reach_every_part_of_it(stream: Streams, uniform: Uniform) -> None:
    """Of the logarithms of zeros, of 32 bits, nothing is tabled here; no lowest byte of a zero is preferred."""
    private: Any = small_key(256, "dgk")
    source = private.public.zero_source(stream("group"), expected=TABLES_PAY_FROM)
    zeros = packing.integers(source.zeros(20_000))
    for prime, v in ((private.p, private.v_p), (private.q, private.v_q)):
        assert all(gmpy2.powmod(z, v, prime) == 1 for z in zeros[:200])
        low = np.bincount([int(z % prime & 255) for z in zeros], minlength=256)
        uniform(low.tolist(), "lowest bytes of zeros modulo a prime")
