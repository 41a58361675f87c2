"""Frequent strings that no one listed: prefixes that are frequent, made longer group by group (thesis chapter 4).

One collection: group j of users is asked for the first s_j bits of its texts. Afterwards the analyzer extends the most
frequent prefixes of one group by all that may follow, and counts these in the next. TreeHist, PEM and PEM1 are cuts and
beams; the default keeps four prefixes for each text that is wanted and asks twice as many users for whole texts, since
frequent prefixes are not all prefixes of frequent texts, and it is from whole texts that the answer is estimated.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Final, Unpack

import numpy as np
from numpy.typing import NDArray

from peos.errors import WrongInput
from peos.estimate.grouped import GroupEstimate
from peos.ldp.base import whole_number
from peos.ldp.grouped_hash import MOST_GROUPS, Candidates
from peos.ldp.key_hash import EXT_BITS
from peos.tasks.base import NOTHING, OneRound, Reports, Table, table
from peos.tasks.planning import Asked, Planned, Targets, planned
from peos.tasks.texts import MOST_BYTES, Prefix
from peos.tasks.views import PrefixView

MOST_KEPT: Final = 4_096  # prefixes, in a search by threshold
MOST_TESTED: Final = 1 << 28  # candidates in a level: beyond, its counts no longer fit a machine
_BISECTIONS: Final = 60


@dataclass(frozen=True)
class PrefixSearch(OneRound):
    """Texts of `bits` bits by prefixes of `cuts` bits: the `k` best, of which `beam` are kept in between.

    `weights` are of the groups; with a `threshold` every prefix as frequent as that is kept in place of the beam.
    """

    bits: int
    cuts: tuple[int, ...]
    k: int
    beam: int
    weights: tuple[int, ...]
    asked: Asked
    threshold: float | None = None

    def __post_init__(self) -> None:
        whole_number(self.bits, "the bits of a text", least=1, most=8 * MOST_BYTES)
        whole_number(self.k, "the number of texts wanted, k,", least=1, most=MOST_KEPT)
        whole_number(self.beam, "the number of prefixes kept, beam,", least=self.k, most=MOST_KEPT)
        if not self.cuts or self.cuts[-1] != self.bits or len(self.cuts) != len(self.weights):
            raise WrongInput(
                "task.cuts", f"cuts end at the {self.bits} bits of a text, with a weight each, not {list(self.cuts)}"
            )
        whole_number(len(self.cuts), "the number of groups", least=1, most=MOST_GROUPS)
        if any(not 0 < step <= EXT_BITS for step in self.steps):
            raise WrongInput(
                "task.cuts_apart",
                f"each prefix is 1 to {EXT_BITS} bits longer than the one before, not {list(self.cuts)}",
            )
        if any(self._tested(level) > MOST_TESTED for level in range(len(self.cuts))):
            raise WrongInput(
                "task.tested",
                f"a level of this search would test more than {MOST_TESTED} candidates",
                hint="keep fewer prefixes, or cut more often",
            )

    @property
    def steps(self) -> tuple[int, ...]:
        """By how many bits each prefix is longer than the one before."""
        return tuple(np.diff((0, *self.cuts)).tolist())

    @cached_property
    def plan(self) -> Planned:
        """Mechanism, fakes and guarantees of its one round."""
        return planned(self.asked, self.weights)

    @property
    def views(self) -> tuple[PrefixView, ...]:
        """What each group is asked."""
        return tuple(
            PrefixView(first, last, self.bits) for first, last in zip((0, *self.cuts[:-1]), self.cuts, strict=True)
        )

    def decode(self, reports: Reports) -> Table:
        """Level by level: the best prefixes with all that may follow."""
        kept, last = [Prefix(0, 0)], len(self.cuts) - 1
        for level in range(last):
            kept, estimate, _ = self._extended(kept, level, reports)
            if not kept:
                note = f"no prefix of {self.cuts[level]} bits is as frequent as {self.threshold}"
                return replace(NOTHING, tested=estimate.tested, users=estimate.users, note=note)
        best, estimate, chosen = self._extended(kept, last, reports)
        return table([prefix.label for prefix in best], estimate, chosen)

    def _extended(
        self, kept: list[Prefix], level: int, reports: Reports
    ) -> tuple[list[Prefix], GroupEstimate, NDArray[np.intp]]:
        """The best prefixes of a level, the best first; the estimate of all of it, and where in it they are."""
        kept, step = sorted(kept, key=lambda prefix: prefix.value), self.steps[level]  # of equals the smaller is first
        parents = np.array([prefix.parent for prefix in kept], np.uint64)
        estimate = reports.estimate(level, Candidates(parents, np.arange(2**step, dtype=np.uint64)))
        chosen = self._chosen(estimate, level)
        return [kept[one >> step].then(one & (2**step - 1), step) for one in chosen.tolist()], estimate, chosen

    def detection(self, error: float = 0.05) -> float:
        """The frequency from which on a text is found with probability 1 − `error`, by normal tails (privacy.md §4).

        At each level it must be among those that are kept, which noise alone fills to the upper take/|D| quantile; half
        of the places are left to texts that are there.
        """
        mechanism, users, fakes = self.plan.mechanism, self.plan.users, self.plan.fakes
        normal = NormalDist()
        quantile = normal.inv_cdf(1 - error / len(self.cuts))

        def is_found(frequency: float) -> bool:
            for level, share in enumerate(mechanism.shares):
                take, tested = self._take(level), self._tested(level)
                noise = normal.inv_cdf(1 - min(0.5, take / (2 * tested)))
                reports = round(float(share) * (users + fakes))
                variance = mechanism.oracle.variance(reports, users, fakes, np.float64(frequency))
                if frequency < (noise + quantile) * math.sqrt(float(variance)):
                    return False
            return True

        low, high = 0.0, 1.0
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            low, high = (low, middle) if is_found(middle) else (middle, high)
        return high

    def _take(self, level: int) -> int:
        return self.k if level == len(self.cuts) - 1 else self.beam

    def _tested(self, level: int) -> int:
        kept = 1 if level == 0 else min(self.beam if self.threshold is None else MOST_KEPT, 2 ** self.cuts[level - 1])
        return int(kept * 2 ** self.steps[level])

    def _chosen(self, estimate: GroupEstimate, level: int) -> NDArray[np.intp]:
        order = np.argsort(-estimate.frequency, kind="stable")
        if self.threshold is not None and level < len(self.cuts) - 1:
            frequent = order[estimate.frequency[order] >= self.threshold]
            return frequent[:MOST_KEPT]
        return order[: self._take(level)]


def frequent_texts(
    k: int, *, beam: int | None = None, last: int = 2, bits: int, **asked: Unpack[Targets]
) -> PrefixSearch:
    """The default: cuts at multiples of a byte, a beam of 4k, twice as many users for whole texts."""
    return treehist(bits, k, beam=4 * k if beam is None else beam, last=last, **asked)


def treehist(
    bits: int, k: int, *, step: int = 8, beam: int | None = None, last: int = 1, **asked: Unpack[Targets]
) -> PrefixSearch:
    """Bassily et al. 2017: cuts at multiples of `step`, k prefixes kept; `last` is the weight of whole texts."""
    cuts = (*range(step, bits, step), bits)
    weights = (*[1] * (len(cuts) - 1), last)
    return PrefixSearch(bits, cuts, k, k if beam is None else beam, weights, Asked(**asked))


def pem(
    bits: int,
    k: int,
    groups: int,
    *,
    beam: int | None = None,
    threshold: float | None = None,
    **asked: Unpack[Targets],
) -> PrefixSearch:
    """Wang et al. 2018: groups of equal size, prefixes from log₂k bits on by equal steps."""
    first = (k - 1).bit_length()
    cuts = tuple(first + math.ceil(group * (bits - first) / groups) for group in range(1, groups + 1))
    return PrefixSearch(bits, cuts, k, k if beam is None else beam, (1,) * groups, Asked(**asked), threshold)


def pem1(bits: int, k: int, *, beam: int | None = None, **asked: Unpack[Targets]) -> PrefixSearch:
    """One bit at a time."""
    return pem(bits, k, bits - (k - 1).bit_length(), beam=beam, **asked)
