"""Which records a question is about: conditions on attributes, joined by and and or, as boxes that do not overlap.

    Where(age=(20, 35), smokes="yes") | Where(age=(60, 100))

A condition is a pair (from, to), both ends within it, a single number, a label, or a list of labels.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.errors import WrongInput
from peos.tasks.schema import Attribute, Schema

Floats = NDArray[np.float64]
Spans = tuple[tuple[float, float], ...]
"""Stretches of an attribute's cells, in order and apart."""
Box = Mapping[str, Spans]

MOST_BOXES: Final = 1_000


class Where:
    """Records that meet all of some conditions; several of them joined by `|` and `&`."""

    def __init__(self, **conditions: object) -> None:
        self._boxes: tuple[Mapping[str, tuple[object, ...]], ...] = (
            {name: (condition,) for name, condition in conditions.items()},
        )

    def __or__(self, other: "Where") -> "Where":
        return self._of((*self._boxes, *other._boxes))

    def __and__(self, other: "Where") -> "Where":
        return self._of(
            {name: one.get(name, ()) + two.get(name, ()) for name in {**one, **two}}
            for one, two in product(self._boxes, other._boxes)
        )

    @staticmethod
    def _of(boxes: Iterable[Mapping[str, tuple[object, ...]]]) -> "Where":
        made = Where()
        made._boxes = tuple(boxes)
        return made

    def boxes(self, schema: Schema) -> tuple[Box, ...]:
        """The same records as boxes of which no two have one in common."""
        found: list[Box] = []
        for conditions in self._boxes:
            parts: list[Box] = [_box(schema, conditions)]
            for before in found:
                parts = [left for part in parts for left in _without(schema, part, before)]
            found += parts
            if len(found) > MOST_BOXES:
                raise WrongInput("query.boxes", f"the question falls apart into more than {MOST_BOXES:,} boxes")
        return tuple(box for box in found if all(box.values()))


def _box(schema: Schema, conditions: Mapping[str, tuple[object, ...]]) -> Box:
    found: dict[str, Spans] = {}
    for name, each in conditions.items():
        attribute = schema[name]
        spans: Spans = ((0.0, float(attribute.size)),)
        for condition in each:
            spans = both(spans, spans_of(attribute, condition))
        found[name] = spans
    return found


def spans_of(attribute: Attribute, condition: object) -> Spans:
    """The cells that a condition is about."""
    if attribute.labels:
        labels = [condition] if isinstance(condition, str) else condition
        if not isinstance(labels, list | tuple | set | frozenset) or not labels:
            raise _wrong(attribute, "a label or a list of labels", condition)
        for label in labels:
            if problem := attribute.problem(label):
                raise WrongInput("query.condition", f"{problem}, and not {str(label)[:80]}")
        return tuple((float(at), at + 1.0) for at in sorted({attribute.cells.index(str(label)) for label in labels}))
    ends = condition if isinstance(condition, tuple | list) else (condition, condition)
    if len(ends) != 2 or any(isinstance(end, bool) or not isinstance(end, int | float) for end in ends):
        raise _wrong(attribute, "a pair of numbers, from and to", condition)
    if not ends[0] <= ends[1]:
        raise _wrong(attribute, "a range that begins with its lower end", condition)
    low, high = attribute.span(float(ends[0]), float(ends[1]))
    return ((low, high),) if low < high else ()


def _wrong(attribute: Attribute, expected: str, found: object) -> WrongInput:
    return WrongInput("query.condition", f"{attribute.name} is asked for by {expected}, not by {str(found)[:80]}")


def both(one: Spans, other: Spans) -> Spans:
    """What two have in common."""
    found = [(max(a, c), min(b, d)) for a, b in one for c, d in other]
    return tuple(sorted((low, high) for low, high in found if low < high))


def outside(one: Spans, other: Spans) -> Spans:
    """What is in one and not in the other."""
    left = list(one)
    for low, high in other:
        left = [part for a, b in left for part in ((a, min(b, low)), (max(a, high), b)) if part[0] < part[1]]
    return tuple(sorted(left))


def _without(schema: Schema, box: Box, other: Box) -> list[Box]:
    """A box without another: a part for each attribute in which a record may be out of the other."""
    found: list[Box] = []
    within = dict(box)
    for name, spans in other.items():
        own = within.get(name, ((0.0, float(schema[name].size)),))
        if apart := outside(own, spans):
            found.append({**within, name: apart})
        within[name] = both(own, spans)
        if not within[name]:
            return found
    return found


def shares(attribute: Attribute, spans: Spans) -> Floats:
    """(cells,): the part of each of the attribute's cells that spans take."""
    edges = np.arange(attribute.size + 1, dtype=np.float64)
    found = np.zeros(attribute.size)
    for low, high in spans:
        found += np.clip(np.minimum(edges[1:], high) - np.maximum(edges[:-1], low), 0.0, 1.0)
    return found


def middles(attribute: Attribute) -> Floats:
    """(cells,): the number that each cell of an ordered attribute stands for, at its middle."""
    if not attribute.is_ordered:
        raise WrongInput("query.measure", f"{attribute.name} has labels, and no sum or order")
    places = np.arange(attribute.size) + (0.5 if attribute.real or attribute.parts else 0.0)
    return np.array([attribute.value_at(place) for place in places.tolist()])


def conditions(where: Where | None, given: Mapping[str, object]) -> Where:
    """A question by keywords, by `Where`, or by both."""
    return Where(**given) if where is None else where & Where(**given) if given else where


def names(boxes: Sequence[Box]) -> tuple[str, ...]:
    """The attributes that boxes are about."""
    return tuple(dict.fromkeys(name for box in boxes for name in box))
