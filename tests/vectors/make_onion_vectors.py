"""Writes onion.json: `python tests/vectors/make_onion_vectors.py`.

P-256, HKDF and GCM by hand, the AES block from `cryptography`; nothing of the project. A second run writes the same
bytes, and a test compares. Each case is one layer: who removes it, what it holds, and for the bad ones why it must not
open.
"""

import hashlib
import hmac
import json
import struct
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

HERE = Path(__file__).parent
P = 2**256 - 2**224 + 2**192 + 2**96 - 1
B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
COLLECTION = hashlib.sha256(b"a collection").digest()
Point = tuple[int, int] | None


def add(left: Point, right: Point) -> Point:
    """The sum of two points of y² = x³ − 3x + b; None is the point at infinity."""
    if left is None or right is None:
        return left or right
    if left[0] == right[0] and (left[1] + right[1]) % P == 0:
        return None
    if left == right:
        slope = (3 * left[0] ** 2 - 3) * pow(2 * left[1], -1, P)
    else:
        slope = (right[1] - left[1]) * pow(right[0] - left[0], -1, P)
    x = (slope**2 - left[0] - right[0]) % P
    return x, (slope * (left[0] - x) - left[1]) % P


def times(scalar: int, point: Point) -> tuple[int, int]:
    """A multiple, by doubling and adding."""
    total: Point = None
    for bit in bin(scalar)[2:]:
        total = add(total, total)
        if bit == "1":
            total = add(total, point)
    assert total is not None
    assert (total[1] ** 2 - total[0] ** 3 + 3 * total[0] - B) % P == 0
    return total


def compressed(point: tuple[int, int]) -> bytes:
    """33 bytes: the parity of y, and x."""
    return bytes([2 + point[1] % 2]) + point[0].to_bytes(32, "big")


def hkdf(secret: bytes, info: bytes, length: int = 32) -> bytes:
    """HKDF-SHA256 with an empty salt (RFC 5869)."""
    extracted, block, out = hmac.new(bytes(32), secret, hashlib.sha256).digest(), b"", b""
    while len(out) < length:
        block = hmac.new(extracted, block + info + bytes([len(out) // 32 + 1]), hashlib.sha256).digest()
        out += block
    return out[:length]


def gcm(key: bytes, message: bytes) -> bytes:
    """AES-256-GCM with a nonce of twelve zeros and nothing else authenticated (NIST SP 800-38D)."""
    aes = Cipher(algorithms.AES256(key), modes.ECB()).encryptor()  # noqa: S305 # GCM's own use of the block
    hashing = int.from_bytes(aes.update(bytes(16)), "big")

    def block(counter: int) -> bytes:
        return bytes(aes.update(bytes(12) + struct.pack(">I", counter)))

    stream = b"".join(block(2 + number) for number in range(-(-len(message) // 16)))
    sealed = bytes(one ^ other for one, other in zip(message, stream, strict=False))
    tag = 0
    for chunk in [sealed[at : at + 16].ljust(16, b"\0") for at in range(0, len(sealed), 16)] + [
        struct.pack(">QQ", 0, 8 * len(sealed))
    ]:
        tag = multiplied(tag ^ int.from_bytes(chunk, "big"), hashing)
    return sealed + bytes(one ^ other for one, other in zip(tag.to_bytes(16, "big"), block(1), strict=True))


def multiplied(left: int, right: int) -> int:
    """In GF(2^128) with GCM's order of bits."""
    total = 0
    for bit in range(127, -1, -1):
        if left >> bit & 1:
            total ^= right
        right = (right >> 1) ^ (0xE1 << 120 if right & 1 else 0)
    return total


def scalar(label: str) -> int:
    """A private key."""
    return int.from_bytes(hashlib.sha256(label.encode()).digest(), "big") % ORDER


def layer(number: int, receiver: int, fresh: int, message: bytes, collection: bytes = COLLECTION) -> bytes:
    """One layer."""
    point, own = compressed(times(fresh, G)), times(receiver, G)
    shared = times(fresh, own)[0].to_bytes(32, "big")
    info = b"peos1\x05onion" + collection + bytes([number]) + point + compressed(own)
    return point + gcm(hkdf(shared, info), message)


def case(name: str, number: int, message: bytes, sealed: bytes | None = None, why: str = "") -> dict[str, Any]:
    """A layer, removed by the receiver of that number; `why` it does not open, if it does not."""
    receiver = scalar(f"receiver {number}")
    whole = layer(number, receiver, scalar(name), message) if sealed is None else sealed
    return {
        "name": name,
        "layer": number,
        "secret": receiver.to_bytes(32, "big").hex(),
        "point": compressed(times(receiver, G)).hex(),
        "collection": COLLECTION.hex(),
        "row": whole.hex(),
        "message": message.hex() if not why else None,
        "why": why,
    }


def cases() -> list[dict[str, Any]]:
    """Good layers of several lengths, and what must not open."""
    word = bytes(range(8))
    good = [
        case("a word", 4, word),
        case("an onion", 1, hashlib.sha512(b"inner").digest() * 2),
        case("one block", 2, bytes(16)),
        case("an empty message", 3, b""),
    ]
    whole = bytes.fromhex(good[0]["row"])
    receiver = scalar("receiver 4")
    other = hashlib.sha256(b"another collection").digest()
    off = next(x for x in range(2, 99) if pow((x**3 - 3 * x + B) % P, (P - 1) // 2, P) == P - 1)
    spoilt = {
        "the other point of that x, whose secret is the same": bytes([whole[0] ^ 1]) + whole[1:],
        "another layer's": layer(3, receiver, scalar("a word"), word),
        "another collection's": layer(4, receiver, scalar("a word"), word, other),
        "another receiver's": layer(4, scalar("receiver 1"), scalar("a word"), word),
        "a bit of the message": whole[:33] + bytes([whole[33] ^ 1]) + whole[34:],
        "a bit of the tag": whole[:-1] + bytes([whole[-1] ^ 0x80]),
        "a byte less": whole[:-1],
        "a byte more": whole + b"\0",
        "an x without a point": b"\x02" + off.to_bytes(32, "big") + whole[33:],
        "no point at all": bytes(33) + whole[33:],
        "a point alone": whole[:33],
    }
    return good + [case(name, 4, b"", row, why="does not open") for name, row in spoilt.items()]


def of_identities() -> list[dict[str, str]]:
    """The onion keys that follow from identities."""
    found = []
    for number in range(2):
        secret = hashlib.sha256(b"identity %d" % number).digest()
        wide = hkdf(secret, b"peos1 the onion key of an identity", 48)
        own = 1 + int.from_bytes(wide, "big") % (ORDER - 1)
        found.append({"identity": secret.hex(), "point": compressed(times(own, G)).hex()})
    return found


def rendered() -> dict[str, str]:
    """The file as text."""
    content = {"layers": cases(), "identities": of_identities()}
    return {"onion.json": json.dumps(content, indent=1, ensure_ascii=True) + "\n"}


if __name__ == "__main__":
    for name, text in rendered().items():
        (HERE / name).write_text(text)
