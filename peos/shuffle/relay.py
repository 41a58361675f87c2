"""One shuffler's place in a sequential shuffle: its onions by handle, its layer, its fakes (protocol.md §9)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from peos.crypto.kdf import Context
from peos.crypto.onion import Layer, OnionKeys, OnionPrivateKey, without_copies
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.base import Packed
from peos.errors import LocalFault, Refused, RemoteFault
from peos.shuffle import merkle
from peos.shuffle.effects import CIPHERTEXTS, Handle, Peel, Task
from peos.shuffle.fakes import own_fakes
from peos.shuffle.messages import Header, VectorHeader

FIRST: Final = 1  # the shuffler that users send their onions to


@dataclass(frozen=True)
class Line:
    """What all shufflers know of a frozen collection whose reports have `report_bytes`."""

    keys: OnionKeys
    context: Context
    report_bytes: int
    frozen: int  # reports, dummies among them
    fakes: int
    least: int  # reports below which nothing is handed on, dummies among them

    @property
    def shufflers(self) -> int:
        """All but the last layer are theirs."""
        return self.keys.layers - 1

    def own_fakes(self, number: int) -> int:
        """How many fakes a shuffler adds."""
        return own_fakes(self.fakes, self.shufflers, number)

    def fakes_up_to(self, number: int) -> int:
        """How many fakes the first `number` shufflers add."""
        return sum(map(self.own_fakes, range(1, number + 1)))

    def row_bytes(self, number: int) -> int:
        """How long an onion is that comes to a shuffler."""
        return self.keys.row_bytes(self.report_bytes, number)


class Relay:
    """Shuffler `number`'s onions, and the work on them: in each attempt the same fakes, another permutation."""

    def __init__(self, number: int, line: Line, private: OnionPrivateKey) -> None:
        self.vectors: dict[Handle, Packed] = {}
        self.lost = 0  # rows of the last pass that did not open, or were copies of others
        self.line = line
        self._number = number
        self._layer = Layer(private, line.context.collection, number)
        self._fakes: Packed = np.empty((0, line.row_bytes(number + 1)), np.uint8)
        self._hashes: dict[Handle, bytes] = {}  # of what came from others

    def lay_out(self, onions: Packed, fakes: U64, wrapping: Randomness) -> None:
        """The frozen onions, which shuffler 1 has, and its own fakes, under the layers of all who come after."""
        line, number = self.line, self._number
        reports = fakes.astype("<u8").view(np.uint8).reshape(len(fakes), line.report_bytes)
        self._fakes = line.keys.wrap(line.context.collection, reports, wrapping, first=number + 1)
        if number == FIRST:
            self.vectors[CIPHERTEXTS] = onions

    def expect(self, header: VectorHeader) -> Handle | None:
        """The name for the onions that are announced; nothing if the very same are here already.

        RemoteFault if they cannot be those of the step: of another length, or more than there are reports and fakes.
        """
        place, line = header.header, self.line
        most = line.frozen + line.fakes_up_to(self._number - 1)
        if header.rows > most or header.row_bytes != line.row_bytes(self._number):
            raise _fault(
                "shuffle.onions",
                place,
                f"sent {header.rows} onions of {header.row_bytes} bytes, which cannot be those of the step",
            )
        handle = f"{place.context.attempt}/from {place.sender}/{place.step.kind.name.lower()}/{place.step.round}"
        known = self._hashes.get(handle)
        if known is not None and known != header.sha256:
            raise _fault("shuffle.two_vectors", place, "sent two different vectors for one step")
        return handle if known is None else None

    def take_in(self, handle: Handle, header: VectorHeader, rows: Packed) -> None:
        """Keep onions that came whole; whether they open is seen when they are worked."""
        self.vectors[handle] = rows
        self._hashes[handle] = header.sha256

    def discard(self, attempt: int) -> None:
        """Forget every vector of an attempt."""
        prefix = f"{attempt}/"
        self.vectors = {name: rows for name, rows in self.vectors.items() if not name.startswith(prefix)}
        self._hashes = {name: hash_ for name, hash_ in self._hashes.items() if not name.startswith(prefix)}

    def work(self, task: Task) -> bytes:
        """Remove the layer, add the fakes, permute; the root of the result."""
        if not isinstance(task, Peel):
            raise LocalFault("shuffle.no_step", "a sequential shuffle has no such step")
        rows = self._peeled(self.vectors[task.source])
        self.vectors[task.out] = moved = rows[task.permutation.stream().permutation(len(rows))]
        return merkle.root(moved, task.salt)

    def _peeled(self, came: Packed) -> Packed:
        """What was under the layer of each onion, and the fakes."""
        line = self.line
        own, self.lost = peeled(came, self._under)
        reports = len(own) - line.fakes_up_to(self._number - 1)
        if reports < line.least:
            raise Refused(
                "shuffle.too_few",
                f"{max(reports, 0)} reports are left of {line.frozen}, too few to be handed on",
                hint="onions did not open; the collection is aborted",
            )
        return np.concatenate((own, self._fakes))

    def _under(self, onions: Packed) -> Packed:
        """See `Layer.under`."""
        return self._layer.under(onions)


def peeled(onions: Packed, under: Callable[[Packed], Packed]) -> tuple[Packed, int]:
    """What is under one layer, which `under` removes as `Layer.under` does, and how many rows were left out.

    What does not open is left out, and so is a copy: a report that comes out twice would be known by that. Of whom it
    was nobody is told, only of how many, which the next party sees anyway.
    """
    rows = under(without_copies(onions))
    opened = rows[rows[:, 0] == 1, 1:]
    return opened, len(onions) - len(opened)


def _fault(id_: str, place: Header, sentence: str) -> RemoteFault:
    return RemoteFault(id_, sentence, party=f"shuffler {place.sender}", step=str(place.step))
