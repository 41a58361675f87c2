"""Frequent items by LDPMiner (Qin et al. 2016), in the fair version of the thesis (§5.4.2): to compare.

A tenth of the users report how many items they have, of which ℓ is the 90th percentile; four tenths one item, with
lists filled up to ℓ, which leaves the 2k most frequent; the rest one of these, with lists filled up to 2k.
"""

import math
from collections.abc import Sequence
from typing import Final, Unpack

import numpy as np

from peos.ldp.olh import BLH
from peos.ldp.sampled import SampledHash
from peos.tasks.base import Answer, Round, Table
from peos.tasks.items.rounds import LEVEL, ItemsAnswer, ItemTask, best, is_local, size_view
from peos.tasks.items.views import ItemsView
from peos.tasks.planning import Targets

MOST_SIZE: Final = 1_000
"""Lists of more items than that count as of so many."""


def ninetieth(sizes: Table, most: int) -> int:
    """The least size that nine tenths of all users do not exceed, by sums of unbiased estimates.

    Sizes that may be noise one by one count in a sum: without them long lists would be missing, and ℓ too small.
    """
    beyond = np.cumsum(sizes.frequency) >= 0.9
    return max(1, min(int(np.argmax(beyond)), most)) if beyond.any() else most


class SampledBinaryHash(SampledHash):
    """With two hash values: what binary local hashing makes of a sampled item."""

    def __init__(self, domain: int, slots: int, epsilon: float) -> None:
        super().__init__(domain, slots, epsilon, BLH._cells_at(epsilon))


class SampledUnaryHash(SampledHash):
    """With next to e^(ε/2) + 1 hash values, which errs as much as symmetric unary encoding (thesis §3.3.3)."""

    def __init__(self, domain: int, slots: int, epsilon: float) -> None:
        super().__init__(domain, slots, epsilon, max(2, round(math.exp(epsilon / 2) + 1)))


class LDPMiner(ItemTask):
    """The `k` most frequent of `items`.

    If `binary` with the errors of what was published: two hash values for all items, unary encoding for 2k of them.
    """

    def __init__(self, items: int | Sequence[str], k: int, *, binary: bool = False, **asked: Unpack[Targets]) -> None:
        super().__init__(items, k, **asked)
        self.binary = binary

    def next(self, seen: Sequence[Table]) -> Round | Answer:
        """Three rounds and the answer."""
        following = self.items_after(seen, 1.0)
        return following if isinstance(following, Round) else ItemsAnswer(best([following], self.k))

    def items_after(self, seen: Sequence[Table], share: float, *, level: float = LEVEL) -> Round | Table:
        """The next round, of `share` of all users, or what the last one found."""
        if not seen:
            return self.sizing(size_view(self.all_items, min(self.count, MOST_SIZE)), share * 0.1, 0.0)
        published = self.binary and is_local(self.asked)
        if len(seen) == 1:
            slots = ninetieth(seen[0], self.count)
            kind: type[SampledHash] = SampledBinaryHash if published else SampledHash
            return self.pruning(share * 0.4, share * 0.1, slots=slots, kind=kind)
        view = ItemsView(len(seen[1].labels), seen[1].labels)
        if len(seen) == 2:
            kind = SampledUnaryHash if published else SampledHash
            return self.counting(view, share * 0.5, share * 0.5, view.items, level=level, kind=kind)
        return seen[2]
