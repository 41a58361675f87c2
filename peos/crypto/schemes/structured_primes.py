"""Primes p whose p − 1 is of a wanted form: 2^64 and a prime (Joye-Libert), 2^64, a prime and a rest (DGK).

The tests of `is_prime` are the same for them. What is known of errors for random numbers does not cover numbers of a
form; what does is 4^-16 for sixteen rounds to random bases, and that no composite is known to pass Baillie-PSW at all.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

import numpy as np
from gmpy2 import mpz

from peos.crypto.randomness import Randomness
from peos.crypto.schemes.moduli import is_prime, random_prime

TWOS: Final = 64
_SIEVED_BY: Final = 1 << 18  # the small primes that candidates are divided by
WINDOW: Final = 1 << 18  # candidates sieved at a time


def blum_prime(bits: int, rng: Randomness) -> mpz:
    """A prime ≡ 3 mod 4 with its two top bits set, uniform among those."""
    while True:
        candidate = random_prime(bits, rng)
        if candidate % 4 == 3:
            return candidate


def word_prime(bits: int, rng: Randomness) -> mpz:
    """A prime p = 2^64·p' + 1, p' prime, with its two top bits set.

    The first in a window above a random start. The chance of a prime is at most that of a start within the window
    below it, so that none is more than (window · density of such primes) times as likely as if all were equally
    likely: about 1.3 times at 1536 bits, where one in some 200,000 odd p' will do.
    """
    while True:
        start = mpz(rng.bits(bits - TWOS - 2) | 3 << (bits - TWOS - 2) | 1)
        for offset in _unsieved(start):
            odd = start + 2 * offset
            p = (odd << TWOS) + 1
            if p.bit_length() == bits and is_prime(odd) and is_prime(p):
                return p


def subgroup_prime(bits: int, v: mpz, rng: Randomness) -> mpz:
    """A prime p = 2^64·v·f + 1 with its two top bits set and f odd and prime to v, uniform among those."""
    step = v << TWOS
    least, most = -(-(mpz(3) << (bits - 2)) // step), (mpz(1) << bits) // step
    while True:
        f = least + rng.integer_below(int(most - least))
        if f % 2 and f % v:
            p = step * f + 1
            if is_prime(p):
                return p


def _unsieved(start: mpz) -> Iterator[int]:
    """The i for which neither start + 2i nor 2^64·(start + 2i) + 1 has a small prime factor, in ascending order."""
    left = np.ones(WINDOW, dtype=np.bool_)
    for s, half, inverse in small_primes():
        first = int(start % s)
        left[-first * half % s :: s] = False  # start + 2i ≡ 0
        left[(-inverse - first) * half % s :: s] = False  # start + 2i ≡ −2^-64
    yield from np.flatnonzero(left).tolist()


@lru_cache(maxsize=1)
def small_primes() -> list[tuple[int, int, int]]:
    """The odd primes s to sieve by, each with 1/2 and 2^-64 mod s."""
    sieve: Any = np.ones(_SIEVED_BY, dtype=np.bool_)
    sieve[:2] = False
    for s in range(2, int(_SIEVED_BY**0.5) + 1):
        if sieve[s]:
            sieve[s * s :: s] = False
    return [(s, (s + 1) // 2, pow(2, -TWOS, s)) for s in np.flatnonzero(sieve).tolist() if s > 2]
