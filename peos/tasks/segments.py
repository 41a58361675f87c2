"""Frequent texts by frequent pairs of their segments (SPM, after RAPPOR for unknown dictionaries; thesis §4.3).

Groups are asked for one segment, for two segments together, and a tenth of the users for whole texts. Afterwards the
best patterns of each segment are paired, pairs are taken in the order of their frequency until the texts all of whose
pairs were taken are more than are wanted, and these are ranked by whole texts.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Final, Unpack

import numpy as np

from peos.errors import WrongInput
from peos.ldp.base import whole_number
from peos.ldp.grouped_hash import MOST_GROUPS, Candidates
from peos.tasks.base import NOTHING, OneRound, Reports, Table, best_of
from peos.tasks.planning import Asked, Planned, Targets, planned
from peos.tasks.prefix_search import MOST_KEPT
from peos.tasks.texts import Prefix
from peos.tasks.views import PairView, PrefixView, SegmentView, View

MOST_JOINED: Final = 20_000  # texts that pairs leave possible: beyond, pairs are too many to tell anything
_TENTH: Final = 9  # the weight of every other group, where the last has as many as there are of them
_STEP: Final = 4  # by a quarter at a time more pairs are taken


@dataclass(frozen=True)
class SegmentPairs(OneRound):
    """Texts of `bits` bits in segments of `step`: the `k` best."""

    bits: int
    k: int
    step: int
    asked: Asked

    def __post_init__(self) -> None:
        whole_number(self.k, "the number of texts wanted, k,", least=1, most=MOST_KEPT)
        if self.bits % self.step or not self.bits // self.step >= 2 or len(self.views) > MOST_GROUPS:
            raise WrongInput(
                "task.segments",
                f"texts of {self.bits} bits cannot be asked in segments of {self.step}: with a group for each segment, "
                f"each pair and whole texts there would be more than {MOST_GROUPS} groups, or segments of two sizes",
            )

    @cached_property
    def plan(self) -> Planned:
        """Mechanism, fakes and guarantees of its one round."""
        others = len(self.views) - 1
        return planned(self.asked, (*[_TENTH] * others, others))

    @property
    def views(self) -> tuple[View, ...]:
        """A group for each segment, for each pair of them, and for whole texts."""
        ends = [(first, first + self.step) for first in range(0, self.bits, self.step)]
        segments = [SegmentView(*one, self.bits) for one in ends]
        pairs = [PairView(*one, *other, self.bits) for one, other in combinations(ends, 2)]
        return (*segments, *pairs, PrefixView(self.bits - self.step, self.bits, self.bits))

    def decode(self, reports: Reports) -> Table:
        """Patterns, pairs of them, texts of such pairs."""
        segments = self.bits // self.step
        patterns = [self._patterns(reports, segment) for segment in range(segments)]
        ranked = self._ranked_pairs(reports, patterns)
        joined: list[Prefix] = []
        taken = self.k
        while taken <= len(ranked):
            found = self._joined(set(ranked[:taken]), patterns)
            if found is None:
                break
            joined = found
            if len(joined) > self.k:
                break
            taken += max(1, taken // _STEP)
        if not joined:
            return NOTHING
        whole = [Prefix(text.value >> self.step, self.bits - self.step).parent for text in joined]
        exts = [text.value & (2**self.step - 1) for text in joined]
        candidates = Candidates(np.array(whole, np.uint64), np.array(exts, np.uint64), paired=True)
        return best_of(joined, reports.estimate(len(self.views) - 1, candidates), self.k)

    def _patterns(self, reports: Reports, segment: int) -> list[int]:
        """The best of one segment."""
        every = np.arange(2**self.step, dtype=np.uint64)
        estimate = reports.estimate(segment, Candidates(np.zeros(1, np.uint64), every))
        return sorted(np.argsort(-estimate.frequency, kind="stable")[: self.k].tolist())

    def _ranked_pairs(self, reports: Reports, patterns: list[list[int]]) -> list[tuple[int, int, int, int]]:
        """Every pair of patterns (segment, segment, pattern, pattern), the most frequent first."""
        segments = len(patterns)
        pairs: list[tuple[int, int, int, int]] = []
        found: list[float] = []
        for group, (one, other) in enumerate(combinations(range(segments), 2), start=segments):
            candidates = Candidates(np.array(patterns[one], np.uint64), np.array(patterns[other], np.uint64))
            found += reports.estimate(group, candidates).frequency.tolist()
            pairs += [(one, other, left, right) for left in patterns[one] for right in patterns[other]]
        return [pairs[place] for place in np.argsort(-np.array(found), kind="stable").tolist()]

    def _joined(self, pairs: set[tuple[int, int, int, int]], patterns: list[list[int]]) -> list[Prefix] | None:
        """The texts all of whose pairs are there; None if they are too many."""
        texts: list[tuple[int, ...]] = [(pattern,) for pattern in patterns[0]]
        for segment in range(1, len(patterns)):
            texts = [
                (*text, pattern)
                for text in texts
                for pattern in patterns[segment]
                if all((before, segment, text[before], pattern) in pairs for before in range(segment))
            ]
            if len(texts) > MOST_JOINED:
                return None
        return [self._text(text) for text in texts]

    def _text(self, parts: tuple[int, ...]) -> Prefix:
        found = Prefix(0, 0)
        for part in parts:
            found = found.then(part, self.step)
        return found


def segment_pairs(bits: int, k: int, *, step: int = 8, **asked: Unpack[Targets]) -> SegmentPairs:
    """By pairs of segments of `step` bits."""
    return SegmentPairs(bits, k, step, Asked(**asked))
