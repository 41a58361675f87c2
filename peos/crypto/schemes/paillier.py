"""Paillier's scheme over vectors of 64-bit words (Paillier, EUROCRYPT 1999; protocol.md §5), with g = N + 1.

    c = (1 + mN) · z mod N²,    z = x^N an encryption of zero.

The plaintext space is Z_N, not Z_{2^64}: a decryption is an integer whose high part would tell how often a ciphertext
was touched. So each pass adds 2^64·ρ to its mask, wide enough to bury all that was added before it, and the
analyzer reduces mod 2^64.

Keys are made by `phe`, and keys and ciphertexts are its own: `to_phe` gives the same key as its types, so that a client
that has nothing but `phe` can submit, and an auditor can decrypt with it. What works on whole vectors is ours.

Trusted: the key holder sees plaintexts and nothing that links them to earlier ciphertexts, provided that the holders
that re-randomise are honest. A holder that deviates can mark ciphertexts for the key holder in their high bits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final

import gmpy2
import numpy as np
from gmpy2 import mpz
from numpy.typing import NDArray
from phe import paillier as phe

from peos.chunks import chunks
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes import packing
from peos.crypto.schemes.base import KEY_BITS_FLOOR, Costs, Packed, PrivateKey, PublicKey, Scheme, ZeroSource
from peos.crypto.schemes.encoding import KeyReader, encode_key, require_length
from peos.crypto.schemes.freshness import is_fresh
from peos.crypto.schemes.moduli import primes_fault, require_modulus
from peos.crypto.schemes.paillier_halves import Halves
from peos.crypto.schemes.paillier_packed import PackedDecryption
from peos.crypto.schemes.paillier_zeros import PowerZeros, WindowZeros, window_width
from peos.errors import BadEncoding, LocalFault

_VERSION: Final = 1
_WORD: Final = 64
_GCD_BATCH: Final = 64


def rho_bits(hop: int) -> int:
    """The width of ρ_k at pass k: 64k + 8 bits, so that each pass buries all before it by 64 bits (protocol.md §5).

    Before pass k the high part is under Σ_{i<k} 2^(64i+8) plus carries, about 2^-64 of the range of ρ_k: a
    decryption's distribution moves by no more than that, whatever happened to the ciphertext before.
    """
    return _WORD * hop + 8


def plaintext_bits(passes: int) -> int:
    """How long the plaintext of an honest row is at most, after so many passes (see `most_hops`)."""
    return _WORD * passes + 73 if passes else _WORD


@dataclass(frozen=True, repr=False)
class PaillierPublicKey(PublicKey):
    """The modulus N. Made by `Paillier.public_key`, which checks it, or with a private key."""

    modulus: mpz

    scheme: ClassVar[str] = "paillier"

    def __repr__(self) -> str:
        return f"PaillierPublicKey({self.bits} bits, {self.fingerprint.hex()[:8]})"

    def __reduce__(self) -> tuple[Callable[[mpz], "PaillierPublicKey"], tuple[mpz]]:
        return PaillierPublicKey, (self.modulus,)  # without what is only remembered for speed

    @cached_property
    def square(self) -> mpz:
        """N²."""
        return self.modulus * self.modulus

    @property
    def bits(self) -> int:
        """|N|."""
        return int(self.modulus.bit_length())

    def to_phe(self) -> phe.PaillierPublicKey:
        """The same key, as phe has it."""
        return phe.PaillierPublicKey(int(self.modulus))

    @property
    def ciphertext_bytes(self) -> int:
        """Twice the bytes of N."""
        return self.bits // 4

    @property
    def most_hops(self) -> int:
        """How many passes a ciphertext stands: 64·hop + 128 ≤ |N|.

        The plaintext after pass k is under 2^64 · (Σ_{i≤k} 2^(64i+8) + k + 1) < 2^(64k+73) ≤ 2^(|N|−55) < N/2^54,
        so that no honest sum ever wraps; 46 passes at 3072 bits, where a collection makes r − t + 1.
        """
        return (self.bits - 128) // _WORD

    def encode(self) -> bytes:
        """u8 version ‖ u16 bits ‖ N."""
        return encode_key(_VERSION, self.bits, (self.modulus, self.bits // 8))

    def zero_source(self, rng: Randomness, *, expected: int = 1, statistical: bool = False) -> ZeroSource:
        """Powers x^N for few zeros or if `statistical`; window tables otherwise.

        The hiding of the tables' zeros is computational and assumes an honestly made key: with p − 1 smooth, the key
        holder can take discrete logarithms and undo 640 bits of exponent with a lattice. `statistical` is the
        setting for those who do not want to assume that, at the price of one exponentiation for each zero.
        """
        width = window_width(expected, self.modulus.bit_length())
        if statistical or not width:
            return PowerZeros(self.modulus, rng)
        return WindowZeros(self.modulus, rng, width=width)

    def encrypt(self, plain: U64, zeros: Packed) -> Packed:
        """(1 + mN)·z mod N² for each word m and zero z."""
        packing.require_words(plain)
        packing.require_rows(zeros, self.ciphertext_bytes, count=len(plain))
        n, square, size = self.modulus, self.square, self.ciphertext_bytes
        out = np.empty_like(zeros)
        for block in chunks(len(plain), packing.BLOCK):
            words, hidden = plain[block].tolist(), packing.integers(zeros[block])
            # z(1 + mN) = z + N(mz mod N) mod N²: a word times z is much less work than a product mod N².
            out[block] = packing.pack(
                [(z + n * (m * z % n)) % square for m, z in zip(words, hidden, strict=True)],
                size,
            )
        return out

    def remask(self, ciphertexts: Packed, masks: U64, zeros: Packed, *, hop: int, rng: Randomness) -> Packed:
        """Ciphertexts of plaintext + mask + 2^64·ρ, ρ uniform in [0, 2^(64·hop+8)), each times a zero of its own."""
        packing.require_words(masks)
        packing.require_rows(ciphertexts, self.ciphertext_bytes, count=len(masks))
        packing.require_rows(zeros, self.ciphertext_bytes, count=len(masks))
        if not 1 <= hop <= self.most_hops:
            raise LocalFault(
                "key.passes",
                f"pass {hop} was asked of a Paillier key of {self.bits} bits, which has room for passes 1 to "
                f"{self.most_hops}",
            )
        n, square, size = self.modulus, self.square, self.ciphertext_bytes
        out = np.empty_like(ciphertexts)
        for block in chunks(len(masks), packing.BLOCK):
            given, hidden = packing.integers(ciphertexts[block]), packing.integers(zeros[block])
            added = self._buried(masks[block], hop, rng)
            products = [c * z % square for c, z in zip(given, hidden, strict=True)]
            out[block] = packing.pack(
                [(c + n * (a * c % n)) % square for c, a in zip(products, added, strict=True)],
                size,
            )
        return out

    def check(self, ciphertexts: Packed) -> NDArray[np.bool_]:
        """Rows c with 0 < c < N² and gcd(c, N) = 1, which are exactly Paillier's ciphertexts."""
        packing.require_rows(ciphertexts, self.ciphertext_bytes)
        n, square = self.modulus, self.square
        valid = np.zeros(len(ciphertexts), dtype=np.bool_)
        for block in chunks(len(ciphertexts), packing.BLOCK):
            given = packing.integers(ciphertexts[block])
            for part in chunks(len(given), _GCD_BATCH):
                batch = given[part]
                together = mpz(1)
                for c in batch:
                    together = together * c % n
                # A product is a unit if and only if each factor is; only a batch with a bad row is looked at singly.
                units = gmpy2.gcd(together, n) == 1
                at = block.start + part.start
                valid[at : at + len(batch)] = [c < square and (units or gmpy2.gcd(c, n) == 1) for c in batch]
        return valid

    def is_fresh(self, before: Packed, after: Packed, masks: U64) -> bool:
        """See `freshness`."""
        return is_fresh(self, before, after, masks)

    @staticmethod
    def _buried(masks: U64, hop: int, rng: Randomness) -> list[mpz]:
        """m + 2^64·ρ for each mask: its eight bytes followed by those of ρ."""
        wide = np.empty((len(masks), 8 + rho_bits(hop) // 8), dtype=np.uint8)
        wide[:, :8] = np.ascontiguousarray(masks, dtype="<u8").view(np.uint8).reshape(-1, 8)
        rho = np.empty((len(masks), wide.shape[1] - 8), dtype=np.uint8)
        rng.fill(rho.reshape(-1))
        wide[:, 8:] = rho
        return packing.little_integers(wide)


@dataclass(frozen=True, repr=False)
class PaillierPrivateKey(PrivateKey):
    """The primes p < q of N."""

    p: mpz
    q: mpz

    def __repr__(self) -> str:
        return f"PaillierPrivateKey({self.public.fingerprint.hex()[:8]})"

    def __reduce__(self) -> tuple[Callable[[mpz, mpz], "PaillierPrivateKey"], tuple[mpz, mpz]]:
        return PaillierPrivateKey, (self.p, self.q)  # worker processes are spawned, and receive their key this way

    @cached_property
    def public(self) -> PaillierPublicKey:
        """The matching public key."""
        return PaillierPublicKey(self.p * self.q)

    def to_phe(self) -> phe.PaillierPrivateKey:
        """The same key, as phe has it."""
        return phe.PaillierPrivateKey(self.public.to_phe(), int(self.p), int(self.q))

    def encode(self) -> bytes:
        """u8 version ‖ u16 bits ‖ p ‖ q."""
        width = self.public.bits // 16
        return encode_key(_VERSION, self.public.bits, (self.p, width), (self.q, width))

    def decrypt(self, ciphertexts: Packed) -> U64:
        """The plaintexts mod 2^64 of rows that passed `check`."""
        return _words(self._plaintexts(ciphertexts))

    def decrypt_shuffled(self, ciphertexts: Packed, *, passes: int, rng: Randomness) -> U64:
        """The same words by packed decryption, whose slots have room for what honest rows hold after the passes."""
        packing.require_rows(ciphertexts, self.public.ciphertext_bytes)
        packed = self._packed(plaintext_bits(passes), rng)
        blocks = (packing.integers(ciphertexts[block]) for block in chunks(len(ciphertexts), packing.BLOCK))
        return _words([m for block in blocks for m in packed.plaintexts(block)])

    def _packed(self, slot_bits: int, rng: Randomness) -> PackedDecryption:
        return PackedDecryption(self.halves, slot_bits, rng)

    def decrypt_integers(self, ciphertexts: Packed) -> list[int]:
        """The whole plaintexts, in [0, N): what a curious key holder looks at."""
        return [int(m) for m in self._plaintexts(ciphertexts)]

    def _plaintexts(self, ciphertexts: Packed) -> list[mpz]:
        packing.require_rows(ciphertexts, self.public.ciphertext_bytes)
        plain: list[mpz] = []
        for block in chunks(len(ciphertexts), packing.BLOCK):
            plain += self.halves.plaintexts(packing.integers(ciphertexts[block]))
        return plain

    @cached_property
    def halves(self) -> Halves:
        """Decryption modulo p and modulo q."""
        return Halves(self.p, self.q)


def _words(plain: list[mpz]) -> U64:
    word = (1 << _WORD) - 1
    return np.fromiter((int(m & word) for m in plain), dtype=np.uint64, count=len(plain))


class Paillier(Scheme):
    """Makes Paillier's keys and reads them back."""

    name: ClassVar[str] = "paillier"
    title: ClassVar[str] = "Paillier"
    costs: ClassVar[Costs] = Costs(
        ciphertext_bytes=768,
        encrypt_ms=17.4,
        pass_ms=0.25,
        decrypt_ms=0.89,
        chunk_decrypt_ms=1.1,
        zero_ms=0.3,
        power_ms=17.0,
        use_ms=0.012,
        decrypt_ms_more=0.24,
    )

    def generate(
        self,
        rng: Randomness,  # noqa: ARG002 - phe asks the operating system itself
        *,
        bits: int = KEY_BITS_FLOOR,
    ) -> PaillierPrivateKey:
        """A fresh key pair of exactly `bits` bits, made by `phe` and held to what we ask of any private key."""
        require_length(bits)
        _, made = phe.generate_paillier_keypair(n_length=bits)
        p, q = sorted((mpz(made.p), mpz(made.q)))
        if fault := primes_fault(p, q, bits):
            raise LocalFault(
                "key.fresh_unfit", f"a fresh key is unfit: {fault}", hint="the source of randomness is broken"
            )
        return PaillierPrivateKey(p, q)

    def public_key(self, data: bytes, *, floor: int = KEY_BITS_FLOOR) -> PaillierPublicKey:
        """Read a public key and check all that needs no secret (protocol.md §5, "Keys")."""
        reader = KeyReader(data, "Paillier public key")
        bits = reader.header(_VERSION, floor)
        modulus = reader.integer(bits // 8)
        reader.end()
        require_modulus(modulus, bits)
        return PaillierPublicKey(modulus)

    def private_key(self, data: bytes, *, floor: int = KEY_BITS_FLOOR) -> PaillierPrivateKey:
        """Read a private key; its primes are tested again, for nothing else would notice that it was damaged."""
        reader = KeyReader(data, "Paillier private key")
        bits = reader.header(_VERSION, floor)
        p, q = reader.integer(bits // 16), reader.integer(bits // 16)
        reader.end()
        if fault := primes_fault(p, q, bits):
            raise BadEncoding("key.unfit", fault)
        return PaillierPrivateKey(p, q)
