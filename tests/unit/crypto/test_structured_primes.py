"""Primes of the forms that the schemes ask for, and none left out or preferred by the sieve."""

import numpy as np
import pytest
from gmpy2 import bit_scan1, is_prime, mpz

from peos.crypto.schemes import structured_primes
from peos.crypto.schemes.structured_primes import _unsieved, blum_prime, subgroup_prime, word_prime
from tests.unit.crypto.conftest import Streams, Uniform


@pytest.mark.parametrize("bits", [128, 256, 384])
def test_primes_have_their_form_and_two_top_bits(bits: int, stream: Streams) -> None:
    rng = stream(f"forms {bits}")
    v = mpz(0xFFFFFFFB)
    for _ in range(5):
        p, q, r = word_prime(bits, rng), blum_prime(bits, rng), subgroup_prime(bits, v, rng)
        for prime in (p, q, r):
            assert is_prime(prime)
            assert prime >> (bits - 2) == 3
        assert bit_scan1(p - 1) == bit_scan1(r - 1) == 64
        assert is_prime(p >> 64)
        assert q % 4 == 3
        assert (r - 1) % v == 0
        assert (r - 1) // v % v != 0


def test_the_sieve_leaves_what_trial_division_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structured_primes, "WINDOW", 3_000)
    start = mpz(2) ** 90 + 12345
    small = [s for s, _, _ in structured_primes.small_primes() if s < 5_000]
    assert small[:5] == [3, 5, 7, 11, 13]
    assert all(is_prime(s) for s in small)
    monkeypatch.setattr(structured_primes, "small_primes", lambda: [(s, (s + 1) // 2, pow(2, -64, s)) for s in small])
    expected = [
        i for i in range(3_000) if all((start + 2 * i) % s and ((start + 2 * i) * 2**64 + 1) % s for s in small)
    ]
    assert list(_unsieved(start)) == expected


def test_primes_spread_evenly_over_their_range(
    stream: Streams, uniform: Uniform, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = stream("spread")
    small = structured_primes.small_primes()[:200]
    monkeypatch.setattr(structured_primes, "WINDOW", 2_048)
    monkeypatch.setattr(structured_primes, "small_primes", lambda: small)  # a shorter sieve for shorter primes
    tops = [int(word_prime(128, rng) >> 122) - 48 for _ in range(640)]
    uniform(np.bincount(tops, minlength=16).tolist(), "six top bits of primes 2^64·p' + 1")
