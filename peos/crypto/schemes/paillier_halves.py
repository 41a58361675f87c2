"""Paillier's decryption modulo each of its two primes, and what both say together (Paillier 1999, section 7)."""

from collections.abc import Sequence
from dataclasses import dataclass

import gmpy2
from gmpy2 import mpz


@dataclass(frozen=True, repr=False)
class Half:
    """Decryption modulo one prime: p, p², and −1/q mod p = 1/L_p((1+N)^(p−1) mod p²)."""

    prime: mpz
    square: mpz
    inverse: mpz

    def reduced(self, ciphertexts: Sequence[mpz]) -> list[mpz]:
        """The ciphertexts mod p², which is all that this half looks at."""
        square = self.square
        return [c % square for c in ciphertexts]

    def plaintexts(self, reduced: Sequence[mpz]) -> list[mpz]:
        """Plaintexts mod p of reduced ciphertexts: L_p(c^(p−1) mod p²) / L_p((1+N)^(p−1)), L_p(u) = (u − 1)/p."""
        prime, inverse = self.prime, self.inverse
        raised = gmpy2.powmod_base_list(list(reduced), prime - 1, self.square)
        return [(u - 1) // prime * inverse % prime for u in raised]


class Halves:
    """Both halves of a private key p < q."""

    def __init__(self, p: mpz, q: mpz) -> None:
        self.by_p = self._half(p, q)
        self.by_q = self._half(q, p)
        self.modulus = p * q
        self._p_inverse = gmpy2.invert(p, q)

    def __repr__(self) -> str:
        return "Halves(...)"

    @staticmethod
    def _half(prime: mpz, other: mpz) -> Half:
        return Half(prime, prime * prime, gmpy2.invert(-other, prime))

    def plaintexts(self, ciphertexts: Sequence[mpz]) -> list[mpz]:
        """The whole plaintexts, in [0, N).

        A word fits below p, so one half would do for honest plaintexts and cost half as much. But a user may encrypt
        any integer, and m mod p mod 2^64 would then depend on p: with chosen plaintexts and a look at the published
        result she could search for it. m mod N mod 2^64 depends on nothing that is secret.
        """
        return self.joined(self.by_p.reduced(ciphertexts), self.by_q.reduced(ciphertexts))

    def joined(self, by_p: Sequence[mpz], by_q: Sequence[mpz]) -> list[mpz]:
        """The same of ciphertexts given mod p² and mod q²."""
        p, q = self.by_p.prime, self.by_q.prime
        return [
            a + p * ((b - a) * self._p_inverse % q)
            for a, b in zip(self.by_p.plaintexts(by_p), self.by_q.plaintexts(by_q), strict=True)
        ]
