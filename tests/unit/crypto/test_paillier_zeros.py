"""Zeros of Paillier: encryptions of zero, never twice the same, in every coset."""

from itertools import product

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpz

from peos.crypto.randomness import Randomness
from peos.crypto.schemes import packing, windows
from peos.crypto.schemes.base import ZeroSource
from peos.crypto.schemes.moduli import random_unit
from peos.crypto.schemes.paillier import Paillier, PaillierPrivateKey, PaillierPublicKey
from peos.crypto.schemes.paillier_zeros import (
    WIDE_TABLES_PAY_FROM,
    PowerZeros,
    WindowZeros,
    tables_pay_from,
    window_width,
)
from tests.unit.crypto.conftest import Streams, Uniform


class Noted(WindowZeros):
    """Notes its bases, so that its products can be worked out again."""

    noted: list[mpz]

    def _bases(self, count: int) -> list[mpz]:
        self.noted = super()._bases(count)
        return self.noted


class Squared(WindowZeros):
    """Ordinary fixed-base tables: h = (x²)^N, and row j begins at h^(2^(width·j))."""

    def _bases(self, count: int) -> list[mpz]:
        x = random_unit(self._n, self._rng)
        h = gmpy2.powmod(x * x, self._n, self._square)
        return [gmpy2.powmod(h, mpz(1) << (self.width * row), self._square) for row in range(count)]


def sources(public: PaillierPublicKey, rng: Randomness) -> dict[str, ZeroSource]:
    return {
        "powers": PowerZeros(public.modulus, rng),
        "windows": WindowZeros(public.modulus, rng, width=8),
    }


@pytest.mark.parametrize("kind", ["powers", "windows"])
def test_zeros_decrypt_to_zero_and_pass_the_check(kind: str, private: PaillierPrivateKey, rng: Randomness) -> None:
    zeros = sources(private.public, rng)[kind].zeros(50)
    assert private.public.check(zeros).all()
    assert private.decrypt_integers(zeros) == [0] * 50


@pytest.mark.parametrize("kind", ["powers", "windows"])
def test_no_zero_comes_twice(kind: str, public: PaillierPublicKey, stream: Streams) -> None:
    one = sources(public, stream("one supply"))[kind]
    other = sources(public, stream("another supply"))[kind]
    drawn = [bytes(row) for supply in (one, other) for _ in range(2) for row in supply.zeros(600)]
    assert len(set(drawn)) == 2400


def test_a_window_zero_is_the_product_that_its_digits_name(public: PaillierPublicKey, stream: Streams) -> None:
    supply, width, count = Noted(public.modulus, stream("noted"), width=8), 8, 20
    replay = stream("noted")
    for _ in supply.noted:
        random_unit(public.modulus, replay)
    exponents = windows.digits(len(supply.noted), width, count, replay).astype(object)
    expected = []
    for k in range(count):
        z = 1
        for base, exponent in zip(supply.noted, exponents[:, k], strict=True):
            z = z * pow(int(base), int(exponent), int(public.square)) % int(public.square)
        expected.append(z)
    assert [int(z) for z in packing.integers(supply.zeros(count))] == expected


@pytest.mark.parametrize("width", [8, 10, 12, 14, 16])
def test_tables_have_54_rows_and_640_bits_at_least(width: int) -> None:
    count = windows.rows_for(width)
    assert count >= 54
    assert count * width >= 640
    assert (count - 1) * width < 640 or count == 54


def test_every_row_has_a_base_of_its_own(public: PaillierPublicKey, rng: Randomness) -> None:
    supply = Noted(public.modulus, rng, width=8)
    assert len(set(supply.noted)) == windows.rows_for(8)
    squares = {gmpy2.powmod(base, 2**8, public.square) for base in supply.noted}
    assert not squares & set(supply.noted), "a row is another one squared up"


@pytest.mark.parametrize("width", [8, 12])
def test_digits_are_uniform_over_the_window(width: int, rng: Randomness, uniform: Uniform) -> None:
    drawn = windows.digits(54, width, 1500, rng)
    assert int(drawn.max()) < 2**width
    uniform(np.bincount(drawn.reshape(-1), minlength=2**width).tolist(), f"digits of {width} bits")


def test_tables_are_built_only_where_they_pay(public: PaillierPublicKey, rng: Randomness) -> None:
    assert tables_pay_from(3072) == 95, "as measured; later under shorter keys, whose powers cost little"
    for bits in (512, 3072):
        least = tables_pay_from(bits)
        assert window_width(1, bits) == window_width(least - 1, bits) == 0
        assert window_width(least, bits) == window_width(WIDE_TABLES_PAY_FROM - 1, bits) == 10
        assert window_width(WIDE_TABLES_PAY_FROM, bits) == window_width(10**6, bits) == 12
    least = tables_pay_from(public.modulus.bit_length())
    assert isinstance(public.zero_source(rng), PowerZeros)
    assert isinstance(public.zero_source(rng, expected=least - 1), PowerZeros)
    assert isinstance(public.zero_source(rng, expected=least), WindowZeros)
    assert isinstance(public.zero_source(rng, expected=10**9, statistical=True), PowerZeros)


def symbols(supply: ZeroSource, private: PaillierPrivateKey, n: int) -> list[int]:
    """How often each pair of Legendre symbols mod p and mod q occurs."""
    seen = [(gmpy2.legendre(z, private.p), gmpy2.legendre(z, private.q)) for z in packing.integers(supply.zeros(n))]
    return [seen.count(pair) for pair in product((1, -1), (1, -1))]


@pytest.mark.parametrize("kind", ["powers", "windows"])
def test_zeros_take_every_pair_of_legendre_symbols_equally_often(
    kind: str, private: PaillierPrivateKey, rng: Randomness, uniform: Uniform
) -> None:
    uniform(symbols(sources(private.public, rng)[kind], private, 4_000), f"Legendre symbols of zeros by {kind}")


def test_with_a_single_squared_base_every_zero_keeps_the_symbols(private: PaillierPrivateKey, rng: Randomness) -> None:
    supply = Squared(private.public.modulus, rng, width=8)
    assert private.decrypt_integers(supply.zeros(5)) == [0] * 5, "its zeros are zeros, which is why it goes unnoticed"
    assert symbols(supply, private, 200) == [200, 0, 0, 0]


def test_zeros_take_every_coset_of_the_cubes_equally_often(stream: Streams, uniform: Uniform) -> None:
    rng = stream("a key with 3 dividing p - 1")
    private = Paillier().generate(rng, bits=512)
    while private.p % 3 != 1:
        private = Paillier().generate(rng, bits=512)
    drawn = packing.integers(WindowZeros(private.public.modulus, rng, width=8).zeros(3_000))
    third = (private.p - 1) // 3
    classes = [int(gmpy2.powmod(z, third, private.p)) for z in drawn]
    names = sorted(set(classes))
    assert len(names) == 3
    uniform([classes.count(name) for name in names], "cosets of the cubes mod p")
