"""`items` and `item-sets`: which items, and which sets of items, are frequent in users' lists."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from peos.errors import WrongInput
from peos.tasks.base import Task
from peos.tasks.items.ldp_miner import LDPMiner
from peos.tasks.items.rounds import ItemTask
from peos.tasks.items.svim import SVIM
from peos.tasks.items.svsm import SVSM
from peos.tasks.items.svsm_ldp_miner import SVSMLDPMiner
from peos.tasks.items.truth import DEMO_ITEMS, demo_lists
from peos.tasks.kinds import Option, TaskKind
from peos.tasks.planning import Targets

_ITEMS: Final[Mapping[str, type[ItemTask]]] = {"svim": SVIM, "ldp-miner": LDPMiner}
_SETS: Final[Mapping[str, type[ItemTask]]] = {"svsm": SVSM, "svsm-ldp-miner": SVSMLDPMiner}


def _made(known: Mapping[str, type[ItemTask]], given: Mapping[str, Any], targets: Targets) -> Task:
    first = next(iter(known))
    algorithm = first if given["algorithm"] == "default" else given["algorithm"]
    if algorithm not in known:
        raise WrongInput(
            "task.algorithm",
            f"there is no search {algorithm[:80]!r} for this task",
            hint=f"it is one of default, {', '.join(known)}",
        )
    if (given["items"] is None) == (given["names"] is None):
        raise WrongInput(
            "task.option_missing",
            "the items are a number of them, or their names",
            hint="give items or names, one of both",
        )
    return known[algorithm](given["items"] if given["names"] is None else given["names"], given["top"], **targets)


def _items(given: Mapping[str, Any], targets: Targets) -> Task:
    return _made(_ITEMS, given, targets)


def _sets(given: Mapping[str, Any], targets: Targets) -> Task:
    return _made(_SETS, given, targets)


def _lists(given: Mapping[str, Any], users: int, seed: int | None) -> Sequence[object]:
    """As numbers, or by the names that are given."""
    lists = demo_lists(users, np.random.default_rng(seed))  # what a demo pretends is no secret
    names = given.get("names")
    return [[names[item] for item in one if item < len(names)] for one in lists] if names else list(lists)


def _options(known: Mapping[str, type[ItemTask]], wanted: str) -> tuple[Option, ...]:
    return (
        Option("items", int, "Number of items, 0, 1, …; or --names.", None),
        Option("names", list, "Names of the items, one a line.", None),
        Option("top", int, f"Number of {wanted} wanted.", 16),
        Option("algorithm", str, f"Search: default, {', '.join(known)}.", "default"),
    )


_DEMO: Final = {"users": 9_000, "items": DEMO_ITEMS, "top": 16}

ITEMS: Final = TaskKind(
    name="items",
    about="frequent items of users' lists",
    question="What is on your list?",
    options=_options(_ITEMS, "items"),
    build=_items,
    demo=_DEMO,
    records=_lists,
)

ITEM_SETS: Final = TaskKind(
    name="item-sets",
    about="frequent items and item sets of users' lists",
    question="What is on your list?",
    options=_options(_SETS, "items and item sets"),
    build=_sets,
    demo=_DEMO,
    records=_lists,
)
