"""What the wire's vectors are made with: protobuf's bytes put together by hand, hashes, signatures, cases.

Hashes are hashlib's and signatures those of `cryptography`; nothing of the project is used. Everything follows from
fixed labels.
"""

import hashlib
import struct
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

Case = dict[str, Any]


def varint(number: int, *, padded: int = 0) -> bytes:
    """Seven bits a byte, the lowest first; `padded` adds groups of zeros, which change nothing but the length."""
    groups = [number >> shift & 0x7F for shift in range(0, max(number.bit_length(), 1), 7)] + [0] * padded
    return bytes(group | 0x80 for group in groups[:-1]) + bytes(groups[-1:])


def uint(field: int, number: int, *, padded: int = 0, shown: bool = False) -> bytes:
    """A field of wire type 0. Zero is not written, unless it is `shown`."""
    return varint(field << 3) + varint(number, padded=padded) if number or shown else b""


def blob(field: int, data: bytes, *, padded: int = 0, shown: bool = False) -> bytes:
    """A field of wire type 2. Nothing is not written, unless it is `shown`."""
    return varint(field << 3 | 2) + varint(len(data), padded=padded) + data if data or shown else b""


def double(field: int, number: float) -> bytes:
    """A field of wire type 1."""
    return varint(field << 3 | 1) + struct.pack("<d", number)


def hash_of(label: str) -> bytes:
    """32 bytes that are determined by their label."""
    return hashlib.sha256(label.encode()).digest()


def secret(label: str) -> bytes:
    """A signing key that is determined by its label."""
    return hash_of(f"secret of {label}")


def public(label: str) -> bytes:
    """Its public half."""
    key = Ed25519PrivateKey.from_private_bytes(secret(label))
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def signed(label: str, what: str, *fields: bytes) -> bytes:
    """A signature over 'peos1 ' ‖ what and the fields, the length of each in four bytes before it."""
    whole = (b"peos1 " + what.encode(), *fields)
    message = b"".join(struct.pack(">I", len(field)) + field for field in whole)
    return Ed25519PrivateKey.from_private_bytes(secret(label)).sign(message)


def good(name: str, *messages: bytes, **fields: Any) -> Case:
    """Bytes that must be read as these values, and written from them."""
    return {"name": name, "messages": [data.hex() for data in messages], "fields": plain(fields)}


def bad(why: str, name: str, sentence: str, *messages: bytes) -> Case:
    """Bytes that must be refused, with a sentence that contains this."""
    return {"name": name, "messages": [data.hex() for data in messages], "why": why, "sentence": sentence}


def plain(value: Any) -> Any:
    """Bytes as hexadecimal, all the way down."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def spoilt(kind: str, fields: list[bytes], last: tuple[int, bytes]) -> list[Case]:
    """What every message must refuse. `fields` are its encoded fields, version first; `last` is its last, a blob."""
    whole, rest = b"".join(fields), b"".join(fields[1:])
    without_last = b"".join(fields[:-1])
    what = f"an {kind}" if kind[0] in "AEIOU" else f"a {kind}"
    none, more, other = f"not {what}", f"{what} has something left over", f"{what} names no wire version"
    return [
        bad("cut", "last byte missing", none, whole[:-1]),
        bad("cut", "a tag without its field", none, whole + varint(99 << 3)),
        bad("left over", "a zero byte more", none, whole + b"\0"),
        bad("left over", "a group that does not end", none, whole + varint(99 << 3 | 3)),
        bad("unknown field", "a number", more, whole + uint(99, 7)),
        bad("unknown field", "bytes before all others", more, blob(99, b"x") + whole),
        bad("unknown field", "an empty group", more, whole + varint(99 << 3 | 3) + varint(99 << 3 | 4)),
        bad("repeated field", "version twice", more, fields[0] + whole),
        bad("repeated field", "last field twice", more, whole + fields[-1]),
        bad("order", "fields backwards", more, b"".join(reversed(fields))),
        bad("long number", "version in two bytes", more, uint(1, 1, padded=1) + rest),
        bad("long number", "version in ten bytes", more, uint(1, 1, padded=9) + rest),
        bad("long number", "version of 33 bits", more, uint(1, (1 << 32) + 1) + rest),
        bad("long number", "a longer length", more, without_last + blob(*last, padded=1)),
        bad("wire type", "version as bytes", more, blob(1, b"\x01") + rest),
        bad("wire type", "version as a double", more, double(1, 1.0) + rest),
        bad("version", "no version", other, rest),
        bad("version", "version zero, written out", more, uint(1, 0, shown=True) + rest),
        bad("version", "version 2", f"{what} is of wire version 2", uint(1, 2) + rest),
        bad("missing field", "nothing at all", "there are 0 bytes", b""),
    ]


V = uint(1, 1)
COLLECTION, FROZEN, TRANSCRIPT = hash_of("a collection"), hash_of("a frozen list"), hash_of("a transcript")
