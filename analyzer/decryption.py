"""The last holder's ciphertexts, decrypted block by block into a file, so that a restart goes on where it was."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.compute import Engine
from peos.crypto.randomness import U64
from peos.crypto.schemes.base import PrivateKey
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

    `file` holds what has been decrypted; it is a share of the shuffled reports, and erased together with the others.
    """
    ciphertexts = rows.reshape(-1, private.public.ciphertext_bytes)
    total = len(ciphertexts)
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "r+b") as kept:
        done = min(os.fstat(descriptor).st_size // _WORD, total)
        kept.truncate(done * _WORD)  # a word that was cut off is decrypted again
        kept.seek(done * _WORD)
        progress(done, total)
        for start in range(done, total, BLOCK):
            words = engine.decrypt(
                private,
                ciphertexts[start : start + BLOCK],
                lambda came, _, start=start: progress(start + came, total),  # type: ignore[misc] # bound at once
                passes=passes,
            )
            kept.write(words.astype("<u8").tobytes())
            kept.flush()
            let_go(rows)
            os.fsync(descriptor)
    return np.fromfile(file, "<u8").astype(np.uint64)
