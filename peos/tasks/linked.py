"""SPM and HASH as the thesis has them, with each user's ε divided among linked reports: in memory, to be compared with.

A user of SPM reports two segments and the whole text at ε/3 each, one of HASH a block and the whole text at ε/2. In a
shuffle such reports gain nothing (`peos.ldp.linked_hash`); `SPM` and `HASH` ask each user for one part at her whole ε.
"""

from functools import cached_property
from itertools import combinations
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from peos.crypto.randomness import U64
from peos.errors import WrongInput
from peos.estimate.frequency import Floats
from peos.ldp.linked_hash import LinkedHash
from peos.ldp.reports import Reports
from peos.privacy.guarantees import guarantees
from peos.tasks.channels import HASH
from peos.tasks.planning import Asked, Planned
from peos.tasks.segments import SPM, Pair
from peos.tasks.text_views import PrefixView, SegmentView
from peos.tasks.views import View


@runtime_checkable
class Together(Reports, Protocol):
    """Reports that tell two parts of one user's."""

    def together(self, group: int, firsts: U64, seconds: U64) -> Floats:
        """(firsts, seconds): how frequent they are together in a group's two parts."""


class LinkedSPM(SPM):
    """Two segments and the whole text of each user, at ε/3 each."""

    in_memory: ClassVar[str] = LinkedHash.local_only
    _most_views: ClassVar[int] = 1 << 12

    @cached_property
    def plan(self) -> Planned[LinkedHash]:
        """By ε_l alone."""
        return _planned(self.asked, len(self._pairs), 3)

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(self.bits // self.step), 2))

    @property
    def views(self) -> tuple[View, ...]:
        """First segments, second segments, whole texts."""
        ends = [(first, first + self.step) for first in range(0, self.bits, self.step)]
        segments = [SegmentView(*ends[pair[part]], self.bits) for part in range(2) for pair in self._pairs]
        return (*segments, PrefixView(self.bits - self.step, self.bits, self.bits))

    def _patterns(self, reports: Reports, segment: int) -> list[int]:
        """By all reports of the segment, whichever other is with it."""
        columns = [
            part * len(self._pairs) + at
            for part in range(2)
            for at, pair in enumerate(self._pairs)
            if pair[part] == segment
        ]
        estimates = [reports.estimate(column, self._every) for column in columns]
        sizes = np.array([reports.sizes[column] for column in columns], np.float64)
        found = np.stack([one.frequency for one in estimates]).T @ sizes
        return sorted(np.argsort(-found, kind="stable")[: self.k].tolist())

    def _ranked_pairs(self, reports: Reports, patterns: list[list[int]]) -> list[Pair]:
        """By reports that support both."""
        assert isinstance(reports, Together), "of this mechanism"
        pairs: list[Pair] = []
        found: list[float] = []
        for group, (one, other) in enumerate(self._pairs):
            asked = np.array(patterns[one], np.uint64), np.array(patterns[other], np.uint64)
            found += reports.together(group, *asked).reshape(-1).tolist()
            pairs += [(one, other, left, right) for left in patterns[one] for right in patterns[other]]
        return [pairs[place] for place in np.argsort(-np.array(found), kind="stable").tolist()]


class LinkedHASH(HASH):
    """A block of the text and the whole text of each user, at ε/2 each."""

    in_memory: ClassVar[str] = LinkedHash.local_only

    @cached_property
    def plan(self) -> Planned[LinkedHash]:
        """By ε_l alone."""
        return _planned(self.asked, len(self.views) - 1, 2)


def _planned(asked: Asked, groups: int, parts: int) -> Planned[LinkedHash]:
    if asked.eps_local is None:
        raise WrongInput("plan.no_target", "linked reports keep to ε_l alone", hint="give eps_local")
    mechanism = LinkedHash(groups, parts, asked.eps_local, asked.d_prime or 0)
    fakes = asked.fakes if isinstance(asked.fakes, int) else 0
    return Planned(
        mechanism, asked.users, fakes, guarantees(mechanism, asked.users, fakes, asked.delta, asked.shufflers)
    )
