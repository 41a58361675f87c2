"""Ed25519 identities: who says what, over labelled fields that cannot be read in two ways."""

import struct
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from peos.crypto.randomness import Randomness
from peos.errors import WrongInput

PUBLIC_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64
SECRET_BYTES: Final = 32
_P: Final = 2**255 - 19
_D: Final = -121665 * pow(121666, -1, _P) % _P
_ORDER_8: Final = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826  # y with dy⁴ + 2y² = 1
_SMALL_ORDER: Final = frozenset({0, 1, _P - 1, _ORDER_8, _P - _ORDER_8})  # y of the points of orders 1, 2, 4 and 8


def labelled(label: str, *fields: bytes) -> bytes:
    """One byte string for a label and its fields: each with its length in front, so no two lists collide."""
    return b"".join(struct.pack(">I", len(field)) + field for field in (b"peos1 " + label.encode(), *fields))


@dataclass(frozen=True)
class Identity:
    """A party's signing key."""

    secret: bytes

    def __post_init__(self) -> None:
        if len(self.secret) != SECRET_BYTES:
            raise WrongInput("key.signing_length", f"a signing key is {SECRET_BYTES} bytes, not {len(self.secret)}")

    def __repr__(self) -> str:
        return f"Identity({self.public.hex()[:8]}…)"

    @classmethod
    def generate(cls, rng: Randomness) -> "Identity":
        """A fresh identity."""
        return cls(rng.bytes(SECRET_BYTES))

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


def is_usable(public: bytes) -> bool:
    """Whether a public key can be one that its owner alone signs with: a curve point, and not of small order."""
    return len(public) == PUBLIC_BYTES and not _is_of_small_order(public) and _is_point(public)


def verifies(public: bytes, signature: bytes, label: str, *fields: bytes) -> bool:
    """Whether `public` signed the label and the fields."""
    if _is_of_small_order(public):
        return False  # anyone can sign under such a key, and one signature fits many messages
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, labelled(label, *fields))
    except (InvalidSignature, ValueError):
        return False
    return True


def _is_of_small_order(public: bytes) -> bool:
    y = int.from_bytes(public, "little") & (1 << 255) - 1  # the top bit is the sign of x
    return y % _P in _SMALL_ORDER


def _is_point(public: bytes) -> bool:
    """Whether x² = (y² − 1) / (dy² + 1) has a solution."""
    y = int.from_bytes(public, "little") & (1 << 255) - 1
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    return y < _P and pow(square, (_P - 1) // 2, _P) in (0, 1)
