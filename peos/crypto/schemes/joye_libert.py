"""Joye and Libert's scheme with words of 64 bits (Benhamouda, Herranz, Joye and Libert, J. Cryptology 2017, k = 64).

    c = y^m · x^(2^64) mod N,    N = pq,    p = 2^64·p' + 1,    q ≡ 3 mod 4,    (y/p) = (y/q) = −1.

Plaintexts are words, added mod 2^64: what exceeds 64 bits is a 2^64-th power, and disappears in the next x.

Re-randomisation is perfect: x^(2^64) is uniform among the 2^64-th powers however the key was made, and honest users'
ciphertexts under any key are y^m times such a power. Under an honestly made key every element of Jacobi symbol +1 is
y^m·x^(2^64) for exactly one word m. The check for that symbol therefore leaves no user and no holder a mark that is
not a change of the word itself.

Trusted: no party for that. Secrecy rests on the assumption that squares mod N cannot be told from other elements of
symbol +1, and on p ≡ 1 mod 2^64 not helping to factor N.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final

import gmpy2
import numpy as np
from gmpy2 import mpz

from peos.chunks import chunks
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes import packing
from peos.crypto.schemes.base import KEY_BITS_FLOOR, Costs, Packed, PrivateKey, Scheme, ZeroSource
from peos.crypto.schemes.encoding import KeyReader, encode_key, require_length
from peos.crypto.schemes.moduli import is_prime, primes_fault, random_unit, require_modulus
from peos.crypto.schemes.pohlig_hellman import NONE, word_logarithm
from peos.crypto.schemes.structured_primes import TWOS, blum_prime, word_prime
from peos.crypto.schemes.units import random_units
from peos.crypto.schemes.word_keys import WordPublicKey, require_element
from peos.errors import BadEncoding, LocalFault

_VERSION: Final = 1


class PowerZeros(ZeroSource):
    """x^(2^64) mod N with x uniform in Z_N*: 64 squarings, in place of which no table would be faster."""

    def __init__(self, modulus: mpz, rng: Randomness) -> None:
        self._n = modulus
        self._rng = rng

    def zeros(self, count: int) -> Packed:
        """`count` encryptions of zero, each uniform and independent of all others."""
        n, size = self._n, self._n.bit_length() // 8
        out = np.empty((count, size), dtype=np.uint8)
        for block in chunks(count, packing.BLOCK):
            units = random_units(block.stop - block.start, n, self._rng)
            out[block] = packing.pack(gmpy2.powmod_base_list(units, mpz(1) << TWOS, n), size)
        return out


@dataclass(frozen=True, repr=False)
class JoyeLibertPublicKey(WordPublicKey):
    """N and y. Made by `JoyeLibert.public_key`, which checks it, or with a private key."""

    y: mpz

    scheme: ClassVar[str] = "jl"

    @property
    def base(self) -> mpz:
        """y."""
        return self.y

    def encode(self) -> bytes:
        """u8 version ‖ u16 bits ‖ N ‖ y."""
        return encode_key(_VERSION, self.bits, (self.modulus, self.bits // 8), (self.y, self.bits // 8))

    def zero_source(self, rng: Randomness, *, expected: int = 1, statistical: bool = False) -> ZeroSource:  # noqa: ARG002  # the interface's: these zeros need no tables and are always perfect
        """Powers x^(2^64), however many and whatever is asked."""
        return PowerZeros(self.modulus, rng)


@dataclass(frozen=True, repr=False)
class JoyeLibertPrivateKey(PrivateKey):
    """p, with 2^64 in p − 1; q; and the public y."""

    p: mpz
    q: mpz
    y: mpz

    def __repr__(self) -> str:
        return f"JoyeLibertPrivateKey({self.public.fingerprint.hex()[:8]})"

    def __reduce__(self) -> tuple[Callable[[mpz, mpz, mpz], "JoyeLibertPrivateKey"], tuple[mpz, mpz, mpz]]:
        return JoyeLibertPrivateKey, (self.p, self.q, self.y)  # spawned workers receive their key this way

    @cached_property
    def public(self) -> JoyeLibertPublicKey:
        """The matching public key."""
        return JoyeLibertPublicKey(self.p * self.q, self.y)

    def encode(self) -> bytes:
        """u8 version ‖ u16 bits ‖ p ‖ q ‖ y."""
        bits = self.public.bits
        return encode_key(_VERSION, bits, (self.p, bits // 16), (self.q, bits // 16), (self.y, bits // 8))

    def decrypt(self, ciphertexts: Packed) -> U64:
        """The words of rows that passed `check`: the logarithm of c^p' to the base y^p', modulo p."""
        packing.require_rows(ciphertexts, self.public.ciphertext_bytes)
        p, odd = self.p, self.p >> TWOS
        logarithm = word_logarithm(gmpy2.powmod(self.y, odd, p), p)
        words = np.empty(len(ciphertexts), dtype=np.uint64)
        for block in chunks(len(ciphertexts), packing.BLOCK):
            reduced = [c % p for c in packing.integers(ciphertexts[block])]
            found = logarithm.of(list(gmpy2.powmod_base_list(reduced, odd, p)))
            if NONE in found:
                # p' kills all but the group of order 2^64, which y^p' generates: only a multiple of p has no word.
                raise LocalFault(
                    "key.not_ciphertexts", "rows to be decrypted are not ciphertexts", hint="check them first"
                )
            words[block] = found
        return words


class JoyeLibert(Scheme):
    """Makes Joye-Libert keys and reads them back."""

    name: ClassVar[str] = "jl"
    title: ClassVar[str] = "Joye-Libert"
    costs: ClassVar[Costs] = Costs(
        ciphertext_bytes=384,
        encrypt_ms=0.3,
        pass_ms=0.15,
        decrypt_ms=0.93,
        chunk_decrypt_ms=0.93,
        zero_ms=0.13,
        power_ms=0.13,
        use_ms=0.02,
    )

    def generate(self, rng: Randomness, *, bits: int = KEY_BITS_FLOOR) -> JoyeLibertPrivateKey:
        """A fresh key pair of exactly `bits` bits, in a few seconds."""
        require_length(bits)
        p, q = word_prime(bits // 2, rng), blum_prime(bits // 2, rng)
        y = random_unit(p * q, rng)
        while gmpy2.legendre(y, p) != -1 or gmpy2.legendre(y, q) != -1:
            y = random_unit(p * q, rng)
        if fault := _private_fault(p, q, y, bits):
            raise LocalFault(
                "key.fresh_unfit", f"a fresh key is unfit: {fault}", hint="the source of randomness is broken"
            )
        return JoyeLibertPrivateKey(p, q, y)

    def public_key(self, data: bytes, *, floor: int = KEY_BITS_FLOOR) -> JoyeLibertPublicKey:
        """Read a public key and check all that needs no secret (protocol.md §5, "Keys")."""
        reader = KeyReader(data, "Joye-Libert public key")
        bits = reader.header(_VERSION, floor)
        modulus, y = reader.integer(bits // 8), reader.integer(bits // 8)
        reader.end()
        require_modulus(modulus, bits)
        if modulus % 4 != 3:
            raise BadEncoding("key.modulus_form", "the modulus is not 3 mod 4")
        require_element("y", y, modulus)
        return JoyeLibertPublicKey(modulus, y)

    def private_key(self, data: bytes, *, floor: int = KEY_BITS_FLOOR) -> JoyeLibertPrivateKey:
        """Read a private key and check it again, for nothing else would notice that it was damaged."""
        reader = KeyReader(data, "Joye-Libert private key")
        bits = reader.header(_VERSION, floor)
        p, q, y = reader.integer(bits // 16), reader.integer(bits // 16), reader.integer(bits // 8)
        reader.end()
        if fault := _private_fault(p, q, y, bits):
            raise BadEncoding("key.unfit", fault)
        return JoyeLibertPrivateKey(p, q, y)


def _private_fault(p: mpz, q: mpz, y: mpz, bits: int) -> str:
    """What is wrong with a private key, or nothing. Never tells the primes.

    That (p − 1)/2^64 is prime keeps p from factoring methods that live on small factors, and leaves Z_p* no small
    subgroup but those of order 2^i.
    """
    if fault := primes_fault(min(p, q), max(p, q), bits):
        return fault
    if gmpy2.bit_scan1(p - 1) != TWOS:
        return "p − 1 is not 2^64 times an odd number"
    if not is_prime(p >> TWOS):
        return "the odd part of p − 1 is not prime"
    if q % 4 != 3:
        return "q is not 3 mod 4"
    if not 1 < y < p * q:
        return "y does not lie strictly between 1 and the modulus"
    if gmpy2.legendre(y, p) != -1 or gmpy2.legendre(y, q) != -1:
        return "y is not a non-residue modulo both factors of the modulus"
    return ""
