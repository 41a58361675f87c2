"""What every additively homomorphic scheme of this project offers, on whole vectors.

Ciphertexts are packed rows: a uint8 array of shape (count, ciphertext_bytes), each row one big-endian integer. Such
an array can be permuted by index, streamed and memory-mapped without ever becoming a million Python integers.

A party encrypts or re-randomises with *zeros*, encryptions of 0 from its own `ZeroSource`; each zero is used once. A
zero can be made before the ciphertext that it hides is known, which is what makes a pass cheap on line.
"""

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from gmpy2 import mpz
from numpy.typing import NDArray

from peos.crypto.randomness import U64, Randomness

Packed = NDArray[np.uint8]
KEY_BITS_FLOOR: Final = 3072  # the policy for keys that come in; a test pins it


@dataclass(frozen=True)
class Costs:
    """What a scheme's operations cost of one core at 3072 bits, as `peos bench schemes` measured it.

    Plans quote the first; by the later ones an engine decides whether workers are worth their start.
    """

    ciphertext_bytes: int
    encrypt_ms: float  # one report without tables, as a user encrypts it
    pass_ms: float  # adding a mask to a ciphertext and re-randomising it, with tables where the scheme has any
    decrypt_ms: float  # after two passes
    chunk_decrypt_ms: float  # in an engine, a row of a chunk
    zero_ms: float  # from tables, where the scheme has any
    power_ms: float  # a zero without them
    use_ms: float  # of a zero, to encrypt or to remask
    decrypt_ms_more: float = 0.0  # for each pass beyond two: fewer rows fit into one decryption


class ZeroSource(ABC):
    """One party's supply of fresh encryptions of zero under one public key."""

    @abstractmethod
    def zeros(self, count: int) -> Packed:
        """`count` encryptions of zero, each to be used once and by this party only."""


@dataclass(frozen=True)
class PublicKey(ABC):
    """The collection's encryption key. Equality and `fingerprint` follow the encoding."""

    scheme: ClassVar[str]
    modulus: mpz

    @property
    @abstractmethod
    def bits(self) -> int:
        """The length of the modulus."""

    @property
    @abstractmethod
    def ciphertext_bytes(self) -> int:
        """The length of one packed ciphertext."""

    @property
    def fingerprint(self) -> bytes:
        """SHA-256 of the scheme's name (its length first) and the encoded key."""
        name = self.scheme.encode()
        return hashlib.sha256(bytes((len(name),)) + name + self.encode()).digest()

    @abstractmethod
    def encode(self) -> bytes:
        """The key as bytes; the scheme's `public_key` reads it back."""

    @abstractmethod
    def zero_source(self, rng: Randomness, *, expected: int = 1, statistical: bool = False) -> ZeroSource:
        """A supply of zeros. `expected` is how many will be asked for, and decides whether tables are worth building.

        `statistical` asks for re-randomisation that no computation undoes, however the key was made, at its price.
        """

    @abstractmethod
    def encrypt(self, plain: U64, zeros: Packed) -> Packed:
        """Ciphertexts of a vector of words, one zero consumed by each."""

    @abstractmethod
    def remask(self, ciphertexts: Packed, masks: U64, zeros: Packed, *, hop: int, rng: Randomness) -> Packed:
        """Ciphertexts of plaintext + mask (mod 2^64), unlinkable to those given even with the private key.

        `hop` counts the passes over this vector from 1; a scheme whose plaintexts are wider than a word needs it to
        bury the traces of all passes before.
        """

    @abstractmethod
    def check(self, ciphertexts: Packed) -> NDArray[np.bool_]:
        """Which rows are ciphertexts that this scheme lets in; every receiver of ciphertexts asks."""

    @abstractmethod
    def is_fresh(self, before: Packed, after: Packed, masks: U64) -> bool:
        """Whether `after` is `before` with the masks and a zero for each row that no other row has: an inspection asks.

        Rows that passed `check`.
        """


@dataclass(frozen=True)
class PrivateKey(ABC):
    """The analyzer's decryption key. Its repr shows the public fingerprint and nothing else."""

    @property
    @abstractmethod
    def public(self) -> PublicKey:
        """The matching public key."""

    @abstractmethod
    def encode(self) -> bytes:
        """The secret key as bytes, for storage under encryption."""

    @abstractmethod
    def decrypt(self, ciphertexts: Packed) -> U64:
        """The plaintexts mod 2^64 of rows that passed `check`."""

    def decrypt_shuffled(self, ciphertexts: Packed, *, passes: int, rng: Randomness) -> U64:  # noqa: ARG002 - of no use where a row is decrypted alone
        """The same words, of rows that came through so many passes: what a scheme may know to decrypt many sooner.

        A wrong number costs time and changes no word. `rng` is for checks, which no sender of a row may foresee.
        """
        return self.decrypt(ciphertexts)


class Scheme(ABC):
    """One encryption scheme: makes keys, reads them back, and says what it costs. `peos.registry` has a line for each.

    Its keys bear its name.
    """

    name: ClassVar[str]
    title: ClassVar[str]  # for people
    costs: ClassVar[Costs]

    @abstractmethod
    def generate(self, rng: Randomness, *, bits: int = KEY_BITS_FLOOR) -> PrivateKey:
        """A fresh key pair."""

    @abstractmethod
    def public_key(self, data: bytes, *, floor: int = KEY_BITS_FLOOR) -> PublicKey:
        """Read and check a public key; BadEncoding names the condition that fails, or a modulus under `floor` bits."""

    @abstractmethod
    def private_key(self, data: bytes, *, floor: int = KEY_BITS_FLOOR) -> PrivateKey:
        """Read and check a private key."""
