"""A workbench whose passes run in worker processes, and whose vectors other threads may use while an attempt is left.

Vectors live in memory and die with the process, on purpose: an attempt that was interrupted is never continued.
"""

import threading

from peos.compute import Engine, ReadyZeros
from peos.crypto.randomness import U64, system
from peos.crypto.schemes.base import Packed, PublicKey
from peos.errors import LocalFault
from peos.shuffle.effects import Handle, Task
from peos.shuffle.messages import VectorHeader
from peos.shuffle.vectors import Workbench


class Bench(Workbench):
    """One collection's vectors. Work on an attempt that was left meanwhile leaves nothing behind.

    `ready` are zeros made ahead, with the same `statistical`; where they run out, zeros are made.
    """

    def __init__(
        self,
        rows: int,
        words: int,
        public: PublicKey,
        engine: Engine,
        *,
        statistical: bool = False,
        ready: ReadyZeros | None = None,
    ) -> None:
        super().__init__(rows, words, public, system(), statistical=statistical)
        self._ready = ready
        self.rows = rows
        self.done = 0  # rows of the pass under way
        self.left = 0  # the highest attempt that was left
        self._engine = engine
        self._changing = threading.Lock()
        self._at_work = threading.local()  # the attempt that this thread works for

    def encrypt(self, words: U64) -> Packed:
        """This shuffler's shares of the fakes, encrypted as users encrypt theirs."""
        return self._engine.encrypt(self.public, words, statistical=self._statistical, ready=self._ready)

    def remask(self, ciphertexts: Packed, masks: U64, hop: int) -> Packed:
        """The pass over the ciphertexts."""
        return self._engine.remask(
            self.public,
            ciphertexts,
            masks,
            hop,
            statistical=self._statistical,
            ready=self._ready,
            progress=self._came,
        )

    def work(self, task: Task) -> bytes:
        """See `Workbench`; KeyError if the attempt is left while it is worked."""
        self._at_work.attempt = _attempt(task.out)
        self.done = 0
        try:
            return super().work(task)
        finally:
            self.done = 0
            self._forget()

    def take_in(self, handle: Handle, header: VectorHeader, rows: Packed) -> None:
        """See `Workbench`."""
        try:
            super().take_in(handle, header, rows)
        finally:
            self._forget()

    def discard(self, attempt: int) -> None:
        """Forget every vector of this attempt and of those before it, and whatever is still made of them."""
        self.left = max(self.left, attempt)
        self._forget()

    def _forget(self) -> None:
        # In place: a thread at work would put its result into the tables that it knows.
        with self._changing:
            for table in (self.vectors, self._hashes):
                for name in [name for name in tuple(table) if _attempt(name) <= self.left]:
                    table.pop(name, None)

    def _came(self, done: int, total: int) -> None:
        if getattr(self._at_work, "attempt", self.left + 1) <= self.left:
            raise LocalFault("the attempt that this pass belongs to was left")
        self.done = done * self.rows // max(total, 1)


def _attempt(handle: Handle) -> int:
    """The attempt that a vector belongs to; the frozen ones outlive all of them."""
    number = handle.partition("/")[0]
    return int(number) if number.isdigit() else 1 << 32
