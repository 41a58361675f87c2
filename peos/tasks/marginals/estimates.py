"""Tables with their errors: fitted ones, whose errors are simulated, and unbiased ones, whose errors are exact.

The error of a fitted table, made consistent and without negative cells, is by simulation: reports are drawn from the
fitted tables as often as there were reports, what was done to the real ones is done to them, and the deviations from
the fitted table are its errors. They say nothing of what maximum entropy does not know.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from statistics import NormalDist
from typing import Any, Final

import numpy as np

from peos.estimate.tables import TableOracle
from peos.tabular import Rows, Tabular, of_values
from peos.tasks.marginals.consistency import Floats, Overlaps
from peos.tasks.marginals.maxent import covering, marginal

SIMULATED: Final = 50  # runs: a standard error is then off by a tenth
_Z95: Final = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True, eq=False)
class Fit:
    """Unbiased tables (1, values …), what their reports are like, and how many there were; and what is made of them."""

    overlaps: Overlaps
    tables: tuple[Floats, ...]
    oracles: tuple[TableOracle, ...]
    reports: tuple[int, ...]
    users: int
    fakes: int

    def of(self, table: int, cells: int) -> TableOracle:
        """A table summed to so many cells, all of them of as many of its own, is a table of so many."""
        return replace(self.oracles[table], cells=cells)

    def variance(self, table: int, cells: int) -> float:
        """Of a cell, if all are equally frequent."""
        even = np.float64(1 / cells)
        return float(self.of(table, cells).variance(self.reports[table], self.users, self.fakes, even))

    @cached_property
    def fitted(self) -> list[Floats]:
        """Consistent tables of shares."""
        return self.overlaps.fitted(self.tables, self.variance)

    @cached_property
    def drawn(self) -> list[Floats]:
        """Tables of simulated reports, as they come: (runs, values …), the same ones each time."""
        rng, drawn = np.random.default_rng(0), []
        for table, fitted in enumerate(self.fitted):
            η, ρ = self.oracles[table].rates(self.users, self.fakes)
            shares = fitted.reshape(-1) / fitted.sum()
            reported = η * ρ * shares + (1 - η * ρ) / len(shares)
            counts = rng.multinomial(self.reports[table], reported / reported.sum(), size=SIMULATED)
            frequency = self.oracles[table].frequency(counts, self.reports[table], self.users, self.fakes)
            drawn.append(frequency.reshape(SIMULATED, *fitted.shape[1:]))
        return drawn

    @cached_property
    def simulated(self) -> list[Floats]:
        """The same as is made of the real ones."""
        return self.overlaps.fitted(self.drawn, self.variance)


@dataclass(frozen=True, eq=False)
class Unbiased:
    """A table that one or several tables have, as the mean of their own estimates: not consistent with other tables.

    Cells may be negative. `polynomial` is (a, b, c) of the variance a + b·f − c·f² of each cell.
    """

    frequency: Floats
    polynomial: tuple[float, float, float]
    _parts: tuple[tuple[float, TableOracle, int], ...]  # weight, oracle of the summed table, reports
    _users: int
    _fakes: int

    @property
    def stderr(self) -> Floats:
        """Of each cell."""
        a, b, c = self.polynomial
        f = np.clip(self.frequency, 0.0, 1.0)
        return np.sqrt(np.maximum(a + b * f - c * f * f, 0.0))

    def interval(self, level: float = 0.95) -> Floats:
        """(values …, 2): every share from which the estimate lies within z of its own standard errors (Wilson)."""
        z2 = NormalDist().inv_cdf((1 + level) / 2) ** 2
        a, b, c = self.polynomial
        middle, lead = self.frequency + z2 * b / 2, 1 + z2 * c
        half = np.sqrt(np.maximum(middle**2 - lead * (self.frequency**2 - z2 * a), 0.0))
        return np.stack(((middle - half) / lead, (middle + half) / lead), axis=-1)

    def covariance(self, shares: Floats) -> Floats:
        """(cells, cells): of the estimates if the users are drawn from a population with these shares."""
        f = shares.reshape(-1)
        whole = np.zeros((len(f), len(f)))
        for weight, oracle, reports in self._parts:
            η, ρ = oracle.rates(self._users, self._fakes)
            chance = η * ρ * f + (1 - η * ρ) / len(f)
            whole += (weight / (η * ρ)) ** 2 / max(reports, 1) * (np.diag(chance) - np.outer(chance, chance))
        return whole


def combined(fit: Fit, places: Sequence[int]) -> Unbiased | None:
    """The mean by inverse variances of all tables that have the attributes; None if none has.

    Their reports are of different users, so that a sampled share is known the better together: two parts of the n users
    covary by −f(1 − f)/(n − 1).
    """
    held = covering(fit.overlaps, places)
    if not held:
        return None
    cells = fit.overlaps.cells(places)
    weights = np.array([1 / fit.variance(table, cells) for table in held])
    weights /= weights.sum()
    alone = replace(fit.overlaps, blocks=tuple(fit.overlaps.blocks[table] for table in held))
    each = [
        marginal(replace(alone, blocks=(block,)), [fit.tables[table]], places)[0]
        for table, block in zip(held, alone.blocks, strict=True)
    ]
    parts = tuple(
        (float(weight), fit.of(table, cells), fit.reports[table]) for weight, table in zip(weights, held, strict=True)
    )
    every = [oracle.polynomial(reports, fit.users, fit.fakes) for _, oracle, reports in parts]
    a, b, c = (float(np.sum(weights**2 * [one[at] for one in every])) for at in range(3))
    together = float(1 - np.sum(weights**2)) / max(fit.users - 1, 1)
    frequency = np.asarray(np.sum([weight * one for weight, one in zip(weights, each, strict=True)], axis=0))
    return Unbiased(frequency, (a, b - together, c - together), parts, fit.users, fit.fakes)


@dataclass(frozen=True, eq=False, repr=False)
class TableAnswer(Tabular):
    """Shares of the users by attributes, an axis each; errors are simulated (`peos.tasks.marginals.estimates`)."""

    attributes: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]  # of each axis
    _fit: Fit
    _places: tuple[int, ...]

    @property
    def summary(self) -> str:
        """Of which attributes, and how many cells."""
        size = " × ".join(str(len(one)) for one in self.cells)
        return f"{' by '.join(self.attributes)}, {size} cells"

    def rows(self) -> Rows:
        """A row a cell, with a column for each attribute."""
        flat = {"frequency": self.frequency.reshape(-1), "stderr": self.stderr.reshape(-1)}
        found = of_values(self.summary, {}, {**flat, "interval95": self.interval.reshape(-1, 2)})
        named = {
            name if name not in found.columns else f"{name} (attribute)": list(cells)
            for name, cells in zip(self.attributes, zip(*product(*self.cells), strict=True), strict=True)
        }
        return replace(found, columns={**named, **found.columns})

    @cached_property
    def frequency(self) -> Floats:
        """Not negative, of sum one, and consistent with other tables."""
        return np.asarray(marginal(self._fit.overlaps, self._fit.fitted, self._places)[0])

    @cached_property
    def stderr(self) -> Floats:
        """Of each cell, by simulation from the fitted tables."""
        simulated = marginal(self._fit.overlaps, self._fit.simulated, self._places)
        return np.asarray(np.sqrt(np.mean((simulated - self.frequency) ** 2, axis=0)))

    @property
    def interval(self) -> Floats:
        """(…, 2): 95 % of each cell alone, by simulation: it leaves out what maximum entropy does not know."""
        low, high = self.frequency - _Z95 * self.stderr, self.frequency + _Z95 * self.stderr
        return np.clip(np.stack((low, high), axis=-1), 0.0, 1.0)

    @property
    def is_covered(self) -> bool:
        """Whether a table that was asked has all of the attributes."""
        return bool(covering(self._fit.overlaps, self._places))

    @cached_property
    def unbiased(self) -> Unbiased | None:
        """The estimate before all fitting, with exact errors, where a table covers the attributes; else None."""
        return combined(self._fit, self._places)

    def to_json(self) -> dict[str, Any]:
        """As results have it: axes as lists within lists."""
        return {
            "attributes": list(self.attributes),
            "cells": [list(one) for one in self.cells],
            "frequency": self.frequency.tolist(),
            "stderr": self.stderr.tolist(),
            "interval95": self.interval.tolist(),
            "covered": self.is_covered,
            "errors": "simulated",
        }
