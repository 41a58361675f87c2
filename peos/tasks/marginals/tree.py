"""Which attributes hang together most: the tree of most mutual information (Chow and Liu 1968), and records from it.

The tree's law is the nearest to the users' among laws in which each attribute depends on one other. Records that are
drawn from it are made up: they are as private as the tables that they are made from, and no user's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peos.crypto.randomness import Randomness, system
from peos.tasks.marginals.consistency import Floats
from peos.tasks.schema import Schema

_WORD: Final = 2.0**64


@dataclass(frozen=True)
class Edge:
    """An attribute, the one that it hangs on, and their mutual information in nats."""

    parent: str
    child: str
    information: float


@dataclass(frozen=True, eq=False)
class Tree:
    """Its edges from the root on, and the law of each attribute given its parent."""

    schema: Schema
    root: str
    edges: tuple[Edge, ...]
    _laws: dict[str, Floats]  # of the root (cells,), of every other (parent's cells, cells)

    @property
    def information(self) -> float:
        """Of all edges together."""
        return sum(edge.information for edge in self.edges)

    def synthetic(self, count: int, rng: Randomness | None = None) -> "Synthetic":
        """So many records drawn from the tree's law."""
        rng = system() if rng is None else rng
        cells = {self.root: _drawn(np.broadcast_to(self._laws[self.root], (count, len(self._laws[self.root]))), rng)}
        for edge in self.edges:
            cells[edge.child] = _drawn(self._laws[edge.child][cells[edge.parent]], rng)
        return Synthetic(self.schema, np.stack([cells[name] for name in self.schema.names], axis=1))


@dataclass(frozen=True, eq=False)
class Synthetic:
    """Made-up records: (records, attributes) of cells."""

    schema: Schema
    cells: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.cells)

    def records(self) -> list[dict[str, Any]]:
        """Each as an object, by the names of its cells, and marked as made up."""
        names = [(attribute.name, attribute.cells) for attribute in self.schema]
        return [
            {"synthetic": True, **{name: cells[cell] for (name, cells), cell in zip(names, row, strict=True)}}
            for row in self.cells.tolist()
        ]


def chow_liu(schema: Schema, pair: Callable[[str, str], Floats]) -> Tree:
    """From the tables of pairs of attributes, none of which is negative."""
    names = schema.names
    tables = {(one, other): pair(one, other) for at, one in enumerate(names) for other in names[at + 1 :]}

    def between(one: str, other: str) -> Floats:
        return tables[one, other] if (one, other) in tables else tables[other, one].T

    information = {pair: mutual_information(table) for pair, table in tables.items()}
    reached, edges = [names[0]], []
    while len(reached) < len(names):
        open_pairs = [pair for pair in information if (pair[0] in reached) != (pair[1] in reached)]
        best = max(open_pairs, key=lambda pair: (information[pair], *map(str, pair)))
        parent, child = best if best[0] in reached else best[::-1]
        edges.append(Edge(parent, child, information[best]))
        reached.append(child)
    first = between(names[0], names[1]).sum(axis=1) if len(names) > 1 else np.ones(schema.sizes[0]) / schema.sizes[0]
    laws = {names[0]: _normalised(first)} | {
        edge.child: _normalised(between(edge.parent, edge.child)) for edge in edges
    }
    return Tree(schema, names[0], tuple(edges), laws)


def mutual_information(table: Floats) -> float:
    """In nats, of a table of shares."""
    shares = np.maximum(table, 0.0)
    shares = shares / shares.sum()
    apart = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    held = shares > 0
    return max(0.0, float(np.sum(shares[held] * np.log(shares[held] / apart[held]))))


def _normalised(shares: Floats) -> Floats:
    """Each row sums to one; where nothing is known of a row, evenly."""
    whole = shares.sum(axis=-1, keepdims=True)
    return np.where(whole > 0, shares / np.where(whole > 0, whole, 1.0), 1 / shares.shape[-1])


def _drawn(laws: Floats, rng: Randomness) -> NDArray[np.int64]:
    """A cell of each row."""
    ends = np.cumsum(laws, axis=1)
    at: Sequence[float] | Floats = rng.uint64(len(laws)) / _WORD * ends[:, -1]
    found: NDArray[np.int64] = np.minimum(
        np.count_nonzero(ends <= np.asarray(at)[:, np.newaxis], axis=1), laws.shape[1] - 1
    ).astype(np.int64)
    return found
