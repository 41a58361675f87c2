"""Tables of any few attributes of what users hold, from one collection: `Marginals`.

    task = Marginals({"smokes": ["no", "yes"], "age": ["under 30", "older"]}, ways=2, users=100_000, delta=1e-6,
                     eps_server=1.0, eps_local=8.0)
    task.in_words()
    answer = run_study(task, records)
    answer.table("smokes", "age").frequency

Each user's device draws one of the planned tables and sends her cell in it, or anything (`peos.ldp.grouped_tables`).
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final, Unpack

import numpy as np

from peos.errors import WrongInput
from peos.ldp.base import whole_number
from peos.tasks.base import OfTables, Table
from peos.tasks.cell_views import AttributesView, Axis
from peos.tasks.marginals.answer import MarginalsAnswer
from peos.tasks.marginals.choice import Design, choose, of_blocks
from peos.tasks.marginals.consistency import Overlaps
from peos.tasks.planning import Asked, Targets
from peos.tasks.schema import Schema
from peos.tasks.texts import Records

MOST_WAYS: Final = 8
_MOST_SIZE: Final = 4_096  # values of one attribute


class Marginals(OfTables):
    """Tables of up to `ways` attributes of a schema, planned for the least error; or over the `tables` that are named.

    A table of more attributes, or of some that no table has together, is answered by maximum entropy.
    """

    def __init__(
        self,
        schema: Schema | Mapping[str, object],
        *,
        ways: int = 2,
        tables: Sequence[Sequence[str]] | None = None,
        **asked: Unpack[Targets],
    ) -> None:
        self.schema = Schema.of(schema)
        most = min(MOST_WAYS, len(self.schema))
        self.ways = whole_number(ways, "the number of attributes of a table, ways,", least=1, most=most)
        self.tables = tables
        self.asked = Asked(**asked)
        for attribute in self.schema:
            if attribute.size > _MOST_SIZE or (attribute.real and not attribute.parts):
                raise WrongInput(
                    "marginals.parts",
                    f"{attribute.in_words} has too many values for a table",
                    hint=f"cut it: {attribute.name} = {{from = …, to = …, parts = 10}}",
                )

    @cached_property
    def design(self) -> Design:
        """Which tables are asked, and what is expected of them."""
        if self.tables is None:
            return choose(self.schema.sizes, self.ways, self.asked)
        blocks = [tuple(sorted(self.schema.places(names))) for names in self.tables]
        missing = {*range(len(self.schema))} - {one for block in blocks for one in block}
        if missing or len({*blocks}) < len(blocks):
            raise WrongInput("marginals.tables", "the tables that are named have each attribute, and are different")
        return of_blocks(self.schema.sizes, blocks, self.ways, self.asked)

    @cached_property
    def overlaps(self) -> Overlaps:
        """Its tables' attributes."""
        return Overlaps(self.design.blocks, self.schema.sizes)

    @property
    def views(self) -> tuple[AttributesView, ...]:
        """One a table."""
        attributes = self.schema.attributes
        return tuple(AttributesView(tuple(Axis(attributes[one]) for one in block)) for block in self.design.blocks)

    def labels(self, records: Records) -> Sequence[str]:
        """The cells that each record is in, of every table."""
        found: list[str] = []
        for view in self.views:
            cells = np.array(self._named(view))
            found += cells[view.cell_of(view.read(records))].tolist()
        return found

    @property
    def named(self) -> list[str]:
        """By their attributes' values."""
        return [name for view in self.views for name in self._named(view)]

    def _named(self, view: AttributesView) -> list[str]:
        """What each cell of a table is called."""
        named = [""]
        for axis in view.axes:
            attribute = axis.attribute
            named = [f"{before}, {attribute.name} {cell}" for before in named for cell in attribute.cells]
        return [one.removeprefix(", ") for one in named]

    def answer(self, found: Table) -> MarginalsAnswer:
        """Of any attributes."""
        return MarginalsAnswer(found, schema=self.schema, overlaps=self.overlaps, plan=self.plan)
