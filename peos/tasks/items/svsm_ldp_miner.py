"""Frequent items and item sets with LDPMiner in place of SVIM (thesis §5.4.2): to compare."""

from collections.abc import Sequence

from peos.ldp.sampled import SampledHash
from peos.tasks.base import Answer, Round, Table
from peos.tasks.items.candidates import candidate_sets
from peos.tasks.items.ldp_miner import LDPMiner
from peos.tasks.items.rounds import LEVEL, ItemsAnswer, best
from peos.tasks.items.truth import labels_of_frequent
from peos.tasks.items.views import SubsetsView
from peos.tasks.texts import Records


class SVSMLDPMiner(LDPMiner):
    """The `k` most frequent of items and item sets: half of the users for items, the others for 2k sets at once."""

    def next(self, seen: Sequence[Table]) -> Round | Answer:
        """Three rounds of items, one of item sets, and the answer."""
        items = self.items_after(seen[:3], 0.5, level=LEVEL / 2)
        if isinstance(items, Round):
            return items
        asked = candidate_sets(items, self.k)
        if not asked:
            said = "There was no item set to ask about: fewer than two items were found, or k is at most 4."
            return ItemsAnswer(best([items], self.k, said), notes=(said,))
        if len(seen) == 3:
            view = SubsetsView(asked)
            return self.counting(view, 0.5, 0.5, view.cells, level=LEVEL / 2, kind=SampledHash)
        return ItemsAnswer(best([items, seen[3]], self.k))

    def labels(self, records: Records) -> Sequence[str]:
        """The most frequent of all items and item sets, each as often as it is held."""
        return labels_of_frequent(records, self.names or self.count, self.k)
