"""Discrete logarithms to a base of order 2^64 modulo a prime (Pohlig and Hellman 1978), for whole vectors.

An element's logarithm is found half by half: its 2^32-th power tells the low 32 bits, which are divided out, and what
is left tells the high ones; likewise for those halves, down to 16 bits, which are looked up. Each level is one call
that raises the whole vector to one power, 64 squarings a row in all, and that call releases the interpreter's lock.
"""

from functools import lru_cache
from typing import Final

import gmpy2
from gmpy2 import mpz

from peos.crypto.schemes import windows
from peos.crypto.schemes.fixed_base import table
from peos.errors import LocalFault

WORD: Final = 64
LEAF: Final = 16
NONE: Final = -1  # in place of a logarithm: the element is no power of the base


class WordLogarithm:
    """Tables for one base: 65,536 elements to look up, and the base's inverse powers by bytes; about 22 MB."""

    def __init__(self, base: mpz, prime: mpz) -> None:
        if gmpy2.powmod(base, mpz(1) << WORD - 1, prime) != prime - 1:
            raise LocalFault("key.logarithm", "a logarithm to a base that does not have order 2^64 was asked for")
        self._prime = prime
        leaf = gmpy2.powmod(base, mpz(1) << WORD - LEAF, prime)
        self._leaves = {element: digit for digit, element in enumerate(windows.powers(leaf, LEAF, prime))}
        self._inverses = table(gmpy2.invert(base, prime), 8, 8, prime)

    def __repr__(self) -> str:
        return "WordLogarithm(...)"

    def of(self, elements: list[mpz]) -> list[int]:
        """The logarithms in [0, 2^64), or NONE for an element that is no power of the base."""
        return self._solve(elements, WORD)

    def _solve(self, elements: list[mpz], bits: int) -> list[int]:
        """Logarithms of `bits` bits of powers of base^(2^(64 − bits))."""
        if bits == LEAF:
            # A stranger is t·u, t a power of the base and u ≠ 1 of odd order or of an order above 2^64. Its powers by
            # powers of two up to the 48th are strangers to the leaf's group as well, so that every look-up misses.
            return [self._leaves.get(element, NONE) for element in elements]
        half, prime = bits // 2, self._prime
        low = self._solve(list(gmpy2.powmod_base_list(elements, mpz(1) << half, prime)), half)
        left = elements
        for at in range(half // 8):
            row = self._inverses[(WORD - bits) // 8 + at]
            left = [e * row[digits >> 8 * at & 255] % prime for e, digits in zip(left, low, strict=True)]
        high = self._solve(left, half)
        return [NONE if a < 0 else a | b << half for a, b in zip(low, high, strict=True)]


@lru_cache(maxsize=1)
def word_logarithm(base: mpz, prime: mpz) -> WordLogarithm:
    """The tables for a base, kept for the process: engines hand every chunk of a vector its own copy of the key."""
    return WordLogarithm(base, prime)
