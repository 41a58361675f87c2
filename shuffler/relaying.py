"""A sequential shuffle's onions in a process: vectors that other threads may use while an attempt is left.

They die with the process, on purpose.
"""

import threading
from typing import Final

import numpy as np

from peos.collection.submission import PRESENT
from peos.compute import Engine
from peos.crypto.identity import Identity
from peos.crypto.onion import OnionPrivateKey
from peos.crypto.schemes.base import Packed
from peos.errors import LocalFault
from peos.shuffle.effects import Handle, Task
from peos.shuffle.fakes import fake_shares, wrapping
from peos.shuffle.messages import VectorHeader
from peos.shuffle.relay import FIRST, Line, Relay
from shuffler.bench import attempt_of

NOT_OPENED: Final = "their onion did not open here, or was a copy of another"


class RelayBench(Relay):
    """One collection's onions. Work on an attempt that was left meanwhile leaves nothing behind."""

    def __init__(self, number: int, line: Line, identity: Identity, engine: Engine) -> None:
        super().__init__(number, line, OnionPrivateKey.of(identity))
        self.rows = line.frozen + line.fakes_up_to(number)
        self.done = 0  # rows of the pass under way
        self._engine = engine
        self.left = 0  # the highest attempt that was left
        self._changing = threading.Lock()
        self._at_work = threading.local()  # the attempt that this thread works for

    def coming(self, _: VectorHeader) -> None:
        """Where a vector is kept while it arrives: in memory."""

    def frozen_room(self, number: int) -> Packed:
        """Rows for the users' shares: onions for the first shuffler, a byte each for the others."""
        width = self.line.row_bytes(FIRST) if number == FIRST else len(PRESENT)
        return np.empty((self.line.frozen, width), np.uint8)

    def complete(self, frozen: Packed, seed: bytes) -> None:
        """Draw this shuffler's fakes; all that an attempt begins with is here then."""
        line = self.line
        own = fake_shares(seed, line.context, line.own_fakes(self._number), line.report_bytes // 8)
        self.lay_out(frozen, own, wrapping(seed, line.context))

    def work(self, task: Task) -> bytes:
        """See `Relay`; KeyError if the attempt is left while it is worked."""
        self._at_work.attempt = attempt_of(task.out)
        self.done = 0
        try:
            return super().work(task)
        finally:
            self.done = 0
            self._forget()

    def take_in(self, handle: Handle, header: VectorHeader, rows: Packed) -> None:
        """See `Relay`."""
        super().take_in(handle, header, rows)
        self._forget()

    def discard(self, attempt: int) -> None:
        """Forget every vector of this attempt and of those before it, and whatever is still made of them."""
        self.left = max(self.left, attempt)
        self._forget()

    def _forget(self) -> None:
        # In place: a thread at work would put its result into the tables that it knows.
        with self._changing:
            for table in (self.vectors, self._hashes):
                for name in [name for name in tuple(table) if attempt_of(name) <= self.left]:
                    table.pop(name, None)

    def _under(self, onions: Packed) -> Packed:
        return self._engine.peel(self._layer, onions, self._told)

    def _told(self, done: int, total: int) -> None:
        if getattr(self._at_work, "attempt", self.left + 1) <= self.left:
            raise LocalFault("shuffle.attempt_left", "the attempt that this pass belongs to was left")
        self.done = done * self.rows // max(total, 1)
