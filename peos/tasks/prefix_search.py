"""Frequent strings that no one listed: prefixes that are frequent, made longer group by group (thesis chapter 4).

One collection: group j of users is asked for the first s_j bits of its texts. Afterwards the analyzer extends the most
frequent prefixes of one group by all that may follow, and counts these in the next. TreeHist, PEM and PEM1 are cuts and
beams; the default keeps four prefixes for each text that is wanted and asks twice as many users for whole texts, since
frequent prefixes are not all prefixes of frequent texts, and it is from whole texts that the answer is estimated.

    task = heavy_hitters(bytes=6, k=32, users=500_000, delta=1e-9, eps_server=0.08, eps_local=5)
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from statistics import NormalDist
from typing import Final, Unpack

import numpy as np
from numpy.typing import NDArray

from peos.errors import WrongInput
from peos.estimate.frequency import Frequencies
from peos.ldp.base import whole_number
from peos.ldp.grouped_hash import Candidates, GroupedHash
from peos.ldp.key_hash import EXT_BITS, PAIRS_A_SECOND
from peos.ldp.reports import Reports
from peos.tasks.base import NOTHING, Answer, OfTexts, Table, table
from peos.tasks.planning import Asked, Planned, Targets, planned
from peos.tasks.scoring import missed
from peos.tasks.text_views import PrefixView
from peos.tasks.texts import MOST_BYTES, Prefix, Records

MOST_KEPT: Final = 4_096  # prefixes, in a search by threshold
MOST_TESTED: Final = 1 << 28  # candidates in a level: beyond, its counts no longer fit a machine
FEW_TESTED: Final = 1 << 20  # candidates of all levels together: Wang et al.'s bound
_LONG: Final = 64  # bits
_CELLS_OF_TWO: Final = 1 << 8  # d' from which on two bytes at a time are told apart
_MOST_BY_TWO: Final = 1 << 24  # candidates in a level, where prefixes grow by two bytes
_BISECTIONS: Final = 60
_NEVER: Final = 1e-6


class PrefixSearch(OfTexts):
    """Texts of `bits` bits by prefixes of `cuts` bits: the `k` best, of which `beam` are kept in between.

    `weights` are of the groups; with a `threshold` every prefix as frequent as that is kept in place of the beam.
    """

    def __init__(
        self,
        bits: int,
        cuts: Sequence[int],
        k: int,
        beam: int | None = None,
        weights: Sequence[int] | None = None,
        threshold: float | None = None,
        **asked: Unpack[Targets],
    ) -> None:
        self.bits = whole_number(bits, "the bits of a text", least=1, most=8 * MOST_BYTES)
        self.k = whole_number(k, "the number of texts wanted, k,", least=1, most=MOST_KEPT)
        self.beam = whole_number(
            k if beam is None else beam, "the number of prefixes kept, beam,", least=self.k, most=MOST_KEPT
        )
        self.cuts = tuple(cuts)
        self.weights = (1,) * len(self.cuts) if weights is None else tuple(weights)
        self.threshold, self.asked = threshold, Asked(**asked)
        if not self.cuts or self.cuts[-1] != self.bits or len(self.cuts) != len(self.weights):
            raise WrongInput(
                "task.cuts", f"cuts end at the {self.bits} bits of a text, with a weight each, not {list(self.cuts)}"
            )
        if any(not 0 < step <= EXT_BITS for step in self.steps):
            raise WrongInput(
                "task.cuts_apart",
                f"each prefix is 1 to {EXT_BITS} bits longer than the one before, not {list(self.cuts)}",
            )
        if max(self.tested) > MOST_TESTED:
            raise WrongInput(
                "task.tested",
                f"a level of this search would test more than {MOST_TESTED} candidates",
                hint="keep fewer prefixes, or cut more often",
            )

    @property
    def steps(self) -> tuple[int, ...]:
        """By how many bits each prefix is longer than the one before."""
        return tuple(np.diff((0, *self.cuts)).tolist())

    @property
    def tested(self) -> tuple[int, ...]:
        """How many candidates each level has at most."""
        beam = self.beam if self.threshold is None else MOST_KEPT
        kept = [min(beam, 2**before) for before in (0, *self.cuts[:-1])]
        return tuple(before << step for before, step in zip(kept, self.steps, strict=True))

    @property
    def seconds(self) -> float:
        """About what the search takes of one core."""
        reports = self.plan.mechanism.shares * (self.users + self.plan.fakes)
        return float(sum(reports * np.array(self.tested))) / PAIRS_A_SECOND

    @cached_property
    def plan(self) -> Planned[GroupedHash]:
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
    ) -> tuple[list[Prefix], Frequencies, NDArray[np.intp]]:
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
            for level, (share, tested) in enumerate(zip(mechanism.shares, self.tested, strict=True)):
                take = self._take(level)
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

    def found(self, records: Records, answer: Answer) -> bool:
        """Whether each text is in the answer that is frequent enough to be missed once in a million runs only."""
        return not missed(self.labels(records), self.detection(_NEVER), answer.found.labels)

    def _take(self, level: int) -> int:
        return self.k if level == len(self.cuts) - 1 else self.beam

    def _chosen(self, estimate: Frequencies, level: int) -> NDArray[np.intp]:
        order = np.argsort(-estimate.frequency, kind="stable")
        if self.threshold is not None and level < len(self.cuts) - 1:
            frequent = order[estimate.frequency[order] >= self.threshold]
            return frequent[:MOST_KEPT]
        return order[: self._take(level)]


def heavy_hitters(
    bytes: int,  # noqa: A002 - what it is
    k: int,
    *,
    beam: int | None = None,
    **asked: Unpack[Targets],
) -> PrefixSearch:
    """The default for texts of at most so many bytes: a beam of 4k, twice as many users for whole texts.

    Prefixes grow by one byte; of texts of more than eight bytes by two, where d' tells so many extensions apart.
    """
    bits = 8 * whole_number(bytes, "the bytes of a text", least=1, most=MOST_BYTES)
    kept = 4 * k if beam is None else beam
    is_long = bits > _LONG and kept << 16 <= _MOST_BY_TWO
    step = 16 if is_long and planned(Asked(**asked), (1,)).mechanism.cells >= _CELLS_OF_TWO else 8
    return treehist(bits, k, step=step, beam=kept, last=2, **asked)


def treehist(
    bits: int, k: int, *, step: int = 8, beam: int | None = None, last: int = 1, **asked: Unpack[Targets]
) -> PrefixSearch:
    """Bassily et al. 2017: cuts at multiples of `step`, k prefixes kept; `last` is the weight of whole texts."""
    whole_number(bits, "the bits of a text", least=1, most=8 * MOST_BYTES)
    cuts = (*range(step, bits, whole_number(step, "the bits of a step", least=1, most=EXT_BITS)), bits)
    weights = (*[1] * (len(cuts) - 1), last)
    return PrefixSearch(bits, cuts, k, beam, weights, **asked)


def pem(
    bits: int,
    k: int,
    groups: int | None = None,
    *,
    beam: int | None = None,
    threshold: float | None = None,
    **asked: Unpack[Targets],
) -> PrefixSearch:
    """Wang et al. 2018: groups of equal size, prefixes from log₂k bits on by equal steps.

    By itself as few groups as test at most 2^20 candidates together.
    """
    whole_number(bits, "the bits of a text", least=1, most=8 * MOST_BYTES)
    first = (whole_number(k, "the number of texts wanted, k,", least=1, most=MOST_KEPT) - 1).bit_length()
    if groups is None:
        groups = next(
            (few for few in range(1, bits - first + 1) if _tested(_even(first, bits, few), k) <= FEW_TESTED),
            max(1, bits - first),
        )
    whole_number(groups, "the number of groups", least=1, most=max(1, bits - first))
    return PrefixSearch(bits, _even(first, bits, groups), k, beam, (1,) * groups, threshold, **asked)


def pem1(bits: int, k: int, *, beam: int | None = None, **asked: Unpack[Targets]) -> PrefixSearch:
    """One bit at a time."""
    return pem(bits, k, bits - (k - 1).bit_length(), beam=beam, **asked)


def _even(first: int, bits: int, groups: int) -> tuple[int, ...]:
    """Cuts from `first` bits on, as nearly equal as whole numbers are."""
    return tuple(first + math.ceil(group * (bits - first) / groups) for group in range(1, groups + 1))


def _tested(cuts: tuple[int, ...], kept: int) -> int:
    """How many candidates all levels have together."""
    return sum(min(kept, 2**before) << (after - before) for before, after in zip((0, *cuts[:-1]), cuts, strict=True))
