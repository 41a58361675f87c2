"""Frequent items and item sets of users' lists: SVSM (thesis §5.3.2).

Half of the users find frequent items by SVIM. The 2k sets of these whose frequencies multiply to the most are asked
about as if they were items: a tenth of the users report how many of them they hold, four tenths one of them.
"""

from collections.abc import Sequence

from peos.tasks.base import Answer, Round, Table
from peos.tasks.items.candidates import candidate_sets
from peos.tasks.items.rounds import LEVEL, ItemsAnswer, Lengths, best, size_view
from peos.tasks.items.rules import rules_of
from peos.tasks.items.svim import SVIM
from peos.tasks.items.truth import labels_of_frequent
from peos.tasks.items.views import SubsetsView
from peos.tasks.texts import Records


class SVSM(SVIM):
    """The `k` most frequent of items and of sets of at least two of them; half of α for either."""

    level = LEVEL / 2

    def next(self, seen: Sequence[Table]) -> Round | Answer:
        """SVIM's rounds, two of item sets, and the answer; without sets to ask about the items alone."""
        following = self.items_after(seen[: self.rounds], 0.5)
        if isinstance(following, Round):
            return following
        items, lengths = following
        asked = candidate_sets(items, self.k)
        if not asked:
            said = "There was no item set to ask about: fewer than two items were found, or k is at most 4."
            return ItemsAnswer(best([items], self.k, said), notes=(lengths.in_words, said))
        view, later = SubsetsView(asked), seen[self.rounds :]
        if not later:
            return self.sizing(size_view(view, view.cells), 0.1, 0.5)
        held = Lengths.of(later[0], view.cells)
        if len(later) == 1:
            return self.counting(view, 0.4, 0.6, held.slots, level=self.level)
        sets = held.corrected(later[1])
        return ItemsAnswer(
            best([items, sets], self.k),
            notes=(f"Items: {lengths.in_words}", f"Item sets: {held.in_words}"),
            rules=rules_of(items, sets),
        )

    def labels(self, records: Records) -> Sequence[str]:
        """The most frequent of all items and item sets, each as often as it is held."""
        return labels_of_frequent(records, self.names or self.count, self.k)
