"""Vectors that are mapped from their files, and do not pile up in memory as they are read."""

import hashlib
import mmap
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peos.shuffle.streaming import cut_bytes

_BLOCK: Final = 1 << 20


def mapped(path: Path, rows: int, width: int) -> NDArray[np.uint8]:
    """(rows, width) bytes, read-only, out of a file that is never shortened."""
    return np.memmap(path, np.uint8, "r", shape=(rows, width))


class OneWayReader:
    """A mapped vector for a reader that goes from one end to the other: what was read does not stay in memory."""

    def __init__(self, vector: NDArray[np.uint8]) -> None:
        self._vector = vector
        self.shape = vector.shape
        self.dtype = vector.dtype

    def __len__(self) -> int:
        return len(self._vector)

    def __getitem__(self, where: Any) -> NDArray[np.uint8]:
        read = np.array(self._vector[where])
        let_go(self._vector)
        return read

    def __setitem__(self, where: Any, rows: Any) -> None:
        self._vector[where] = rows

    def reshape(self, count: int, width: int) -> "OneWayReader":
        """The same bytes, cut into rows of another length."""
        return OneWayReader(self._vector.reshape(count, width))


def sha256_of(vector: NDArray[np.uint8]) -> bytes:
    """The hash of its bytes, with a block of them in memory."""
    whole = hashlib.sha256()
    for _, piece in cut_bytes(OneWayReader(vector), _BLOCK):
        whole.update(piece)
    return whole.digest()


def let_go(vector: NDArray[Any]) -> None:
    """What was read of a mapped vector need not stay in memory: it is read again when it is used again.

    Nothing for a vector that is not mapped. Its bytes are in the file, so nothing is lost.
    """
    found: Any = vector
    while found is not None and not isinstance(found, mmap.mmap):
        found = getattr(found, "base", None)
    if found is not None and hasattr(mmap, "MADV_DONTNEED"):
        found.madvise(mmap.MADV_DONTNEED)
