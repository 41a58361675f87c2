"""Logarithms to bases of order 2^64: all found, strangers told apart, tables built once."""

import gmpy2
import pytest
from gmpy2 import mpz

from peos.crypto.randomness import Randomness
from peos.crypto.schemes.pohlig_hellman import NONE, WordLogarithm, word_logarithm
from peos.crypto.schemes.structured_primes import subgroup_prime
from tests.raising import raises
from tests.unit.crypto.conftest import Streams

V = mpz(3)


@pytest.fixture(scope="module")
def prime(stream: Streams) -> mpz:
    """p with p − 1 = 2^64·3·f."""
    return subgroup_prime(160, V, stream("a prime for logarithms"))


@pytest.fixture(scope="module")
def base(prime: mpz) -> mpz:
    """An element of order 2^64."""
    x = mpz(2)
    while gmpy2.legendre(x, prime) != -1:
        x += 1
    return gmpy2.powmod(x, prime >> 64, prime)


def test_every_logarithm_is_found(prime: mpz, base: mpz, rng: Randomness) -> None:
    edges = [0, 1, 2**64 - 1, 2**63, 2**32, 2**32 - 1, 2**16, 2**48 - 1, 0xFFFF0000FFFF0000, 0x0000FFFF0000FFFF]
    wanted = edges + rng.uint64(500).tolist()
    elements = [gmpy2.powmod(base, m, prime) for m in wanted]
    assert word_logarithm(base, prime).of(elements) == wanted


def test_an_element_outside_the_group_has_none_and_costs_no_other(prime: mpz, base: mpz, rng: Randomness) -> None:
    logarithm = word_logarithm(base, prime)
    third = gmpy2.powmod(rng.bits(150), (prime - 1) // 3, prime)
    anyone = [gmpy2.powmod(rng.bits(150), 2**64, prime) for _ in range(50)]
    assert third != 1
    members = [gmpy2.powmod(base, m, prime) for m in range(60)]
    strangers = [third, third * members[5] % prime, mpz(0), *anyone]
    assert logarithm.of(strangers) == [NONE] * len(strangers)
    mixed = [*members[:30], *strangers, *members[30:]]
    assert logarithm.of(mixed) == [*range(30), *[NONE] * len(strangers), *range(30, 60)]


@pytest.mark.parametrize("power", [2, 2**63, 2**64])
def test_a_base_of_smaller_order_is_refused(prime: mpz, base: mpz, power: int) -> None:
    with raises("key.logarithm"):
        WordLogarithm(gmpy2.powmod(base, power, prime), prime)


def test_tables_are_kept_for_the_process_and_shown_to_nobody(prime: mpz, base: mpz) -> None:
    kept = word_logarithm(base, prime)
    assert word_logarithm(mpz(int(base)), mpz(int(prime))) is kept
    assert repr(kept) == "WordLogarithm(...)"
