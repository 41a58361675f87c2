"""Roots that commit to a vector row by row, and show nothing of it.

leaf = SHA-256(0 ‖ salt_i ‖ row), node = SHA-256(1 ‖ left ‖ right); an unpaired node moves up as it is. The salts are
secret, so a root does not let anyone test a guess of a row; later single rows can be opened, one salt each.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.crypto.kdf import StreamKey

SALT_BYTES: Final = 16


@dataclass(frozen=True, repr=False)
class Proof:
    """That a row stands at its place under a root: its salt, and the nodes beside its way up."""

    salt: bytes
    beside: tuple[bytes, ...]


def leaves(rows: NDArray[np.uint8], salts: bytes) -> list[bytes]:
    """The leaf of each row of a (n, row_bytes) array."""
    count, width = rows.shape
    record = 1 + SALT_BYTES + width
    block = np.zeros((count, record), dtype=np.uint8)
    block[:, 1 : 1 + SALT_BYTES] = np.frombuffer(salts, np.uint8).reshape(count, SALT_BYTES)
    block[:, 1 + SALT_BYTES :] = rows
    whole = memoryview(block.reshape(-1).data)
    sha256 = hashlib.sha256
    return [sha256(whole[start : start + record]).digest() for start in range(0, count * record, record)]


def root(rows: NDArray[np.uint8], salt: StreamKey) -> bytes:
    """The root over all rows."""
    level = leaves(rows, _salts(rows, salt))
    while len(level) > 1:
        level = _above(level)
    return level[0] if level else hashlib.sha256(b"\x01").digest()


def prove(rows: NDArray[np.uint8], salt: StreamKey, places: Sequence[int]) -> tuple[Proof, ...]:
    """A proof for each of a few rows."""
    salts = _salts(rows, salt)
    level = leaves(rows, salts)
    at = list(places)
    beside: list[list[bytes]] = [[] for _ in places]
    while len(level) > 1:
        for found, place in zip(beside, at, strict=True):
            if place ^ 1 < len(level):
                found.append(level[place ^ 1])
        level = _above(level)
        at = [place >> 1 for place in at]
    return tuple(
        Proof(salts[place * SALT_BYTES : (place + 1) * SALT_BYTES], tuple(found))
        for place, found in zip(places, beside, strict=True)
    )


def proves(proof: Proof, root: bytes, row: bytes, place: int, count: int) -> bool:
    """Whether `row` stands at `place` among the `count` rows under `root`."""
    if not 0 <= place < count:
        return False
    node = hashlib.sha256(b"\x00" + proof.salt + row).digest()
    beside = iter(proof.beside)
    while count > 1:
        if place ^ 1 < count:
            other = next(beside, b"")
            left, right = (other, node) if place & 1 else (node, other)
            node = hashlib.sha256(b"\x01" + left + right).digest()
        place, count = place >> 1, (count + 1) >> 1
    return node == root and next(beside, None) is None


def _salts(rows: NDArray[np.uint8], salt: StreamKey) -> bytes:
    return salt.stream().bytes(len(rows) * SALT_BYTES)


def _above(level: list[bytes]) -> list[bytes]:
    sha256 = hashlib.sha256
    above = [sha256(b"\x01" + left + right).digest() for left, right in zip(level[::2], level[1::2], strict=False)]
    return above + level[len(level) & ~1 :]
