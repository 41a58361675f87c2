"""Jobs that draw from a seed and from what they are given, so that their bytes do not depend on who works them."""

import hashlib
from dataclasses import dataclass
from typing import Any

from peos.compute.engine import Encrypt, Remask
from peos.compute.zeros import WorkerZeros
from peos.crypto.randomness import Randomness
from peos.crypto.schemes.base import Packed


def supply(seed: bytes, *inputs: Any) -> WorkerZeros:
    """The randomness of one chunk."""
    return WorkerZeros(Randomness(hashlib.sha256(b"".join([seed, *(given.tobytes() for given in inputs)])).digest()))


@dataclass(frozen=True)
class SeededEncrypt(Encrypt):
    """`Encrypt` from a seed."""

    seed: bytes = b""

    def work(self, _: WorkerZeros, *inputs: Any) -> Packed:
        """The words encrypted."""
        return super().work(supply(self.seed, *inputs), *inputs)


@dataclass(frozen=True)
class SeededRemask(Remask):
    """`Remask` from a seed."""

    seed: bytes = b""

    def work(self, _: WorkerZeros, *inputs: Any) -> Packed:
        """The rows re-randomised."""
        return super().work(supply(self.seed, *inputs), *inputs)
