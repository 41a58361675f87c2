"""Views of a record of attributes: which cell of a table it is in.

A table has an axis for each of some attributes (`peos.tasks.schema`), cut into pieces of `width` of its cells. With
`attributes` nothing is cut; a `level` is one attribute at one level of a tree; a `grid` has several, cut coarsely.
The document states the attributes themselves, so that a client reads its user's record without anything else.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from peos.crypto.randomness import Randomness
from peos.errors import Refused, WrongInput
from peos.ldp.base import MAX_ENUMERABLE, whole_number
from peos.tasks.schema import MOST_CELLS, Attribute, Cells, column
from peos.tasks.views import Record, View, ViewChoice

MOST_AXES: Final = 64
Records = Sequence[Record] | NDArray[Any]


@dataclass(frozen=True)
class Axis:
    """An attribute in pieces of `width` of its cells; the last piece may be smaller."""

    attribute: Attribute
    width: int = 1

    @property
    def pieces(self) -> int:
        """How many there are."""
        return -(-self.attribute.size // self.width)

    @property
    def in_words(self) -> str:
        """The attribute, and in how many parts."""
        return f"{self.attribute.in_words}{f' in {self.pieces} parts' if self.width > 1 else ''}"


@dataclass(frozen=True)
class CellView:
    """The cell of a table over these axes; the last axis runs fastest."""

    kind: ClassVar[str]
    gives: ClassVar[str] = "cell"
    is_cut: ClassVar[bool] = True  # whether its axes have widths
    most_axes: ClassVar[int] = MOST_AXES
    axes: tuple[Axis, ...]

    def __post_init__(self) -> None:
        whole_number(len(self.axes), "the number of attributes of a view", least=1, most=self.most_axes)
        for axis in self.axes:
            whole_number(axis.width, "the width of a view's cells", least=1, most=MOST_CELLS)
        if len({*self.names}) < len(self.axes):
            raise WrongInput("view.attributes", "a view names each attribute once")
        whole_number(self.cells, "the number of cells of a view", least=2, most=MAX_ENUMERABLE)

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes that it asks for."""
        return tuple(axis.attribute.name for axis in self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many pieces each axis has."""
        return tuple(axis.pieces for axis in self.axes)

    @cached_property
    def cells(self) -> int:
        """How many cells the table has."""
        return math.prod(self.shape)

    @property
    def in_words(self) -> str:
        """The attributes together."""
        together = " with ".join(axis.in_words for axis in self.axes)
        return f"{together}: which of {self.cells:,} cells"

    @property
    def reads(self) -> Hashable:
        """Records are read by attribute."""
        return tuple(axis.attribute for axis in self.axes)

    def problem(self, record: Record) -> str:
        """An attribute that is missing, or has a value that it cannot have."""
        if not isinstance(record, Mapping):
            return "the record is not an object with attributes"
        for axis in self.axes:
            name = axis.attribute.name
            if name not in record:
                return f"the record has no {name}"
            if problem := axis.attribute.problem(record[name]):
                return problem
        return ""

    def read(self, records: Records) -> list[Cells]:
        """The cell of each attribute, for all records."""
        return [axis.attribute.index(column(records, axis.attribute.name)) for axis in self.axes]

    def answers(self, read: Sequence[Cells], rng: Randomness) -> Cells:  # noqa: ARG002 - nothing is left to chance
        """The cell of each record."""
        return self.cell_of(read)

    def cell_of(self, read: Sequence[Cells]) -> Cells:
        """The cell of each record that was read."""
        pieces = [one // axis.width for one, axis in zip(read, self.axes, strict=True)]
        found: Cells = np.ravel_multi_index(pieces, self.shape).astype(np.int64)
        return found

    def describe(self) -> ViewChoice:
        """Widths as integers, attributes as texts."""
        widths = {width_of(at): axis.width for at, axis in enumerate(self.axes)} if self.is_cut else {}
        return ViewChoice(self.kind, widths, tuple(axis.attribute.text for axis in self.axes))

    @classmethod
    def of(cls, choice: ViewChoice) -> Self:
        """The view that a document describes."""
        named = [width_of(at) for at in range(len(choice.labels))] if cls.is_cut else []
        if choice.catalogue is not None or {*choice.parameters} != {*named}:
            raise WrongInput(
                "view.parameters",
                f"a view of kind {cls.kind} states its attributes{', and a width for each' if cls.is_cut else ''}",
            )
        widths = [choice.parameters[name] for name in named] or [1] * len(choice.labels)
        attributes = map(Attribute.from_text, choice.labels)
        return cls(tuple(Axis(one, width) for one, width in zip(attributes, widths, strict=True)))

    def listing(self, content: bytes) -> Self:  # noqa: ARG002 - of use to those that have a catalogue
        """It has no catalogue."""
        return self


@dataclass(frozen=True)
class AttributesView(CellView):
    """Every value of every attribute for itself."""

    kind: ClassVar[str] = "attributes"
    is_cut: ClassVar[bool] = False


@dataclass(frozen=True)
class LevelView(CellView):
    """One attribute in pieces of one width: a level of a tree."""

    kind: ClassVar[str] = "level"
    most_axes: ClassVar[int] = 1


@dataclass(frozen=True)
class GridView(CellView):
    """Attributes in pieces, each of its own width."""

    kind: ClassVar[str] = "grid"


def width_of(axis: int) -> str:
    """What a document calls the width of an axis."""
    return f"width_{axis + 1}"


def asked_for(views: Sequence[View]) -> tuple[str, ...]:
    """The attributes that views name, each once."""
    return tuple(dict.fromkeys(name for view in views for name in getattr(view, "names", ())))


def require_allowed(views: Sequence[View], *, allowed: Sequence[str] | None, most_cells: int | None) -> None:
    """Refuse, for a user, what asks for other attributes than she allows, or for finer tables."""
    others = [name for name in asked_for(views) if allowed is not None and name not in allowed]
    if others:
        raise Refused(
            "client.attributes",
            f"the collection asks for {', '.join(others)}, which the configuration does not allow",
            hint="attributes in the client's configuration says which may be asked for",
        )
    for view in views:
        if most_cells is not None and view.cells > most_cells:
            raise Refused(
                "client.cells",
                f"the collection asks which of {view.cells:,} cells a record is in, and {most_cells:,} are allowed",
                hint="most_cells in the client's configuration is the limit",
            )
