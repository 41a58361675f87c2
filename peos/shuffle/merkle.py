"""Roots that commit to a vector row by row, and show nothing of it.

leaf = SHA-256(0 ‖ salt_i ‖ row), node = SHA-256(1 ‖ left ‖ right); an unpaired node moves up as it is. The salts are
secret, so a root does not let anyone test a guess of a row; later single rows can be opened, one salt each.
"""

import hashlib
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.crypto.kdf import StreamKey

SALT_BYTES: Final = 16


def leaves(rows: NDArray[np.uint8], salt: StreamKey) -> list[bytes]:
    """The leaf of each row of a (n, row_bytes) array."""
    count, width = rows.shape
    record = 1 + SALT_BYTES + width
    block = np.zeros((count, record), dtype=np.uint8)
    salts = np.frombuffer(salt.stream().bytes(count * SALT_BYTES), np.uint8)
    block[:, 1 : 1 + SALT_BYTES] = salts.reshape(count, SALT_BYTES)
    block[:, 1 + SALT_BYTES :] = rows
    whole = memoryview(block.reshape(-1).data)
    sha256 = hashlib.sha256
    return [sha256(whole[start : start + record]).digest() for start in range(0, count * record, record)]


def root(rows: NDArray[np.uint8], salt: StreamKey) -> bytes:
    """The root over all rows."""
    level = leaves(rows, salt)
    if not level:
        return hashlib.sha256(b"\x01").digest()
    sha256 = hashlib.sha256
    while len(level) > 1:
        above = [sha256(b"\x01" + left + right).digest() for left, right in zip(level[::2], level[1::2], strict=False)]
        level = above + level[len(level) & ~1 :]
    return level[0]
