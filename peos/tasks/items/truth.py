"""What is true of lists that are at hand: the most frequent items and item sets, and users to try a search on."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.tasks.base import Table
from peos.tasks.items.views import Lists, label_of, set_of
from peos.tasks.texts import Records

DEMO_ITEMS: Final = 40
PLANTED: Final[tuple[tuple[tuple[int, ...], float], ...]] = (((0, 1), 0.42), ((2, 3, 4), 0.46))
"""Items that go together among the demo's users, and the share of users who hold them; no user is of two shares."""
_NORMAL: Final = 4.753424308822899  # one chance in a million to be exceeded


def frequent_sets(records: Records, names: Sequence[str] | int, k: int) -> Mapping[str, int]:
    """How many users hold each of the k most frequent items and item sets, and any that are as frequent as the last."""
    held = Lists.of(list(records)).sets(names)
    count = names if isinstance(names, int) else len(names)
    totals = np.bincount(held.items, minlength=count)
    least = int(np.sort(totals)[-min(k, count)])
    often = np.flatnonzero(totals >= max(least, 1))
    owners = held.owners
    columns = {int(item): _packed(owners[held.items == item], len(held)) for item in often}
    found: dict[tuple[int, ...], int] = {(item,): int(totals[item]) for item in columns}
    level: dict[tuple[int, ...], NDArray[np.uint64]] = {(item,): bits for item, bits in columns.items()}
    while level:
        longer: dict[tuple[int, ...], NDArray[np.uint64]] = {}
        for places, bits in level.items():
            for item, others in columns.items():
                if item > places[-1]:
                    both = bits & others
                    number = int(np.bitwise_count(both).sum())
                    if number >= max(least, 1):
                        longer[(*places, item)] = both
                        found[(*places, item)] = number
        least = max(least, sorted(found.values())[-min(k, len(found))])
        level = longer
    named = [str(item) for item in range(count)] if isinstance(names, int) else list(names)
    labels = {
        named[places[0]] if len(places) == 1 else label_of(named[at] for at in places): number
        for places, number in found.items()
        if number >= least
    }
    return dict(sorted(labels.items(), key=lambda one: (-one[1], one[0])))


def labels_of_frequent(records: Records, names: Sequence[str] | int, k: int) -> list[str]:
    """Each of them as often as it is held."""
    return [label for label, number in frequent_sets(records, names, k).items() for _ in range(number)]


def held_by(records: Records, names: Sequence[str] | int, labels: Iterable[str]) -> list[int]:
    """How many users hold each of these items and item sets."""
    held = Lists.of(list(records)).sets(names)
    named = [str(item) for item in range(names)] if isinstance(names, int) else names
    places = {name: place for place, name in enumerate(named)}
    wanted = [[places[name] for name in ([one] if one in places else set_of(one))] for one in labels]
    owners = {place: set(held.owners[held.items == place].tolist()) for one in wanted for place in one}
    return [len(set.intersection(*(owners[place] for place in one))) for one in wanted]


def demo_lists(users: int, seeded: np.random.Generator) -> list[list[int]]:
    """Lists of 40 items for a demo: some on their own, falling in frequency, and the planted sets together."""
    alone = 0.12 / np.arange(1, DEMO_ITEMS + 1) ** 0.7
    held = seeded.random((users, DEMO_ITEMS)) < seeded.permutation(alone)
    place, before = seeded.random(users), 0.0
    for places, share in PLANTED:
        chosen = np.flatnonzero((place >= before) & (place < before + share))
        held[np.ix_(chosen, np.array(places))] = True
        before += share
    return [np.flatnonzero(row).tolist() for row in held]


def planted_labels() -> tuple[str, ...]:
    """Of the demo's sets."""
    return tuple(label_of(str(item) for item in places) for places, _ in PLANTED)


def found_all(wanted: Iterable[str], truth: Mapping[str, int], answer: Table, users: int) -> bool:
    """Whether the answer has every one of them that is above the detection level.

    That is the frequency of the last of the true k best, and as many standard errors of a difference as noise exceeds
    once in a million times: what is less frequent may lose its place to what is as frequent as that.
    """
    if not len(answer.labels) or not truth:
        return False
    level = min(truth.values()) / users + _NORMAL * 2**0.5 * float(np.max(answer.stderr))
    return all(one in answer.labels for one in wanted if truth.get(one, 0) / users > level)


def _packed(users: NDArray[np.intp], count: int) -> NDArray[np.uint64]:
    """A bit a user."""
    row = np.zeros(-(-count // 64) * 64, np.bool_)
    row[users] = True
    return np.packbits(row).view(np.uint64)
