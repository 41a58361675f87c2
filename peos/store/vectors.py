"""Final vectors as files: each whole on the disk before the database names it, and checked before it is used."""

import hashlib
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from peos.errors import LocalFault
from peos.shuffle.streaming import Rows, cut_bytes
from peos.store import private_files
from peos.store.base import Vector
from peos.store.mapped import mapped, sha256_of

_BLOCK: Final = 1 << 20


@dataclass(frozen=True)
class Named:
    """A vector as the database knows it."""

    name: str
    hash: bytes
    rows: int
    row_bytes: int


class VectorFiles:
    """The folder of final vectors."""

    def __init__(self, path: Path) -> None:
        private_files.private_folder(path)
        self._path = path

    def write(self, stem: str, vector: Rows) -> Named:
        """Write a vector durably; it counts once the database names it."""
        name, sha256 = f"{stem}.vector", hashlib.sha256()

        def pieces() -> Iterator[memoryview]:
            for _, piece in cut_bytes(vector, _BLOCK):
                sha256.update(piece)
                yield piece

        private_files.write_durably(self._path / name, pieces())
        rows, row_bytes = vector.shape
        return Named(name, sha256.digest(), rows, row_bytes)

    def read(self, named: Named) -> Vector:
        """The vector, read-only and mapped from its file, so that it takes no memory of its own."""
        path, shape = self._path / named.name, (named.rows, named.row_bytes)
        try:
            intact = path.stat().st_size == named.rows * named.row_bytes
            if not intact or not named.rows * named.row_bytes:
                vector = np.zeros(shape if intact else (0, 0), np.uint8)
                vector.flags.writeable = False
            else:
                vector = mapped(path, *shape)
        except FileNotFoundError:
            intact = False
        except OSError as error:  # which may pass: nothing is known of the vector
            raise private_files.failure(error, path, "read") from None
        if not intact or sha256_of(vector) != named.hash:
            raise LocalFault(
                "store.vector_damaged",
                f"the final vector {named.name} is damaged or gone",
                hint="check the disk; this delivery cannot go on",
            )
        return vector

    def keep_only(self, names: Set[str]) -> None:
        """Wipe every other vector: of an erased collection, of an attempt that was left, of a crash."""
        private_files.wipe_all_but(self._path, names)
