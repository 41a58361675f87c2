"""`ranges`: counts, sums and means over ranges of what users hold, as command lines ask for it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from peos.tasks.base import Task
from peos.tasks.kinds import Option, TaskKind
from peos.tasks.planning import Targets
from peos.tasks.ranges.task import Ranges
from peos.tasks.schema import Schema


def _build(given: Mapping[str, Any], targets: Targets) -> Task:
    return Ranges(given["schema"], given["dimensions"], measure=given["measure"], points=given["points"], **targets)


def _people(given: Mapping[str, Any], users: int, seed: int | None) -> Sequence[object]:
    """Numbers around one factor, and labels of which the first are frequent."""
    seeded = np.random.default_rng(seed)  # what a demo pretends is no secret
    factor, columns = seeded.normal(size=users), {}
    for attribute in Schema.of(given["schema"]):
        place = np.clip((0.6 * factor + 0.8 * seeded.normal(size=users)) / 6 + 0.45, 0.0, 0.999)
        if attribute.labels:
            law = 0.6 ** np.arange(attribute.size)
            chosen = seeded.choice(attribute.size, users, p=law / law.sum())
            columns[attribute.name] = [attribute.labels[one] for one in chosen.tolist()]
        else:
            values = [attribute.value_at(one * attribute.size) for one in place.tolist()]
            columns[attribute.name] = values if attribute.real else [int(one) for one in values]
    return [dict(zip(columns, one, strict=True)) for one in zip(*columns.values(), strict=True)]


RANGES: Final = TaskKind(
    name="ranges",
    about="counts, sums and means over ranges of what users hold",
    question="What is in your record?",
    options=(
        Option("schema", dict, "Attributes of a record: a TOML file."),
        Option("dimensions", list, "Attributes that are asked for by ranges [default: all but the measure].", None),
        Option("measure", str, "Number whose sums are asked for; it is rounded into the report.", ""),
        Option("points", int, "Points that the measure is rounded to [default: chosen].", 0),
    ),
    build=_build,
    demo={"users": 6_000, "schema": {"age": {"from": 0, "to": 99}}},
    records=_people,
)
