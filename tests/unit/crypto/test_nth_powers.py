"""N-th powers mod N² by the square's own arithmetic are the powers that Python's `pow` finds."""

import pytest
from gmpy2 import mpz
from hypothesis import given
from hypothesis import strategies as st

from peos.crypto.randomness import Randomness
from peos.crypto.schemes.nth_powers import _power, nth_powers


@given(n=st.integers(2, 2**200), x=st.integers(0, 2**200))
def test_the_power_is_pows_for_moduli_of_every_length(n: int, x: int) -> None:
    assert _power(mpz(x % n), mpz(n)) == pow(x % n, n, n * n)


@pytest.mark.parametrize("bits", [512, 2048, 3072])
def test_on_both_sides_of_the_threshold_the_powers_are_the_same(bits: int, rng: Randomness) -> None:
    n = 1 << (bits - 1) | rng.bits(bits - 1) | 1
    units = [0, 1, n - 1, rng.integer_below(n)]
    assert nth_powers([mpz(x) for x in units], mpz(n)) == [pow(x, n, n * n) for x in units]
