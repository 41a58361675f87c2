"""Unbiased frequencies from one group's reports, given how many there are (privacy.md §4).

Every report, a user's or a fake, falls into group j with the same chance, so given their number N the group's reports
are N drawn from all n + m without replacement. Of the k users who hold v each reports support of v with probability p;
any other report supports it with probability u, be it of another key, of a record that has none, or a fake. So with
ν = n/(n + m), φ = k/(n + m) and S the number of the group's reports that support v,
    f̂ = (S − N·u) / (N·ν·(p − u)),
    Var f̂ = [φp(1−p) + (1−φ)u(1−u) + (p−u)²·φ(1−φ)·(1 − (N−1)/(n+m−1))] / (N·ν²·(p−u)²).
The last term is what is left to chance by asking some of the users for all: from ε_l ≈ 5 on it is the larger part.
"""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Self

import numpy as np
from numpy.typing import NDArray

from peos.estimate.frequency import Floats, Frequencies
from peos.estimate.support import least_found

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class GroupedOracle:
    """p: a report supports its own key; u: any other report supports it, on average over hash functions.

    `slack`: under the functions that were drawn another key's report may support it likelier by so much.
    """

    p: float
    u: float
    slack: float = 0.0

    def variance(self, reports: int, users: int, fakes: int, frequency: Floats | np.float64) -> Floats | np.float64:
        """Exactly, of the estimate of a frequency from so many reports of a group."""
        a, b, c = self._polynomial(reports, users, fakes)
        return a + b * frequency - c * frequency * frequency

    def _polynomial(self, reports: int, users: int, fakes: int) -> tuple[float, float, float]:
        """(a, b, c) of Var = a + b·f − c·f²."""
        p, u = self.p, self.u
        share, number = users / (users + fakes), max(reports, 1)
        unsure = (p - u) ** 2 * max(0.0, 1 - (number - 1) / max(users + fakes - 1, 1))
        scale = number * (share * (p - u)) ** 2
        return u * (1 - u) / scale, share * (p * (1 - p) - u * (1 - u) + unsure) / scale, share**2 * unsure / scale


@dataclass(frozen=True, eq=False)
class GroupEstimate(Frequencies):
    """Frequencies among all users of the candidates that one group was asked about; `tested` of them were evaluated."""

    oracle: GroupedOracle
    counts: Counts
    reports: int  # of the group
    tested: int

    @classmethod
    def of(cls, oracle: GroupedOracle, counts: Counts, *, reports: int, users: int, fakes: int) -> Self:
        """From how many of the group's reports support each candidate."""
        scale = max(reports, 1) * users / (users + fakes) * (oracle.p - oracle.u)
        frequency = np.asarray((counts - reports * oracle.u) / scale, dtype=np.float64)
        variance = np.asarray(oracle.variance(reports, users, fakes, np.clip(frequency, 0.0, 1.0)))
        return cls(frequency, variance, users, fakes, oracle, counts, reports, len(counts))

    def interval(self, level: float = 0.95) -> Floats:
        """(candidates, 2): every f from which the estimate lies within z of f's own standard errors (Wilson)."""
        z2 = NormalDist().inv_cdf((1 + level) / 2) ** 2
        a, b, c = self.oracle._polynomial(self.reports, self.users, self.fakes)
        middle, lead = self.frequency + z2 * b / 2, 1 + z2 * c
        half = np.sqrt(np.maximum(middle**2 - lead * (self.frequency**2 - z2 * a), 0.0))
        return np.stack(((middle - half) / lead, (middle + half) / lead), axis=1)

    def significant(self, level: float = 0.05) -> NDArray[np.bool_]:
        """(candidates,): which are found: with probability 1 − `level` none that no user holds is (Bonferroni)."""
        chance = min(1.0, self.oracle.u + self.oracle.slack)
        least = least_found(chance, self.oracle.u, users=self.reports, fakes=0, chance=level / max(self.tested, 1))
        return np.asarray(self.counts >= least)


@dataclass(frozen=True, eq=False)
class GroupSizes(Frequencies):
    """Each group's share of the reports: the share of its seeds, unless reports were made for a group on purpose."""

    @classmethod
    def of(cls, sizes: Counts, shares: Floats, users: int, fakes: int) -> Self:
        """From how many reports each group has."""
        reports = users + fakes
        return cls(sizes / max(reports, 1), shares * (1 - shares) / max(reports, 1), users, fakes)

    def interval(self, level: float = 0.95) -> Floats:
        """(groups, 2): share ± z·stderr."""
        half = NormalDist().inv_cdf((1 + level) / 2) * self.stderr
        return np.stack((self.frequency - half, self.frequency + half), axis=1)
