"""Marginals by expectation maximisation from bits that are perturbed one by one: InpEM (Fanti et al. 2016), EM."""

from typing import Final

import numpy as np

from peos.tasks.baselines.base import LOCAL, Baseline, Draws, Floats, Ints, Response
from peos.tasks.baselines.bits import table_of
from peos.tasks.baselines.inputs import Attributes, Marginals

STOP: Final = 1e-5
_MOST: Final = 100_000
_LINKED: Final = (
    LOCAL + "its bits stay together in one report, and no mechanism of a collection is made of several answers, though "
    "a shuffle would amplify it"
)


def _randomize(d: int, response: Response, records: Ints, draws: Draws) -> Ints:
    found = np.zeros(len(records), np.int64)
    for attribute in range(d):
        found |= response.drawn(records >> attribute & 1, draws) << attribute
    return found


def inp_em(d: int, epsilon: float) -> Baseline[Ints, Ints, Attributes]:
    """Every attribute by randomised response at ε/d; begun at the uniform table."""
    response = Response(2, epsilon / d)

    def decode(sent: Ints) -> Marginals:
        def table(attributes: Attributes) -> Floats:
            patterns = table_of(sent, attributes)
            start = np.full((1, len(patterns)), 1 / len(patterns))
            return np.asarray(fixed_points(start, patterns[np.newaxis], response)[0][0])

        return table

    return Baseline("InpEM", _LINKED, lambda records, draws: _randomize(d, response, records, draws), decode)


def em(d: int, epsilon: float) -> Baseline[Ints, Ints, Attributes]:
    """The same as thesis 6.1.4 has it: begun at the inverse of the bits' perturbation, made a distribution."""
    response = Response(2, epsilon / d)

    def decode(sent: Ints) -> Marginals:
        def table(attributes: Attributes) -> Floats:
            patterns = table_of(sent, attributes)
            start = np.maximum(inverse(patterns, response), 1e-9)
            start = start[np.newaxis] / start.sum()
            return np.asarray(fixed_points(start, patterns[np.newaxis], response, most=2_000)[0][0])

        return table

    return Baseline("EM", _LINKED, lambda records, draws: _randomize(d, response, records, draws), decode)


def inverse(patterns: Floats, response: Response) -> Floats:
    """The unbiased table: each bit's perturbation undone."""
    turn = np.linalg.inv(np.array([[response.p, response.q], [response.q, response.p]]))
    k = len(patterns).bit_length() - 1
    table = patterns.reshape((2,) * k)
    for axis in range(k):
        table = np.moveaxis(np.tensordot(turn, table, axes=(1, axis)), 0, axis)
    return np.asarray(table.reshape(-1))


def fixed_points(
    start: Floats, patterns: Floats, response: Response, *, stop: float = STOP, most: int = _MOST
) -> tuple[Floats, Ints]:
    """The likeliest tables (tables, cells), from others to begin with, and the steps that each took.

    A table is left where no cell of it moves by `stop` any more.
    """
    cells = np.arange(patterns.shape[1])
    apart = np.bitwise_count(cells[:, np.newaxis] ^ cells).astype(np.int64)
    likely = response.p ** (len(cells).bit_length() - 1 - apart) * response.q**apart  # symmetric
    found, steps, moving = start.copy(), np.zeros(len(start), np.int64), np.arange(len(start))
    while moving.size and steps.max() < most:
        before = found[moving]
        moved = before * ((patterns[moving] / (before @ likely)) @ likely)
        found[moving] = moved
        steps[moving] += 1
        moving = moving[np.abs(moved - before).max(axis=1) >= stop]
    return found, steps
