"""The tree over an ordered domain: each node is a run of neighbouring cells, and has `fanout` children.

Level 0 is the root, level h the cells. The domain is not filled up: the last node of a level may have fewer children.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from peos.ldp.base import MAX_ENUMERABLE, whole_number


class Node(NamedTuple):
    """One node, and how often it counts in a sum."""

    level: int
    place: int
    times: float = 1.0


@dataclass(frozen=True)
class Levels:
    """The tree over 0 … domain − 1; one level of all cells where the fanout is the domain or more."""

    domain: int
    fanout: int

    def __post_init__(self) -> None:
        whole_number(self.domain, "the number of cells of a dimension", least=1, most=MAX_ENUMERABLE)
        whole_number(self.fanout, "the number of a node's children", least=2, most=MAX_ENUMERABLE)

    @cached_property
    def height(self) -> int:
        """h: the levels below the root."""
        height, reach = 1, self.fanout
        while reach < self.domain:
            height, reach = height + 1, reach * self.fanout
        return height

    def width(self, level: int) -> int:
        """Cells of a node that is whole."""
        return int(self.fanout ** (self.height - level))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Nodes of levels 0 to h."""
        return tuple(-(-self.domain // self.width(level)) for level in range(self.height + 1))

    def place(self, values: NDArray[np.int64], level: int) -> NDArray[np.int64]:
        """In which node of a level each value is."""
        return values // self.width(level)

    def ends(self, level: int, place: int) -> tuple[int, int]:
        """The cells of a node, from the first to before the last."""
        width = self.width(level)
        return place * width, min((place + 1) * width, self.domain)

    def starts(self, level: int) -> NDArray[np.int64]:
        """The first child of each node of a level, among the nodes of the next."""
        return np.arange(self.sizes[level], dtype=np.int64) * self.fanout

    def cover(self, first: int, last: int) -> list[Node]:
        """The fewest nodes that are the cells from `first` to before `last`, each once; the root if that is all."""
        return list(self._cover(first, min(last, self.domain), Node(0, 0)))

    def _cover(self, first: int, last: int, node: Node) -> Iterator[Node]:
        start, end = self.ends(node.level, node.place)
        if first <= start and end <= last:
            if start < end:
                yield node
        elif first < end and start < last:
            below = self.width(node.level + 1)
            for child in range(max(first, start) // below, -(-min(last, end) // below)):
                yield from self._cover(first, last, Node(node.level + 1, child))
