"""Π c_i^{s_i} for many bases and short exponents, at a few multiplications a base (Pippenger 1976; in buckets).

The exponents are cut into digits. For each place the bases are thrown into buckets by their digit, and Π_d bucket_d^d
is two products of suffixes: run over the digits from the top, multiply what has been met into one product, and that
product into another. Digits and buckets show in time and in memory; the exponents need not be secret from a machine
that has the bases.
"""

from collections.abc import Sequence

import gmpy2
from gmpy2 import mpz


def digit_bits(count: int, exponent_bits: int) -> int:
    """The width of digits that takes fewest multiplications: for each place, one a base and two a bucket."""
    return min(range(2, 11), key=lambda width: -(-exponent_bits // width) * (count + (2 << width)))


def multi_power(bases: Sequence[mpz], exponents: Sequence[int], exponent_bits: int, modulus: mpz) -> mpz:
    """Π bases_i^exponents_i mod modulus, exponents in [0, 2^exponent_bits)."""
    width = digit_bits(len(bases), exponent_bits)
    result = mpz(1)
    for shift in reversed(range(0, exponent_bits, width)):
        result = gmpy2.powmod(result, 1 << width, modulus)
        result = result * _place(bases, exponents, shift, width, modulus) % modulus
    return result


def _place(bases: Sequence[mpz], exponents: Sequence[int], shift: int, width: int, modulus: mpz) -> mpz:
    mask = (1 << width) - 1
    buckets: list[mpz | None] = [None] * (1 << width)
    for base, exponent in zip(bases, exponents, strict=True):
        digit = exponent >> shift & mask
        held = buckets[digit]
        buckets[digit] = base if held is None else held * base % modulus
    met = product = mpz(1)
    for held in reversed(buckets[1:]):
        if held is not None:
            met = met * held % modulus
        product = product * met % modulus
    return product
