"""Onions: a message under one layer for each party that it passes, for the sequential shuffle (protocol.md §9).

    layer = point ‖ AES-256-GCM(key, message),  point = a fresh P-256 point, compressed
    key   = HKDF-SHA256(ECDH with the receiver, info)
    info  = 'peos1' ‖ 5 ‖ 'onion' ‖ collection ‖ u8 layer ‖ point ‖ receiver's point

Layers count from 1, the outermost; the last is the analyzer's. All onions of a collection are equally long before each
layer, and lose `LAYER_BYTES` with it. A key is used for one message, so the nonce is fixed. The point is part of the
key's label because −P gives the same ECDH secret as P: without it, a party that passes an onion on could make of it
another one that opens to the same, and no copy would be known by its bytes.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDH,
    SECP256R1,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
    derive_private_key,
)
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from numpy.typing import NDArray

from peos.crypto.identity import Identity
from peos.crypto.randomness import KEY_BYTES, Randomness
from peos.errors import BadEncoding

ONION: Final = "onion"  # the name of this encryption where others have the name of a scheme
POINT_BYTES: Final = 33
TAG_BYTES: Final = 16
LAYER_BYTES: Final = POINT_BYTES + TAG_BYTES
_SECRET_BYTES: Final = 32
_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_WIDE: Final = 48  # bytes reduced mod the order: the remainder is uniform but for 2^-128
_NONCE: Final = bytes(12)
_CURVE: Final = SECP256R1()
Rows = NDArray[np.uint8]


@dataclass(frozen=True, repr=False)
class OnionKeys:
    """The points of all who remove a layer, in the order of the layers; the analyzer's is the last."""

    points: tuple[bytes, ...]
    scheme: ClassVar[str] = ONION

    def __post_init__(self) -> None:
        if len(set(self.points)) < len(self.points):
            raise BadEncoding("key.same_onion_key", "two parties have the same onion key: each must draw its own")
        _ = self._loaded  # all of them are points

    def __repr__(self) -> str:
        return f"OnionKeys({len(self.points)} layers)"

    @property
    def layers(self) -> int:
        """How many layers an onion has when a user sends it."""
        return len(self.points)

    def row_bytes(self, content: int, layer: int) -> int:
        """How long an onion of `content` bytes is before `layer` is removed; after the last, layer is `layers` + 1."""
        return content + LAYER_BYTES * (self.layers - layer + 1)

    def wrap(self, collection: bytes, rows: Rows, rng: Randomness, *, first: int = 1) -> Rows:
        """The rows under all layers from `first` inwards. The same `rng` from its beginning yields the same bytes."""
        wrapped = np.empty((len(rows), self.row_bytes(rows.shape[1], first)), np.uint8)
        for number, row in enumerate(rows):
            message = row.tobytes()
            for layer in range(self.layers, first - 1, -1):
                own = _private(rng)
                point = _encoded(own)
                key = _key(
                    own.exchange(ECDH(), self._loaded[layer - 1]), collection, layer, point, self.points[layer - 1]
                )
                message = point + AESGCM(key).encrypt(_NONCE, message, None)
            wrapped[number] = np.frombuffer(message, np.uint8)
        return wrapped

    @cached_property
    def _loaded(self) -> tuple[EllipticCurvePublicKey, ...]:
        return tuple(map(read_point, self.points))


