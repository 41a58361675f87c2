"""One shuffler's place in a sequential shuffle: its onions by handle, its layer, its fakes (protocol.md §9)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from peos.crypto.kdf import Context
from peos.crypto.onion import Layer, OnionKeys, OnionPrivateKey, without_copies
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.base import Packed
from peos.errors import LocalFault, Refused
from peos.shuffle import merkle
from peos.shuffle.bench import AbstractBench, fault_of
from peos.shuffle.effects import CIPHERTEXTS, Handle, Peel, Task
from peos.shuffle.fakes import own_fakes, wrapping
from peos.shuffle.messages import VectorHeader

FIRST: Final = 1  # the shuffler that users send their onions to
PRESENT: Final = b"\x00"  # the share of all others: it only says who takes part


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


class Relay(AbstractBench):
    """Shuffler `number`'s onions, and the work on them: in each attempt the same fakes, another permutation."""

    why_lost = "their onion did not open here, or was a copy of another"

    def __init__(self, number: int, line: Line, private: OnionPrivateKey) -> None:
        super().__init__()
        self.vectors: dict[Handle, Packed] = {}
        self.line = line
        self._number = number
        self._layer = Layer(private, line.context.collection, number)
        self._fakes: Packed = np.empty((0, line.row_bytes(number + 1)), np.uint8)

    def frozen_room(self, number: int) -> Packed:
        """Rows for the users' shares: onions for the first shuffler, a byte each for the others."""
        width = self.line.row_bytes(FIRST) if number == FIRST else len(PRESENT)
        return np.empty((self.line.frozen, width), np.uint8)

    def begin(self, number: int, frozen: Packed, fakes: U64, secret: bytes) -> None:  # noqa: ARG002 - it is its own
        """See `AbstractBench`."""
        self.lay_out(frozen, fakes, wrapping(secret, self.line.context))

    def lay_out(self, onions: Packed, fakes: U64, wrapping: Randomness) -> None:
        """The frozen onions, which shuffler 1 has, and its own fakes, under the layers of all who come after."""
        line, number = self.line, self._number
        reports = fakes.astype("<u8").view(np.uint8).reshape(len(fakes), line.report_bytes)
        self._fakes = line.keys.wrap(line.context.collection, reports, wrapping, first=number + 1)
        if number == FIRST:
            self.vectors[CIPHERTEXTS] = onions

    def check_shape(self, header: VectorHeader) -> None:
        """RemoteFault for onions of another length than the step's, or for more than there are reports and fakes."""
        most = self.line.frozen + self.line.fakes_up_to(self._number - 1)
        if header.rows > most or header.row_bytes != self.line.row_bytes(self._number):
            raise fault_of(
                "shuffle.onions",
                header.header,
                f"sent {header.rows} onions of {header.row_bytes} bytes, which cannot be those of the step",
            )

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

    What does not open is left out, and so is a copy: a report that comes out twice would be known by that. Whose it
    was is not said, only how many, which the next party sees anyway.
    """
    rows = under(without_copies(onions))
    opened = rows[rows[:, 0] == 1, 1:]
    return opened, len(onions) - len(opened)
