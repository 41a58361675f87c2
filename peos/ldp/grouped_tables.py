"""One hidden table of several to each user: which table her report is of is drawn by her device and known to no one.

A record has one cell in each of g tables, of L_1 … L_g cells. With probability γ the word is uniform, else it names one
of the record's g cells: table j with weight π_j. One 64-bit word names one of Σπ_jL_j slots evenly, π_j for each cell
of table j, so that the likelihood of a word under two records has one ratio, whatever table it is of, and every pattern
is a valid report. All users and all fakes hide each user, not those of a table (privacy.md §2).

Neighbours: one user's record is replaced. Trusted: her device alone, which draws the table from its own randomness.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from peos.chunks import chunks
from peos.crypto.randomness import U64, Randomness
from peos.errors import WrongInput
from peos.estimate.frequency import Frequencies, checked_sizes
from peos.estimate.grouped import GroupEstimate
from peos.estimate.tables import TableOracle
from peos.ldp.base import MAX_ENUMERABLE, UNASKED, Counts, Question, checked_parameters, whole_number
from peos.ldp.blanket import Blanket, blanket_of_cells
from peos.ldp.members import Floats, Grid
from peos.ldp.mixture import Mixture, checked_epsilon, threshold_for
from peos.ldp.two_level import OneCoin

if TYPE_CHECKING:
    from peos.ldp.grouped_hash import Candidates

MOST_TABLES: Final = 1 << 13
MOST_SLOTS: Final = MAX_ENUMERABLE
_CHUNK: Final = 1 << 20


@dataclass(frozen=True, eq=False, repr=False)
class TableEstimates(Frequencies):
    """All cells, table after table; each table's frequencies are estimated from its own reports."""

    tables: tuple[GroupEstimate, ...]

    def interval(self, level: float = 0.95) -> Floats:
        """(cells, 2): of each cell alone."""
        return np.concatenate([table.interval(level) for table in self.tables])

    def significant(self, level: float = 0.05) -> NDArray[np.bool_]:
        """(cells,): with probability 1 − `level` no cell of any table is found that no user has."""
        return np.concatenate([table.significant(level / len(self.tables)) for table in self.tables])


