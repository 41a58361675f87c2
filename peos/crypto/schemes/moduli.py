"""Products of two primes: how their primes are drawn, and what a party asks of one that comes in (protocol.md §5)."""

from functools import lru_cache
from typing import Final

import gmpy2
from gmpy2 import mpz

from peos.crypto.randomness import Randomness
from peos.errors import BadEncoding

TRIAL_BOUND: Final = 1 << 22
SMOOTH_BOUND: Final = 1 << 13

# GMP runs the Baillie-PSW test first and counts it as 24 rounds; the other 16 are Miller-Rabin. For a random odd
# number of k = 1536 bits, t = 16 rounds alone leave an error under k^1.5 · 2^t · t^-0.5 · 4^(2 - √(tk)) < 2^-275
# (Damgård, Landrock, Pomerance 1993). For a number chosen by someone else the rounds give 4^-16 if GMP's bases could
# not be foreseen; they can, and what is left is that no composite is known that passes Baillie-PSW at all.
_ROUNDS: Final = 40


def is_prime(candidate: mpz) -> bool:
    """Whether a number is prime, beyond doubt for one drawn at random."""
    return bool(gmpy2.is_prime(candidate, _ROUNDS))


def random_prime(bits: int, rng: Randomness) -> mpz:
    """A prime with its two top bits set, uniform among those: the product of two has exactly twice the length."""
    while True:
        candidate = mpz(rng.bits(bits - 2) | 3 << (bits - 2) | 1)
        if is_prime(candidate):
            return candidate


def random_unit(modulus: mpz, rng: Randomness) -> mpz:
    """A uniform element of Z_N*."""
    while True:
        unit = mpz(rng.integer_below(int(modulus)))
        if gmpy2.gcd(unit, modulus) == 1:
            return unit


@lru_cache(maxsize=1)
def _small_primes() -> mpz:
    """The product of all primes below the trial bound, so that one gcd divides by all of them."""
    return gmpy2.primorial(TRIAL_BOUND)


@lru_cache(maxsize=1)
def _smooth_exponent() -> mpz:
    """A multiple of every number whose prime powers are all at most the bound."""
    return gmpy2.lcm(*range(1, SMOOTH_BOUND + 1))


def _has_smooth_prime(modulus: mpz) -> bool:
    """Whether p − 1 divides the exponent for a prime p of the modulus (Pollard 1974).

    A random prime of 1536 bits is one with a probability far below 2^-1000, so no honest key is refused.
    """
    return bool(gmpy2.gcd(gmpy2.powmod(2, _smooth_exponent(), modulus) - 1, modulus) != 1)


def _is_nearly_square(modulus: mpz) -> bool:
    """Whether the first step of Fermat's method factors it: two factors closer than about twice its fourth root."""
    middle = gmpy2.isqrt(modulus - 1) + 1
    return bool(gmpy2.is_square(middle * middle - modulus))


@lru_cache(maxsize=256)
def require_modulus(modulus: mpz, bits: int) -> None:
    """BadEncoding names the first condition on a public modulus that fails.

    They keep out what can be seen without a secret in some 40 milliseconds at 3072 bits; that the modulus has two large
    primes, only its maker can show (docs/limitations.md). A modulus that passed is not looked at again.
    """
    if modulus.bit_length() != bits:
        raise BadEncoding("key.modulus_length", f"the modulus has {modulus.bit_length()} bits where {bits} are stated")
    if modulus % 2 == 0:
        raise BadEncoding("key.modulus_even", "the modulus is even")
    if gmpy2.gcd(_small_primes() % modulus, modulus) != 1:
        raise BadEncoding("key.modulus_small_factor", f"the modulus has a prime factor below {TRIAL_BOUND}")
    if gmpy2.is_power(modulus):
        raise BadEncoding("key.modulus_power", "the modulus is a perfect power")
    if is_prime(modulus):
        raise BadEncoding("key.modulus_prime", "the modulus is prime")
    if _is_nearly_square(modulus):
        raise BadEncoding(
            "key.primes_close", "the primes of the modulus are so close to each other that they are easily found"
        )
    if _has_smooth_prime(modulus):
        raise BadEncoding(
            "key.prime_smooth", f"the modulus has a prime p whose p - 1 has no prime factor above {SMOOTH_BOUND}"
        )


def primes_fault(p: mpz, q: mpz, bits: int) -> str:
    """What is wrong with p < q as the primes of a modulus of `bits` bits, or nothing. Never tells the primes.

    Equal length also gives gcd(pq, (p−1)(q−1)) = 1, without which Paillier's decryption would not be a function.
    """
    half = bits // 2
    if p.bit_length() != half or q.bit_length() != half:
        return f"the primes do not both have {half} bits"
    if p == q:
        return "the primes are equal"
    if p > q:
        return "the primes are not in ascending order"
    # Primes this close are found by Fermat's method; of two random ones that happens with probability about 2^-97.
    if q - p < mpz(1) << (half - 100):
        return "the primes are too close to each other"
    if (p * q).bit_length() != bits:
        return f"the product of the primes does not have {bits} bits"
    if not (is_prime(p) and is_prime(q)):
        return "a factor of the modulus is not prime"
    return ""
