"""Long vectors outside of memory: files without a name, which end with this process however it ends.

Written and read by the kernel's own calls and never mapped, so that what a process holds is what it works on at the
moment, and a disk that is full or broken is an error of a call. What lies there are ciphertexts under the analyzer's
key, which the network has seen as well; words and permutations stay in memory.
"""

import errno
import os
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from peos.crypto.schemes.base import Packed
from peos.errors import Full, LocalFault, in_words

R = TypeVar("R")
FROM_BYTES: Final = 32 << 20
"""Shorter vectors stay in memory."""
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)


class _File:
    """A file that no other process can open, closed with its last user."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # Where the system can, it has never had a name; elsewhere its name goes before anything is written.
        with _answered(folder, lambda: tempfile.TemporaryFile(buffering=0, dir=folder)) as file:
            self.descriptor = os.dup(file.fileno())
        weakref.finalize(self, os.close, self.descriptor)

    def reserve(self, size: int) -> None:
        """Take the room now, so that work does not end for want of it in its middle."""
        if size:
            _answered(self.folder, lambda: os.posix_fallocate(self.descriptor, 0, size))

    def write(self, data: memoryview, at: int) -> None:
        """All of it, there."""
        while data:
            written = _answered(self.folder, lambda: os.pwrite(self.descriptor, data, at))  # noqa: B023 - called at once
            data, at = data[written:], at + written

    def read(self, into: memoryview, at: int) -> None:
        """Fill `into` from there."""
        while into:
            came = _answered(self.folder, lambda: os.preadv(self.descriptor, [into], at))  # noqa: B023 - called at once
            if not came:
                raise LocalFault(
                    "store.scratch_short",
                    "a scratch file is shorter than what was written to it",
                    hint="check the disk",
                )
            into, at = into[came:], at + came


class SpillFile:
    """(rows, width) bytes in such a file; several of these may share one. What is read is a copy."""

    dtype: Final = np.dtype(np.uint8)

    def __init__(self, file: _File, rows: int, width: int, *, at: int = 0) -> None:
        self.shape = (rows, width)
        self._file = file
        self._at = at

    @classmethod
    def reserved(cls, folder: Path, rows: int, width: int) -> "SpillFile":
        """Room for a vector that is to be made; Full if there is none."""
        file = _File(folder)
        file.reserve(rows * width)
        return cls(file, rows, width)

    def __repr__(self) -> str:
        return f"SpillFile({self.shape[0]} rows)"

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, where: Any) -> NDArray[np.uint8]:
        rows, width = self.shape
        if isinstance(where, slice):
            start, stop, step = where.indices(rows)
            assert step == 1, "rows are read by stretches, or by their places"
            out = np.empty((max(0, stop - start), width), np.uint8)
            self._file.read(out.reshape(-1).data, self._at + start * width)
            return out
        places = np.asarray(where, np.intp)
        assert not len(places) or (int(places.min()) >= 0 and int(places.max()) < rows), "rows of this vector"
        out = np.empty((len(places), width), np.uint8)
        flat = out.reshape(-1).data
        for number, place in enumerate(places.tolist()):
            self._file.read(flat[number * width : (number + 1) * width], self._at + place * width)
        return out

    def __setitem__(self, where: slice, rows: NDArray[np.uint8]) -> None:
        start, stop, step = where.indices(self.shape[0])
        assert step == 1, "rows are written by stretches"
        block = np.ascontiguousarray(rows)
        assert block.dtype == np.uint8, "bytes"
        assert block.shape == (stop - start, self.shape[1]), "as many rows as there is place for, as long as they are"
        self._file.write(block.reshape(-1).data, self._at + start * self.shape[1])

    def reshape(self, rows: int, width: int) -> "SpillFile":
        """The same bytes, cut into rows of another length."""
        assert rows * width == self.shape[0] * self.shape[1], "the same bytes"
        return SpillFile(self._file, rows, width, at=self._at)

    def beyond(self, row: int) -> "SpillFile":
        """The rows from there on."""
        return SpillFile(self._file, self.shape[0] - row, self.shape[1], at=self._at + row * self.shape[1])

    def as_packed(self) -> Packed:
        """This file as packed rows, for callers that use only `peos.shuffle.streaming.Rows`."""
        return cast(Packed, self)


def beyond(rows: Packed, row: int) -> Packed:
    """The rows from there on, to be written."""
    kept: object = rows
    return kept.beyond(row).as_packed() if isinstance(kept, SpillFile) else rows[row:]


class SpillWriter:
    """A vector on its way in: the file grows with what has arrived."""

    def __init__(self, folder: Path, rows: int, width: int) -> None:
        self._file = _File(folder)
        self._shape = (rows, width)
        self._here = 0

    def keep(self, data: bytes) -> None:
        """The bytes that came next; Full if there is no room for them."""
        self._file.write(memoryview(data), self._here)
        self._here += len(data)

    def whole(self) -> Packed:
        """The vector, once all of it is here."""
        assert self._here == self._shape[0] * self._shape[1], "the reader of the chunks has counted them"
        return SpillFile(self._file, *self._shape).as_packed()


def _answered(folder: Path, call: Callable[[], R]) -> R:
    """The system call's result, or its error as one of ours."""
    try:
        return call()
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise Full(
                "store.scratch_full",
                f"there is no room left in {folder} for the vectors of the shuffle",
                hint="make room: the shuffle goes on by itself",
            ) from None
        raise LocalFault(
            "store.scratch",
            f"a scratch file in {folder} cannot be used: {in_words(error)}",
            hint="check the disk and the folder",
        ) from None
