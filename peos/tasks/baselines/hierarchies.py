"""Ranges over hidden dimensions, with a public measure (thesis chapter 7): HI, HIO, SC, weighted FO, MG.

Every system gives each user a weight that is unbiased for "her record is in the box", from her reports alone; a SUM is
the weights times the users' measure, a COUNT has 1 for it. So a report is linked to its user's measure, and what links
runs in the local model only.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import product
from math import prod
from typing import Final, NamedTuple

import numpy as np

from peos.crypto.randomness import U64
from peos.tasks.baselines.base import LOCAL, Baseline, Draws, Floats, Hashed, Ints
from peos.tasks.ranges.levels import Levels, Node

Dimensions = Sequence[Levels]
Cover = Callable[[Levels, int, int], list[Node]]
LINKS: Final = LOCAL + "a public measure is linked to each report, which a shuffle takes away"

_CHUNK: Final = 1 << 22


Nodes = Sequence[list[Node]]
"""Of each dimension the nodes that a question is about, each with what it counts."""


def box(
    dimensions: Dimensions, ranges: Sequence[tuple[int, int] | None], cover: Cover = Levels.cover
) -> list[list[Node]]:
    """Of each dimension the cells from one to before another, by nodes; None for all."""
    return [
        [Node(0, 0)] if one is None else cover(levels, *one) for levels, one in zip(dimensions, ranges, strict=True)
    ]


class Hashes(NamedTuple):
    """Of each user which product of levels (n,), and function and answer (n, reports)."""

    combinations: Ints
    seeds: Ints
    answers: Ints


def levels_of(dimensions: Dimensions) -> list[tuple[int, ...]]:
    """All products of levels; the root alone, which says nothing, is left out where there is one dimension."""
    every = product(*(range(levels.height + 1) for levels in dimensions))
    return [one for one in every if len(dimensions) > 1 or any(one)]


def keys_of(dimensions: Dimensions, places: Sequence[Ints]) -> U64:
    """The cells of a product of levels, by number."""
    return reduce(
        lambda key, one: key * np.uint64(one[0].domain) + one[1].astype(np.uint64),
        zip(dimensions, places, strict=True),
        np.zeros(1, np.uint64),
    )


def by_combination(dimensions: Dimensions, nodes: Nodes) -> dict[tuple[int, ...], tuple[U64, Floats]]:
    """The cells that make a box, with what each counts, by their product of levels."""
    found: dict[tuple[int, ...], tuple[U64, Floats]] = {}
    split = [_by_level(one) for one in nodes]
    for chosen in product(*(one.items() for one in split)):
        places = np.meshgrid(*(np.array([node.place for node in part]) for _, part in chosen), indexing="ij")
        times = np.meshgrid(*(np.array([node.times for node in part]) for _, part in chosen), indexing="ij")
        keys = keys_of(dimensions, [place.reshape(-1) for place in places])
        found[tuple(level for level, _ in chosen)] = keys, np.asarray(prod(times)).reshape(-1)
    return found


def _by_level(nodes: list[Node]) -> Mapping[int, list[Node]]:
    return {level: [node for node in nodes if node.level == level] for level in {node.level for node in nodes}}


def supported(hashed: Hashed, seeds: Ints, answers: Ints, keys: U64, times: Floats) -> Floats:
    """Of each report Σ times·(1{it could be the key's} − q)/(p − q)."""
    p, q = hashed.response.p, 1.0 / hashed.response.cells
    found = np.empty(len(seeds))
    rows = max(1, _CHUNK // len(keys))
    for start in range(0, len(seeds), rows):
        part = slice(start, start + rows)
        met = hashed.hash(seeds[part, np.newaxis], keys) == answers[part, np.newaxis]
        found[part] = met @ times
    return np.asarray((found - q * times.sum()) / (p - q))


def hio(dimensions: Dimensions, epsilon: float, name: str = "HIO") -> Baseline[Ints, Hashes, Nodes]:
    """One product of levels, drawn by the user, and her cell of it by local hashing: weight κ·(A − q)/(p − q)."""
    hashed, combos = Hashed(epsilon), levels_of(dimensions)
    place = {combo: at for at, combo in enumerate(combos)}

    def randomize(records: Ints, draws: Draws) -> Hashes:
        chosen = draws.below(len(combos), len(records))
        levels = np.array(combos)[chosen].T
        keys = _cells(dimensions, records, levels)
        return Hashes(chosen, *hashed.drawn(keys, draws))

    def decode(sent: Hashes) -> Callable[[Nodes], Floats]:
        order = np.argsort(sent.combinations, kind="stable")
        ends = np.searchsorted(sent.combinations[order], np.arange(len(combos) + 1))

        def weights(nodes: Nodes) -> Floats:
            found = np.zeros(len(order))
            for combo, (keys, times) in by_combination(dimensions, nodes).items():
                if not any(combo):
                    found += float(times.sum())  # the whole is known
                    continue
                rows = order[ends[place[combo]] : ends[place[combo] + 1]]
                found[rows] += len(combos) * supported(hashed, sent.seeds[rows], sent.answers[rows], keys, times)
            return found

        return weights

    return Baseline(name, LINKS, randomize, decode)


def _cells(dimensions: Dimensions, records: Ints, levels: Ints) -> U64:
    """Each record's cell at its own levels (dimensions, n)."""
    widths = [np.array([one.width(level) for level in range(one.height + 1)]) for one in dimensions]
    places = [records[:, at] // widths[at][levels[at]] for at in range(len(dimensions))]
    return keys_of(dimensions, places)


def hi(dimensions: Dimensions, epsilon: float) -> Baseline[Ints, Hashes, Nodes]:
    """A report for every product of levels, each at its share of ε."""
    combos = levels_of(dimensions)
    hashed = Hashed(epsilon / len(combos))
    place = {combo: at for at, combo in enumerate(combos)}

    def randomize(records: Ints, draws: Draws) -> Hashes:
        found = []
        for combo in combos:
            levels = np.broadcast_to(np.array(combo)[:, np.newaxis], (len(combo), len(records)))
            found.append(hashed.drawn(_cells(dimensions, records, levels), draws))
        seeds, answers = (np.stack(one, axis=1) for one in zip(*found, strict=True))
        return Hashes(np.zeros(len(records), np.int64), seeds, answers)

    def decode(sent: Hashes) -> Callable[[Nodes], Floats]:
        def weights(nodes: Nodes) -> Floats:
            found = np.zeros(len(sent.seeds))
            for combo, (keys, times) in by_combination(dimensions, nodes).items():
                if not any(combo):
                    found += float(times.sum())
                    continue
                at = place[combo]
                found += supported(hashed, sent.seeds[:, at], sent.answers[:, at], keys, times)
            return found

        return weights

    return Baseline("HI", LINKS, randomize, decode)


def sc(dimensions: Dimensions, epsilon: float, name: str = "SC") -> Baseline[Ints, Hashes, Nodes]:
    """A report for every level of every dimension, each at ε/Σh; a box is the product over its dimensions."""
    each = [(at, level) for at, levels in enumerate(dimensions) for level in range(1, levels.height + 1)]
    hashed = Hashed(epsilon / len(each))
    column = {one: at for at, one in enumerate(each)}

    def randomize(records: Ints, draws: Draws) -> Hashes:
        found = [
            hashed.drawn(dimensions[at].place(records[:, at], level).astype(np.uint64), draws) for at, level in each
        ]
        seeds, answers = (np.stack(one, axis=1) for one in zip(*found, strict=True))
        return Hashes(np.zeros(len(records), np.int64), seeds, answers)

    def decode(sent: Hashes) -> Callable[[Nodes], Floats]:
        def weights(nodes: Nodes) -> Floats:
            found = np.ones(len(sent.seeds))
            for at, chosen in enumerate(nodes):
                found *= sum(_parts(sent, at, chosen), np.zeros(1))
            return found

        return weights

    def _parts(sent: Hashes, at: int, nodes: list[Node]) -> Iterator[Floats]:
        for level, part in _by_level(nodes).items():
            times = np.array([node.times for node in part])
            if level == 0:
                yield np.full(len(sent.seeds), float(times.sum()))
                continue
            keys = np.array([node.place for node in part], np.uint64)
            where = column[at, level]
            yield supported(hashed, sent.seeds[:, where], sent.answers[:, where], keys, times)

    return Baseline(name, LINKS, randomize, decode)


def weighted_fo(domain: int, epsilon: float) -> Baseline[Ints, Hashes, Nodes]:
    """Local hashing of one dimension's value; a range is the sum over its values (thesis 7.2.2)."""
    return _flat([categorical(domain)], epsilon, "weighted FO")


def mg(dimensions: Dimensions, epsilon: float) -> Baseline[Ints, Hashes, Nodes]:
    """The marginal of all dimensions by local hashing, its cells added up (thesis 7.2.3)."""
    return _flat([categorical(one.domain) for one in dimensions], epsilon, "MG")


def categorical(domain: int) -> Levels:
    """A dimension of labels: all of them, and each."""
    return Levels(domain, max(2, domain))


def _flat(dimensions: Dimensions, epsilon: float, name: str) -> Baseline[Ints, Hashes, Nodes]:
    hashed = Hashed(epsilon)

    def randomize(records: Ints, draws: Draws) -> Hashes:
        keys = keys_of(dimensions, [records[:, at] for at in range(len(dimensions))])
        return Hashes(np.zeros(len(records), np.int64), *hashed.drawn(keys, draws))

    def decode(sent: Hashes) -> Callable[[Nodes], Floats]:
        def weights(nodes: Nodes) -> Floats:
            chosen = [_values(levels, one) for levels, one in zip(dimensions, nodes, strict=True)]
            places = np.meshgrid(*(values for values, _ in chosen), indexing="ij")
            times = np.meshgrid(*(each for _, each in chosen), indexing="ij")
            keys = keys_of(dimensions, [place.reshape(-1) for place in places])
            return supported(hashed, sent.seeds, sent.answers, keys, np.asarray(prod(times)).reshape(-1))

        return weights

    return Baseline(name, LINKS, randomize, decode)


def _values(levels: Levels, nodes: list[Node]) -> tuple[Ints, Floats]:
    """The cells of some nodes, and what each counts."""
    cells = [np.arange(*levels.ends(level, place)) for level, place, _ in nodes]
    times = [np.full(len(each), node.times) for each, node in zip(cells, nodes, strict=True)]
    return np.concatenate(cells), np.concatenate(times)
