"""Sums of a hidden measure: HIO over its values, SR-HIO, AHIO, EHIO, HIO-PUB (Xu et al., VLDB 2020, sections 3 and 4).

Every attribute is a dimension 0 … m − 1, and some of them are measures: `lows` has the number that their cell 0 stands
for. A measure is rounded by its user to its least or its greatest value, so that its mean stays, before anything else.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from peos.tasks.baselines.base import LOCAL, Baseline, Draws, Floats, Ints
from peos.tasks.baselines.hierarchies import LINKS, Cover, Dimensions, Hashes, Nodes, box, categorical, hio
from peos.tasks.ranges.levels import Levels, Node

Ranges = Sequence[tuple[int, int] | None]
Lows = Mapping[int, float]
_AS_PRINTED: Final = (
    LOCAL + "as the papers have it, with hashes of as many values as are best unshuffled; with levels as hidden tables "
    "it would be one collection"
)


class Total(NamedTuple):
    """A COUNT over ranges, or the SUM of a measure; by RDC where `cover` says so."""

    ranges: Ranges
    measure: int | None = None
    cover: Cover = Levels.cover


class Parted(NamedTuple):
    """Of each user the measure that was rounded, and her report."""

    parts: Ints
    sent: Hashes


def hio_sum(dimensions: Dimensions, lows: Lows, epsilon: float) -> Baseline[Ints, Hashes, Total]:
    """SUM(A) = Σ v·P(C and A = v), by HIO (Baseline I)."""
    made = hio(dimensions, epsilon)

    def decode(sent: Hashes) -> Callable[[Total], Floats]:
        weights = made.decode(sent)

        def contributions(asked: Total) -> Floats:
            nodes = box(dimensions, asked.ranges, asked.cover)
            if asked.measure is not None:
                levels = dimensions[asked.measure]
                cells = range(*(asked.ranges[asked.measure] or (0, levels.domain)))
                nodes[asked.measure] = [Node(levels.height, one, lows[asked.measure] + one) for one in cells]
            return weights(nodes)

        return contributions

    return Baseline("HIO", _AS_PRINTED, made.randomize, decode)


def hio_pub(dimensions: Dimensions, epsilon: float) -> Baseline[Ints, Hashes, Nodes]:
    """The measure is public: HIO, whose weights are multiplied by it."""
    made = hio(dimensions, epsilon, "HIO-PUB")
    return Baseline(made.name, LINKS, made.randomize, made.decode)


def sr_hio(dimensions: Dimensions, lows: Lows, epsilon: float) -> Baseline[Ints, Hashes, Total]:
    """All measures are rounded, each a further dimension of two (Baseline II)."""
    measures = sorted(lows)
    made = hio([*dimensions, *(categorical(2) for _ in measures)], epsilon)

    def randomize(records: Ints, draws: Draws) -> Hashes:
        rounded = [is_greatest(records[:, one], dimensions[one].domain, draws) for one in measures]
        return made.randomize(np.column_stack([records, *rounded]), draws)

    def decode(sent: Hashes) -> Callable[[Total], Floats]:
        weights = made.decode(sent)

        def contributions(asked: Total) -> Floats:
            ends = [_ends(dimensions, lows, one) if one == asked.measure else [Node(0, 0)] for one in measures]
            return weights([*box(dimensions, asked.ranges, asked.cover), *ends])

        return contributions

    return Baseline("SR-HIO", _AS_PRINTED, randomize, decode)


def ahio(dimensions: Dimensions, lows: Lows, epsilon: float) -> Baseline[Ints, Parted, Total]:
    """Each user rounds one measure, a further dimension of two."""
    measures = sorted(lows)
    made = hio([*dimensions, categorical(2)], epsilon)

    def randomize(records: Ints, draws: Draws) -> Parted:
        parts, rounded = _rounded(records, dimensions, measures, draws)
        return Parted(parts, made.randomize(np.column_stack([records, rounded]), draws))

    def decode(sent: Parted) -> Callable[[Total], Floats]:
        weights = made.decode(sent.sent)

        def contributions(asked: Total) -> Floats:
            nodes = box(dimensions, asked.ranges, asked.cover)
            if asked.measure is None:
                return weights([*nodes, [Node(0, 0)]])
            of_it = sent.parts == measures.index(asked.measure)
            found = weights([*nodes, _ends(dimensions, lows, asked.measure)])
            return np.where(of_it, len(measures) * found, 0.0)

        return contributions

    return Baseline("AHIO", _AS_PRINTED, randomize, decode)


def ehio(dimensions: Dimensions, lows: Lows, epsilon: float) -> Baseline[Ints, Parted, Total]:
    """The measure's domain is doubled: below the middle what was rounded to the least value, mirrored."""
    measures = sorted(lows)
    doubled = {one: doubled_levels(dimensions[one]) for one in measures}
    made = [hio([*dimensions[:one], doubled[one], *dimensions[one + 1 :]], epsilon) for one in measures]

    def randomize(records: Ints, draws: Draws) -> Parted:
        parts, rounded = _rounded(records, dimensions, measures, draws)
        sent = Hashes(*(np.zeros(len(records), np.int64) for _ in range(3)))
        for at, (measure, one) in enumerate(zip(measures, made, strict=True)):
            mine = parts == at
            moved = records[mine].copy()
            moved[:, measure] = mirrored(dimensions[measure], moved[:, measure], rounded[mine])
            for target, found in zip(sent, one.randomize(moved, draws), strict=True):
                target[mine] = found
        return Parted(parts, sent)

    def decode(sent: Parted) -> Callable[[Total], Floats]:
        mine = [sent.parts == at for at in range(len(measures))]
        weights = [one.decode(Hashes(*(part[of] for part in sent.sent))) for one, of in zip(made, mine, strict=True)]

        def contributions(asked: Total) -> Floats:
            found = np.zeros(len(sent.parts))
            for at, measure in enumerate(measures):
                if asked.measure in (None, measure):
                    nodes = box(dimensions, asked.ranges, asked.cover)
                    nodes[measure] = _halves(dimensions[measure], doubled[measure], asked, measure, lows)
                    found[mine[at]] = weights[at](nodes) * (1 if asked.measure is None else len(measures))
            return found

        return contributions

    return Baseline("EHIO", _AS_PRINTED, randomize, decode)


