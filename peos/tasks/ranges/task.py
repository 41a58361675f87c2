"""Counts, sums, means and quantiles over ranges of what users hold, from one collection: `Ranges`.

    task = Ranges({"age": (0, 100), "smokes": ["no", "yes"]}, users=100_000, delta=1e-6, eps_server=1.0)
    answer = run_study(task, records)
    answer.count(age=(20, 35), smokes="yes")

One ordered attribute is asked by a tree of hidden levels, or flat; several, or a measure, by hidden grids. A measure is
rounded by each user's device and is part of her report: were it public it would name the report's user.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import Final, Unpack

import numpy as np

from peos.errors import Refused, WrongInput
from peos.ldp.base import whole_number
from peos.tasks.base import OfTables, Table
from peos.tasks.cell_views import Axis, CellView, GridView, LevelView
from peos.tasks.marginals.estimates import Fit
from peos.tasks.measure_views import MOST_PACKED, MOST_POINTS, PackedView, RoundedView
from peos.tasks.planning import Asked, Targets
from peos.tasks.query import Floats, middles
from peos.tasks.ranges.answer import Estimates, Product, RangesAnswer
from peos.tasks.ranges.grids import Asking, GridDesign, GridEstimate, choose_grids
from peos.tasks.ranges.trees import TreeDesign, TreeEstimate, choose_tree
from peos.tasks.schema import Attribute, Schema
from peos.tasks.texts import Records

MOST_DIMENSIONS: Final = 8
_MOST_PAIRED: Final = 6  # boxes whose common users are looked for
HELD: Final = "records"  # what the number of packed records is called among measures


@dataclass(frozen=True)
class Packed:
    """Several records of each user, in a list of this name, with these attributes; at most so many count."""

    held: str
    schema: Schema
    most: int = 10

    def __post_init__(self) -> None:
        whole_number(self.most, "the most records of a user that count", least=1, most=MOST_PACKED)


class Ranges(OfTables):
    """Ranges of some attributes of a schema, the dimensions, and sums of a `measure` that is rounded into the report.

    Of `packed` records one is drawn for each user, and counts as often as she has any. `points` of a measure's grid are
    chosen where they are not given.
    """

    def __init__(
        self,
        schema: Schema | Mapping[str, object],
        dimensions: Sequence[str] | None = None,
        *,
        measure: str = "",
        packed: Packed | None = None,
        points: int = 0,
        public: Sequence[str] = (),
        **asked: Unpack[Targets],
    ) -> None:
        self.own = Schema.of(schema)
        self.packed, self.measure, self.asked = packed, measure, Asked(**asked)
        self.schema = Schema((*self.own.attributes, *packed.schema.attributes)) if packed else self.own
        if public:
            raise public_measure(public)
        self.dimensions = tuple(name for name in dimensions or self.schema.names if name != measure)
        self.schema.places(self.dimensions)
        whole_number(len(self.dimensions), "the number of dimensions", least=1, most=MOST_DIMENSIONS)
        whole_number(points, "the number of points of a measure", least=0, most=MOST_POINTS)
        self._points = points
        if measure:
            middles(self.schema[measure])
            if packed:
                raise WrongInput(
                    "ranges.packed_measure",
                    "of packed records the measure that is rounded is how many there are",
                    hint=f"name {measure} as a dimension, in parts: its sum is asked for all the same",
                )

    @cached_property
    def _axes(self) -> tuple[Attribute, ...]:
        """Dimensions, and the measure."""
        return tuple(self.schema[name] for name in (*self.dimensions, *([self.measure] if self.measure else [])))

    @cached_property
    def design(self) -> TreeDesign | GridDesign:
        """What is asked, and what is expected of it."""
        if len(self._axes) == 1 and self.packed is None and self._axes[0].is_ordered:
            return choose_tree(self._axes[0].size, self.asked)
        attributes = [Asking(self.schema[name].size, self.schema[name].is_ordered) for name in self.dimensions]
        if self.measure or self.packed:
            attributes.append(Asking(0, points=self._points))
        return choose_grids(attributes, self.asked, is_joint=self.packed is not None)

    @cached_property
    def views(self) -> tuple[CellView, ...]:
        """One a table."""
        design = self.design
        if isinstance(design, TreeDesign):
            levels = design.levels
            return tuple(
                LevelView((Axis(self._axes[0], levels.width(level)),)) for level in range(1, levels.height + 1)
            )
        return tuple(self._grid(table) for table in design.layout.tables)

    def _grid(self, table: tuple[int, ...]) -> CellView:
        assert isinstance(self.design, GridDesign)
        cuts, last = self.design.layout.cuts, len(self._axes)
        if self.packed:
            axes = self._cut(table[:-1])
            own = sum(name in self.own.names for name in self.dimensions)
            return PackedView(axes, self.packed.held, own, self.packed.most, cuts[last].size)
        if self.measure and table[-1] == last - 1:
            return RoundedView((*self._cut(table[:-1]), Axis(self._axes[-1])), cuts[last - 1].size)
        if len(table) == 1:
            return LevelView((Axis(self._axes[table[0]], cuts[table[0]].width),))
        return GridView(self._cut(table))

    def _cut(self, table: tuple[int, ...]) -> tuple[Axis, ...]:
        assert isinstance(self.design, GridDesign)
        cuts = self.design.layout.cuts
        return tuple(Axis(self._axes[one], cuts[one].width * cuts[one].finer) for one in table)

    def labels(self, records: Records) -> Sequence[str]:  # noqa: ARG002 - see below
        """A record's cells are no labels that are found or not; there is nothing to score."""
        return []

    @property
    def named(self) -> list[str]:
        """By table and number."""
        return [f"{view.in_words}, cell {cell + 1}" for view in self.views for cell in range(view.cells)]

    def answer(self, found: Table) -> RangesAnswer:
        """To any range."""
        return RangesAnswer(
            found,
            schema=self.schema,
            dimensions=self.dimensions,
            measures=self._measures,
            each={HELD: self._measures[HELD]} if self.packed else {},
            plan=self.plan,
            names=tuple(view.in_words for view in self.views),
            estimates_of=self._estimates,
        )

    @cached_property
    def _measures(self) -> dict[str, Floats]:
        """What the points of the measure's grid stand for."""
        if not isinstance(self.design, GridDesign) or not (self.measure or self.packed):
            return {}
        count = self.design.layout.cuts[-1].size
        if self.packed:
            return {HELD: np.linspace(0.0, self.packed.most, count)}
        attribute = self._axes[-1]
        return {self.measure: np.linspace(float(attribute.first), float(attribute.last), count)}

    def _estimates(self, answer: RangesAnswer) -> Estimates:
        ends = np.cumsum([0, *self.plan.mechanism.tables])
        parts = [answer.found.frequency[a:b] for a, b in pairwise(ends.tolist())]
        sizes = [0 if at in answer.flooded else size for at, size in enumerate(answer.found.sizes)]
        oracles, users = self.plan.mechanism.oracles, answer.found.users
        if isinstance(self.design, TreeDesign):
            tree = TreeEstimate(self.design.levels, parts, oracles, sizes, users, self.plan.fakes)
            return _OfTree(self.dimensions[0], tree)
        layout, kept = self.design.layout, [at for at, size in enumerate(sizes) if size]
        tables = tuple(layout.tables[at] for at in kept)
        if {one for table in tables for one in table} != {*range(len(layout.cuts))}:
            raise Refused(
                "ranges.flooded",
                "the tables of some attribute have reports that were made for them on purpose",
                hint="ask again in another collection, with other tickets",
            )
        left = type(layout)(layout.cuts, tables)
        fit = Fit(
            left.overlaps,
            tuple(layout.reshaped(layout.tables[at], parts[at]) for at in kept),
            tuple(oracles[at] for at in kept),
            tuple(sizes[at] for at in kept),
            users,
            self.plan.fakes,
        )
        named = (*self.dimensions, self.measure or HELD)
        points = next(iter(self._measures.values()), np.zeros(2))
        places = {name: at for at, name in enumerate(named)}
        step = float(points[1] - points[0])
        return _OfGrids(places, GridEstimate(left, fit), self.measure, step, is_drawn=self.packed is not None)


