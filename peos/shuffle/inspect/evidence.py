"""What a shuffler shows of the dummies' rows: what it gave, took, added, held and passed on, at every step.

Only rows of reports that the analyzer has proved to be its own are opened (peos.collection.reveal), so nothing is shown
that the analyzer does not know; a row's masks and salts are words of streams at that row, which say nothing of others.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from peos.crypto.kdf import StreamKey
from peos.shuffle import merkle
from peos.shuffle.effects import Handle, Mix, Pass, Split, Task
from peos.shuffle.inspect.paths import Places
from peos.shuffle.messages import SignedReveal
from peos.shuffle.schedule import HandOver, Hide, Leave
from peos.shuffle.transcript import Said
from peos.shuffle.vectors import Vector, as_rows, in_rows

Trail = Sequence[tuple[Leave | Hide | HandOver, Task]]


class What(IntEnum):
    """What rows are to the shuffler that shows them."""

    GIVEN = 1  # its piece for a hider, when it left; for 0, what it added to the ciphertexts
    TAKEN = 2  # a leaver's piece
    MASK = 3  # what it shares with another hider: the lower of the two adds it, the other subtracts it
    MIXED = 4  # its vector after a round
    CAME = 5  # ciphertexts from the holder before
    PASSED = 6  # ciphertexts after its pass


@dataclass(frozen=True, order=True)
class Slot:
    """Of which round, what, and with which other shuffler (0: none)."""

    round: int
    what: What
    other: int = 0


@dataclass(frozen=True, repr=False)
class Shown:
    """The dummies' rows at one place, in the dummies' order; with proofs where the shuffler had committed to them."""

    rows: NDArray[np.uint8]
    proofs: tuple[merkle.Proof, ...] = ()


class Nothing(IntEnum):
    """A shuffler's reason for showing nothing, which the others cannot verify."""

    LOST = 1  # it was started anew, and what it held is gone
    UNREVEALED = 2  # the analyzer did not show it the dummies as it must

    def __str__(self) -> str:
        return {1: "it was started anew and holds nothing any more", 2: "it was not shown the dummies as it must be"}[
            self
        ]


@dataclass(frozen=True, repr=False)
class Opening:
    """All that one shuffler shows.

    `paths` are the places before round 1, after it, after round 2, … as far as they are agreed on, and `claim` is its
    own word on the round after those. `revealed` is what it was shown of the dummies, `dummies` which of the document's
    were frozen, in the order of their rows.
    """

    sender: int
    paths: tuple[Places, ...] = ()
    shown: Mapping[Slot, Shown] = field(default_factory=dict)
    said: Mapping[Said, bytes] = field(default_factory=dict)
    claim: Places | None = None
    revealed: SignedReveal | None = None
    dummies: tuple[int, ...] = ()
    nothing: Nothing | None = None


def open_rows(
    me: int,
    trail: Trail,
    vectors: Mapping[Handle, Vector],
    places: Sequence[Places],
    said: Mapping[Said, bytes],
    *,
    claim: Places | None,
    revealed: SignedReveal,
    dummies: tuple[int, ...],
) -> Opening:
    """Show the rows at `places` (before round 1, after round 1, …); steps beyond the last of them stay closed.

    `claim` is where this shuffler says that they went in the round after, if that is not agreed on.
    """
    shown: dict[Slot, Shown] = {}
    last = len(places) - 1
    for action, task in trail:
        match action, task:
            case Leave(), Split() if action.round - 1 <= last:
                shown |= _given(action, task, vectors, places[action.round - 1])
            case Hide(), Mix() if action.round <= last:
                shown |= _mixed(me, action, task, vectors, places[action.round - 1], places[action.round])
            case HandOver(), Pass() if action.round <= last:
                shown |= _passed(action, task, vectors, places[action.first_round - 1], places[action.round])
            case _:
                pass
    return Opening(me, tuple(places), shown, said, claim, revealed, dummies)


def _given(leave: Leave, task: Split, vectors: Mapping[Handle, Vector], at: Places) -> dict[Slot, Shown]:
    left = vectors[task.out]
    shown = {
        Slot(leave.round, What.GIVEN, hider): Shown(_of_stream(key, left.shape, at))
        for hider, key in zip(leave.seeded, task.streams, strict=True)
    }
    shown[Slot(leave.round, What.GIVEN, leave.explicit)] = Shown(_rows(left, at))
    return shown


def _mixed(
    me: int, hide: Hide, task: Mix, vectors: Mapping[Handle, Vector], before: Places, after: Places
) -> dict[Slot, Shown]:
    out = vectors[task.out]
    shown: dict[Slot, Shown] = {}
    for who, key in zip(hide.seeds_from, task.streams, strict=True):
        shown[Slot(hide.round, What.TAKEN, who)] = Shown(_of_stream(key, out.shape, before))
    for who, handle in zip(hide.vectors_from, task.vectors, strict=True):
        shown[Slot(hide.round, What.TAKEN, who)] = Shown(_rows(vectors[handle], before))
    higher = (who for who in hide.hiders if who > me)
    lower = (who for who in hide.hiders if who < me)
    for who, key in (*zip(higher, task.plus, strict=True), *zip(lower, task.minus, strict=True)):
        shown[Slot(hide.round, What.MASK, who)] = Shown(_of_stream(key, out.shape, after))
    shown[Slot(hide.round, What.MIXED)] = _committed(out, task.salt, after)
    return shown


def _passed(
    over: HandOver, task: Pass, vectors: Mapping[Handle, Vector], before: Places, after: Places
) -> dict[Slot, Shown]:
    shown = {Slot(over.round, What.PASSED): _committed(vectors[task.out], task.salt, after)}
    if over.source:
        came = Slot(over.first_round - 1, What.CAME, over.source)
        shown[came] = Shown(_rows(vectors[task.ciphertexts], before))
    return shown


def _committed(vector: Vector, salt: StreamKey, at: Iterable[int]) -> Shown:
    return Shown(_rows(vector, at), merkle.prove(in_rows(vector), salt, tuple(at)))


def _rows(vector: Vector, at: Iterable[int]) -> NDArray[np.uint8]:
    return as_rows(vector[list(at)])


def _of_stream(key: StreamKey, shape: tuple[int, ...], at: Iterable[int]) -> NDArray[np.uint8]:
    return _rows(key.stream().uint64(shape), at)
