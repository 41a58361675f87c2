"""Ed25519 identities: who says what, over labelled fields that cannot be read in two ways."""

import struct
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from peos.crypto.randomness import Randomness

PUBLIC_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64


def labelled(label: str, *fields: bytes) -> bytes:
    """One byte string for a label and its fields: each with its length in front, so no two lists collide."""
    return b"".join(struct.pack(">I", len(field)) + field for field in (b"peos1 " + label.encode(), *fields))


@dataclass(frozen=True)
class Identity:
    """A party's signing key."""

    secret: bytes

    def __repr__(self) -> str:
        return f"Identity({self.public.hex()[:8]}…)"

    @classmethod
    def generate(cls, rng: Randomness) -> "Identity":
        """A fresh identity."""
        return cls(rng.bytes(32))

    @property
    def public(self) -> bytes:
        """The key that others verify with."""
        return self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    def sign(self, label: str, *fields: bytes) -> bytes:
        """A signature over the label and the fields."""
        return self._key.sign(labelled(label, *fields))

    @property
    def _key(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self.secret)


def verifies(public: bytes, signature: bytes, label: str, *fields: bytes) -> bool:
    """Whether `public` signed the label and the fields."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, labelled(label, *fields))
    except (InvalidSignature, ValueError):
        return False
    return True