@dataclass(frozen=True, eq=False)
class _OfTree:
    """Sums of weights over the cells of one attribute."""

    name: str
    tree: TreeEstimate

    def sums(self, wanted: Sequence[Sequence[Product]]) -> tuple[Floats, Floats]:
        """Exactly what the levels say, and its covariance."""
        ones = np.ones(len(self.tree.cells))
        each = [np.sum([weights.get(self.name, ones) for weights in one], axis=0) * ones for one in wanted]
        return np.array([float(one @ self.tree.cells) for one in each]), self.tree.covariance(each)


@dataclass(frozen=True, eq=False)
class _OfGrids:
    """Sums of products of weights over tables."""

    places: Mapping[str, int]
    grids: GridEstimate
    rounded: str  # the measure, if there is one, and how far its points are apart
    step: float
    is_drawn: bool  # whether a report is of one of several records of its user

    def sums(self, wanted: Sequence[Sequence[Product]]) -> tuple[Floats, Floats]:
        """What the tables say; of one table the covariance follows, of several it is that of simulated ones."""
        found = np.zeros((len(wanted), len(self.grids.values({}))))
        for at, one in enumerate(wanted):
            for weights in one:
                found[at] += self.grids.values({self.places[name]: each for name, each in weights.items()})
        if len(self.grids.layout.tables) == 1:
            places = [[{self.places[name]: each for name, each in one.items()} for one in sums] for sums in wanted]
            simulated = self.grids.covariance(np.array([self.grids.of_one_table(one) for one in places]))
        else:
            simulated = np.atleast_2d(np.cov(found[:, 1:]))
        same = self._same_users(wanted, found[:, 0])
        # Only so large a share of all users tell anything: no more than that is taken off.
        most = sum(oracle.telling for oracle in self.grids.fit.oracles) * np.diag(simulated)
        return found[:, 0], simulated - same * min(1.0, *(most / np.maximum(np.diag(same), 1e-300)))

    def _same_users(self, wanted: Sequence[Sequence[Product]], found: Floats) -> Floats:
        """What all tables' being of the same users takes off, as of a tree; nothing where it takes long to say."""
        if self.is_drawn or sum(map(len, wanted)) > _MOST_PAIRED:
            return np.zeros((len(wanted), len(wanted)))
        squares = np.zeros((len(wanted), len(wanted)))
        for (at, one), (to, other) in product(enumerate(wanted), repeat=2):
            for left, right in product(one, other):
                both = {name: np.multiply(left.get(name, 1), right.get(name, 1)) for name in {**left, **right}}
                if self.rounded in left and self.rounded in right:
                    # What rounding adds is each report's own: at most a quarter of a step's square.
                    both[self.rounded] = np.maximum(both[self.rounded] - self.step**2 / 4, 0.0)
                squares[at, to] += float(self.grids.values({self.places[name]: one for name, one in both.items()})[0])
        return np.asarray((squares - np.outer(found, found)) / self.grids.fit.users)


def public_measure(names: Sequence[str]) -> Refused:
    """Why nothing public may stand with a report, and what to do."""
    return Refused(
        "ranges.public",
        f"{', '.join(names)} would stand in the open with each report, and so name its user",
        hint="name a measure to have it rounded into the report, or make a collection for each public group (Strata)",
    )
