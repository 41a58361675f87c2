"""Views of a record with a number that is rounded by chance, so that it stands among few, and its mean stays.

A measure between its bounds becomes one of J points, evenly apart: one of the two next to it, the nearer the likelier.
The client draws it from its own randomness, before the report is randomised.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from peos.crypto.randomness import Randomness
from peos.errors import WrongInput
from peos.ldp.base import whole_number
from peos.tasks.cell_views import Axis, CellView, GridView, Records, width_of
from peos.tasks.schema import Attribute, Cells, column
from peos.tasks.views import Record, ViewChoice

MOST_POINTS: Final = 1_024
MOST_PACKED: Final = 64
_BITS: Final = 52  # of a share that a coin is drawn with


def rounded(values: NDArray[np.float64], low: float, high: float, points: int, rng: Randomness) -> Cells:
    """The point that each value is rounded to; beyond the bounds it is the end."""
    scaled = (np.clip(values, low, high) - low) * ((points - 1) / (high - low))
    below = np.minimum(np.floor(scaled), points - 2).astype(np.int64)
    share = np.floor((scaled - below) * 2.0**_BITS).astype(np.uint64)
    return below + (rng.uint64(len(values)) >> np.uint64(64 - _BITS) < share)


@dataclass(frozen=True)
class RoundedView(CellView):
    """The cell of a table over attributes and, as its last axis, a measure at one of so many points."""

    kind: ClassVar[str] = "rounded"
    points: int = 2

    def __post_init__(self) -> None:
        whole_number(self.points, "the number of points of a measure", least=2, most=MOST_POINTS)
        if not self.axes or not self.measure.is_ordered:
            raise WrongInput("view.measure", "a measure is a number between bounds")
        super().__post_init__()

    @property
    def measure(self) -> Attribute:
        """What is rounded."""
        return self.axes[-1].attribute

    @property
    def shape(self) -> tuple[int, ...]:
        """The measure's points last."""
        return (*(axis.pieces for axis in self.axes[:-1]), self.points)

    @property
    def in_words(self) -> str:
        """The attributes, and the measure with its points."""
        others = "".join(f"{axis.in_words} with " for axis in self.axes[:-1])
        return (
            f"{others}{self.measure.in_words} rounded at random to one of {self.points}: which of {self.cells:,} cells"
        )

    @property
    def reads(self) -> Hashable:
        """The measure is not read by its cells."""
        return self.kind, super().reads

    def read(self, records: Records) -> list[Any]:
        """Cells, and the measure as it is."""
        names = self.names
        cells = [axis.attribute.index(column(records, axis.attribute.name)) for axis in self.axes[:-1]]
        return [*cells, np.asarray(column(records, names[-1]), np.float64)]

    def answers(self, read: Sequence[Any], rng: Randomness) -> Cells:
        """The measure is rounded anew."""
        pieces = [one // axis.width for one, axis in zip(read[:-1], self.axes, strict=False)]
        measure = self.measure
        point = rounded(read[-1], float(measure.first), float(measure.last), self.points, rng)
        found: Cells = np.ravel_multi_index([*pieces, point], self.shape).astype(np.int64)
        return found

    def describe(self) -> ViewChoice:
        """Widths of the other axes, and the points."""
        widths = {width_of(at): axis.width for at, axis in enumerate(self.axes[:-1])}
        texts = tuple(axis.attribute.text for axis in self.axes)
        return ViewChoice(self.kind, {**widths, "points": self.points}, texts)

    @classmethod
    def of(cls, choice: ViewChoice) -> Self:
        """The view that a document describes."""
        named = [width_of(at) for at in range(len(choice.labels) - 1)]
        if choice.catalogue is not None or not choice.labels or {*choice.parameters} != {*named, "points"}:
            raise WrongInput(
                "view.parameters", f"a view of kind {cls.kind} states its attributes, their widths, and points"
            )
        widths = [*(choice.parameters[name] for name in named), 1]
        attributes = map(Attribute.from_text, choice.labels)
        axes = tuple(Axis(one, width) for one, width in zip(attributes, widths, strict=True))
        return cls(axes, choice.parameters["points"])


@dataclass(frozen=True)
class PackedView(CellView):
    """One of a user's several records of a list, drawn at random, with how many it stands for as its last axis.

    The first `own` axes are attributes of the user, the others of a record in the list `held`. How many records there
    are, at most `most`, is rounded to one of so many points from 0 on; who has none answers 0, and for any cell.
    """

    kind: ClassVar[str] = "packed"
    held: str = ""
    own: int = 0
    most: int = 1
    points: int = 2

    def __post_init__(self) -> None:
        whole_number(self.points, "the number of points of a measure", least=2, most=MOST_POINTS)
        whole_number(self.most, "the most records of a user that count", least=1, most=MOST_PACKED)
        whole_number(self.own, "the number of attributes of the user", least=0, most=len(self.axes))
        super().__post_init__()

    @property
    def shape(self) -> tuple[int, ...]:
        """The points of how many last."""
        return (*(axis.pieces for axis in self.axes), self.points)

    @property
    def in_words(self) -> str:
        """What is drawn, and what is hidden."""
        together = " with ".join(axis.in_words for axis in self.axes)
        return (
            f"{together}, of one of the {self.held} drawn at random, and how many there are, up to {self.most}, "
            f"rounded at random to one of {self.points}: which of {self.cells:,} cells"
        )

    def problem(self, record: Record) -> str:
        """A list that is missing, or a record in it that does not fit."""
        if not isinstance(record, Mapping):
            return "the record is not an object with attributes"
        listed = record.get(self.held)
        if not isinstance(listed, list | tuple):
            return f"the record has no list {self.held}"
        for axes, each in ((self.axes[: self.own], [record]), (self.axes[self.own :], listed)):
            for one in each if axes else ():
                if problem := GridView(axes).problem(one):
                    return problem
        return ""

    @property
    def reads(self) -> Hashable:
        """From a list of records."""
        return self.kind, self.held, self.own, super().reads

    def read(self, records: Records) -> list[Any]:
        """The user's cells; those of all her records one after another, and how many they are."""
        listed = [list(record[self.held]) for record in records]  # type: ignore[index] # each was found to be an object
        counts = np.array([len(one) for one in listed], np.int64)
        flat = [one for each in listed for one in each]
        own = [axis.attribute.index(column(records, axis.attribute.name)) for axis in self.axes[: self.own]]
        others = [axis.attribute.index(column(flat, axis.attribute.name)) for axis in self.axes[self.own :]]
        return [own, others, counts]

    def answers(self, read: Sequence[Any], rng: Randomness) -> Cells:
        """One record drawn, and how many there are rounded; the same draws where there is none."""
        own, others, counts = read
        users = len(counts)
        starts = np.cumsum(counts) - counts
        drawn = starts + rng.below(np.maximum(counts, 1).astype(np.uint64)).astype(np.int64)
        pieces = [one // axis.width for one, axis in zip(own, self.axes, strict=False)]
        for one, axis in zip(others, self.axes[self.own :], strict=True):
            anything = rng.below(np.full(users, axis.pieces, np.uint64)).astype(np.int64)
            held = one[np.where(counts > 0, drawn, 0)] // axis.width if len(one) else anything
            pieces.append(np.where(counts > 0, held, anything))
        weight = rounded(np.minimum(counts, self.most).astype(np.float64), 0.0, float(self.most), self.points, rng)
        found: Cells = np.ravel_multi_index([*pieces, weight], self.shape).astype(np.int64)
        return found

    def describe(self) -> ViewChoice:
        """The list's name before the attributes."""
        widths = {width_of(at): axis.width for at, axis in enumerate(self.axes)}
        given = {**widths, "own": self.own, "most": self.most, "points": self.points}
        return ViewChoice(self.kind, given, (self.held, *(axis.attribute.text for axis in self.axes)))

    @classmethod
    def of(cls, choice: ViewChoice) -> Self:
        """The view that a document describes."""
        named = [width_of(at) for at in range(len(choice.labels) - 1)]
        stated = {*choice.parameters} == {*named, "own", "most", "points"}
        if choice.catalogue is not None or not choice.labels or not stated:
            raise WrongInput(
                "view.parameters",
                f"a view of kind {cls.kind} states a list, its attributes, their widths, own, most and points",
            )
        attributes = map(Attribute.from_text, choice.labels[1:])
        axes = tuple(Axis(one, choice.parameters[name]) for one, name in zip(attributes, named, strict=True))
        own, most, points = (choice.parameters[name] for name in ("own", "most", "points"))
        return cls(axes, choice.labels[0], own, most, points)
