"""Roots that commit to a vector row by row, and show nothing of it.

leaf = SHA-256(0 ‖ salt_i ‖ row) of the tree in peos.crypto.tree. The salts are secret, so a root does not let anyone
test a guess of a row; later single rows can be opened, one salt each.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from peos.chunks import chunks, rows_of
from peos.crypto import tree
from peos.crypto.kdf import StreamKey
from peos.crypto.tree import NODE_BYTES
from peos.shuffle.streaming import Rows

SALT_BYTES: Final = 16


@dataclass(frozen=True, repr=False)
class Proof:
    """That a row stands at its place under a root: its salt, and the sibling nodes on its way up."""

    salt: bytes
    beside: tuple[bytes, ...]


def leaves(rows: Rows, salts: bytes) -> bytearray:
    """The leaf of each row of a (n, row_bytes) vector, side by side: a million of them are 32 MB, as objects 73."""
    count, width = rows.shape
    record = 1 + SALT_BYTES + width
    level = bytearray(count * NODE_BYTES)
    salted = np.frombuffer(salts, np.uint8).reshape(count, SALT_BYTES)
    sha256 = hashlib.sha256
    for where in chunks(count, rows_of(record)):
        block = np.zeros((where.stop - where.start, record), dtype=np.uint8)
        block[:, 1 : 1 + SALT_BYTES] = salted[where]
        block[:, 1 + SALT_BYTES :] = rows[where]
        whole = memoryview(block.reshape(-1).data)
        at = where.start * NODE_BYTES
        for start in range(0, len(whole), record):
            level[at : at + NODE_BYTES] = sha256(whole[start : start + record]).digest()
            at += NODE_BYTES
    return level


def root(rows: Rows, salt: StreamKey) -> bytes:
    """The root over all rows."""
    return tree.root(leaves(rows, _salts(rows, salt)))


def prove(rows: Rows, salt: StreamKey, places: Sequence[int]) -> tuple[Proof, ...]:
    """A proof for each of a few rows."""
    salts = _salts(rows, salt)
    return tuple(
        Proof(salts[place * SALT_BYTES : (place + 1) * SALT_BYTES], beside)
        for place, beside in zip(places, tree.paths(tree.levels(leaves(rows, salts)), places), strict=True)
    )


def proves(proof: Proof, root: bytes, row: bytes, place: int, count: int) -> bool:
    """Whether `row` stands at `place` among the `count` rows under `root`."""
    leaf = hashlib.sha256(b"\x00" + proof.salt + row).digest()
    return tree.top(leaf, place, count, proof.beside) == root


def _salts(rows: Rows, salt: StreamKey) -> bytes:
    return salt.stream().bytes(len(rows) * SALT_BYTES)