@dataclass(frozen=True, eq=False)
class TableReports:
    """The reports of one collection, by table."""

    mechanism: "GroupedTables"
    users: int
    fakes: int
    tally: Counts

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many reports each table has."""
        return self.mechanism.sizes(self.tally)

    def estimate(self, group: int = 0, candidates: "Candidates | None" = None) -> GroupEstimate:
        """Of every cell of a table."""
        if candidates is not None:
            raise WrongInput("task.group", "reports of cells are counted at every cell of a table, and nothing else")
        return self.mechanism.of_table(self.tally, group, self.users, self.fakes)


class GroupedTables(OneCoin):
    """Tables of these sizes and integer weights, one cell of one of them to a report; ε_l is met from below.

    ε_l = ln(1 + (1 − γ)/γ · Σπ_jL_j/Σπ_j): of tables of k cells the same as of GRR over k values, however many.
    """

    _mixture: Mixture
    name = "grouped_tables"
    short = "cells of hidden tables"
    words = 1
    _bits: ClassVar[int] = 64  # tests enumerate every random input of narrower twins
    _coin_bits: ClassVar[int] = 64

    def __init__(
        self,
        tables: Sequence[int],
        epsilon: float,
        *,
        weights: Sequence[int] | None = None,
        question: Question = UNASKED,
    ) -> None:
        given = _checked(tables, [1] * len(tables) if weights is None else weights)
        own, slots = sum(given[1]), _slots(*given)
        match = Fraction(own * (2**self._bits // slots), 2**self._bits)
        self._set(*given, threshold_for(checked_epsilon(epsilon), match, coin_bits=self._coin_bits), question)

    @classmethod
    def described(cls) -> str:
        """A table and her cell in it, or anything."""
        return (
            f"{cls.short} ({cls.name}): each device draws one of the tables, keeps to itself which, and sends the "
            "user's cell in it or, with a fixed probability, any cell of any table"
        )

    @classmethod
    def is_proposed(cls, *, shuffled: bool) -> bool:  # noqa: ARG003 - in neither
        """No question over a list of values is asked with it."""
        return False

    @classmethod
    def build(cls, domain: int, epsilon: float, size: int = 0) -> "GroupedTables":  # noqa: ARG003 - the domain is it
        """Of one table, which is what accounting and noise see of any number of them."""
        return cls([domain], epsilon)

    @classmethod
    def grid(cls, domain: int, sizes: NDArray[np.int64], local: Floats) -> Grid:  # noqa: ARG003 - see `build`
        """As of GRR."""
        return Grid(np.array([[1.0 / domain]]), np.zeros((1, 1)), np.zeros((1, 1)))

    @classmethod
    def from_parameters(cls, domain: int, parameters: Mapping[str, int], question: Question = UNASKED) -> Self:
        """The mechanism that a document describes by {"threshold": T, "cells_1": L_1, "weight_1": π_1, …}."""
        number = sum(key.startswith("cells_") for key in parameters)
        whole_number(number, "the number of tables", least=1, most=MOST_TABLES)
        ranges = {"threshold": (1, 2**cls._coin_bits - 1)}
        for table in range(number):
            ranges |= {_cells(table): (2, MOST_SLOTS), _weight(table): (1, MOST_SLOTS)}
        given = checked_parameters(cls.name, parameters, ranges)
        tables = [given[_cells(table)] for table in range(number)]
        if sum(tables) != domain:
            raise WrongInput(
                "mechanism.cells", f"its {number} tables have {sum(tables)} cells in all, and its domain is {domain}"
            )
        mechanism = cls.__new__(cls)
        checked = _checked(tables, [given[_weight(table)] for table in range(number)])
        mechanism._set(*checked, given["threshold"], question)
        return mechanism

    @property
    def _pattern_bits(self) -> int:
        return self._bits

    def _set(self, tables: tuple[int, ...], weights: tuple[int, ...], threshold: int, question: Question) -> None:
        self.tables, self.weights, self.question = tables, weights, question
        self.domain, self._own, self._number = sum(tables), sum(weights), _slots(tables, weights)
        self._mixture = Mixture(threshold, self._number, self._bits, self._coin_bits, own=self._own)
        # Where each table's weights, slots and cells end, and where its slots begin.
        sizes = np.multiply(tables, weights, dtype=np.int64)
        self._weights_end, self._slots_end = np.cumsum(weights, dtype=np.int64), np.cumsum(sizes, dtype=np.int64)
        self._first_slot: NDArray[np.int64] = self._slots_end - sizes
        self._cells_end = np.cumsum(tables, dtype=np.int64)

    def of(self, tables: Sequence[int], weights: Sequence[int] | None = None) -> "GroupedTables":
        """Other tables at the same ε_l, or a hair below, and of the same question."""
        return type(self)(tables, self.epsilon_local, weights=weights, question=self.question)

    @property
    def blanket(self) -> Blanket:
        """A uniform word names a cell of the record with probability Σπ/Σπ_jL_j, and of two that differ never both."""
        return blanket_of_cells(self.gamma, self._number, self._bits, 0.0, self.epsilon_local, own=self._own)

    @property
    def parameters(self) -> Mapping[str, int]:
        """{"threshold": T, "cells_1": L_1, "weight_1": π_1, …}."""
        cells = {_cells(table): size for table, size in enumerate(self.tables)}
        weights = {_weight(table): weight for table, weight in enumerate(self.weights)}
        return {"threshold": self._mixture.threshold, **cells, **weights}

    @property
    def shown(self) -> Mapping[str, int]:
        """{"tables": g, "cells": ΣL_j}."""
        return {"tables": len(self.tables), "cells": self.domain}

    @cached_property
    def oracles(self) -> tuple[TableOracle, ...]:
        """Of each table."""
        γ = float(self.gamma)
        parts = [
            (size, weight, size * weight / self._number) for size, weight in zip(self.tables, self.weights, strict=True)
        ]
        return tuple(TableOracle(size, (1 - γ) * weight / self._own, γ * part, part) for size, weight, part in parts)

    @property
    def shares(self) -> Floats:
        """Of each table, where there are no fakes."""
        return self.shares_among(1, 0)

    def shares_among(self, users: int, fakes: int) -> Floats:
        """Of each table among users and fakes: uniform words are of a table by its cells, others by its weight."""
        expected = np.array([oracle.expected(users, fakes)[0] for oracle in self.oracles])
        return np.asarray(expected / (users + fakes))

    # What a user does.

    def require_asked(self, asked: Sequence[tuple[str, int]]) -> None:
        """A cell of each table."""
        if [*asked] != [("cell", size) for size in self.tables]:
            raise WrongInput(
                "mechanism.views",
                f"{self.name} with {len(self.tables)} tables answers as many questions, each for a cell of its table",
                hint="ask with views that fit the mechanism",
            )

    def gathered(self, answers: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """One column a table."""
        return np.stack(answers, axis=1)

    def encode(self, values: NDArray[np.int64], rng: Randomness) -> U64:
        """(n, 1): for each user a uniform word of a slot of hers, of a table drawn by weight. Not private by itself.

        The same draws and the same work for every record.
        """
        cells = self._cells(values)
        drawn = rng.below(np.full(len(cells), self._own, dtype=np.uint64)).astype(np.int64)
        table = np.searchsorted(self._weights_end, drawn, side="right")
        weights = np.array(self.weights, dtype=np.int64)[table]
        place = drawn - (self._weights_end[table] - weights)
        slots = self._first_slot[table] + cells[np.arange(len(cells)), table] * weights + place
        return self._mixture.preimages(slots, rng)[:, np.newaxis]

    def _cells(self, values: object) -> NDArray[np.int64]:
        given = np.asarray(values)
        if given.ndim != 2 or given.shape[1] != len(self.tables) or (given.size and given.dtype.kind not in "iu"):
            raise WrongInput("mechanism.table_cells", f"each user has a cell in each of the {len(self.tables)} tables")
        outside = np.any((given < 0) | (given >= np.array(self.tables)), axis=1)
        if np.any(outside):
            raise WrongInput(
                "mechanism.table_cell", f"a cell lies outside its table, at index {int(np.argmax(outside))}"
            )
        return given.astype(np.int64)

    # What the analyzer does.

    def decode(self, words: U64) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """(table, cell) of each report; every word has both."""
        slots = self._mixture.cell_of(self._words(words)[:, 0])
        table = np.searchsorted(self._slots_end, slots, side="right")
        return table, (slots - self._first_slot[table]) // np.array(self.weights)[table]

    def reports(self, words: U64, users: int, fakes: int) -> TableReports:
        """By table."""
        return TableReports(self, users, fakes, self.tally(words))

    def tally(self, words: U64) -> Counts:
        """(cells,): how many reports each cell has, table after table."""
        words = self._words(words)
        slots = np.zeros(self._number, dtype=np.int64)
        for chunk in chunks(len(words), _CHUNK):
            slots += np.bincount(self._mixture.cell_of(words[chunk, 0]), minlength=self._number)
        if self._number == self.domain:
            return slots
        starts = np.concatenate(
            [
                first + np.arange(0, size * weight, weight)
                for first, size, weight in zip(self._first_slot.tolist(), self.tables, self.weights, strict=True)
            ]
        )
        return np.add.reduceat(slots, starts)

    def counts_of(self, tally: Counts, table: int) -> Counts:
        """One table's part of a tally."""
        end = int(self._cells_end[table])
        return tally[end - self.tables[table] : end]

    def sizes(self, tally: Counts) -> tuple[int, ...]:
        """How many reports each table has."""
        return tuple(np.add.reduceat(tally, self._cells_end - np.array(self.tables)).tolist())

    def of_table(self, tally: Counts, table: int, users: int, fakes: int = 0) -> GroupEstimate:
        """How frequent each cell of one table is among all users."""
        counts = self.counts_of(tally, table)
        reports = int(counts.sum())
        return GroupEstimate.of(self.oracles[table], counts, reports=reports, users=users, fakes=fakes)

    def estimate(self, tally: Counts, users: int, fakes: int = 0) -> TableEstimates:
        """Of all cells, table after table."""
        checked_sizes(users, fakes)
        if np.shape(tally) != (self.domain,):
            raise WrongInput("mechanism.counts", f"there is one count for each of the {self.domain} cells")
        tables = tuple(self.of_table(tally, table, users, fakes) for table in range(len(self.tables)))
        frequency, variance = (
            np.concatenate([getattr(one, what) for one in tables]) for what in ("frequency", "variance")
        )
        return TableEstimates(frequency, variance, users, fakes, tables)

    def variance(self, users: int, fakes: int = 0, frequency: float = 0.0) -> float:
        """Of one cell's frequency, in the table where it is largest, with as many reports as are expected."""
        found = []
        for oracle in self.oracles:
            reports = round(oracle.expected(users, fakes)[0])
            found.append(float(oracle.variance(reports, users, fakes, np.float64(frequency))))
        return max(found)

    def steps(self, reports: int) -> float:
        """One a report."""
        return float(reports)


def _cells(table: int) -> str:
    return f"cells_{table + 1}"


def _weight(table: int) -> str:
    return f"weight_{table + 1}"


def _slots(tables: Sequence[int], weights: Sequence[int]) -> int:
    return sum(size * weight for size, weight in zip(tables, weights, strict=True))


def _checked(tables: Sequence[int], weights: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    whole_number(len(tables), "the number of tables", least=1, most=MOST_TABLES)
    if len(weights) != len(tables):
        raise WrongInput("mechanism.table_weights", f"{len(tables)} tables have as many weights, not {len(weights)}")
    sizes = tuple(whole_number(size, "a table's number of cells", least=2, most=MOST_SLOTS) for size in tables)
    given = tuple(whole_number(weight, "a table's weight", least=1, most=MOST_SLOTS) for weight in weights)
    whole_number(_slots(sizes, given), "the number of all tables' cells by weight", least=2, most=MOST_SLOTS)
    return sizes, given
