"""Writes kdf.json: `python tests/vectors/make_kdf_vectors.py`.

HKDF (RFC 5869) by `hmac` alone, and AES-256-CTR from `cryptography`; nothing of the project. A second run writes the
same bytes, and a test compares.
"""

import hashlib
import hmac
import json
import struct
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

HERE = Path(__file__).parent


def hkdf32(secret: bytes, info: bytes) -> bytes:
    """HKDF-SHA256 with an empty salt; 32 bytes are a single block of its expansion."""
    extracted = hmac.new(bytes(32), secret, hashlib.sha256).digest()
    return hmac.new(extracted, info + b"\x01", hashlib.sha256).digest()


def case(purpose: str, frozen: bytes, attempt: int, round_: int, sender: int, receiver: int) -> dict[str, Any]:
    """One derivation, its label spelt out, and the beginning of its stream."""
    secret = hashlib.sha256(b"secret of " + purpose.encode()).digest()
    collection = hashlib.sha256(b"a collection").digest()
    name = purpose.encode()
    info = b"peos1" + bytes([len(name)]) + name + collection + frozen
    info += struct.pack(">IHBB", attempt, round_, sender, receiver)
    key = hkdf32(secret, info)
    stream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor().update(bytes(64))
    return {
        "secret": secret.hex(),
        "purpose": purpose,
        "collection": collection.hex(),
        "frozen": frozen.hex(),
        "attempt": attempt,
        "round": round_,
        "sender": sender,
        "receiver": receiver,
        "info": info.hex(),
        "key": key.hex(),
        "stream": stream.hex(),
        "words": list(struct.unpack("<8Q", stream)),
    }


def rendered() -> dict[str, str]:
    """The file as text."""
    frozen = hashlib.sha256(b"a frozen list").digest()
    cases = [
        case("fakes", frozen, 0, 0, 0, 0),
        case("mask", frozen, 1, 3, 1, 2),
        case("mask", frozen, 1, 3, 2, 1),
        case("leave", frozen, 0xFFFFFFFF, 0xFFFF, 0xFF, 0xFF),
        case("", bytes(32), 2, 1, 0, 7),
        case("permütation", frozen, 256, 258, 3, 4),
    ]
    return {"kdf.json": json.dumps(cases, indent=1, ensure_ascii=True) + "\n"}


if __name__ == "__main__":
    for name, text in rendered().items():
        (HERE / name).write_text(text)