def doubled_levels(levels: Levels) -> Levels:
    """A tree whose root has two children, each a tree over the measure's values."""
    return Levels(levels.width(0) + levels.domain, levels.fanout)


def mirrored(levels: Levels, values: Ints, rounded: Ints) -> Ints:
    """Where each value is in the doubled domain, by what it was rounded to."""
    middle = levels.width(0)
    return np.where(rounded.astype(np.bool_), middle + values, middle - 1 - values)


def _halves(levels: Levels, doubled: Levels, asked: Total, measure: int, lows: Lows) -> list[Node]:
    """The nodes of both halves, each with the value that it was rounded to; 1 for a COUNT."""
    middle = levels.width(0)
    least, greatest = lows[measure], lows[measure] + levels.domain - 1
    if asked.measure is None:
        least = greatest = 1.0
    one = asked.ranges[measure]
    if one is None:
        return [Node(1, 0, least), Node(1, 1, greatest)]
    below = asked.cover(doubled, middle - one[1], middle - one[0])
    above = asked.cover(doubled, middle + one[0], middle + one[1])
    return [Node(*node[:2], node.times * value) for part, value in ((below, least), (above, greatest)) for node in part]


def is_greatest(values: Ints, domain: int, draws: Draws) -> Ints:
    """Whether each value is rounded to the greatest: with probability v/(m − 1)."""
    return (draws.below(max(domain - 1, 1), len(values)) < values).astype(np.int64)


def _rounded(records: Ints, dimensions: Dimensions, measures: Sequence[int], draws: Draws) -> tuple[Ints, Ints]:
    """Which measure each user rounds, and to which end."""
    parts = draws.below(len(measures), len(records))
    column = np.array(measures)[parts]
    domain = np.array([dimensions[one].domain for one in measures])[parts]
    values = records[np.arange(len(records)), column]
    return parts, (draws.below(domain - 1, len(records)) < values).astype(np.int64)


def _ends(dimensions: Dimensions, lows: Lows, measure: int) -> list[Node]:
    """Both ends of a measure's rounding, each counting what it stands for."""
    return [Node(1, 0, lows[measure]), Node(1, 1, lows[measure] + dimensions[measure].domain - 1)]
