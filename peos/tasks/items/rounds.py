"""The rounds of tasks of items: which items are frequent, how many of them users have, and how frequent each is.

Each round asks users of its own and keeps to the same targets with its own number of users, so its own ε_l. Where no
target is of the shuffle, mechanisms follow the thesis' rule (5.3), else the planner's MSE decides.
"""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, Final, Unpack

import numpy as np
from numpy.typing import NDArray

from peos.errors import WrongInput
from peos.estimate.frequency import Floats, Frequencies
from peos.ldp.base import Mechanism, whole_number
from peos.ldp.choice import choose_sampled
from peos.ldp.grr import GRR
from peos.ldp.local_hash import LocalHash
from peos.ldp.olh import OLH
from peos.ldp.reports import Reports
from peos.ldp.sampled import SampledGRR, SampledHash
from peos.privacy.planner import Kinds
from peos.tasks.base import Answer, Round, Table
from peos.tasks.items.truth import found_all, held_by
from peos.tasks.items.views import ItemsView, Lists, SizeView, SubsetsView
from peos.tasks.labels import LABEL_LIMIT, LABELS_LIMIT, require_labels
from peos.tasks.planning import Asked, Planned, Targets, planned_among, planned_as
from peos.tasks.texts import Records
from peos.tasks.views import MOST_LABELS, Catalogue, View

MOST_WANTED: Final = MOST_LABELS // 2
"""k at most: twice as many are asked about, and a document lists no more."""
EXPECTED: Final = 6
"""ℓ in a plan that is made before any user is asked."""
_TRIED: Final = 4  # for each that is wanted
LEVEL: Final = 0.05
"""α: in at most so many studies anything that no user holds is called significant."""


class ItemTask(ABC):
    """A task over lists of items: `items` is how many there are, or their names; the `k` most frequent are wanted."""

    def __init__(self, items: int | Sequence[str], k: int, **asked: Unpack[Targets]) -> None:
        self.names = None if isinstance(items, int) else tuple(items)
        self.count = whole_number(
            items if isinstance(items, int) else len(items), "the number of items", least=2, most=1 << 20
        )
        self.k = whole_number(k, "the number of items wanted, k,", least=1, most=MOST_WANTED)
        self.asked = Asked(**asked)
        for name in self.names or ():
            if not (1 <= len(name) <= LABEL_LIMIT and name.isprintable() and name == name.strip()):
                require_labels([name], 1)  # says what is wrong
        if self.names and len(set(self.names)) < len(self.names):
            twice = next(name for name, times in Counter(self.names).items() if times > 1)
            raise WrongInput("task.items_twice", f"the item {twice!r} is listed twice", hint="list each item once")

    @property
    def users(self) -> int:
        """How many are to be asked in all."""
        return self.asked.users

    @property
    def catalogue(self) -> bytes | None:
        """The file that goes with an invitation, where there are too many items for a document."""
        names = self.names or ()
        if len(names) <= MOST_LABELS // 2 and sum(len(name.encode()) for name in names) <= LABELS_LIMIT:
            return None
        import json

        return "".join(json.dumps(name, ensure_ascii=False) + "\n" for name in names).encode()

    @cached_property
    def all_items(self) -> ItemsView:
        """Of all items."""
        listed = self.catalogue
        return ItemsView(self.count, self.names or (), None if listed is None else Catalogue.of(listed))

    def name_of(self, item: int) -> str:
        """What an item is called."""
        return self.names[item] if self.names else str(item)

    def labels(self, records: Records) -> Sequence[str]:
        """Every item of every user."""
        held = Lists.of(list(records)).sets(self.names or self.count)
        names = [self.name_of(item) for item in range(self.count)]
        return [names[item] for item in held.items.tolist()]

    def held(self, records: Records, labels: Sequence[str]) -> Sequence[int]:
        """By how many users each label is, also where it is none of the most frequent."""
        return held_by(records, self.names or self.count, labels)

    def found(self, records: Records, answer: Answer) -> bool:
        """Whether the answer has all that is above the detection level, where the truth is known."""
        truth = dict(Counter(self.labels(records)).most_common(self.k))
        return found_all(truth, truth, answer.found, len(records))

    @property
    def plans(self) -> Sequence[Planned[Mechanism]]:
        """Every round, if lists have EXPECTED of what is asked about: ℓ follows from what the users say."""
        seen: list[Table] = []
        found: list[Planned[Mechanism]] = []
        while isinstance(following := self.next(seen), Round):
            found.append(following.plan)
            seen.append(self._supposed(following.views[0]))
        return found

    def _supposed(self, view: View) -> Table:
        """What a round may find."""
        if isinstance(view, SizeView):
            labels, frequency = [str(size) for size in range(view.cells)], np.zeros(view.cells)
            frequency[min(EXPECTED, view.most)] = 1.0
        else:
            names = view.labels if isinstance(view, SubsetsView) else None
            kept = range(view.cells) if names else fitting(range(view.cells), self.name_of, 2 * self.k)
            labels = [names[at] if names else self.name_of(at) for at in kept]
            frequency = 1.0 / np.arange(1, len(labels) + 1)
        number = len(labels)
        found = np.ones(number, np.bool_)
        return Table(tuple(labels), frequency, np.zeros(number), np.zeros((number, 2)), found, number, self.users)

    @abstractmethod
    def next(self, seen: Sequence[Table]) -> Round | Answer:
        """What follows from the tables so far: the same seen, the same round."""

    # Rounds; `share` is of all users, `before` of those that were asked before.

    def pruning(self, share: float, before: float, *, slots: int = 1, kind: type[SampledHash] | None = None) -> Round:
        """One item of each user's list: the 2k most frequent are kept."""
        plan = self.planned_items(share, self.count, slots, kind)

        def decode(reports: Reports) -> Table:
            estimate = reports.estimate()
            best = fitting(np.argsort(-estimate.frequency, kind="stable").tolist(), self.name_of, 2 * self.k)
            return tabled([self.name_of(item) for item in best], estimate, np.array(best, np.intp), LEVEL)

        return Round((self.all_items,), plan, share / (1 - before), decode, self.catalogue)

    def sizing(self, view: SizeView, share: float, before: float) -> Round:
        """How many of the items asked about each user has."""
        plan = self.planned_sizes(share, view.cells)

        def decode(reports: Reports) -> Table:
            return tabled([str(size) for size in range(view.cells)], reports.estimate(), np.arange(view.cells), LEVEL)

        listed = None if view.catalogue is None else self.catalogue
        return Round((view,), plan, share / (1 - before), decode, listed)

    def counting(
        self,
        view: ItemsView | SubsetsView,
        share: float,
        before: float,
        slots: int,
        *,
        level: float = LEVEL,
        kind: type[SampledHash] | None = None,
    ) -> Round:
        """One of the listed items, or item sets, that each user has: how frequent each is among all users."""
        plan = self.planned_items(share, view.cells, slots, kind)

        def decode(reports: Reports) -> Table:
            return tabled(view.labels, reports.estimate(), np.arange(view.cells), level, population=self.users)

        return Round((view,), plan, share / (1 - before), decode)

    def planned_items(
        self, share: float, items: int, slots: int, kind: type[SampledHash] | None = None
    ) -> Planned[Mechanism]:
        """With `kind`, of that alone."""
        return _items_planned(self.asked, round(share * self.users), items, slots, kind)

    def planned_sizes(self, share: float, cells: int) -> Planned[Mechanism]:
        """By local hashing, in a shuffle by randomised response where that is better."""
        return _sizes_planned(self.asked, round(share * self.users), cells)


