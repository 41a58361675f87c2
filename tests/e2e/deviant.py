"""A shuffler process that does one step wrong: `python -m tests.e2e.deviant`, which one an environment variable names.

Everything else is the role's own command. What each deviation is, and what must come of it, tests/security says.
"""

import os
import runpy
from typing import Any, Final

import numpy as np

from peos.crypto.randomness import U64
from peos.crypto.schemes import rows
from peos.crypto.schemes.base import Packed
from peos.shuffle.effects import Mix
from peos.shuffle.rows import Moved
from shuffler.bench import Bench
from shuffler.evidence import Evidence
from shuffler.inspecting import Inspecting

DEVIATION: Final = "PEOS_TEST_DEVIATION"


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
        ones = rows.pack([1] * len(masks), self.public.ciphertext_bytes)
        return self.public.remask(np.asarray(ciphertexts), masks, ones, hop=hop, rng=self._rng)

    Bench.remask = remask  # type: ignore[method-assign]  # that is the deviation


def plead() -> None:
    """Masks without re-randomisation, and afterwards the word that it was started anew and holds nothing."""
    leave_zeros_out()
    honest = Inspecting.__init__

    def forgetful(self: Inspecting, **named: Any) -> None:
        honest(self, **{**named, "record": None})

    Inspecting.__init__ = forgetful  # type: ignore[method-assign]  # that is the deviation
    Evidence.keep = lambda *_: None  # type: ignore[method-assign]  # likewise


if __name__ == "__main__":
    {"replace rows": replace_rows, "leave zeros out": leave_zeros_out, "plead": plead}[os.environ[DEVIATION]]()
    runpy.run_module("shuffler", run_name="__main__", alter_sys=True)
