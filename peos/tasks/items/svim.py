"""Frequent items of users' lists: SVIM (thesis §5.3.1).

Half of the users report one item of their lists, which leaves the 2k most frequent; a tenth how many of these they
have, which gives ℓ; the rest one of these, with lists filled up to ℓ. What longer lists hide is put back by one factor.
"""

from collections.abc import Sequence

from peos.tasks.base import Answer, Round, Table
from peos.tasks.items.rounds import LEVEL, ItemsAnswer, ItemTask, Lengths, best, size_view
from peos.tasks.items.views import ItemsView


class SVIM(ItemTask):
    """The `k` most frequent of `items`; the first round is left out if there are no more than 2k."""

    PRUNING = 0.5
    SIZES = 0.1
    level: float = LEVEL

    def next(self, seen: Sequence[Table]) -> Round | Answer:
        """Three rounds, or two, and the answer."""
        following = self.items_after(seen, 1.0)
        if isinstance(following, Round):
            return following
        table, lengths = following
        return ItemsAnswer(best([table], self.k), notes=(lengths.in_words,))

    def items_after(self, seen: Sequence[Table], share: float) -> Round | tuple[Table, Lengths]:
        """The next round, of `share` of all users, or what all rounds found."""
        if self.rounds == len(seen) + 3:
            return self.pruning(share * self.PRUNING, 0.0)
        candidates, later = (seen[0], seen[1:]) if self.rounds == 3 else (None, seen)
        view = self.candidates(candidates)
        asked = share * self.PRUNING if candidates is not None else 0.0
        sizes = share * self.SIZES * (1.0 if candidates is not None else 2.0)
        if not later:
            return self.sizing(size_view(view, view.items), sizes, asked)
        lengths = Lengths.of(later[0], view.items)
        if len(later) == 1:
            return self.counting(view, share - asked - sizes, asked + sizes, lengths.slots, level=self.level)
        return lengths.corrected(later[1]), lengths

    @property
    def rounds(self) -> int:
        """How many items are asked about in."""
        return 2 if self.count <= 2 * self.k else 3

    def candidates(self, kept: Table | None) -> ItemsView:
        """What the last rounds ask about: all items where they are few."""
        if kept is None:
            return ItemsView(self.count, self.names or tuple(str(item) for item in range(self.count)))
        return ItemsView(len(kept.labels), kept.labels)
