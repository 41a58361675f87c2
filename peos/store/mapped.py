"""Vectors that are mapped from their files, and do not pile up in memory as they are read."""

import mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def mapped(path: Path, rows: int, width: int) -> NDArray[np.uint8]:
    """(rows, width) bytes, read-only, out of a file that is never shortened."""
    return np.memmap(path, np.uint8, "r", shape=(rows, width))


def let_go(vector: NDArray[Any]) -> None:
    """What was read of a mapped vector need not stay in memory: it is read again when it is used again.

    Nothing for a vector that is not mapped. Its bytes are in the file, so nothing is lost.
    """
    found: Any = vector
    while found is not None and not isinstance(found, mmap.mmap):
        found = getattr(found, "base", None)
    if found is not None and hasattr(mmap, "MADV_DONTNEED"):
        found.madvise(mmap.MADV_DONTNEED)
