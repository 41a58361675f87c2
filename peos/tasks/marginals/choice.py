"""How many tables, of how many cells: the least predicted error for a shuffle; the thesis' rule where there is none.

With t tables and a share γ of uniform reports a k-set that a table covers has the squared error, summed over its cells,
    (t/n)·[γ/(1−γ)² + (1 − Σf²)/(1−γ)],
blanket reports and sampling: n/t of the users answer for it. γ is what the targets leave for tables of so many cells.
Σf² is taken as of even shares, so that the error is at most that. A k-set that no table covers has the error of those
that meet in it, and misses what maximum entropy does not know.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

from peos.errors import Refused
from peos.ldp.grouped_tables import GroupedTables
from peos.privacy.guarantees import rounded_up
from peos.tasks.marginals.design import MOST_SETS, Block, cover, cover_by_cells
from peos.tasks.planning import Asked, Planned, planned_tables

MISSED: Final = 2e-5
"""Of a k-set that no table covers, taken to be missed: what one-factor populations leave after all pairs is a sixtieth
of it (`tests/unit/tasks/marginals`)."""
MOST_TABLES: Final = 64  # of one document
USELESS: Final = 1.0  # squared error of a table: beyond, it tells nothing
_MOST_BITS: Final = 13  # of the cells of one table that is tried
_COMPARED: Final = 2
_LOCAL_THETA: Final = 0.001


@dataclass(frozen=True)
class Design:
    """The tables of a collection, by the places of their attributes, with the plan and what is expected of it."""

    blocks: tuple[Block, ...]
    plan: Planned[GroupedTables]
    error: float  # predicted squared error of a k-way table, summed over its cells
    cells: float  # of a k-way table, on average
    covered: float  # the share of k-sets that a table has
    notes: tuple[str, ...] = ()

    @property
    def per_cell(self) -> float:
        """The error that is expected of one cell."""
        return math.sqrt(self.error / self.cells)

    def in_words(self) -> str:
        """What is asked, and what comes of it."""
        widths = sorted({len(block) for block in self.blocks})
        width = str(widths[0]) if len(widths) == 1 else f"{widths[0]} to {widths[-1]}"
        tables = "1 table" if len(self.blocks) == 1 else f"{len(self.blocks)} tables"
        mechanism = self.plan.mechanism
        return (
            f"{tables} of {width} attributes, of at most {max(mechanism.tables):,} cells; "
            f"ε_l {rounded_up(mechanism.epsilon_local)}; {float(mechanism.gamma):.0%} uniform reports; expected error "
            f"per cell {self.per_cell:.2g}"
        )


def choose(sizes: Sequence[int], ways: int, asked: Asked) -> Design:
    """The design of least predicted error; Refused where none tells anything, with what would do."""
    found = sorted(_designs(sizes, ways, asked), key=lambda one: one.error)
    if not found or found[0].error >= USELESS:
        raise _refusal(sizes, ways, asked)
    best, notes = found[0], []
    if len(found) > 1:
        notes.append(f"next best: {found[1].in_words()}")
    limit = asked.eps_local
    if limit is not None and asked.eps_server is not None and best.plan.guarantees.local >= limit * 0.999:
        notes.append(
            f"eps_local = {limit:g} binds: a higher one lowers the error, by larger tables or fewer uniform reports"
        )
    return replace(best, notes=tuple(notes))


def _designs(sizes: Sequence[int], ways: int, asked: Asked) -> list[Design]:
    """Covers of pairs and, while they are few, of all k-sets, by tables of at most 4, 8, 16 … cells.

    The fewest tables first; those whose sampling error alone is above that of two others are not planned.
    """
    found: list[Design] = []
    for blocks in sorted(_covers(sizes, ways), key=len):
        least = len(blocks) / asked.users * (1 - 1 / _cells(sizes, ways))
        if sum(one.error < least for one in found) < _COMPARED:
            found.append(of_blocks(sizes, blocks, ways, asked))
    return found


def _covers(sizes: Sequence[int], ways: int) -> set[tuple[Block, ...]]:
    strengths = {min(2, ways), ways} if math.comb(len(sizes), ways) <= MOST_SETS else {min(2, ways)}
    limits = [2**bits for bits in range(2, _MOST_BITS + 1)]
    found = {cover_by_cells(sizes, strength, cells) for strength in strengths for cells in limits}
    return {blocks for blocks in found if len(blocks) <= MOST_TABLES}


def _cells(sizes: Sequence[int], ways: int) -> float:
    """Of a k-way table, on (geometric) average."""
    return math.exp(ways * sum(map(math.log, sizes)) / len(sizes))


def of_blocks(sizes: Sequence[int], blocks: Sequence[Block], ways: int, asked: Asked) -> Design:
    """Of these tables."""
    plan = planned_tables(asked, [math.prod(sizes[one] for one in block) for block in blocks])
    covered = _covered_share(len(sizes), blocks, ways)
    γ, cells = float(plan.mechanism.gamma), _cells(sizes, ways)
    blank = γ + plan.fakes / asked.users
    noise = len(blocks) / asked.users * (blank / (1 - γ) ** 2 + (1 - 1 / cells) / (1 - γ))
    return Design(tuple(blocks), plan, noise + (1 - covered) * MISSED, cells, covered)


def _covered_share(attributes: int, blocks: Sequence[Block], ways: int) -> float:
    """Of all k-sets, those that are in a block: of disjoint overlaps exactly, else at most 1."""
    every = math.comb(attributes, ways)
    if every > MOST_SETS:
        return min(1.0, sum(math.comb(len(block), ways) for block in blocks) / every)
    return len({one for block in blocks for one in combinations(block, ways)}) / every


def _refusal(sizes: Sequence[int], ways: int, asked: Asked) -> Refused:
    """Which target keeps a plan from telling anything, and about how far it would have to give way."""
    for name in ("eps_server", "eps_users", "eps_local"):
        given = getattr(asked, name)
        if given is None:
            continue
        for factor in (2, 4, 8, 16, 32):
            eased = Asked(**{**vars(asked), name: given * factor})
            if any(one.error < USELESS for one in _designs(sizes, ways, eased)):
                return Refused(
                    "marginals.useless",
                    f"with {name} = {given:g} tables of {ways} attributes would tell nothing",
                    hint=f"{name} = {given * factor:g} tells something; so may more users or fewer attributes",
                )
    return Refused(
        "marginals.useless",
        f"tables of {ways} of {len(sizes)} attributes would tell nothing of {asked.users:,} users",
        hint="ask more users, fewer attributes or fewer ways",
    )


def choose_local(
    users: int, attributes: int, ways: int, epsilon: float, *, covers: Callable[[int, int, int], int] | None = None
) -> tuple[int, int]:
    """(t, s) for binary attributes where nothing is shuffled: Algorithm 2 of the thesis (CALM, §6.4)."""
    covers = covers or (lambda d, k, s: len(cover(d, k, s)))

    def noise(size: int) -> float:
        cells, e = 2**size, math.exp(epsilon)
        per_cell = min(4 * e, cells - 2 + e) / (e - 1) ** 2
        return float(ways * per_cell * cells / size * attributes / users)

    most = math.floor(_LOCAL_THETA * users)
    upper = 2
    while upper < attributes and noise(upper + 1) <= _LOCAL_THETA:
        upper += 1
    if upper < ways:
        return min(most, math.comb(attributes, upper)), upper
    lower = upper
    while lower > ways and covers(attributes, ways, lower - 1) <= most:
        lower -= 1
    if lower == upper:
        return min(most, math.comb(attributes, upper)), upper
    tried = [(covers(attributes, ways, size), size) for size in range(lower, upper + 1)]
    best = min(tried, key=lambda one: max(one[0] / users, noise(one[1])))
    return best if max(best[0] / users, noise(best[1])) < 1 else (most, upper)
