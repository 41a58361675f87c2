"""A shuffler process that does one step wrong: `python -m tests.e2e.deviant`, which one an environment variable names.

Everything else is the role's own command. What each deviation is, and what must come of it, tests/security says.
"""

import os
import runpy
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from peos.collection.ticket import ID_BYTES
from peos.crypto.randomness import U64
from peos.crypto.schemes import packing
from peos.crypto.schemes.base import Packed
from peos.shuffle.effects import Mix
from peos.shuffle.streaming import Moved
from peos.store.submissions import SubmissionFile
from shuffler.evidence import Evidence
from shuffler.inspection_runner import InspectionRunner
from shuffler.workbench import Bench
from tests.networks.launcher import shift_clock

DEVIATION: Final = "PEOS_TEST_DEVIATION"
DROPPED: Final = "PEOS_TEST_DROPPED"


def replace_rows() -> None:
    """Other rows after each round."""
    honest = Bench._mix

    def mix(self: Bench, task: Mix) -> U64:
        out = honest(self, task)
        out[::2] += np.uint64(1)
        return out

    Bench._mix = mix  # type: ignore[method-assign, assignment]  # that is the deviation


def leave_zeros_out() -> None:
    """Masks without re-randomisation."""

    def remask(self: Bench, ciphertexts: Packed | Moved, masks: U64, hop: int) -> Packed:
        ones = packing.pack([1] * len(masks), self.public.ciphertext_bytes)
        return self.public.remask(np.asarray(ciphertexts), masks, ones, hop=hop, rng=self._rng)

    Bench.remask = remask  # type: ignore[method-assign]  # that is the deviation


def plead() -> None:
    """Masks without re-randomisation, and afterwards the word that it was started anew and holds nothing."""
    leave_zeros_out()
    honest = InspectionRunner.__init__

    def forgetful(self: InspectionRunner, **named: Any) -> None:
        honest(self, **{**named, "record": None})

    InspectionRunner.__init__ = forgetful  # type: ignore[method-assign]  # that is the deviation
    Evidence.keep = lambda *_: None  # type: ignore[method-assign]  # likewise


def drop_a_user() -> None:
    """The list without the submission whose id is in a file, which was acknowledged like all others."""
    honest, named = SubmissionFile.rows, Path(os.environ[DROPPED])

    def rows(self: SubmissionFile) -> Iterator[bytes]:
        dropped = bytes.fromhex(named.read_text(encoding="ascii")) if named.exists() else None
        return (row for row in honest(self) if row[:ID_BYTES] != dropped)

    noted = SubmissionFile.leave_out_all_but

    def leave_out_all_but(self: SubmissionFile, counted: Iterable[bytes]) -> int:
        SubmissionFile.rows = honest  # type: ignore[method-assign]  # what it shuffles is what all froze
        try:
            return noted(self, counted)
        finally:
            SubmissionFile.rows = rows  # type: ignore[method-assign]  # that is the deviation

    SubmissionFile.rows = rows  # type: ignore[method-assign]  # likewise
    SubmissionFile.leave_out_all_but = leave_out_all_but  # type: ignore[method-assign]  # likewise


def live_later() -> None:
    """A clock that is a month ahead: the time by which everything is erased has passed."""
    shift_clock(30 * 86_400.0)


DEVIATIONS: Final = {
    "replace rows": replace_rows,
    "leave zeros out": leave_zeros_out,
    "drop a user": drop_a_user,
    "plead": plead,
    "live later": live_later,
}

if __name__ == "__main__":
    DEVIATIONS[os.environ[DEVIATION]]()
    runpy.run_module("shuffler", run_name="__main__", alter_sys=True)
