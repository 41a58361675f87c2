"""Unbiased frequencies from the reports of one hidden table, given how many there are (privacy.md §4).

A user's report tells her cell of the table with probability t (`telling`), and is one of its L cells at random with
probability b (`blank`); a fake is one of them with probability c (`fake`). So among the N reports of the table there is
a share η = n(t + b)/(n(t + b) + mc) of users', of which ρ = t/(t + b) tell; with C the number of reports of a cell
    f̂ = (C/N − η(1−ρ)/L − (1−η)/L) / (ηρ).
Given N the reports are drawn from all n + m without replacement, exactly where users and fakes fall into the table
alike (equal tables), and nearly so elsewhere: Var Ĉ = N·[P(1−P) − (N−1)/(n+m−1)·V], P the chance that one of them is
of the cell and V the variance of that chance over holders of the cell, other users and fakes.
"""

from dataclasses import dataclass

import numpy as np

from peos.estimate.frequency import Floats
from peos.estimate.grouped import Counts, OfGroup
from peos.estimate.support import least_found


@dataclass(frozen=True)
class TableOracle(OfGroup):
    """L, and the three chances of a report to be of this table."""

    cells: int
    telling: float
    blank: float
    fake: float

    def rates(self, users: int, fakes: int) -> tuple[float, float]:
        """(η, ρ): the share of users among the table's reports, and of those that tell among these."""
        mine = self.telling + self.blank
        return users * mine / (users * mine + fakes * self.fake), self.telling / mine

    def frequency(self, counts: Counts, reports: int, users: int, fakes: int) -> Floats:
        """What is above blank reports, by how many tell."""
        η, ρ = self.rates(users, fakes)
        share = np.asarray(counts, dtype=np.float64) / max(reports, 1)
        return np.asarray((share - (1 - η * ρ) / self.cells) / (η * ρ), dtype=np.float64)

    def polynomial(self, reports: int, users: int, fakes: int) -> tuple[float, float, float]:
        """(a, b, c) of Var = a + b·f − c·f²."""
        η, ρ = self.rates(users, fakes)
        other, fake, number = (1 - ρ) / self.cells, 1 / self.cells, max(reports, 1)
        # The chance P, and its mean square over whose report it may be, as functions of f.
        p0, p1 = η * other + (1 - η) * fake, η * ρ
        m0, m1 = η * other**2 + (1 - η) * fake**2, η * ((ρ + other) ** 2 - other**2)
        drawn = min(1.0, (number - 1) / max(users + fakes - 1, 1))
        scale = number * p1 * p1
        a = p0 * (1 - p0) - drawn * (m0 - p0 * p0)
        b = p1 * (1 - 2 * p0) - drawn * (m1 - 2 * p0 * p1)
        return a / scale, b / scale, p1 * p1 * (1 - drawn) / scale

    def least(self, reports: int, users: int, fakes: int, chance: float) -> int:  # noqa: ARG002 - see below
        """By the law of the count among all reports, of which each is of the cell, or is not, by its own coin."""
        return least_found(self.blank / self.cells, self.fake / self.cells, users=users, fakes=fakes, chance=chance)

    def expected(self, users: int, fakes: int) -> tuple[float, float]:
        """Mean and variance of how many reports the table has, if no report was made for it on purpose."""
        mine = self.telling + self.blank
        return users * mine + fakes * self.fake, users * mine * (1 - mine) + fakes * self.fake * (1 - self.fake)
