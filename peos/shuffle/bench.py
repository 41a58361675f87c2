"""What every workbench is: one shuffler's vectors by handle, each taken in once, and the work that effects ask for."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from peos.crypto.randomness import U64
from peos.crypto.schemes.base import Packed
from peos.errors import RemoteFault
from peos.shuffle.effects import Handle, Task
from peos.shuffle.messages import Header, VectorHeader


class AbstractBench(ABC):
    """One shuffler's vectors of one frozen collection. Which rows they have, and what is worked, is the protocol's."""

    why_lost: ClassVar[str] = ""  # why rows are left out, in the words of the operator's status

    def __init__(self) -> None:
        self.vectors: dict[Handle, Any] = {}
        self.lost = 0  # rows that the last task left out
        self._hashes: dict[Handle, bytes] = {}  # of what came from others

    @abstractmethod
    def frozen_room(self, number: int) -> Packed:
        """Rows for the users' shares at shuffler `number`, in their order; with room for what `begin` adds to them."""

    @abstractmethod
    def begin(self, number: int, frozen: Packed, fakes: U64, secret: bytes) -> None:
        """Make the frozen vector of the rows, which are there, and this shuffler's fakes.

        `secret` is what the fakes were drawn from: where they have to be wrapped, it is the same in every attempt.
        """

    @abstractmethod
    def work(self, task: Task) -> bytes:
        """Do what an effect asks; returns the root of the result, where there is one."""

    @abstractmethod
    def check_shape(self, header: VectorHeader) -> None:
        """RemoteFault if the vector that is announced cannot be the one of its step."""

    def expect(self, header: VectorHeader) -> Handle | None:
        """The name for a vector that another shuffler announces; nothing if the very same is here already.

        RemoteFault if it cannot be that of its step, or if it is another one for the same step.
        """
        self.check_shape(header)
        place = header.header
        handle = f"{place.context.attempt}/from {place.sender}/{place.step.kind.name.lower()}/{place.step.round}"
        known = self._hashes.get(handle)
        if known is not None and known != header.sha256:
            raise fault_of("shuffle.two_vectors", place, "sent two different vectors for one step")
        return handle if known is None else None

    def take_in(self, handle: Handle, header: VectorHeader, rows: Packed) -> None:
        """Keep a vector that came whole."""
        self.vectors[handle] = rows
        self._hashes[handle] = header.sha256

    def discard(self, attempt: int) -> None:
        """Forget every vector of an attempt."""
        prefix = f"{attempt}/"
        self.vectors = {name: vector for name, vector in self.vectors.items() if not name.startswith(prefix)}
        self._hashes = {name: hash_ for name, hash_ in self._hashes.items() if not name.startswith(prefix)}


def fault_of(id_: str, place: Header, sentence: str) -> RemoteFault:
    """The sender's fault, at its step."""
    return RemoteFault(id_, sentence, party=f"shuffler {place.sender}", step=str(place.step))
