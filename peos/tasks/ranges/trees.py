"""One ordered attribute by a tree of hidden levels, put together by least squares; errors follow exactly.

A report of level l is of one node, so that a weighted sum of the level's estimates is a mean over its N_l reports:
(Σ_v c_v·1{report of v})/N_l, less a constant, over the share of reports that tell. Were users drawn anew for each level
the variance would be that of c over the law of one report. But all are of the same n users, each of whom answers for
one level: with τ_l the chance of level l and d_l the centred weight there of a user's value, a user adds
Σ_l d_l²/τ_l − (Σ_l d_l)² over n², and Σ_l d_l is the weight that was asked for: its variance over the users goes off.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.estimate.tables import TableOracle
from peos.ldp.grouped_tables import GroupedTables
from peos.tasks.planning import Asked, Planned, planned_tables
from peos.tasks.ranges.inference import TreeFit
from peos.tasks.ranges.levels import Levels

Floats = NDArray[np.float64]

FANOUTS: Final = (2, 4, 8, 16, 32)
VOLUMES: Final = (0.1, 0.25, 0.6)  # of the ranges that a tree is chosen for
_RANGES: Final = 4  # of each


@dataclass(frozen=True, eq=False)
class TreeEstimate:
    """What levels say of every cell: `nodes` are the unbiased estimates of levels 1 to h, of so many reports each."""

    levels: Levels
    nodes: Sequence[Floats]
    oracles: Sequence[TableOracle]
    reports: Sequence[int]
    users: int
    fakes: int

    @cached_property
    def fit(self) -> TreeFit:
        """By the variances of levels whose nodes are all the same; one without reports takes no part."""
        found = [
            float(oracle.variance(reports, self.users, self.fakes, np.float64(1 / oracle.cells))) if reports else np.inf
            for oracle, reports in zip(self.oracles, self.reports, strict=True)
        ]
        # Cells of which nothing was seen are even within their node.
        last = found[-1] if np.isfinite(found[-1]) else 1e9 * max(one for one in found if np.isfinite(one))
        return TreeFit(self.levels, (*found[:-1], last))

    @cached_property
    def cells(self) -> Floats:
        """The share of each cell; they sum to 1, and some may be below 0."""
        return self.fit.cells([np.where(np.isfinite(one), one, 0.0) for one in self.nodes])

    def covariance(self, wanted: Sequence[Floats]) -> Floats:
        """Of Σ wanted·cell, for several at once."""
        laws, found = self._laws, np.zeros((len(wanted), len(wanted)))
        weights = [self.fit.weights(one) for one in wanted]
        for level, (law, reports, oracle) in enumerate(zip(laws, self.reports, self.oracles, strict=True)):
            if not reports:
                continue
            telling = float(np.prod(oracle.rates(self.users, self.fakes)))
            each = np.array([one[level] for one in weights])
            centred = each - (each @ law)[:, np.newaxis]
            found += (centred * law) @ centred.T / (reports * telling**2)
        asked, shares = np.array(wanted), self._shares
        asked = asked - (asked @ shares)[:, np.newaxis]
        return found - (asked * shares) @ asked.T / self.users

    @cached_property
    def _shares(self) -> Floats:
        """The cells as shares."""
        cells = np.maximum(self.cells, 0.0)
        return np.asarray(cells / cells.sum())

    @cached_property
    def _laws(self) -> list[Floats]:
        """Of each level, how likely a report of it is of each node, by the fitted cells."""
        cells, found = self._shares, []
        values = np.arange(self.levels.domain)
        for level, oracle in enumerate(self.oracles, start=1):
            telling = float(np.prod(oracle.rates(self.users, self.fakes)))
            nodes = np.bincount(self.levels.place(values, level), cells, oracle.cells)
            found.append(np.asarray(telling * nodes + (1 - telling) / oracle.cells))
        return found


@dataclass(frozen=True, eq=False)
class TreeDesign:
    """A tree with its plan, and the standard error that is expected of a range."""

    levels: Levels
    plan: Planned[GroupedTables]
    error: float
    notes: tuple[str, ...] = ()

    def in_words(self) -> str:
        """The levels, and what comes of them."""
        mechanism = self.plan.mechanism
        what = (
            f"all {self.levels.domain:,} cells at once"
            if self.levels.height == 1
            else f"a tree of {self.levels.height} levels, {self.levels.fanout} children to a node"
        )
        return (
            f"{what}; ε_l {mechanism.epsilon_local:.2f}; {float(mechanism.gamma):.0%} uniform reports; expected error "
            f"of a range {self.error:.2g} of all users"
        )


def choose_tree(cells: int, asked: Asked) -> TreeDesign:
    """The tree, or the flat table, of the least expected error over ranges of several widths."""
    fanouts = [one for one in FANOUTS if one < cells]
    found = sorted((_design(Levels(cells, one), asked) for one in (*fanouts, cells)), key=lambda one: one.error)
    notes = (f"next best: {found[1].in_words()}",) if len(found) > 1 else ()
    return TreeDesign(found[0].levels, found[0].plan, found[0].error, notes)


def _design(levels: Levels, asked: Asked) -> TreeDesign:
    plan = planned_tables(asked, levels.sizes[1:])
    oracles = plan.mechanism.oracles
    even = [np.full(size, 1 / size) for size in levels.sizes[1:]]
    reports = [round(oracle.expected(asked.users, plan.fakes)[0]) for oracle in oracles]
    estimate = TreeEstimate(levels, even, oracles, reports, asked.users, plan.fakes)
    wanted = []
    for volume in VOLUMES:
        width = max(1, round(volume * levels.domain))
        for start in np.linspace(0.03, 0.97, _RANGES) * (levels.domain - width):
            wanted.append((np.arange(levels.domain) - int(start)) % levels.domain < width)
    variances = np.diag(estimate.covariance([one.astype(np.float64) for one in wanted]))
    return TreeDesign(levels, plan, float(np.sqrt(variances).mean()))
