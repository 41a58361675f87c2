"""Views of a list of items: which of those asked about she has, how many, and which listed sets of them.

An item is a text or a whole number, and 17 is the item that is called "17". Items that are not asked about are left
out of her set; nothing is sent of them.
"""

import json
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from peos.crypto.randomness import Randomness
from peos.errors import WrongInput
from peos.ldp.base import MAX_ENUMERABLE, whole_number
from peos.ldp.sampled import MOST_SLOTS, Sets
from peos.tasks.labels import expected, require_labels
from peos.tasks.views import Catalogue, Fields, Labelled

MOST_ITEMS: Final = MOST_SLOTS
"""Of a record."""
_ROWS: Final = 1 << 16  # users matched against item sets at a time
_WORD: Final = 64
Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Lists:
    """Records, one after another: their items, as texts or, where all are, as numbers; and how many each has."""

    items: Sequence[str] | Numbers
    sizes: Numbers

    @classmethod
    def of(cls, records: Iterable[object]) -> "Lists":
        """WrongInput at the first record that is no list of items."""
        lists = list(records)
        for position, record in enumerate(lists):
            if not isinstance(record, list | tuple) or len(record) > MOST_ITEMS:
                raise WrongInput("view.not_items", f"record {position + 1}: {problem_of(record)}")
        flat: list[object] = list(chain.from_iterable(lists))  # type: ignore[arg-type] # lists, as was seen
        sizes = np.fromiter(map(len, lists), np.int64, len(lists))  # type: ignore[arg-type] # likewise
        kinds = set(map(type, flat))
        if kinds <= {int} and all(-(2**62) < one < 2**62 for one in (min(flat, default=0), max(flat, default=0))):  # type: ignore[type-var, operator] # whole numbers
            return cls(np.fromiter(flat, np.int64, len(flat)), sizes)
        if not kinds <= {int, str}:
            position = next(at for at, record in enumerate(lists) if problem_of(record))
            raise WrongInput("view.not_items", f"record {position + 1}: {problem_of(lists[position])}")
        return cls([str(one) for one in flat], sizes)

    def sets(self, names: Sequence[str] | int) -> Sets:
        """Of each record the items that are among the names, or the numbers below a number."""
        places = self._places(names)
        owners, among = np.repeat(np.arange(len(self.sizes)), self.sizes), places >= 0
        count = names if isinstance(names, int) else len(names)
        keys = owners[among] * count + places[among]
        if np.any(keys[1:] <= keys[:-1]):  # not in order, or an item twice
            keys = np.unique(keys)
        return Sets(keys % count, np.bincount(keys // count, minlength=len(self.sizes)).astype(np.int64))

    def _places(self, names: Sequence[str] | int) -> Numbers:
        """Where each item stands, −1 for those that are not asked about."""
        if isinstance(self.items, np.ndarray):
            if isinstance(names, int):
                return np.where((self.items >= 0) & (self.items < names), self.items, -1)
            known = {int(name): place for place, name in enumerate(names) if _is_number(name)}
            listed = np.array(sorted(known), np.int64)
            if not len(listed):
                return np.full(len(self.items), -1)
            at = np.minimum(np.searchsorted(listed, self.items), len(listed) - 1)
            return np.where(listed[at] == self.items, np.array([known[one] for one in listed.tolist()])[at], -1)
        if isinstance(names, int):
            found = (int(one) if _is_number(one) and int(one) < names else -1 for one in self.items)
        else:
            place = {name: at for at, name in enumerate(names)}
            found = (place.get(one, -1) for one in self.items)
        return np.fromiter(found, np.int64, len(self.items))


class ItemView(Fields):
    """A view of a list of items."""

    @property
    def reads(self) -> Hashable:
        """All look at lists alike."""
        return ("items",)

    def read(self, records: Iterable[object]) -> Lists:
        """One after another."""
        return Lists.of(records)

    def problem(self, record: object) -> str:
        """What is no list of items."""
        return problem_of(record)


@dataclass(frozen=True)
class _Asked(ItemView):
    """Which items are asked about: numbers below `items`, or that many labels, or lines of a catalogue."""

    items: int
    labels: tuple[str, ...] = ()
    catalogue: Catalogue | None = None

    def __post_init__(self) -> None:
        whole_number(self.items, "the number of items", least=1, most=MAX_ENUMERABLE)
        if self.catalogue is None:
            require_labels(self.labels, self.items)
        elif self.catalogue.count != self.items:
            raise WrongInput("view.items", f"the catalogue has {self.catalogue.count} lines for {self.items} items")

    @property
    def called(self) -> Sequence[str] | int:
        """Of the items."""
        if self.catalogue and not self.labels:
            raise WrongInput("view.no_catalogue", "the catalogue is missing", hint="fetch it with the invitation")
        return self.labels or self.items

    @property
    def _named(self) -> str:
        if self.catalogue:
            return f"{self.items:,} items that the catalogue lists"
        return f"these items: {expected(self.labels, self.items)}" if self.labels else f"items 0 to {self.items - 1}"

    def listing(self, content: bytes) -> Self:
        """With the texts of its catalogue."""
        if self.catalogue is None:
            return self
        return replace(self, labels=self.catalogue.checked(content))


@dataclass(frozen=True)
class ItemsView(_Asked):
    """Which of the items asked about she has."""

    kind: ClassVar[str] = "items"
    gives: ClassVar[str] = "set"

    @property
    def cells(self) -> int:
        """One an item."""
        return self.items

    @property
    def in_words(self) -> str:
        """One of them is drawn."""
        return f"one item of the list, drawn by this device, of {self._named}"

    def answers(self, read: Lists, rng: Randomness) -> Sets:  # noqa: ARG002 - the mechanism draws
        """Each user's set."""
        return read.sets(self.called)


@dataclass(frozen=True, kw_only=True)
class SizeView(_Asked):
    """How many of the items asked about she has; more than `most` count as that. With `sets` labels are item sets."""

    kind: ClassVar[str] = "size"
    gives: ClassVar[str] = "value"
    most: int
    sets: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number(self.most, "the largest number of items asked about", least=1, most=self.items)
        whole_number(self.sets, "whether item sets are listed", least=0, most=1)
        if self.sets:
            _sets(self.labels)

    @property
    def cells(self) -> int:
        """None to `most`."""
        return self.most + 1

    @property
    def in_words(self) -> str:
        """A number only."""
        if self.sets:
            return f"how many of {self.items:,} listed item sets the list holds all of, at most {self.most}"
        return f"how many, at most {self.most}, the list has of {self._named}"

    def answers(self, read: Lists, rng: Randomness) -> Numbers:  # noqa: ARG002 - nothing is left to chance
        """How many each has."""
        held = matched(read, _sets(self.labels)) if self.sets else read.sets(self.called)
        return np.minimum(held.sizes, self.most)


@dataclass(frozen=True)
class SubsetsView(Labelled, ItemView):
    """Which of the listed item sets she holds all items of; a label is a set, as a JSON list."""

    kind: ClassVar[str] = "subsets"
    gives: ClassVar[str] = "set"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.labels:
            _ = self._listed_sets

    @cached_property
    def _listed_sets(self) -> list[tuple[str, ...]]:
        return _sets(self.labels)

    @property
    def cells(self) -> int:
        """One a set."""
        return self.listed

    @property
    def in_words(self) -> str:
        """One of them is drawn."""
        which = f": {expected(self.labels, self.listed)}" if self.labels else ""
        return (
            f"one of the item sets that the list holds all of, drawn by this device, of {self.listed:,} listed{which}"
        )

    def answers(self, read: Lists, rng: Randomness) -> Sets:  # noqa: ARG002 - the mechanism draws
        """Each user's item sets."""
        return matched(read, self._listed_sets)


def matched(read: Lists, item_sets: Sequence[Sequence[str]]) -> Sets:
    """Of each user the item sets that she holds all of: by a bit an item that is in any of them."""
    names = sorted({name for one in item_sets for name in one})
    place = {name: at for at, name in enumerate(names)}
    words = -(-len(names) // _WORD)
    masks = np.zeros((len(item_sets), words), np.uint64)
    for number, one in enumerate(item_sets):
        for name in one:
            masks[number, place[name] // _WORD] |= np.uint64(1 << place[name] % _WORD)
    held = read.sets(names)
    bits = _bits(held, words)
    numbers, sizes = [], []
    for first in range(0, len(bits), _ROWS):
        rows = bits[first : first + _ROWS]
        has = np.ones((len(rows), len(item_sets)), np.bool_)
        for number, mask in enumerate(masks):
            for word in np.flatnonzero(mask):
                has[:, number] &= rows[:, word] & mask[word] == mask[word]
        numbers.append(np.nonzero(has)[1])
        sizes.append(has.sum(axis=1))
    empty = [np.zeros(0, np.int64)]
    return Sets(np.concatenate(numbers or empty), np.concatenate(sizes or empty))


def _bits(held: Sets, words: int) -> NDArray[np.uint64]:
    """(users, words): a bit for each item."""
    found = np.zeros((len(held), words), np.uint64)
    ends = np.cumsum(held.sizes)
    for word in range(words):
        here = held.items // _WORD == word
        bit = np.where(here, np.uint64(1) << (held.items % _WORD).astype(np.uint64), np.uint64(0))
        sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(bit, dtype=np.uint64)))
        found[:, word] = sums[ends] - sums[ends - held.sizes]
    return found


def problem_of(record: object) -> str:
    """Why a record is no list of items; "" if it is one."""
    if not isinstance(record, list | tuple):
        return "the record is not a list of items"
    if len(record) > MOST_ITEMS:
        return f"the list has {len(record):,} items, and at most {MOST_ITEMS:,} can be asked about"
    for place, item in enumerate(record, start=1):
        if isinstance(item, bool) or not isinstance(item, str | int):
            return f"item {place} of the list is neither a text nor a whole number"
    return ""


def label_of(item_set: Iterable[str]) -> str:
    """A set as a JSON list, the same for the same items."""
    ordered = sorted(item_set, key=lambda name: (0, int(name), "") if _is_number(name) else (1, 0, name))
    return json.dumps([int(name) if _is_number(name) else name for name in ordered], ensure_ascii=False)


def set_of(label: str) -> tuple[str, ...]:
    """The items of a set's label; WrongInput if it is none."""
    try:
        found = json.loads(label)
    except ValueError:
        found = None
    if not isinstance(found, list) or not found or problem_of(found) or label != label_of(set(map(str, found))):
        raise WrongInput(
            "view.item_set", f"{label[:80]!r} is no item set", hint='write it as a list, in order: ["bread", "milk"]'
        )
    return tuple(map(str, found))


def _sets(labels: Iterable[str]) -> list[tuple[str, ...]]:
    return [set_of(label) for label in labels]


def _is_number(name: str) -> bool:
    """Whether a whole number is called so."""
    return name.isascii() and name.isdigit() and (name == "0" or name[0] != "0") and len(name) <= 18
