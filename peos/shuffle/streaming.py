"""Long vectors as rows of bytes, wherever they are kept: read and written in chunks, and never whole."""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from peos.chunks import chunks


class Rows(Protocol):
    """What arrays of bytes offer too, as far as it is needed here. What is read is an array of its own, or a view."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, bytes of a row)."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Bytes."""

    def __len__(self) -> int: ...

    def __getitem__(self, where: Any, /) -> Any: ...

    def __setitem__(self, where: Any, rows: Any, /) -> None: ...

    def reshape(self, count: int, width: int, /) -> Any:
        """The same bytes, cut into rows of another length."""


def cut_bytes(rows: Rows, length: int) -> Iterator[tuple[int, memoryview]]:
    """All bytes in pieces of `length`, whatever the rows: (offset, piece)."""
    count, width = rows.shape
    for piece in chunks(count * width, length):
        first = piece.start // width
        block = np.ascontiguousarray(rows[first : -(-piece.stop // width)]).reshape(-1).data
        yield piece.start, block[piece.start - first * width : piece.stop - first * width]


class Moved:
    """Ciphertexts of `size` bytes in permuted rows, out[i] = in[π[i]]: moved as they are cut, never all at once."""

    def __init__(self, rows: Rows, index: NDArray[np.intp], size: int) -> None:
        self._rows = rows
        self._index = index
        self._size = size
        self._words = rows.shape[1] // size

    def __len__(self) -> int:
        return len(self._index) * self._words

    def __getitem__(self, where: slice) -> NDArray[np.uint8]:
        start, stop, _ = where.indices(len(self))
        first = start // self._words
        rows: NDArray[np.uint8] = self._rows[self._index[first : -(-stop // self._words)]]
        return rows.reshape(-1, self._size)[start - first * self._words : stop - first * self._words]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[np.uint8]:
        return np.asarray(self[:], dtype)
