"""Numbers, primes and keys in plain Python, for generators of vectors; nothing of the project.

Everything is derived from fixed labels, so that a second run gives the same bytes.
"""

import hashlib
from functools import cache
from math import gcd

WORD = 1 << 64


def number(label: str, bits: int) -> int:
    """A number of at most `bits` bits, determined by its label."""
    wide = b"".join(hashlib.sha256(f"{label}/{i}".encode()).digest() for i in range(bits // 256 + 1))
    return int.from_bytes(wide, "big") >> (8 * len(wide) - bits)


SMALL = [p for p in range(2, 542) if all(p % d for d in range(2, p))]


def probably_prime(n: int) -> bool:
    """Trial division by the first hundred primes, then Miller-Rabin to the first forty."""
    if any(n % p == 0 for p in SMALL):
        return n in SMALL
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in SMALL[:40]:
        x = pow(base, odd, n)
        if x in (1, n - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


@cache
def prime(label: str, bits: int, *, top: int = 3, mod4: int = 0) -> int:
    """The first prime at or above a number whose two top bits are `top`; of a class mod 4 if one is given."""
    candidate = top << (bits - 2) | number(label, bits - 2) | 1
    while not (probably_prime(candidate) and mod4 in (0, candidate % 4)):
        candidate += 2
    return candidate


@cache
def word_prime(label: str, bits: int, *, top: int = 3) -> int:
    """The first prime 2^64·p' + 1 with p' a prime at or above a number."""
    odd = prime(label, bits - 64, top=top)
    while not (probably_prime(odd * WORD + 1) and probably_prime(odd)):
        odd += 2
    return odd * WORD + 1


@cache
def subgroup_prime(label: str, bits: int, v: int, *, factor: int = 1, top: int = 3) -> int:
    """The first prime 2^64·v·f + 1 at or above a number, f odd, prime to v and a multiple of an odd `factor`."""
    step = WORD * v * factor
    f = ((top << (bits - 2)) + number(label, bits - 3)) // step | 1
    while f % v == 0 or not probably_prime(step * f + 1):
        f += 2
    return step * f + 1


def jacobi(a: int, n: int) -> int:
    """The Jacobi symbol (a/n), by the law of quadratic reciprocity."""
    a, sign = a % n, 1
    while a:
        while a % 2 == 0:
            a //= 2
            if n % 8 in (3, 5):
                sign = -sign
        a, n = n, a
        if a % 4 == n % 4 == 3:
            sign = -sign
        a %= n
    return sign if n == 1 else 0


def joined(a: int, b: int, p: int, q: int) -> int:
    """What is a mod p and b mod q."""
    return (a * q * pow(q, -1, p) + b * p * pow(p, -1, q)) % (p * q)


def units(label: str, count: int, n: int) -> list[int]:
    """Units of Z_N."""
    drawn = [number(f"{label}/unit {i}", n.bit_length() + 64) % n for i in range(count)]
    if any(gcd(x, n) != 1 for x in drawn):
        raise SystemExit("a unit of the vectors shares a factor with N")
    return drawn


def first_unit(label: str, n: int, symbol: int) -> int:
    """The first of a sequence of units that has a Jacobi symbol."""
    i = 0
    while jacobi(found := number(f"{label} {i}", n.bit_length() + 64) % n, n) != symbol:
        i += 1
    return found


def bit_by_bit(target: int, base: int, prime_: int) -> int:
    """The logarithm of a power of a base of order 2^64: bit i decides whether what is left has order 2^(64 − i)."""
    found = 0
    for i in range(64):
        left = target * pow(base, -found, prime_) % prime_
        if pow(left, 1 << (63 - i), prime_) != 1:
            found |= 1 << i
    if pow(base, found, prime_) != target:
        raise SystemExit("a logarithm of the vectors does not exist")
    return found


def big(value: int, width: int) -> str:
    """Hexadecimal of `width` bytes, big-endian."""
    return value.to_bytes(width, "big").hex()


def encoded(bits: int, *fields: tuple[int, int], version: int = 1) -> str:
    """A key: u8 version ‖ u16 bits ‖ integers of given widths in bits."""
    return big(version, 1) + big(bits, 2) + "".join(big(value, width // 8) for value, width in fields)
