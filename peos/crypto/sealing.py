"""Messages that others carry and cannot read: to one receiver by X25519, then under a key that both ends share.

    sealed   = point ‖ AES-256-GCM(key, zero nonce, message),   key = HKDF-SHA256(X25519(fresh, receiver), info)
    info     = 'peos1' ‖ 7 ‖ 'sealing' ‖ point ‖ receiver's point
    shared   = nonce ‖ AES-256-GCM(key, nonce, message, label)

A key of the first kind serves one message, so its nonce is fixed. Nonces of the second are drawn: after 2^32 messages
under one key two are equal with probability 2^-33.
"""

from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from peos.crypto.randomness import KEY_BYTES, Randomness
from peos.errors import BadEncoding

POINT_BYTES: Final = 32
NONCE_BYTES: Final = 12
_LABEL: Final = b"peos1\x07sealing"


class Receiver:
    """The holder of the private key of `point`."""

    def __init__(self, rng: Randomness) -> None:
        self._private = X25519PrivateKey.from_private_bytes(rng.bytes(KEY_BYTES))
        self.point = self._private.public_key().public_bytes_raw()

    def __repr__(self) -> str:
        return f"Receiver({self.point.hex()[:8]}…)"

    def open(self, sealed: bytes) -> bytes:
        """The message; BadEncoding if it was sealed to another, or changed."""
        point, message = sealed[:POINT_BYTES], sealed[POINT_BYTES:]
        try:
            secret = self._private.exchange(X25519PublicKey.from_public_bytes(point))
            return _once(secret, point, self.point).decrypt(bytes(NONCE_BYTES), message, None)
        except (InvalidTag, ValueError):
            raise BadEncoding("key.sealed", "a sealed message cannot be opened") from None


def seal(receiver: bytes, message: bytes, rng: Randomness) -> bytes:
    """A message that only the receiver with this point can open."""
    fresh = X25519PrivateKey.from_private_bytes(rng.bytes(KEY_BYTES))
    point = fresh.public_key().public_bytes_raw()
    try:
        secret = fresh.exchange(X25519PublicKey.from_public_bytes(receiver))
    except ValueError:  # not 32 bytes, or a point of small order
        raise BadEncoding("key.point", "the receiver's public key is not a point of the curve") from None
    return point + _once(secret, point, receiver).encrypt(bytes(NONCE_BYTES), message, None)


class Shared:
    """A key that both ends have. A `label` says what a message is, so that none passes for another."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)

    def __repr__(self) -> str:
        return "Shared(...)"

    def seal(self, message: bytes, label: bytes, rng: Randomness) -> bytes:
        """A message for the other end."""
        nonce = rng.bytes(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, message, label)

    def open(self, sealed: bytes, label: bytes) -> bytes:
        """The other end's message; BadEncoding if it is not what the label says."""
        try:
            return self._cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], label)
        except (InvalidTag, ValueError):
            raise BadEncoding("key.sealed", "a sealed message cannot be opened") from None


def _once(secret: bytes, point: bytes, receiver: bytes) -> AESGCM:
    return AESGCM(HKDF(SHA256(), KEY_BYTES, None, _LABEL + point + receiver).derive(secret))