@lru_cache(maxsize=256)
def _items_planned(
    asked: Asked, users: int, items: int, slots: int, kind: type[SampledHash] | None
) -> Planned[Mechanism]:
    if is_local(asked) and asked.eps_local is not None:
        made = choose_sampled(items, asked.eps_local, slots) if kind is None else kind(items, slots, asked.eps_local)
        return planned_as(asked, users, made)
    both: Kinds = (SampledGRR.padding_to(slots), SampledHash.padding_to(slots))
    return planned_among(asked, users, items, both if kind is None else (kind.padding_to(slots),))


@lru_cache(maxsize=256)
def _sizes_planned(asked: Asked, users: int, cells: int) -> Planned[Mechanism]:
    if is_local(asked) and asked.eps_local is not None:
        return planned_as(asked, users, OLH(cells, asked.eps_local))
    return planned_among(asked, users, cells, (GRR, LocalHash))


def is_local(asked: Asked) -> bool:
    """Whether nothing is asked of the shuffle but what it gives anyway."""
    return asked.eps_server is None and asked.eps_users is None


def fitting(best: Iterable[Any], label: Callable[[Any], str], most: int) -> list[Any]:
    """The first of them, as many as a document can list; of those with too long names few are looked at."""
    kept: list[Any] = []
    size = 0
    for one in islice(best, _TRIED * most):
        text = label(one)
        if len(kept) == most or size + len(text.encode()) > LABELS_LIMIT:
            break
        if len(text) <= LABEL_LIMIT:
            kept.append(one)
            size += len(text.encode())
    return kept


