"""Streams derived from a secret under a label, so that no two uses of a secret can ever meet.

key = HKDF-SHA256(secret, info = 'peos1' ‖ len(purpose) ‖ purpose ‖ collection ‖ frozen ‖ u32 attempt ‖ u16 round ‖
u8 from ‖ u8 to), integers big-endian, zero where one does not apply (protocol.md §3). The label is injective: each
field has a fixed width but the purpose, whose length comes first.
"""

import struct
from dataclasses import dataclass
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from peos.crypto.randomness import KEY_BYTES, Randomness
from peos.errors import LocalFault

DIGEST_BYTES: Final = 32
NO_DIGEST: Final = bytes(DIGEST_BYTES)


@dataclass(frozen=True)
class Context:
    """What a stream belongs to: the collection, its frozen list of reports, and the attempt."""

    collection: bytes
    frozen: bytes = NO_DIGEST
    attempt: int = 0

    def __post_init__(self) -> None:
        if len(self.collection) != DIGEST_BYTES or len(self.frozen) != DIGEST_BYTES:
            raise LocalFault("key.context", "a context is made of two 32-byte digests")


@dataclass(frozen=True)
class StreamKey:
    """The key of one stream. Equal keys yield equal streams, so a key is derived for one use and used once."""

    secret: bytes

    def __repr__(self) -> str:
        return "StreamKey(...)"

    def stream(self) -> Randomness:
        """The stream from its beginning."""
        return Randomness(self.secret)


def derive(
    secret: bytes, purpose: str, context: Context, *, round_: int = 0, sender: int = 0, receiver: int = 0
) -> StreamKey:
    """The key of the stream that `secret` yields for one purpose, place and pair of parties."""
    name = purpose.encode()
    info = b"".join(
        (
            b"peos1",
            struct.pack(">B", len(name)),
            name,
            context.collection,
            context.frozen,
            struct.pack(">IHBB", context.attempt, round_, sender, receiver),
        )
    )
    return StreamKey(HKDF(SHA256(), KEY_BYTES, salt=None, info=info).derive(secret))
