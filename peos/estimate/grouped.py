"""Unbiased frequencies from one group's reports, given how many there are (privacy.md §4).

Every report, a user's or a fake, falls into group j with the same chance, so given their number N the group's reports
are N drawn from all n + m without replacement. Of the k users who hold v each reports support of v with probability p;
any other report supports it with probability u, be it of another key, of a record that has none, or a fake. So with
ν = n/(n + m), φ = k/(n + m) and S the number of the group's reports that support v,
    f̂ = (S − N·u) / (N·ν·(p − u)),
    Var f̂ = [φp(1−p) + (1−φ)u(1−u) + (p−u)²·φ(1−φ)·(1 − (N−1)/(n+m−1))] / (N·ν²·(p−u)²).
The last term is what is left to chance by asking some of the users for all: from ε_l ≈ 5 on it is the larger part.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Self

import numpy as np
from numpy.typing import NDArray

from peos.estimate.frequency import Floats, Frequencies
from peos.estimate.support import least_found

Counts = NDArray[np.int64]


class OfGroup(ABC):
    """How likely reports of a group support a candidate: what its estimate, variance and test follow from."""

    def variance(self, reports: int, users: int, fakes: int, frequency: Floats | np.float64) -> Floats | np.float64:
        """Of the estimate of a frequency from so many reports of a group."""
        a, b, c = self.polynomial(reports, users, fakes)
        return a + b * frequency - c * frequency * frequency

    @abstractmethod
    def polynomial(self, reports: int, users: int, fakes: int) -> tuple[float, float, float]:
        """(a, b, c) of Var = a + b·f − c·f²."""

    @abstractmethod
    def frequency(self, counts: Counts, reports: int, users: int, fakes: int) -> Floats:
        """Unbiased, from how many of the group's reports support each candidate."""

    @abstractmethod
    def least(self, reports: int, users: int, fakes: int, chance: float) -> int:
        """A count so large that no candidate which no user holds has it with more than `chance`."""


@dataclass(frozen=True)
class GroupedOracle(OfGroup):
    """p: a report supports its own key; u: any other report supports it, on average over hash functions.

    `slack`: under the functions that were drawn another key's report may support it likelier by so much.
    """

    p: float
    u: float
    slack: float = 0.0

    def frequency(self, counts: Counts, reports: int, users: int, fakes: int) -> Floats:
        """(S − N·u) / (N·ν·(p − u))."""
        scale = max(reports, 1) * users / (users + fakes) * (self.p - self.u)
        return np.asarray((counts - reports * self.u) / scale, dtype=np.float64)

    def least(self, reports: int, users: int, fakes: int, chance: float) -> int:  # noqa: ARG002 - any report is alike
        """By the group's own reports, whose supports are at most Bin(N, u + slack)."""
        return least_found(min(1.0, self.u + self.slack), self.u, users=reports, fakes=0, chance=chance)

    def polynomial(self, reports: int, users: int, fakes: int) -> tuple[float, float, float]:
        """Exactly."""
        p, u = self.p, self.u
        share, number = users / (users + fakes), max(reports, 1)
        unsure = (p - u) ** 2 * max(0.0, 1 - (number - 1) / max(users + fakes - 1, 1))
        scale = number * (share * (p - u)) ** 2
        return u * (1 - u) / scale, share * (p * (1 - p) - u * (1 - u) + unsure) / scale, share**2 * unsure / scale


@dataclass(frozen=True, eq=False, repr=False)
class GroupEstimate(Frequencies):
    """Frequencies among all users of the candidates that one group was asked about."""

    oracle: OfGroup
    counts: Counts
    reports: int  # of the group

    @classmethod
    def of(cls, oracle: OfGroup, counts: Counts, *, reports: int, users: int, fakes: int) -> Self:
        """From how many of the group's reports support each candidate."""
        frequency = oracle.frequency(counts, reports, users, fakes)
        variance = np.asarray(oracle.variance(reports, users, fakes, np.clip(frequency, 0.0, 1.0)))
        return cls(frequency, variance, users, fakes, oracle, counts, reports)

    def interval(self, level: float = 0.95) -> Floats:
        """(candidates, 2): every f from which the estimate lies within z of f's own standard errors (Wilson)."""
        z2 = NormalDist().inv_cdf((1 + level) / 2) ** 2
        a, b, c = self.oracle.polynomial(self.reports, self.users, self.fakes)
        middle, lead = self.frequency + z2 * b / 2, 1 + z2 * c
        half = np.sqrt(np.maximum(middle**2 - lead * (self.frequency**2 - z2 * a), 0.0))
        return np.stack(((middle - half) / lead, (middle + half) / lead), axis=1)

    def significant(self, level: float = 0.05) -> NDArray[np.bool_]:
        """(candidates,): which are found: with probability 1 − `level` none that no user holds is (Bonferroni)."""
        least = self.oracle.least(self.reports, self.users, self.fakes, level / max(self.tested, 1))
        return np.asarray(self.counts >= least)


@dataclass(frozen=True, eq=False, repr=False)
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


def odd_sizes(sizes: Sequence[int], shares: Sequence[float], chance: float = 1e-6) -> tuple[int, ...]:
    """The groups whose number of reports is not of its law, Bin(all, share): with `chance`, one of honest reports is.

    Users draw their groups themselves, so a group that is too large was flooded: its estimates are not to be trusted.
    """
    every, each = sum(sizes), chance / len(sizes) / 2
    found = []
    for group, (size, share) in enumerate(zip(sizes, shares, strict=True)):
        most = least_found(share, share, users=every, fakes=0, chance=each)
        others = least_found(1 - share, 1 - share, users=every, fakes=0, chance=each)
        if size >= most or every - size >= others:
            found.append(group)
    return tuple(found)