def tabled(
    labels: Sequence[str], estimate: Frequencies, chosen: NDArray[np.intp], level: float, *, population: int = 0
) -> Table:
    """The chosen ones; with a `population`, errors are of frequencies among all of it, of whom some were asked."""
    found = estimate.significant(level)
    assert found is not None, "of sets and sizes it can be said"
    frequency, variance, interval = estimate.frequency[chosen], estimate.variance[chosen], estimate.interval()[chosen]
    if population > estimate.users:
        clipped = np.clip(frequency, 0.0, 1.0)
        drawn = clipped * (1 - clipped) / estimate.users * (1 - estimate.users / population)
        wider = np.sqrt((variance + drawn) / variance)[:, np.newaxis]
        interval = frequency[:, np.newaxis] + (interval - frequency[:, np.newaxis]) * wider
        variance = variance + drawn
    return Table(tuple(labels), frequency, np.sqrt(variance), interval, found[chosen], estimate.tested, estimate.users)


@dataclass(frozen=True)
class Lengths:
    """What the sizes say: ℓ for the next round, and u', by which its estimates are multiplied (thesis (5.5))."""

    slots: int
    factor: float = 1.0
    spread: float = 0.0  # the standard error of u'
    cut: float = 0.0  # the share of users with more than ℓ
    weight: float = 1.0  # how much of an item in their lists is counted, on average

    @classmethod
    def of(cls, sizes: Table, most: int) -> "Lengths":
        """The smallest ℓ that more than nine tenths of those who have any keep to; sizes that may be noise are none."""
        kept = np.where(sizes.significant, np.maximum(sizes.frequency, 0.0), 0.0)
        kept[0] = 0.0
        total = float(kept.sum())
        if total <= 0.0:
            return cls(1)
        slots = min(int(np.argmax(np.cumsum(kept) > 0.9 * total)), most)
        size = np.arange(len(kept))
        items, counted = float(size @ kept), float(np.minimum(size, slots) @ kept)
        # u' = items/counted is a ratio of sums of estimates; its error is by the derivative in each of them.
        slope = np.where(kept > 0.0, size / counted - items / counted**2 * np.minimum(size, slots), 0.0)
        spread = float(np.sqrt(np.sum((slope * sizes.stderr) ** 2)))
        beyond = size > slots
        cut = float(kept[beyond].sum())
        weight = slots * cut / float((size * kept)[beyond].sum()) if cut else 1.0
        return cls(slots, items / counted, spread, cut, weight)

    @property
    def in_words(self) -> str:
        """Who was cut, and what bias may be left."""
        if not self.cut:
            return f"No user was seen to have more than {self.slots} of what was asked about."
        return (
            f"About {self.cut:.1%} of the users have more than {self.slots} of what was asked about; theirs count as "
            f"{self.weight:.2f} each, and all estimates were multiplied by u' = {self.factor:.3f}. What only they "
            f"have would be estimated at {self.factor * self.weight:.2f} times what it is, what none of them has at "
            f"{self.factor:.2f} times; between these, bias may be left that error bars do not show."
        )

    def corrected(self, table: Table) -> Table:
        """Times u', with its error."""
        frequency = table.frequency * self.factor
        stderr = np.hypot(table.stderr * self.factor, table.frequency * self.spread)
        half = np.abs(table.interval95 - table.frequency[:, np.newaxis]) * self.factor
        half = half * (stderr / np.maximum(table.stderr * self.factor, 1e-300))[:, np.newaxis]
        interval = np.stack((frequency - half[:, 0], frequency + half[:, 1]), axis=1)
        return Table(
            table.labels, frequency, stderr, interval, table.significant, table.tested, table.users, table.note
        )


def best(tables: Sequence[Table], k: int, note: str = "") -> Table:
    """The k most frequent of several tables; of equals the one that comes first."""
    labels = [label for one in tables for label in one.labels]
    order = np.argsort(-np.concatenate([one.frequency for one in tables]), kind="stable")[:k]

    def joined(name: str) -> Floats:
        parts: Floats = np.concatenate([getattr(one, name) for one in tables])
        return parts[order]

    return Table(
        tuple(labels[at] for at in order.tolist()),
        joined("frequency"),
        joined("stderr"),
        joined("interval95"),
        joined("significant").astype(np.bool_),
        sum(one.tested for one in tables),
        sum(one.users for one in tables),
        note,
    )


@dataclass(frozen=True, eq=False, repr=False)
class ItemsAnswer(Answer):
    """Items, or items and item sets, with what is said of each round's lists and, of sets, the rules."""

    notes: tuple[str, ...] = ()
    rules: Table | None = field(default=None)

    def more(self) -> dict[str, Any]:
        """The sentences, and the rules."""
        return {"notes": list(self.notes), "rules": None if self.rules is None else self.rules.to_json()}


def log2(k: int) -> float:
    """Item sets have fewer items than this."""
    return math.log2(k)


def size_view(view: View, most: int) -> SizeView:
    """Of what another view lists."""
    if isinstance(view, SubsetsView):
        return SizeView(items=len(view.labels), labels=view.labels, most=most, sets=1)
    assert isinstance(view, ItemsView), "of lists"
    return SizeView(items=view.items, labels=view.labels, catalogue=view.catalogue, most=most)
