"""Public keys under which plaintexts are the words themselves, Z_{2^64}: c = b^m · z mod N, z an encryption of zero.

Joye-Libert and DGK have this in common; they differ in the base b, in their zeros, and in who can read what. A sum of
words is reduced mod 2^64 by the scheme itself, so masks need nothing to bury them, and passes need not be counted.
"""

from abc import abstractmethod
from dataclasses import dataclass

import gmpy2
import numpy as np
from gmpy2 import mpz
from numpy.typing import NDArray

from peos.chunks import chunks
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes import packing
from peos.crypto.schemes.base import Packed, PublicKey
from peos.crypto.schemes.fixed_base import word_powers
from peos.crypto.schemes.freshness import is_fresh
from peos.errors import BadEncoding


@dataclass(frozen=True, repr=False)
class WordPublicKey(PublicKey):
    """The modulus N; a subclass has the base and the zeros."""

    modulus: mpz

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.bits} bits, {self.fingerprint.hex()[:8]})"

    @property
    @abstractmethod
    def base(self) -> mpz:
        """b, whose powers carry the words."""

    @property
    def bits(self) -> int:
        """|N|."""
        return int(self.modulus.bit_length())

    @property
    def ciphertext_bytes(self) -> int:
        """The bytes of N."""
        return self.bits // 8

    def encrypt(self, plain: U64, zeros: Packed) -> Packed:
        """b^m·z mod N for each word m and zero z."""
        packing.require_words(plain)
        packing.require_rows(zeros, self.ciphertext_bytes, count=len(plain))
        n, out = self.modulus, np.empty_like(zeros)
        for block in chunks(len(plain), packing.BLOCK):
            powers, hidden = word_powers(self.base, plain[block], n), packing.integers(zeros[block])
            out[block] = packing.pack([b * z % n for b, z in zip(powers, hidden, strict=True)], self.ciphertext_bytes)
        return out

    def remask(self, ciphertexts: Packed, masks: U64, zeros: Packed, *, hop: int, rng: Randomness) -> Packed:  # noqa: ARG002  # the interface's: plaintexts as wide as words keep no trace of a pass
        """c·b^mask·z mod N for each row c, mask and zero z."""
        packing.require_words(masks)
        packing.require_rows(ciphertexts, self.ciphertext_bytes, count=len(masks))
        packing.require_rows(zeros, self.ciphertext_bytes, count=len(masks))
        n, out = self.modulus, np.empty_like(ciphertexts)
        for block in chunks(len(masks), packing.BLOCK):
            powers = word_powers(self.base, masks[block], n)
            given, hidden = packing.integers(ciphertexts[block]), packing.integers(zeros[block])
            out[block] = packing.pack(
                [c * b % n * z % n for c, b, z in zip(given, powers, hidden, strict=True)], self.ciphertext_bytes
            )
        return out

    def check(self, ciphertexts: Packed) -> NDArray[np.bool_]:
        """Rows c with 0 < c < N and Jacobi symbol (c/N) = +1, which no row with a factor in common with N has.

        Both schemes' ciphertexts have it. A row with −1 would keep it through every pass, for all to see.
        """
        packing.require_rows(ciphertexts, self.ciphertext_bytes)
        n, valid = self.modulus, np.zeros(len(ciphertexts), dtype=np.bool_)
        for block in chunks(len(ciphertexts), packing.BLOCK):
            valid[block] = [c < n and gmpy2.jacobi(c, n) == 1 for c in packing.integers(ciphertexts[block])]
        return valid

    def is_fresh(self, before: Packed, after: Packed, masks: U64) -> bool:
        """See `freshness`."""
        return is_fresh(self, before, after, masks)


def require_element(name: str, element: mpz, modulus: mpz) -> None:
    """BadEncoding unless a key's element lies strictly between 1 and N and has Jacobi symbol +1."""
    if not 1 < element < modulus:
        raise BadEncoding("key.element", f"{name} does not lie strictly between 1 and the modulus")
    if gmpy2.jacobi(element, modulus) != 1:
        raise BadEncoding("key.element_symbol", f"the Jacobi symbol of {name} is not +1")
