"""Marginals from reports on one table each: MargRR, MargPS, MargHT (SIGMOD 2018), AM and CALM's reports (thesis 6)."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from peos.tasks.baselines.base import LOCAL, ONE, Baseline, Draws, Floats, Ints, Response, Unary, adaptive
from peos.tasks.baselines.bits import cells_in, parity, subsets, summed
from peos.tasks.baselines.inputs import Attributes, Marginals, from_coefficients

Sets = Sequence[tuple[int, ...]]
Views = tuple[list[Floats], Ints]  # of each table its cells, and how many reports it has


class Cells(NamedTuple):
    """Of each user which table, and the cell (n,) or the bits (n, cells) of it."""

    tables: Ints
    answers: np.ndarray


def views(sets: Sets, oracle: Response | Unary, runs: str = ONE, name: str = "views") -> Baseline[Ints, Cells, None]:
    """One table of those named, drawn by the user: what each is, without anything made of them all."""
    size = oracle.cells

    def randomize(records: Ints, draws: Draws) -> Cells:
        tables = draws.below(len(sets), len(records))
        return Cells(tables, oracle.drawn(cells_in(records, sets, tables), draws))

    def decode(sent: Cells) -> Callable[[None], Floats]:
        each = np.bincount(sent.tables, minlength=len(sets))[:, np.newaxis]
        if sent.answers.ndim == 1:
            counts = np.bincount(sent.tables * size + sent.answers, minlength=len(sets) * size).reshape(-1, size)
        else:
            counts = np.array([sent.answers[sent.tables == at].sum(axis=0) for at in range(len(sets))])
        found = oracle.unbiased(counts, each)
        return lambda _: found

    return Baseline(name, runs, randomize, decode)


def _by_tables(made: Baseline[Ints, Cells, None], sets: Sets) -> Baseline[Ints, Cells, Attributes]:
    """A marginal is the mean of the tables that have all its attributes."""

    def decode(sent: Cells) -> Marginals:
        found = made.decode(sent)(None)

        def table(attributes: Attributes) -> Floats:
            covering = [at for at, one in enumerate(sets) if set(attributes) <= set(one)]
            return np.asarray(np.mean([summed(found[at], sets[at], attributes) for at in covering], axis=0))

        return table

    return Baseline(made.name, made.runs, made.randomize, decode)


def marg_rr(d: int, k: int, epsilon: float, *, optimised: bool = False) -> Baseline[Ints, Cells, Attributes]:
    """A table of k attributes as a vector of bits, each perturbed."""
    sets = subsets(d, [k])
    runs = LOCAL + "bits of two laws have no blanket of fair coins" if optimised else ONE
    return _by_tables(views(sets, Unary(2**k, epsilon, optimised), runs, "MargRR"), sets)


def marg_ps(d: int, k: int, epsilon: float) -> Baseline[Ints, Cells, Attributes]:
    """A table of k attributes by randomised response: hidden tables of 2^k cells."""
    sets = subsets(d, [k])
    return _by_tables(views(sets, Response(2**k, epsilon), name="MargPS"), sets)


def am(d: int, k: int, epsilon: float) -> Baseline[Ints, Cells, Attributes]:
    """All tables of k attributes, each by the better oracle (thesis 6.1.2)."""
    sets = subsets(d, [k])
    oracle = adaptive(2**k, epsilon)
    made = views(sets, oracle, _runs(oracle), "AM")
    return _by_tables(made, sets)


def calm(sets: Sets, epsilon: float) -> Baseline[Ints, Cells, None]:
    """What CALM's users send: one of its views, by the better oracle; consistency and entropy come after."""
    oracle = adaptive(2 ** len(sets[0]), epsilon)
    return views(sets, oracle, _runs(oracle), "CALM")


def _runs(oracle: Response | Unary) -> str:
    return ONE if isinstance(oracle, Response) else LOCAL + "bits of two laws have no blanket of fair coins"


class TableCoefficients(NamedTuple):
    """Of each user which table, which coefficient of it but the zeroth, and its bit."""

    tables: Ints
    alphas: Ints
    bits: Ints


def marg_ht(d: int, k: int, epsilon: float) -> Baseline[Ints, TableCoefficients, Attributes]:
    """One coefficient of a table of k attributes; nothing is shared between tables."""
    sets = subsets(d, [k])
    response = Response(2, epsilon)
    size = 2**k

    def randomize(records: Ints, draws: Draws) -> TableCoefficients:
        tables = draws.below(len(sets), len(records))
        alphas = draws.below(size - 1, len(records)) + 1
        odd = parity(cells_in(records, sets, tables), alphas)
        return TableCoefficients(tables, alphas, response.drawn(odd, draws))

    def decode(sent: TableCoefficients) -> Marginals:
        places = sent.tables * size + sent.alphas
        each = np.bincount(places, minlength=len(sets) * size)
        odd = response.unbiased(np.bincount(places, sent.bits, len(sets) * size).astype(np.int64), each)
        theta = (1.0 - 2.0 * odd).reshape(-1, size)

        def whole(at: int) -> Floats:
            return from_coefficients(lambda mask: float(theta[at, mask]), range(k))

        def table(attributes: Attributes) -> Floats:
            covering = [at for at, one in enumerate(sets) if set(attributes) <= set(one)]
            return np.asarray(np.mean([summed(whole(at), sets[at], attributes) for at in covering], axis=0))

        return table

    return Baseline("MargHT", ONE, randomize, decode)