@dataclass(frozen=True)
class OnionPrivateKey:
    """One party's key, for the layer that is its."""

    secret: bytes

    def __post_init__(self) -> None:
        if len(self.secret) != _SECRET_BYTES or not 0 < int.from_bytes(self.secret, "big") < _ORDER:
            raise BadEncoding("key.onion_private", "these bytes are not a private onion key")

    def __repr__(self) -> str:
        return f"OnionPrivateKey({self.point.hex()[:10]}…)"

    @classmethod
    def generate(cls, rng: Randomness) -> "OnionPrivateKey":
        """A fresh key."""
        return cls(_scalar(rng.bytes(_WIDE)).to_bytes(_SECRET_BYTES, "big"))

    @classmethod
    def of(cls, identity: Identity) -> "OnionPrivateKey":
        """The key that follows from a shuffler's identity, under a label of its own: nothing more has to be kept."""
        info = b"peos1 the onion key of an identity"
        wide = HKDF(SHA256(), _WIDE, salt=None, info=info).derive(identity.secret)
        return cls(_scalar(wide).to_bytes(_SECRET_BYTES, "big"))

    @cached_property
    def point(self) -> bytes:
        """What others need to know of it."""
        return _encoded(self._key)

    def encode(self) -> bytes:
        """The secret, for storage under encryption."""
        return self.secret

    def __reduce__(self) -> tuple[type["OnionPrivateKey"], tuple[bytes]]:
        # To workers goes the secret alone, through a pipe or sealed: the loaded key cannot be copied.
        return OnionPrivateKey, (self.secret,)

    def open(self, collection: bytes, layer: int, row: bytes) -> bytes | None:
        """What is under this party's layer; None for whatever does not open, for any reason."""
        point, sealed = row[:POINT_BYTES], row[POINT_BYTES:]
        try:
            shared = self._key.exchange(ECDH(), EllipticCurvePublicKey.from_encoded_point(_CURVE, point))
            return AESGCM(_key(shared, collection, layer, point, self.point)).decrypt(_NONCE, sealed, None)
        except (ValueError, InvalidTag):
            return None

    @cached_property
    def _key(self) -> EllipticCurvePrivateKey:
        return derive_private_key(int.from_bytes(self.secret, "big"), _CURVE)


@dataclass(frozen=True, repr=False)
class Layer:
    """One layer of a collection's onions, and the key that removes it."""

    private: OnionPrivateKey
    collection: bytes
    number: int

    def under(self, onions: Rows) -> Rows:
        """Row by row what is under it, behind a byte that is 1; zeros for an onion that does not open."""
        rows = np.zeros((len(onions), under_bytes(onions)), np.uint8)
        for row, onion in zip(rows, onions, strict=True):
            message = self.private.open(self.collection, self.number, onion.tobytes())
            if message is not None:
                row[0], row[1:] = 1, np.frombuffer(message, np.uint8)
        return rows


def under_bytes(onions: Rows) -> int:
    """How long a row of `Layer.under` is."""
    return max(1, 1 + int(onions.shape[1]) - LAYER_BYTES)


def read_point(point: bytes) -> EllipticCurvePublicKey:
    """A point of the curve in its one encoding."""
    try:
        if len(point) != POINT_BYTES:
            raise ValueError
        return EllipticCurvePublicKey.from_encoded_point(_CURVE, point)
    except ValueError:
        raise BadEncoding("key.onion_public", "an onion key is not a compressed point of P-256") from None


def without_copies(rows: Rows) -> Rows:
    """The rows, each once, in the order in which they first occur.

    A party that has seen an onion can send it again: its report would come out twice, and be known by that. No two
    honest onions are equal.
    """
    as_one = np.ascontiguousarray(rows).view(f"V{rows.shape[1]}").reshape(-1)
    _, first = np.unique(as_one, return_index=True)
    return rows[np.sort(first)]


def _private(rng: Randomness) -> EllipticCurvePrivateKey:
    return derive_private_key(_scalar(rng.bytes(_WIDE)), _CURVE)


def _scalar(wide: bytes) -> int:
    return 1 + int.from_bytes(wide, "big") % (_ORDER - 1)


def _encoded(key: EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.CompressedPoint)


def _key(shared: bytes, collection: bytes, layer: int, point: bytes, receiver: bytes) -> bytes:
    info = b"peos1" + bytes([len(ONION)]) + ONION.encode() + collection + bytes([layer]) + point + receiver
    return HKDF(SHA256(), KEY_BYTES, salt=None, info=info).derive(shared)
