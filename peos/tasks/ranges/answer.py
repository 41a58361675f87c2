"""What ranges come to: counts, sums, means and quantiles of the records that a question is about, with their errors.

    answer.count(age=(20, 35), smokes="yes")
    answer.mean("spending", Where(age=(20, 35)) | Where(smokes="yes"))

Everything is a sum of shares by weights, one for each attribute; a union is a sum over boxes that do not overlap.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import NormalDist
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from peos.errors import Refused, WrongInput
from peos.estimate.grouped import odd_sizes
from peos.ldp.grouped_tables import GroupedTables
from peos.tabular import Columns, Rows, Tabular
from peos.tasks.base import Answer
from peos.tasks.planning import Planned
from peos.tasks.query import Box, Where, conditions, middles, shares
from peos.tasks.schema import Schema

Floats = NDArray[np.float64]
Product = Mapping[str, Floats]
"""Of some attributes what each cell counts; of a measure what each point of its grid does."""

_Z95: Final = NormalDist().inv_cdf(0.975)
_MOST_SHOWN: Final = 4_096


@dataclass(frozen=True)
class Figure:
    """An estimate with its standard error, and the interval that covers the truth in 95 of 100 collections."""

    value: float
    stderr: float
    interval95: tuple[float, float]

    @classmethod
    def of(cls, value: float, variance: float) -> "Figure":
        """Value ± z·stderr."""
        stderr = math.sqrt(max(variance, 0.0))
        return cls(value, stderr, (value - _Z95 * stderr, value + _Z95 * stderr))

    def to_json(self) -> dict[str, Any]:
        """As results have it; an end that is not bounded is null."""
        ends = [end if math.isfinite(end) else None for end in self.interval95]
        return {"value": self.value, "stderr": self.stderr, "interval95": ends}


class Groups(Tabular, dict[str, Figure]):
    """A figure for each value of an attribute."""

    @property
    def summary(self) -> str:
        """How many."""
        return f"{len(self):,} groups"

    def rows(self) -> Rows:
        """A row a group."""
        value, stderr = ([getattr(one, name) for one in self.values()] for name in ("value", "stderr"))
        low, high = ([one.interval95[end] for one in self.values()] for end in (0, 1))
        columns: Columns = {"label": list(self), "value": value, "stderr": stderr, "low": low, "high": high}
        return Rows(self.summary, columns, measure="value")

    __repr__ = dict.__repr__


class Estimates(Protocol):
    """What a collection says of sums of products of weights."""

    def sums(self, wanted: Sequence[Sequence[Product]]) -> tuple[Floats, Floats]:
        """Of each, shares of the users weighted by its products and added up; and the covariance of all."""


@dataclass(frozen=True, eq=False, repr=False)
class RangesAnswer(Answer):
    """Counts, sums, means and quantiles; `found` are the cells of the tables that were asked."""

    schema: Schema = field(kw_only=True)
    dimensions: tuple[str, ...] = field(kw_only=True)
    measures: Mapping[str, Floats] = field(kw_only=True)  # what the points of a measure's grid stand for
    each: Mapping[str, Floats] = field(kw_only=True)  # measures that every record counts by: the weight of packed ones
    plan: Planned[GroupedTables] = field(kw_only=True)
    names: tuple[str, ...] = field(kw_only=True)  # of the tables
    estimates_of: Callable[["RangesAnswer"], Estimates] = field(kw_only=True, repr=False)

    @cached_property
    def flooded(self) -> tuple[int, ...]:
        """The tables with more reports than chance explains, at 10⁻⁶ for all of them together: others lack these."""
        shares, every = self._shares, sum(self.found.sizes)
        return tuple(at for at in odd_sizes(self.found.sizes, shares) if self.found.sizes[at] > shares[at] * every)

    @property
    def _shares(self) -> list[float]:
        return list(map(float, self.plan.mechanism.shares_among(self.found.users, self.plan.fakes)))

    @property
    def checks(self) -> dict[str, bool]:
        """By table: whether its number of reports is explained by chance."""
        odd = odd_sizes(self.found.sizes, self._shares)
        return {f"reports of {name}": at not in odd for at, name in enumerate(self.names)}

    @cached_property
    def _estimates(self) -> Estimates:
        if len(self.flooded) == len(self.names):
            raise Refused(
                "ranges.flooded",
                "no table has as many reports as chance explains: reports were made for some on purpose",
                hint="ask again in another collection, with other tickets",
            )
        return self.estimates_of(self)

    def count(self, where: Where | None = None, **given: object) -> Figure:
        """How many users the conditions hold for; of packed records, how many records."""
        values, covariance = self._sums(conditions(where, given), [{}])
        return Figure.of(self.found.users * float(values[0]), self.found.users**2 * float(covariance[0, 0]))

    def share(self, where: Where | None = None, **given: object) -> Figure:
        """The same as a share of all users."""
        values, covariance = self._sums(conditions(where, given), [{}])
        return Figure.of(float(values[0]), float(covariance[0, 0]))

    def sum(self, name: str, where: Where | None = None, **given: object) -> Figure:
        """The sum of a measure, or of an ordered attribute, over the users that the conditions hold for."""
        values, covariance = self._sums(conditions(where, given), [{name: self._value(name)}])
        return Figure.of(self.found.users * float(values[0]), self.found.users**2 * float(covariance[0, 0]))

    def mean(self, name: str, where: Where | None = None, **given: object) -> Figure:
        """SUM over COUNT, with Fieller's interval: it has no ends where the count may be 0."""
        asked = [{name: self._value(name)}, {}]
        values, covariance = self._sums(conditions(where, given), asked)
        total, count = values.tolist()
        if not count > 0:
            return Figure(math.nan, math.inf, (-math.inf, math.inf))
        ratio = total / count
        spread = covariance[0, 0] - 2 * ratio * covariance[0, 1] + ratio**2 * covariance[1, 1]
        return Figure(ratio, math.sqrt(max(float(spread), 0.0)) / count, fieller(total, count, covariance))

    def group_by(self, name: str, where: Where | None = None, *, of: str = "", **given: object) -> "Groups":
        """The count for each value of an attribute, or the mean `of` another."""
        attribute = self.schema[self._dimension(name)]
        if attribute.size > _MOST_SHOWN:
            raise WrongInput("query.groups", f"{name} has {attribute.size:,} values", hint="cut it into parts")
        asked = conditions(where, given)
        found = {}
        for cell, label in enumerate(attribute.cells):
            one = asked & Where(**{name: label if attribute.labels else _ends(attribute, cell)})
            found[label] = self.mean(of, one) if of else self.count(one)
        return Groups(found)

    def quantile(self, share: float, name: str, where: Where | None = None, **given: object) -> Figure:
        """The value of an ordered attribute that so large a share of the users asked about do not exceed."""
        attribute = self.schema[self._dimension(name)]
        if not 0.0 < share < 1.0:
            raise WrongInput("query.quantile", f"a quantile is of a share between 0 and 1, not {share:g}")
        middles(attribute)
        asked = conditions(where, given)
        boxes = asked.boxes(self.schema)
        edges = np.unique(np.linspace(0, attribute.size, min(attribute.size, 256) + 1).round().astype(int))[1:-1]
        below = [(np.arange(attribute.size) < edge).astype(np.float64) for edge in edges]
        wanted = [self._products(boxes, {name: one}) for one in below] + [self._products(boxes, {})]
        values, covariance = self._estimates.sums(wanted)
        whole = float(values[-1])
        # Σ over those below, less the share of all: 0 at the quantile.
        off = values[:-1] - share * whole
        spread = np.diag(covariance)[:-1] - 2 * share * covariance[-1, :-1] + share**2 * covariance[-1, -1]
        sure = _Z95 * np.sqrt(np.maximum(spread, 0.0))
        ends = [_crossing(edges, one, attribute.size) for one in (off, off + sure, off - sure)]
        at, low, high = (attribute.value_at(end) for end in ends)
        return Figure(at, (high - low) / (2 * _Z95), (low, high))

    def _sums(self, where: Where, asked: Sequence[Product]) -> tuple[Floats, Floats]:
        boxes = where.boxes(self.schema)
        return self._estimates.sums([self._products(boxes, one) for one in asked])

    def _products(self, boxes: Sequence[Box], weights: Product) -> list[Product]:
        """Of each box the weights of all attributes."""
        found: list[Product] = []
        for box in boxes:
            product = {**self.each, **weights}
            for name, spans in box.items():
                within = shares(self.schema[self._dimension(name)], spans)
                product[name] = within * product[name] if name in product else within
            found.append(product)
        return found

    def _dimension(self, name: str) -> str:
        if name in self.dimensions:
            return name
        hint = f"ask about {', '.join(self.dimensions)}"
        raise WrongInput("query.dimension", f"the collection was not asked for ranges of {name!r}", hint=hint)

    def _value(self, name: str) -> Floats:
        return self.measures[name] if name in self.measures else middles(self.schema[self._dimension(name)])

    def more(self) -> dict[str, Any]:
        """The counts by each attribute, in at most 32 parts, for results and pages."""
        return {"tables": [self._shown(name) for name in self.dimensions]}

    def _shown(self, name: str) -> dict[str, Any]:
        attribute = self.schema[name]
        if attribute.size <= 32:
            wanted, cells = np.eye(attribute.size), list(attribute.cells)
        else:
            edges = np.linspace(0, attribute.size, 33).round().astype(int)
            parts = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
            wanted = np.array([(np.arange(attribute.size) >= a) & (np.arange(attribute.size) < b) for a, b in parts])
            cells = [f"{attribute.value_at(a):g} to before {attribute.value_at(b):g}" for a, b in parts]
        products = [self._products([{}], {name: one.astype(np.float64)}) for one in wanted]
        values, covariance = self._estimates.sums(products)
        stderr = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        ends = np.stack((values - _Z95 * stderr, values + _Z95 * stderr), axis=1)
        return {
            "attributes": [name],
            "cells": [cells],
            "frequency": values.tolist(),
            "stderr": stderr.tolist(),
            "interval95": ends.tolist(),
        }


