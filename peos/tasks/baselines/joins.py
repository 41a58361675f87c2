"""Several services, joined by user at the analyzer: SC-JOIN, HIO-JOIN, τ-truncation (Xu et al., VLDB 2020, section 5).

Reports of one user are brought together by who she is, which is what a shuffle takes away: none of these runs in a
collection. There her client packs all her services' records into one report (`peos.tasks.ranges.packing`).
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np

from peos.tasks.baselines.base import LOCAL, Baseline, Draws, Floats, Ints
from peos.tasks.baselines.hierarchies import Dimensions, Hashes, Nodes, categorical, hio, sc
from peos.tasks.baselines.measures import is_greatest
from peos.tasks.ranges.levels import Node

JOINED: Final = LOCAL + "reports are joined by user, which a shuffle takes away"


class Both(NamedTuple):
    """What a question asks of the first service's record and of the second's."""

    first: Nodes
    second: Nodes


def sc_join(first: Dimensions, second: Dimensions, epsilon: float) -> Baseline[tuple[Ints, Ints], Hashes, Both]:
    """A report for every level of every dimension of both services: each user has one record in each."""
    made = sc([*first, *second], epsilon)

    def decode(sent: Hashes) -> Callable[[Both], Floats]:
        weights = made.decode(sent)
        return lambda asked: weights([*asked.first, *asked.second])

    return Baseline("SC-JOIN", JOINED, lambda records, draws: made.randomize(np.hstack(records), draws), decode)


def hio_join(
    first: Dimensions, second: Dimensions, epsilon: float
) -> Baseline[tuple[Ints, Ints], tuple[Hashes, Hashes], Both]:
    """HIO at ε/2 in each service; a user counts by the product of both weights."""
    one, other = hio(first, epsilon / 2), hio(second, epsilon / 2)

    def decode(sent: tuple[Hashes, Hashes]) -> Callable[[Both], Floats]:
        left, right = one.decode(sent[0]), other.decode(sent[1])
        return lambda asked: left(asked.first) * right(asked.second)

    return Baseline(
        "HIO-JOIN",
        JOINED,
        lambda records, draws: (one.randomize(records[0], draws), other.randomize(records[1], draws)),
        decode,
    )


class Services(NamedTuple):
    """Of each user a record of the first service, and as many of the second as `counts` says, one after another."""

    first: Ints
    counts: Ints
    second: Ints


class Truncated(NamedTuple):
    """The first service's report, and τ of the second."""

    first: Hashes
    second: tuple[Hashes, ...]


class Joined(NamedTuple):
    """COUNT over both services' records, or the SUM of the second's measure."""

    first: Nodes
    second: Nodes
    is_sum: bool = False


def truncated(
    first: Dimensions, second: Dimensions, epsilon: float, *, τ: int, most: int, measure: int = 0, low: float = 0.0
) -> Baseline[Services, Truncated, Joined]:
    """τ of each user's records of the second service, drawn with repetition, or τ of anything if she has none.

    How many records one of them stands for is rounded to 0 or `most`/τ, and sent with it; the measure to its ends.
    All τ + 1 reports at ε/(τ + 1) hide how many records there are.
    """
    share = epsilon / (τ + 1)
    one, other = hio(first, share), hio([*second, categorical(2), categorical(2)], share)
    domain = second[measure].domain

    def randomize(records: Services, draws: Draws) -> Truncated:
        users = len(records.first)
        counts = np.minimum(records.counts, most)
        starts = np.cumsum(records.counts) - records.counts
        found = []
        for _ in range(τ):
            place = starts + draws.below(np.maximum(counts, 1), users)
            anything = np.column_stack([draws.below(levels.domain, users) for levels in second])
            held = counts > 0
            record = np.where(held[:, np.newaxis], records.second[np.where(held, place, 0)], anything)
            counted = (draws.below(most, users) < counts).astype(np.int64)
            end = is_greatest(record[:, measure], domain, draws)
            found.append(other.randomize(np.column_stack([record, counted, end]), draws))
        return Truncated(one.randomize(records.first, draws), tuple(found))

    def decode(sent: Truncated) -> Callable[[Joined], Floats]:
        left, right = one.decode(sent.first), [other.decode(each) for each in sent.second]

        def contributions(asked: Joined) -> Floats:
            ends = [Node(1, 0, low), Node(1, 1, low + domain - 1)] if asked.is_sum else [Node(0, 0)]
            nodes: Sequence[list[Node]] = [*asked.second, [Node(1, 1, most / τ)], ends]
            return np.asarray(left(asked.first) * sum(weights(nodes) for weights in right))

        return contributions

    return Baseline("τ-truncation", JOINED, randomize, decode)
