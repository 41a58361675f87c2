"""Which item sets to ask about: those of frequent items whose frequencies multiply to the most (thesis §5.3.2)."""

import heapq
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from peos.tasks.base import Table
from peos.tasks.items.rounds import fitting, log2
from peos.tasks.items.views import label_of

_LOWERED: Final = 0.9  # of the most frequent item's estimate, so that a set is guessed rarer than the same without it


def candidate_sets(items: Table, k: int) -> tuple[str, ...]:
    """The labels of the 2k best sets of the k best items, 1 < size < log₂k, as far as a document can list them."""
    order = np.argsort(-items.frequency, kind="stable")[:k]
    order = order[items.frequency[order] > 0.0]
    if not len(order):
        return ()
    names = [items.labels[at] for at in order.tolist()]
    guessed = items.frequency[order] / items.frequency[order[0]] * _LOWERED
    largest = -(-log2(k) // 1) - 1 if k > 1 else 0  # the largest whole number below log₂k
    found = (label_of(names[at] for at in one) for one in best_first(guessed.tolist(), int(largest)) if len(one) > 1)
    return tuple(fitting(found, str, 2 * k))


def best_first(factors: Sequence[float], largest: int) -> Iterator[tuple[int, ...]]:
    """Sets of up to `largest` places by falling products of their factors, which fall and are below 1.

    A set comes of the one without its last place, and of the one whose last place is one less, neither of a smaller
    product: so those next in line are few, and no others are looked at.
    """
    if not factors or largest < 1:
        return
    waiting: list[tuple[float, tuple[int, ...], float]] = [
        (-factors[0], (0,), 1.0)
    ]  # (product, places, product of all but the last)
    while waiting:
        product, places, without = heapq.heappop(waiting)
        yield places
        following = places[-1] + 1
        if following == len(factors):
            continue
        heapq.heappush(waiting, (-without * factors[following], (*places[:-1], following), without))
        if len(places) < largest:
            heapq.heappush(waiting, (product * factors[following], (*places, following), -product))