def _ends(attribute: Any, cell: int) -> tuple[float, float]:
    low, high = attribute.value_at(cell), attribute.value_at(cell + 1)
    return (low, high) if attribute.real else (low, high - 1)


def _crossing(edges: NDArray[np.int64], off: Floats, size: int) -> float:
    """Where a sum that should rise crosses 0: between the last edge below and the first above, both made to rise."""
    rising = (np.maximum.accumulate(off) + np.minimum.accumulate(off[::-1])[::-1]) / 2
    places = np.concatenate(([0.0], edges, [float(size)]))
    heights = np.concatenate(([min(rising[0], -1e-12)], rising, [max(rising[-1], 1e-12)]))
    after = int(np.argmax(heights >= 0.0))
    if after == 0:
        return 0.0
    low, high = heights[after - 1], heights[after]
    part = 0.0 if high == low else -low / (high - low)
    return float(places[after - 1] + part * (places[after] - places[after - 1]))


def fieller(total: float, count: float, covariance: Floats) -> tuple[float, float]:
    """Every ratio θ for which total − θ·count is no more than z of its standard errors from 0 (Fieller 1954)."""
    z2 = _Z95**2
    lead = count**2 - z2 * float(covariance[1, 1])
    if lead <= 0:
        return -math.inf, math.inf
    middle = float(total) * float(count) - z2 * float(covariance[0, 1])
    half = math.sqrt(max(middle**2 - lead * (float(total) ** 2 - z2 * float(covariance[0, 0])), 0.0))
    return (middle - half) / lead, (middle + half) / lead
