"""Several attributes, or a measure, by grids: fine tables of one attribute each, coarse ones of every pair (or of all).

An ordered attribute is two: the coarse piece, and the place within it. A fine table has both, a coarse one has pieces
alone, and so the tables of a collection overlap in pieces as tables of marginals do, and are fitted like those. Within
a piece a range takes what the fine table has there; within a fine one, an even part. A question of more attributes than
a table has is answered by maximum entropy over pieces, with a standard error that does not know of what is missed.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.ldp.grouped_tables import GroupedTables
from peos.tasks.marginals.consistency import Overlaps
from peos.tasks.marginals.estimates import Fit
from peos.tasks.marginals.maxent import covering, marginal
from peos.tasks.planning import Asked, Planned, planned_tables

Floats = NDArray[np.float64]

COARSE: Final = (4, 8, 16, 32, 64)
FINER: Final = (1, 4, 16)  # fine pieces in a coarse one
ALONE: Final = (16, 32, 64, 128, 256)  # pieces of an axis, where one table has all attributes
POINTS: Final = (2, 3, 5, 9)  # of a measure's grid
_MOST_CELLS: Final = 1 << 16
_UNEVEN: Final = 0.05  # of a boundary's row of cells: how far the part that is taken of it is off
_COARSER: Final = 2.0  # times as much where there is no fine table
_VOLUME: Final = 0.25


@dataclass(frozen=True)
class Cut:
    """How an attribute of `size` cells is cut: coarse pieces of `finer` fine ones, which are `width` cells wide."""

    size: int
    width: int = 1
    finer: int = 1

    @property
    def fine(self) -> int:
        """Fine pieces."""
        return -(-self.size // self.width)

    @property
    def coarse(self) -> int:
        """Coarse pieces; the last may have fewer fine ones."""
        return -(-self.fine // self.finer)

    def of_cells(self, weights: Floats) -> Floats:
        """(coarse, finer): what the cells of each fine piece weigh, on average."""
        starts = np.arange(self.fine) * self.width
        widths = np.diff(np.append(starts, self.size))
        found = np.zeros(self.coarse * self.finer)
        found[: self.fine] = np.add.reduceat(weights, starts) / widths
        return found.reshape(self.coarse, self.finer)

    @cached_property
    def even(self) -> Floats:
        """(coarse, finer): the share of each fine piece in its coarse one if all cells are alike."""
        widths = np.zeros(self.coarse * self.finer)
        widths[: self.fine] = np.diff(np.append(np.arange(self.fine) * self.width, self.size))
        by_piece = widths.reshape(self.coarse, self.finer)
        return np.asarray(by_piece / by_piece.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Layout:
    """Cuts of all attributes, those last that are measures; and the tables: (attribute,) is fine, others coarse."""

    cuts: tuple[Cut, ...]
    tables: tuple[tuple[int, ...], ...]

    @cached_property
    def overlaps(self) -> Overlaps:
        """Pieces are attributes 0 … k − 1, places within them k … 2k − 1."""
        k = len(self.cuts)
        blocks = tuple(
            table if len(table) > 1 or self.is_whole(table) else (*table, table[0] + k) for table in self.tables
        )
        return Overlaps(blocks, (*(cut.coarse for cut in self.cuts), *(cut.finer for cut in self.cuts)))

    def is_whole(self, table: tuple[int, ...]) -> bool:
        """Whether its attribute is not cut twice."""
        return len(table) > 1 or self.cuts[table[0]].finer == 1

    def cells(self, table: tuple[int, ...]) -> int:
        """That can be reported."""
        if len(table) == 1:
            return self.cuts[table[0]].fine
        return math.prod(self.cuts[one].coarse for one in table)

    def reshaped(self, table: tuple[int, ...], cells: Floats) -> Floats:
        """(1, …): its estimates by attribute; pieces that are no part of the domain are empty."""
        if len(table) > 1:
            return cells.reshape(1, *(self.cuts[one].coarse for one in table))
        cut = self.cuts[table[0]]
        if cut.finer == 1:
            return cells.reshape(1, -1)
        return np.pad(cells, (0, cut.coarse * cut.finer - cut.fine)).reshape(1, cut.coarse, cut.finer)


@dataclass(frozen=True, eq=False)
class GridEstimate:
    """What tables say of products of weights: of each attribute (cells,), of a measure (points,)."""

    layout: Layout
    fit: Fit

    @cached_property
    def _agreed(self) -> list[Floats]:
        """Consistent tables of (1 + runs): the real one, then simulated ones. Cells may be below 0."""
        both = [np.concatenate(one) for one in zip(self.fit.tables, self.fit.drawn, strict=True)]
        return self.fit.overlaps.agreed(both, self.fit.variance)

    @cached_property
    def _fitted(self) -> list[Floats]:
        return [np.concatenate(one) for one in zip(self.fit.fitted, self.fit.simulated, strict=True)]

    def values(self, product: Mapping[int, Floats]) -> Floats:
        """(1 + runs,): Σ over all cells of share·Π weights; a range is not made non-negative where a table has it."""
        if not product:
            return np.ones(len(self._agreed[0]))
        asked = tuple(sorted(product))
        overlaps, k = self.fit.overlaps, len(self.layout.cuts)
        if len(asked) == 1 and covering(overlaps, (asked[0], asked[0] + k)):
            fine = marginal(overlaps, self._agreed, (asked[0], asked[0] + k))
            return np.asarray((fine * self.layout.cuts[asked[0]].of_cells(product[asked[0]])).sum(axis=(1, 2)))
        found = marginal(overlaps, self._agreed if covering(overlaps, asked) else self._fitted, asked)
        for one in reversed(asked):
            weights = self._by_piece(one, product[one])
            found = (found * weights.reshape(len(weights), *[1] * (found.ndim - 2), -1)).sum(axis=-1)
        return np.asarray(found)

    def of_one_table(self, products: Sequence[Mapping[int, Floats]]) -> Floats:
        """(cells,): what each cell of the only table counts in the sum of these products."""
        cuts = self.layout.cuts
        found = np.zeros(tuple(cut.coarse for cut in cuts))
        for product in products:
            each = [
                (cut.even * cut.of_cells(product[at])).sum(axis=1) if at in product else np.ones(cut.coarse)
                for at, cut in enumerate(cuts)
            ]
            found += reduce(np.multiply.outer, each)
        return found.reshape(-1)

    def covariance(self, cells: Floats) -> Floats:
        """Of sums by the weights of the only table's cells, were its users drawn anew: of one report's weight."""
        oracle, reports = self.fit.oracles[0], self.fit.reports[0]
        telling = math.prod(oracle.rates(self.fit.users, self.fit.fakes))
        law = telling * self.fit.fitted[0].reshape(-1) + (1 - telling) / oracle.cells
        centred = cells - (cells @ law)[:, np.newaxis]
        return np.asarray((centred * law) @ centred.T / (reports * telling**2))

    def _by_piece(self, attribute: int, weights: Floats) -> Floats:
        """(1 + runs, coarse): the weight of each piece, by what is fine within it."""
        cut, k = self.layout.cuts[attribute], len(self.layout.cuts)
        each, shares = cut.of_cells(weights), cut.even[np.newaxis]
        if covering(self.fit.overlaps, (attribute, attribute + k)):
            fine = marginal(self.fit.overlaps, self._fitted, (attribute, attribute + k))
            whole = fine.sum(axis=2, keepdims=True)
            shares = np.where(whole > 0, fine / np.where(whole > 0, whole, 1.0), shares)
        return np.broadcast_to((shares * each).sum(axis=2), (len(self._fitted[0]), cut.coarse))


@dataclass(frozen=True, eq=False)
class GridDesign:
    """Grids with their plan, and the standard error that is expected of a box, or of a sum of the measure."""

    layout: Layout
    plan: Planned[GroupedTables]
    error: float
    notes: tuple[str, ...] = ()

    def in_words(self) -> str:
        """The tables, and what comes of them."""
        cells = [self.layout.cells(table) for table in self.layout.tables]
        mechanism = self.plan.mechanism
        return (
            f"{'a table' if len(cells) == 1 else 'tables'} of {', '.join(f'{one:,}' for one in cells)} cells; "
            f"ε_l {mechanism.epsilon_local:.2f}; {float(mechanism.gamma):.0%} uniform reports; expected error "
            f"{self.error:.2g}"
        )


@dataclass(frozen=True)
class Asking:
    """What is asked of an attribute: its cells, in order or not; or so many `points` of a measure, 0 to choose."""

    size: int
    is_ordered: bool = True
    points: int | None = None


def choose_grids(attributes: Sequence[Asking], asked: Asked, *, is_joint: bool = False) -> GridDesign:
    """The grids of least expected error; with `is_joint` of those that are one table."""
    found = sorted(_designs(attributes, asked, is_joint), key=lambda one: one.error)
    notes = (f"next best: {found[1].in_words()}",) if len(found) > 1 else ()
    return replace(found[0], notes=notes)


def _designs(attributes: Sequence[Asking], asked: Asked, is_joint: bool) -> Iterator[GridDesign]:
    given = [one.points for one in attributes if one.points is not None]
    tried: set[Layout] = set()
    for points in POINTS if 0 in given else (1,):
        fixed = [replace(one, points=points) if one.points == 0 else one for one in attributes]
        for layout in _layouts(fixed, is_joint):
            if layout not in tried:
                tried.add(layout)
                yield _predicted(layout, fixed, asked)


def _layouts(attributes: Sequence[Asking], is_joint: bool) -> Iterator[Layout]:
    """One table of all attributes, at several granularities; or fine ones of each with coarse ones of every pair."""
    places = tuple(range(len(attributes)))

    def cut(one: Asking, coarse: int, finer: int) -> Cut:
        if one.points is not None:
            return Cut(one.points)
        if not one.is_ordered:
            return Cut(one.size)
        width = -(-one.size // (coarse * finer))
        return Cut(one.size, width, min(finer, -(-one.size // width)))

    for pieces in ALONE:
        cuts = tuple(cut(one, pieces, 1) for one in attributes)
        if math.prod(one.coarse for one in cuts) <= _MOST_CELLS:
            yield Layout(cuts, (places,))
    if len(attributes) == 1 or is_joint:
        return
    for coarse in COARSE:
        for finer in FINER:
            cuts = tuple(cut(one, coarse, finer) for one in attributes)
            fine = tuple((at,) for at in places if cuts[at].finer > 1)
            yield Layout(cuts, (*fine, *combinations(places, 2)))


def _predicted(layout: Layout, attributes: Sequence[Asking], asked: Asked) -> GridDesign:
    """Blanket and sampling of the cells of a box of a quarter, and its boundary's cells, which are not even."""
    plan = planned_tables(asked, [layout.cells(table) for table in layout.tables])
    γ, n, t = float(plan.mechanism.gamma), asked.users, len(layout.tables)
    widest = max(layout.tables, key=lambda table: (len(table), layout.cells(table)))
    noise = t * (γ + plan.fakes / n) / (n * (1 - γ) ** 2) * _VOLUME * (1 - _VOLUME)
    sampled = _VOLUME * (1 - _VOLUME) / n * (t / (1 - γ) - 1)
    ordered = [at for at in widest if attributes[at].is_ordered and attributes[at].points is None]
    side = _VOLUME ** (1 / max(len(ordered), 1))
    off = 0.0
    for at in ordered:
        cut = layout.cuts[at]
        if cut.width * cut.finer > 1:
            # Of the box's two sides each a row of cells of which a part is off; where a fine table is, by less.
            off += 2 * (side ** (len(ordered) - 1) * (1 if cut.finer > 1 else _COARSER) * _UNEVEN / cut.coarse) ** 2
    for one, cut in zip(attributes, layout.cuts, strict=True):
        if one.points is not None:
            noise *= float(np.mean(np.linspace(0.0, 1.0, cut.size) ** 2))
            sampled /= 3
            off += _VOLUME / (6 * (cut.size - 1) ** 2) / n
    return GridDesign(layout, plan, math.sqrt(noise + sampled + off))
