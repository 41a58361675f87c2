"""Roots that commit to a vector row by row, and show nothing of it.

leaf = SHA-256(0 ‖ salt_i ‖ row), node = SHA-256(1 ‖ left ‖ right); an unpaired node moves up as it is. The salts are
secret, so a root does not let anyone test a guess of a row; later single rows can be opened, one salt each.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from peos.crypto.kdf import StreamKey
from peos.shuffle.rows import Rows, stretches

SALT_BYTES: Final = 16
_NODE: Final = 32  # bytes


@dataclass(frozen=True, repr=False)
class Proof:
    """That a row stands at its place under a root: its salt, and the nodes beside its way up."""

    salt: bytes
    beside: tuple[bytes, ...]


def leaves(rows: Rows, salts: bytes) -> bytearray:
    """The leaf of each row of a (n, row_bytes) vector, side by side: a million of them are 32 MB, as objects 73."""
    count, width = rows.shape
    record = 1 + SALT_BYTES + width
    level = bytearray(count * _NODE)
    salted = np.frombuffer(salts, np.uint8).reshape(count, SALT_BYTES)
    sha256 = hashlib.sha256
    for where in stretches(count, record):
        block = np.zeros((where.stop - where.start, record), dtype=np.uint8)
        block[:, 1 : 1 + SALT_BYTES] = salted[where]
        block[:, 1 + SALT_BYTES :] = rows[where]
        whole = memoryview(block.reshape(-1).data)
        at = where.start * _NODE
        for start in range(0, len(whole), record):
            level[at : at + _NODE] = sha256(whole[start : start + record]).digest()
            at += _NODE
    return level


def root(rows: Rows, salt: StreamKey) -> bytes:
    """The root over all rows."""
    level = leaves(rows, _salts(rows, salt))
    while len(level) > _NODE:
        level = _above(level)
    return bytes(level) if level else hashlib.sha256(b"\x01").digest()


def prove(rows: Rows, salt: StreamKey, places: Sequence[int]) -> tuple[Proof, ...]:
    """A proof for each of a few rows."""
    salts = _salts(rows, salt)
    level = leaves(rows, salts)
    at = list(places)
    beside: list[list[bytes]] = [[] for _ in places]
    while len(level) > _NODE:
        for found, place in zip(beside, at, strict=True):
            node = level[(place ^ 1) * _NODE : ((place ^ 1) + 1) * _NODE]
            if node:
                found.append(bytes(node))
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


def _salts(rows: Rows, salt: StreamKey) -> bytes:
    return salt.stream().bytes(len(rows) * SALT_BYTES)


def _above(level: bytearray) -> bytearray:
    sha256, pairs = hashlib.sha256, len(level) // (2 * _NODE)
    above = bytearray()
    for start in range(0, pairs * 2 * _NODE, 2 * _NODE):
        above += sha256(b"\x01" + level[start : start + 2 * _NODE]).digest()
    return above + level[pairs * 2 * _NODE :]
