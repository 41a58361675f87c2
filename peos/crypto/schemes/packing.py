"""Packed rows and the integers they stand for, a block at a time.

A vector of a million ciphertexts may live in a memory-mapped file, so no function of a scheme turns all of it into
integers at once: it walks over blocks and keeps one block of integers alive.
"""

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from gmpy2 import mpz
from numpy.typing import NDArray

from peos.crypto.schemes.base import Packed
from peos.errors import LocalFault

BLOCK: Final = 1024  # rows: under 1 MB of ciphertexts, and long enough that the cost per block vanishes


def integers(rows: Packed) -> list[mpz]:
    """The integer of each row, big-endian."""
    data, size, read = rows.tobytes(), rows.shape[1], mpz.from_bytes
    return [read(data[start : start + size], "big") for start in range(0, len(data), size)]


def little_integers(rows: Packed) -> list[mpz]:
    """The integer of each row, little-endian, as random streams and words are."""
    data, size, read = rows.tobytes(), rows.shape[1], mpz.from_bytes
    return [read(data[start : start + size], "little") for start in range(0, len(data), size)]


def pack(values: Iterable[Any], size: int) -> Packed:
    """Non-negative integers (Python's or gmpy2's) as big-endian rows of `size` bytes."""
    joined = bytearray().join([value.to_bytes(size, "big") for value in values])
    return np.frombuffer(joined, dtype=np.uint8).reshape(-1, size)


def require_rows(rows: Packed, size: int, *, count: int | None = None) -> None:
    """LocalFault unless `rows` is a packed array of rows of `size` bytes (and `count` of them)."""
    if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] != size:
        raise LocalFault(
            "key.rows", f"packed rows are a uint8 array of shape (count, {size}), not {rows.dtype} {rows.shape}"
        )
    if count is not None and rows.shape[0] != count:
        raise LocalFault("key.rows_count", f"{count} packed rows were expected, not {rows.shape[0]}")


def require_words(words: NDArray[Any]) -> None:
    """LocalFault unless `words` is a vector of 64-bit words."""
    if words.dtype != np.uint64 or words.ndim != 1:
        raise LocalFault("key.plaintexts", f"plaintexts are a uint64 vector, not {words.dtype} of shape {words.shape}")
