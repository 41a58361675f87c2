"""A workbench whose passes run in worker processes, on all cores.

Vectors live in memory and die with the process, on purpose: an attempt that was interrupted is never continued.
"""

from peos.compute import Engine
from peos.crypto.randomness import U64, system
from peos.crypto.schemes.base import Packed, PublicKey
from peos.shuffle.vectors import Workbench


class Bench(Workbench):
    """One collection's vectors."""

    def __init__(self, rows: int, words: int, public: PublicKey, engine: Engine) -> None:
        super().__init__(rows, words, public, system())
        self._engine = engine

    def encrypt(self, words: U64) -> Packed:
        """This shuffler's shares of the fakes, encrypted as users encrypt theirs."""
        return self._engine.encrypt(self.public, words)

    def remask(self, ciphertexts: Packed, masks: U64, hop: int) -> Packed:
        """The pass over the ciphertexts."""
        return self._engine.remask(self.public, ciphertexts, masks, hop)
