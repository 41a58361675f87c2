"""What a collection of hidden tables answers: a table of any attributes, with its errors, and what rests on tables.

From a Table of all cells: the unbiased estimates of each table, how many reports it had, and what was planned. A table
that was made by many more reports than chance explains is left out (privacy.md §4).
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Final

import numpy as np

from peos.crypto.randomness import Randomness
from peos.errors import Refused
from peos.estimate.grouped import odd_sizes
from peos.ldp.grouped_tables import GroupedTables
from peos.tasks.base import Answer
from peos.tasks.marginals.consistency import Overlaps
from peos.tasks.marginals.estimates import Fit, TableAnswer, combined
from peos.tasks.marginals.independence import Independence, chi_square, expected
from peos.tasks.marginals.maxent import covering
from peos.tasks.marginals.tree import Synthetic, Tree, chow_liu
from peos.tasks.planning import Planned
from peos.tasks.schema import Schema

_MOST_SHOWN: Final = 20_000  # cells of the tables in a result


@dataclass(frozen=True, eq=False, repr=False)
class MarginalsAnswer(Answer):
    """`table(*attributes)`, and what follows from tables; `found` are the cells of the tables that were asked."""

    schema: Schema = field(kw_only=True)
    overlaps: Overlaps = field(kw_only=True)
    plan: Planned[GroupedTables] = field(kw_only=True)

    @cached_property
    def flooded(self) -> tuple[int, ...]:
        """The tables with more reports than chance explains, at 10⁻⁶ for all of them together.

        What one has too many of, the others lack: so the worst is left out, and the rest held against their law again.
        """
        sizes = np.array(self.found.sizes)
        shares = self.plan.mechanism.shares_among(self.found.users, self.plan.fakes)
        left, found = np.arange(len(sizes)), []
        while len(left) > 1 and odd_sizes(sizes[left].tolist(), (shares[left] / shares[left].sum()).tolist()):
            worst = left[np.argmax(sizes[left] / shares[left])]
            found.append(int(worst))
            left = left[left != worst]
        return tuple(sorted(found))

    @property
    def checks(self) -> dict[str, bool]:
        """By table, as its attributes are called: whether its number of reports is explained by chance."""
        named = {", ".join(self._names(block)): at for at, block in enumerate(self.overlaps.blocks)}
        return {f"reports of the table {name}": at not in self.flooded for name, at in named.items()}

    @cached_property
    def _fit(self) -> Fit:
        """The tables that are not flooded."""
        kept = [at for at in range(len(self.overlaps.blocks)) if at not in self.flooded]
        ends = np.cumsum([0, *(self.overlaps.cells(block) for block in self.overlaps.blocks)])
        tables = tuple(
            self.found.frequency[ends[at] : ends[at + 1]].reshape(1, *self.overlaps.shape(self.overlaps.blocks[at]))
            for at in kept
        )
        oracles = self.plan.mechanism.oracles
        return Fit(
            replace(self.overlaps, blocks=tuple(self.overlaps.blocks[at] for at in kept)),
            tables,
            tuple(oracles[at] for at in kept),
            tuple(self.found.sizes[at] for at in kept),
            self.found.users,
            self.plan.fakes,
        )

    def table(self, *attributes: str) -> TableAnswer:
        """Shares of the users, an axis for each attribute in the order asked, cells as the schema lists them."""
        places = self.schema.places(attributes)
        self._require_left(places)
        cells = tuple(self.schema.attributes[place].cells for place in places)
        return TableAnswer(attributes, cells, self._fit, places)

    def _require_left(self, places: tuple[int, ...]) -> None:
        """Refuse what only flooded tables knew: attributes, or pairs, that no table has that was kept."""
        if not self.flooded:
            return
        for known in (*combinations(places, 1), *combinations(places, 2)):
            if covering(self.overlaps, known) and not covering(self._fit.overlaps, known):
                raise Refused(
                    "marginals.flooded",
                    f"the reports of the tables with {' and '.join(self._names(known))} are not users' own: reports "
                    "were made for these tables on purpose",
                    hint=_ASK_AGAIN,
                )

    def _names(self, places: tuple[int, ...]) -> list[str]:
        return [self.schema.names[place] for place in places]

    def independence(self, one: str, other: str, level: float = 0.05) -> Independence:
        """Pearson's test of two attributes that a table has together, with the privacy noise in its threshold."""
        places = self.schema.places((one, other))
        self._require_left(places)
        unbiased = combined(self._fit, places)
        if unbiased is None:
            raise Refused(
                "marginals.apart", f"no table has {one} and {other} together", hint="name them as a table of the task"
            )
        even = expected(unbiased.frequency, self.found.users)
        return chi_square(unbiased.frequency, unbiased.covariance(even), self.found.users, level)

    def tree(self) -> Tree:
        """The tree of most mutual information over all attributes."""
        return chow_liu(self.schema, lambda one, other: self.table(one, other).frequency)

    def synthetic(self, count: int, rng: Randomness | None = None) -> Synthetic:
        """Made-up records, drawn from the tree."""
        return self.tree().synthetic(count, rng)

    def more(self) -> dict[str, Any]:
        """The tables of single attributes, and those of pairs as long as they are few, for results and pages."""
        asked = [(name,) for name in self.schema.names]
        sizes = self.schema.sizes
        if sum(a * b for a, b in combinations(sizes, 2)) <= _MOST_SHOWN:
            asked += combinations(self.schema.names, 2)  # type: ignore[arg-type] # tuples of names, of two lengths
        return {"tables": [self.table(*names).to_json() for names in asked]}


_ASK_AGAIN: Final = "ask again in another collection, with other tickets"
