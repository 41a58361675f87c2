"""Frequent texts by frequent pairs of their segments (SPM, after RAPPOR for unknown dictionaries; thesis §4.3).

Groups are asked for one segment, for two segments together, and a tenth of the users for whole texts. A pattern has to
be found in its segment and in each of its pairs, so all segments get as many users as all pairs. Afterwards the best
patterns of each segment are paired, pairs are taken in the order of their frequency until the texts all of whose pairs
were taken are more than are wanted, and these are ranked by whole texts.
"""

from functools import cached_property
from itertools import combinations
from typing import ClassVar, Final, Unpack

import numpy as np

from peos.errors import WrongInput
from peos.ldp.base import Mechanism, whole_number
from peos.ldp.grouped_hash import MOST_GROUPS, Candidates
from peos.ldp.key_hash import EXT_BITS
from peos.ldp.reports import Reports
from peos.tasks.base import NOTHING, OfTexts, Table, best_of
from peos.tasks.planning import Asked, Planned, Targets, planned
from peos.tasks.prefix_search import MOST_KEPT
from peos.tasks.text_views import PairView, PrefixView, SegmentView
from peos.tasks.texts import MOST_BYTES, Prefix, split
from peos.tasks.views import View

MOST_JOINED: Final = 20_000  # texts that pairs leave possible: beyond, pairs are too many to tell anything
_STEP: Final = 4  # by a quarter at a time more pairs are taken
Pair = tuple[int, int, int, int]  # segment, segment, pattern of the one, pattern of the other


class SPM(OfTexts):
    """Texts of `bits` bits in segments of `step`: the `k` best."""

    _most_views: ClassVar[int] = MOST_GROUPS

    def __init__(self, bits: int, k: int, *, step: int = 8, **asked: Unpack[Targets]) -> None:
        self.bits = whole_number(bits, "the bits of a text", least=1, most=8 * MOST_BYTES)
        self.k = whole_number(k, "the number of texts wanted, k,", least=1, most=MOST_KEPT)
        self.step = whole_number(step, "the bits of a segment", least=1, most=EXT_BITS)
        self.asked = Asked(**asked)
        if self.bits % self.step or not self.bits // self.step >= 2 or len(self.views) > self._most_views:
            raise WrongInput(
                "task.segments",
                f"texts of {self.bits} bits cannot be asked in segments of {self.step}: they are of two sizes, or the "
                f"groups of segments, pairs of them and whole texts are more than {self._most_views}",
            )

    @cached_property
    def plan(self) -> Planned[Mechanism]:
        """Mechanism, fakes and guarantees of its one round."""
        segments = self.bits // self.step
        pairs = segments * (segments - 1) // 2
        # As many users for all segments as for all pairs, and a tenth for whole texts.
        return planned(self.asked, (*[9 * pairs] * segments, *[9 * segments] * pairs, 2 * segments * pairs))

    @property
    def views(self) -> tuple[View, ...]:
        """A group for each segment, for each pair of them, and for whole texts."""
        ends = [(first, first + self.step) for first in range(0, self.bits, self.step)]
        segments = [SegmentView(*one, self.bits) for one in ends]
        pairs = [PairView(*one, *other, self.bits) for one, other in combinations(ends, 2)]
        return (*segments, *pairs, PrefixView(self.bits - self.step, self.bits, self.bits))

    @property
    def _every(self) -> Candidates:
        """All that a segment may be."""
        return Candidates(np.zeros(1, np.uint64), np.arange(2**self.step, dtype=np.uint64))

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
        return best_of(joined, reports.estimate(len(self.views) - 1, split(joined, self.step)), self.k)

    def _patterns(self, reports: Reports, segment: int) -> list[int]:
        """The best of one segment."""
        estimate = reports.estimate(segment, self._every)
        return sorted(np.argsort(-estimate.frequency, kind="stable")[: self.k].tolist())

    def _ranked_pairs(self, reports: Reports, patterns: list[list[int]]) -> list[Pair]:
        """Every pair of patterns (segment, segment, pattern, pattern), the most frequent first."""
        segments = len(patterns)
        pairs: list[Pair] = []
        found: list[float] = []
        for group, (one, other) in enumerate(combinations(range(segments), 2), start=segments):
            candidates = Candidates(np.array(patterns[one], np.uint64), np.array(patterns[other], np.uint64))
            found += reports.estimate(group, candidates).frequency.tolist()
            pairs += [(one, other, left, right) for left in patterns[one] for right in patterns[other]]
        return [pairs[place] for place in np.argsort(-np.array(found), kind="stable").tolist()]

    def _joined(self, pairs: set[Pair], patterns: list[list[int]]) -> list[Prefix] | None:
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
