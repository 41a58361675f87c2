"""The last holder's ciphertexts, decrypted block by block into a file, so that a restart goes on where it was."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, Final

import numpy as np
from numpy.typing import NDArray

from peos.chunks import chunks
from peos.compute import Engine
from peos.crypto.randomness import U64
from peos.crypto.schemes.base import PrivateKey
from peos.store.database import SEAL_BYTES, seal
from peos.store.mapped import let_go

BLOCK: Final = 8192  # ciphertexts: seconds of work as a rule, which a crash makes to be done again
_WORD: Final = 8


def decrypt(
    engine: Engine,
    private: PrivateKey,
    rows: NDArray[np.uint8],
    file: Path,
    progress: Callable[[int, int], None],
    *,
    passes: int,
) -> U64:
    """The words behind the ciphertexts, in their order; `passes` is how many the schedule makes over them.

    `file` holds what has been decrypted, with a seal after each block; it is a share of the shuffled reports, and
    erased together with the others.
    """
    ciphertexts = rows.reshape(-1, private.public.ciphertext_bytes)
    total = len(ciphertexts)
    found: list[bytes] = []
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "r+b") as kept:
        while block := _whole(kept, max(0, min(BLOCK, total - BLOCK * len(found)))):
            found.append(block)
        done = min(BLOCK * len(found), total)
        kept.truncate(done * _WORD + SEAL_BYTES * len(found))  # what was cut off, or changed, is decrypted again
        kept.seek(0, os.SEEK_END)
        progress(done, total)
        for part in chunks(total, BLOCK, first=done):
            words = engine.decrypt(
                private,
                ciphertexts[part],
                lambda came, _, start=part.start: progress(start + came, total),  # type: ignore[misc] # bound at once
                passes=passes,
            )
            found.append(words.astype("<u8").tobytes())
            kept.write(found[-1] + seal(found[-1]))
            kept.flush()
            let_go(rows)
            os.fsync(descriptor)
    return np.frombuffer(b"".join(found), "<u8").astype(np.uint64)


def _whole(kept: IO[bytes], count: int) -> bytes:
    """The next block of so many words; nothing if it is not there whole, or not what was written."""
    data = kept.read(count * _WORD + SEAL_BYTES)
    words = data[: count * _WORD]
    return words if seal(words) == data[count * _WORD :] else b""
