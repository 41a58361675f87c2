"""Damgård, Geisler and Krøigaard's scheme (ACISP 2007, corrected 2008) with words of 64 bits, decrypted in full.

    c = g^m · h^r mod N,    N = pq,    p = 2^64·v_p·f_p + 1,    q = 2^64·v_q·f_q + 1,    f_p and f_q odd,
    ord(g) = 2^64·v_p mod p and 2^64·v_q mod q,    ord(h) = v_p mod p and v_q mod q,    v_p and v_q of 256 bits.

Plaintexts are words, added mod 2^64: g^(2^64) lies in the group of h, so that what exceeds 64 bits disappears in the
next h^r. That is what the order of g is for. If it had a factor in common with f_p, g^(2^64) would leave the group of
h, and the key holder could read off how often a sum of words and masks had passed 2^64.

r has 640 bits, 128 more than the order of h: h^r is uniform in its group but for 2^-128. That the group is as said,
only the maker of the key can know.

Trusted: the key's maker, for g and h; and holders not to mark. An element of odd order prime to v_p·v_q has Jacobi
symbol +1, changes no word, and survives every pass, for the key holder to see. A user who sends one marks only herself.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Final

import gmpy2
import numpy as np
from gmpy2 import mpz

from peos.chunks import chunks
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes import packing
from peos.crypto.schemes.base import KEY_BITS_FLOOR, Costs, Packed, PrivateKey, Scheme, ZeroSource
from peos.crypto.schemes.dgk_zeros import PowerZeros, WindowZeros, window_width
from peos.crypto.schemes.encoding import KeyReader, encode_key, require_length
from peos.crypto.schemes.moduli import is_prime, primes_fault, random_prime, random_unit, require_modulus
from peos.crypto.schemes.pohlig_hellman import NONE, word_logarithm
from peos.crypto.schemes.structured_primes import TWOS, subgroup_prime
from peos.crypto.schemes.windows import LEAST_BITS
from peos.crypto.schemes.word_keys import WordPublicKey, require_element
from peos.errors import BadEncoding, LocalFault

_VERSION: Final = 1
_WORD: Final = 1 << 64
_STATISTICAL_BEYOND: Final = 256  # bits of r above the modulus' length


def subgroup_bits(bits: int) -> int:
    """The length of v_p and v_q: 256 bits, but for the small moduli that serve tests, an eighth of theirs."""
    return min(256, bits // 8)


@dataclass(frozen=True, repr=False)
class DGKPublicKey(WordPublicKey):
    """N, g and h. Made by `DGK.public_key`, which checks it, or with a private key."""

    g: mpz
    h: mpz

    scheme: ClassVar[str] = "dgk"

    @property
    def base(self) -> mpz:
        """g."""
        return self.g

    def encode(self) -> bytes:
        """u8 version ‖ u16 bits ‖ N ‖ g ‖ h."""
        width = self.bits // 8
        return encode_key(_VERSION, self.bits, (self.modulus, width), (self.g, width), (self.h, width))

    def zero_source(self, rng: Randomness, *, expected: int = 1, statistical: bool = False) -> ZeroSource:
        """Powers h^r for few zeros; window tables otherwise.

        `statistical` takes |N| + 256 bits for r in place of 640: h^r is then uniform in its group to 2^-256, however
        large the maker of the key made that. That g^(2^64) lies in it remains the maker's word.
        """
        bits = self.bits + _STATISTICAL_BEYOND if statistical else LEAST_BITS
        width = window_width(expected)
        if not width:
            return PowerZeros(self.modulus, self.h, rng, bits=bits)
        return WindowZeros(self.modulus, self.h, rng, bits=bits, width=8 if statistical else width)


@dataclass(frozen=True, repr=False)
class DGKPrivateKey(PrivateKey):
    """The primes p < q of N, v_p and v_q in p − 1 and q − 1, and the public g and h."""

    p: mpz
    q: mpz
    v_p: mpz
    v_q: mpz
    g: mpz
    h: mpz

    def __repr__(self) -> str:
        return f"DGKPrivateKey({self.public.fingerprint.hex()[:8]})"

    def __reduce__(self) -> tuple[Callable[..., "DGKPrivateKey"], tuple[Any, ...]]:
        # Spawned workers receive their key this way, without what is only remembered for speed.
        return DGKPrivateKey, tuple(getattr(self, field.name) for field in fields(self))

    @cached_property
    def public(self) -> DGKPublicKey:
        """The matching public key."""
        return DGKPublicKey(self.p * self.q, self.g, self.h)

    def encode(self) -> bytes:
        """u8 version ‖ u16 bits ‖ p ‖ q ‖ v_p ‖ v_q ‖ g ‖ h."""
        bits = self.public.bits
        half, short, whole = bits // 16, subgroup_bits(bits) // 8, bits // 8
        secret = ((self.p, half), (self.q, half), (self.v_p, short), (self.v_q, short))
        return encode_key(_VERSION, bits, *secret, (self.g, whole), (self.h, whole))

    def decrypt(self, ciphertexts: Packed) -> U64:
        """The words of rows that passed `check`: the logarithm of c^v_p to the base g^v_p, modulo p."""
        packing.require_rows(ciphertexts, self.public.ciphertext_bytes)
        p, v = self.p, self.v_p
        logarithm = word_logarithm(gmpy2.powmod(self.g, v, p), p)
        words = np.empty(len(ciphertexts), dtype=np.uint64)
        for block in chunks(len(ciphertexts), packing.BLOCK):
            powers = list(gmpy2.powmod_base_list([c % p for c in packing.integers(ciphertexts[block])], v, p))
            found = logarithm.of(powers)
            strange = [row for row, word in enumerate(found) if word == NONE]
            for row, word in zip(strange, self._strangers([powers[row] for row in strange]), strict=True):
                found[row] = word
            words[block] = found
        return words

    def _strangers(self, powers: list[mpz]) -> list[int]:
        """Words of rows outside the group of g and h, which no encryption makes but a user may send.

        To the power of f_p as well every unit is a power of g^(v_p f_p), so that such a row has a word too: hers, and
        no other user's concern. Were it refused here, one user could stop the decryption of all. It takes five times as
        long as an honest row.
        """
        p, f = self.p, (self.p >> TWOS) // self.v_p
        logarithm = word_logarithm(gmpy2.powmod(self.g, self.v_p, p), p)
        found = logarithm.of(list(gmpy2.powmod_base_list(powers, f, p)))
        if NONE in found:
            raise LocalFault("key.not_ciphertexts", "rows to be decrypted are not ciphertexts", hint="check them first")
        unscaled = pow(int(f), -1, _WORD)
        return [word * unscaled % _WORD for word in found]


class DGK(Scheme):
    """Makes DGK keys and reads them back."""

    name: ClassVar[str] = "dgk"
    title: ClassVar[str] = "Damgård, Geisler and Krøigaard (DGK)"
    costs: ClassVar[Costs] = Costs(
        ciphertext_bytes=384,
        encrypt_ms=1.5,
        pass_ms=0.17,
        decrypt_ms=0.21,
        chunk_decrypt_ms=0.21,
        zero_ms=0.15,
        power_ms=1.4,
        use_ms=0.02,
    )

    def generate(self, rng: Randomness, *, bits: int = KEY_BITS_FLOOR) -> DGKPrivateKey:
        """A fresh key pair of exactly `bits` bits."""
        require_length(bits)
        one, other = sorted(_prime(bits, rng) for _ in range(2))
        (p, v_p), (q, v_q) = one, other
        g_p, h_p = _elements(p, v_p, rng)
        g_q, h_q = _elements(q, v_q, rng)
        g, h = _joined(g_p, g_q, p, q), _joined(h_p, h_q, p, q)
        key = DGKPrivateKey(p, q, v_p, v_q, g, h)
        if fault := _private_fault(key, bits):
            raise LocalFault(
                "key.fresh_unfit", f"a fresh key is unfit: {fault}", hint="the source of randomness is broken"
            )
        return key

    def public_key(self, data: bytes, *, floor: int = KEY_BITS_FLOOR) -> DGKPublicKey:
        """Read a public key and check all that needs no secret (protocol.md §5, "Keys")."""
        reader = KeyReader(data, "DGK public key")
        bits = reader.header(_VERSION, floor)
        modulus, g, h = (reader.integer(bits // 8) for _ in range(3))
        reader.end()
        require_modulus(modulus, bits)
        if modulus % _WORD != 1:  # as the product of two primes that are
            raise BadEncoding("key.modulus_form", "the modulus is not 1 mod 2^64")
        require_element("g", g, modulus)
        require_element("h", h, modulus)
        return DGKPublicKey(modulus, g, h)

    def private_key(self, data: bytes, *, floor: int = KEY_BITS_FLOOR) -> DGKPrivateKey:
        """Read a private key and check it again, for nothing else would notice that it was damaged."""
        reader = KeyReader(data, "DGK private key")
        bits = reader.header(_VERSION, floor)
        half, short, whole = bits // 16, subgroup_bits(bits) // 8, bits // 8
        key = DGKPrivateKey(*(reader.integer(width) for width in (half, half, short, short, whole, whole)))
        reader.end()
        if fault := _private_fault(key, bits):
            raise BadEncoding("key.unfit", fault)
        return key


def _prime(bits: int, rng: Randomness) -> tuple[mpz, mpz]:
    """p and v_p for a modulus of `bits` bits."""
    v = random_prime(subgroup_bits(bits), rng)
    return subgroup_prime(bits // 2, v, rng), v


def _elements(p: mpz, v: mpz, rng: Randomness) -> tuple[mpz, mpz]:
    """A uniform element of order 2^64·v and one of order v: powers of units that clear f_p."""
    f = (p >> TWOS) // v
    while True:
        g = gmpy2.powmod(random_unit(p, rng), f, p)
        h = gmpy2.powmod(random_unit(p, rng), f << TWOS, p)
        if not _orders_fault(g, h, p, v):
            return g, h


def _joined(one: mpz, other: mpz, p: mpz, q: mpz) -> mpz:
    """The element of Z_N that is one mod p and the other mod q."""
    return one + p * ((other - one) * gmpy2.invert(p, q) % q)


def _orders_fault(g: mpz, h: mpz, p: mpz, v: mpz) -> str:
    """What is wrong with g and h modulo one of the primes, or nothing."""
    if gmpy2.powmod(g, v << TWOS, p) != 1:
        return "the order of g has a factor in common with a cofactor"
    # v and 2 are all the primes that are left, and the order lacks neither v nor the highest power of 2; with f odd, g
    # is then no square modulo the prime either.
    if gmpy2.powmod(g, v << TWOS - 1, p) == 1 or gmpy2.powmod(g, mpz(1) << TWOS, p) == 1:
        return "the order of g is too small"
    if h % p == 1 or gmpy2.powmod(h, v, p) != 1:
        return "the order of h is not that of its group"
    return ""


def _private_fault(key: DGKPrivateKey, bits: int) -> str:
    """What is wrong with a private key, or nothing. Never tells the primes."""
    p, q, v_p, v_q = key.p, key.q, key.v_p, key.v_q
    if fault := primes_fault(p, q, bits):
        return fault
    if any(v.bit_length() != subgroup_bits(bits) or not is_prime(v) for v in (v_p, v_q)):
        return f"the orders of h are not primes of {subgroup_bits(bits)} bits"
    if v_p == v_q:
        return "the orders of h are equal"
    for prime, v in ((p, v_p), (q, v_q)):
        if gmpy2.bit_scan1(prime - 1) != TWOS or (prime - 1) % v or (prime - 1) // v % v == 0:
            return "a factor less one is not 2^64 times the order of h times an odd number prime to it"
    if (q - 1) % v_p == 0 or (p - 1) % v_q == 0:
        return "the order of h modulo one factor divides the other factor less one"
    if not (1 < key.g < p * q and 1 < key.h < p * q):
        return "g and h do not lie strictly between 1 and the modulus"
    return _orders_fault(key.g, key.h, p, v_p) or _orders_fault(key.g, key.h, q, v_q)
