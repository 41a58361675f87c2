"""`marginals`: tables of a few attributes of what users hold, by name for command lines and studies."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from peos.tasks.base import Task
from peos.tasks.kinds import Option, TaskKind
from peos.tasks.marginals.task import Marginals
from peos.tasks.planning import Targets
from peos.tasks.schema import Schema

_DEMO: Final[Mapping[str, object]] = {
    "smokes": ["no", "yes"],
    "age": {"from": 18, "to": 97, "parts": 4},
    "region": ["north", "east", "south", "west"],
    "exercises": ["never", "sometimes", "often"],
}
_LOADING: Final = 0.6  # how much of each attribute a common factor decides


def _build(given: Mapping[str, Any], targets: Targets) -> Task:
    tables = (
        None if given["tables"] is None else [[name.strip() for name in line.split(",")] for line in given["tables"]]
    )
    return Marginals(given["schema"], ways=given["ways"], tables=tables, **targets)


def _people(given: Mapping[str, Any], users: int, seed: int | None) -> Sequence[object]:
    """Records whose attributes have one factor in common."""
    seeded = np.random.default_rng(seed)  # what a demo pretends is no secret
    factor, columns = seeded.standard_normal(users), []
    schema = Schema.of(given["schema"])
    for attribute in schema:
        held = _LOADING * factor + (1 - _LOADING**2) ** 0.5 * seeded.standard_normal(users)
        places = np.argsort(np.argsort(held)) / users  # evenly from 0 to 1
        if attribute.labels:
            columns.append([attribute.labels[one] for one in (places**1.5 * attribute.size).astype(int).tolist()])
        else:
            numbers = attribute.first + places * (attribute.last - attribute.first)
            columns.append((numbers if attribute.real else np.round(numbers).astype(int)).tolist())
    return [dict(zip(schema.names, row, strict=True)) for row in zip(*columns, strict=True)]


MARGINALS: Final = TaskKind(
    name="marginals",
    about="tables of a few attributes of each record, together",
    question="Which of these are you?",
    options=(
        Option("schema", dict, "TOML file of attributes: labels, or from and to."),
        Option("ways", int, "Number of attributes of a table that the plan is best for.", 2),
        Option("tables", list, "Tables to ask, attributes separated by commas [default: by the plan].", None),
    ),
    build=_build,
    demo={"users": 6_000, "schema": _DEMO, "ways": 2},
    records=_people,
)
