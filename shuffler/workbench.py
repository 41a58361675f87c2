"""Workbenches whose passes run in worker processes, and whose vectors other threads may use while an attempt is left.

Vectors die with the process, on purpose: an attempt that was interrupted is never continued. Long vectors of
ciphertexts lie in files without a name; no step makes another copy of one.
"""

import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from peos.compute import Engine, ReadyZeros
from peos.crypto.identity import Identity
from peos.crypto.onion import OnionPrivateKey
from peos.crypto.randomness import U64, system
from peos.crypto.schemes.base import Packed, PublicKey
from peos.errors import LocalFault
from peos.shuffle.attempt import ENCRYPTED_SHARE
from peos.shuffle.bench import AbstractBench
from peos.shuffle.effects import CIPHERTEXTS, SHARES, Handle, Pass, Task
from peos.shuffle.messages import Kind, VectorHeader
from peos.shuffle.relay import Line, Relay
from peos.shuffle.streaming import Moved
from peos.shuffle.vectors import Workbench, as_rows, as_words, composed
from shuffler import spill


class InProcess(AbstractBench):
    """One collection's vectors. Work on an attempt that was left meanwhile leaves nothing behind."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.done = 0  # rows of the pass under way
        self.left = 0  # the highest attempt that was left
        self._changing = threading.Lock()
        self._at_work = threading.local()  # the attempt that this thread works for

    def room(self, count: int, width: int) -> Packed:
        """Where so many rows of `width` bytes are put together; Full if there is no room for them."""
        return np.empty((count, width), np.uint8)

    def coming(self, header: VectorHeader) -> spill.SpillWriter | None:  # noqa: ARG002 - every vector is short enough
        """Where a vector is kept while it arrives; nothing for one that is short enough for memory."""
        return None

    def work(self, task: Task) -> bytes:
        """Do what an effect asks; KeyError if the attempt is left while it is worked."""
        self._at_work.attempt = attempt_of(task.out)
        self.done = 0
        try:
            return super().work(task)  # type: ignore[safe-super] # of the bench that this is mixed into
        finally:
            self.done = 0
            self._forget()

    def take_in(self, handle: Handle, header: VectorHeader, rows: Packed) -> None:
        """Keep a vector that came whole, unless its attempt was left meanwhile."""
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
                for name in [name for name in tuple(table) if attempt_of(name) <= self.left]:
                    table.pop(name, None)

    def _came(self, done: int, total: int) -> None:
        if getattr(self._at_work, "attempt", self.left + 1) <= self.left:
            raise LocalFault("shuffle.attempt_left", "the attempt that this pass belongs to was left")
        self.done = done * self.rows // max(total, 1)


class Bench(InProcess, Workbench):
    """Shares, and the ciphertexts of the first of them.

    `ready` are zeros made ahead, with the same `statistical`; where they run out, zeros are made. `folder` is where
    vectors of `long_from` bytes and more are kept; without one they stay in memory.
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
        folder: Path | None = None,
        long_from: int = spill.FROM_BYTES,
    ) -> None:
        InProcess.__init__(self, rows)
        Workbench.__init__(self, rows, words, public, system(), statistical=statistical)
        self._ready = ready
        self._width = words * public.ciphertext_bytes
        self._folder = folder if rows * self._width >= long_from else None
        self._engine = engine

    def room(self, count: int, width: int) -> Packed:
        """Where so many rows are put together; Full if there is no room for them."""
        if self._folder is None:
            return super().room(count, width)
        return spill.SpillFile.reserved(self._folder, count, width).as_packed()

    def coming(self, header: VectorHeader) -> spill.SpillWriter | None:
        """Where a vector is kept while it arrives; nothing for one that is short enough for memory."""
        if self._folder is None or header.header.step.kind is not Kind.HANDOVER:
            return None
        return spill.SpillWriter(self._folder, header.rows, header.row_bytes)

    def frozen_room(self, number: int) -> Packed:
        """Rows for the users' shares, in their order, and after them for this shuffler's shares of the fakes."""
        rows, words = self._shape
        if number == ENCRYPTED_SHARE:
            return self.room(rows, self._width)
        return np.empty((rows, 8 * words), np.uint8)

    def complete(self, number: int, frozen: Packed, own_fakes: U64) -> None:
        """Add the fakes to the rows of the users, which are there: that is the frozen vector."""
        users = self.rows - len(own_fakes)
        if number == ENCRYPTED_SHARE:
            words = own_fakes.reshape(-1)
            flat = frozen.reshape(self.rows * self._shape[1], self.public.ciphertext_bytes)
            first = users * self._shape[1]
            self.encrypt(words, spill.beyond(flat, first))
            self.vectors[CIPHERTEXTS] = frozen
        else:
            frozen[users:] = as_rows(own_fakes)
            self.vectors[SHARES] = as_words(frozen)

    def encrypt(self, words: U64, out: Packed | None = None) -> Packed:
        """This shuffler's shares of the fakes, encrypted as users encrypt theirs."""
        return self._engine.encrypt(self.public, words, statistical=self._statistical, ready=self._ready, out=out)

    def remask(self, ciphertexts: Packed | Moved, masks: U64, hop: int) -> Packed:
        """The pass over the ciphertexts, which are cut by slices, into a vector of their length."""
        return self._engine.remask(
            self.public,
            ciphertexts,
            masks,
            hop,
            statistical=self._statistical,
            ready=self._ready,
            progress=self._came,
            out=self.room(len(masks), self.public.ciphertext_bytes),
        )

    def _pass(self, task: Pass) -> Packed:
        index = composed(task.permutations, self.rows)
        moved = Moved(self.vectors[task.ciphertexts], index, self.public.ciphertext_bytes)
        return self.remask(moved, self.plain(task.accumulator).reshape(-1), task.hop).reshape(self.rows, self._width)


class RelayBench(InProcess, Relay):
    """A sequential shuffle's onions."""

    def __init__(self, number: int, line: Line, identity: Identity, engine: Engine) -> None:
        InProcess.__init__(self, line.frozen + line.fakes_up_to(number))
        Relay.__init__(self, number, line, OnionPrivateKey.of(identity))
        self._engine = engine

    def _under(self, onions: Packed) -> Packed:
        return self._engine.peel(self._layer, onions, self._came)


@dataclass(frozen=True)
class BenchFactory:
    """Factory of this process's benches, of the kind that the protocol asks for."""

    identity: Identity
    engine: Engine
    statistical: bool
    ready: ReadyZeros | None
    folder: Path

    def of_shares(self, rows: int, words: int, public: PublicKey) -> InProcess:
        """For vectors of shares."""
        return Bench(
            rows, words, public, self.engine, statistical=self.statistical, ready=self.ready, folder=self.folder
        )

    def of_onions(self, number: int, line: Line) -> InProcess:
        """For onions."""
        return RelayBench(number, line, self.identity, self.engine)


def attempt_of(handle: Handle) -> int:
    """The attempt that a vector belongs to; the frozen ones outlive all of them."""
    number = handle.partition("/")[0]
    return int(number) if number.isdigit() else 1 << 32
