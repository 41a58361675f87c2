"""The privacy loss of this analyzer's collections for each population, from its store.

Counted is every collection that users may have answered: one that was given up before its invitation was written is
not, and one that was aborted later is, since it is unknown what had been delivered of it.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from analyzer.store import CollectionRow
from analyzer.workspace import Workspace
from peos.collection.lifecycle import State
from peos.privacy.composition import Release, Study
from peos.privacy.ledger import Budget, Ledger
from peos.spec import EVERYBODY


def ledger_of(workspace: Workspace, population: str, budget: Budget) -> Ledger:
    """The population's ledger, as it stands: a study is one entry, aborted rounds included."""
    known = (kept for kept in workspace.store.all() if _counts(kept) and population_of(kept.request) == population)
    single: list[Release | Study] = []
    studies: dict[str, list[Release]] = {}
    for kept in known:
        study = workspace.store.study_of(kept.digest)
        if study is None:
            single.append(_release(workspace, kept))
        else:
            studies.setdefault(study.name, []).append(_release(workspace, kept))
    return Ledger(budget, (*single, *(Study(name, tuple(rounds)) for name, rounds in studies.items())))


def require_affordable(
    workspace: Workspace, population: str, name: str, rounds: Sequence[Release], budget: Budget
) -> None:
    """Refuse a collection, or rounds of a study, beyond the population's budget: of a study all rounds count once."""
    found = ledger_of(workspace, population, budget)
    known = [one for one in found.releases if one.name == name]
    others = tuple(one for one in found.releases if one.name != name)
    together = (*(part for one in known for part in one.rounds), *rounds)
    Ledger(budget, others).with_release(together[0] if len(together) == 1 else Study(name, together))


def together(workspace: Workspace, kept: CollectionRow, users: int) -> dict[str, Any] | None:
    """For result.json: what the population has given away in all its collections, this one with `users` counted.

    Nothing where no budget is set, and so no ledger kept. The other collections are not named: they may not be public.
    """
    budget = workspace.config.budget
    if budget is None:
        return None
    others = [
        one for one in ledger_of(workspace, population_of(kept.request), budget).releases if one.name != kept.name
    ]
    ledger = Ledger(budget, (*others, _release(workspace, kept, users)))
    return {
        "collections": len(ledger.releases),
        "server": ledger.spent.epsilon,
        "users": ledger.spent_alone.epsilon,
        "delta": budget.delta,
        "budget": budget.epsilon,
    }


def history(workspace: Workspace, population: str, budget: Budget) -> dict[str, Any]:
    """The population's ledger, and what had been given away after each collection, in the order in which they opened.

    A study stands where its first round opened, all its rounds with it.
    """
    found = ledger_of(workspace, population, budget)
    opened = dict(sorted(_opened(workspace), key=lambda one: -one[1]))  # the earliest of each stays
    releases = sorted(found.releases, key=lambda release: opened[release.name])
    points = []
    for count, release in enumerate(releases, start=1):
        so_far = Ledger(budget, tuple(releases[:count]))
        points.append({"name": release.name, "at": opened[release.name], "spent": so_far.spent.epsilon})
    return {**to_json(population, found), "shown": shown(population), "points": points}


def _opened(workspace: Workspace) -> Iterator[tuple[str, float]]:
    for kept in workspace.store.all():
        study = workspace.store.study_of(kept.digest)
        yield study.name if study else kept.name, kept.opened_at or kept.since


def populations(workspace: Workspace) -> list[str]:
    """Whom this analyzer has asked, by name."""
    return sorted({population_of(kept.request) for kept in workspace.store.all() if _counts(kept)})


def shown(population: str) -> str:
    """The population's name as people read it."""
    return population or "everybody"


def to_json(population: str, ledger: Ledger) -> dict[str, Any]:
    """For --json."""
    return {
        "population": population,
        "collections": [release.name for release in ledger.releases],
        "epsilon": ledger.spent.epsilon,
        "delta": ledger.budget.delta,
        "by": ledger.spent.by,
        "epsilon_users": ledger.spent_alone.epsilon,
        "by_users": ledger.spent_alone.by,
        "budget": ledger.budget.epsilon,
    }


def _counts(kept: CollectionRow) -> bool:
    return kept.opened_at is not None or kept.state not in (State.DRAFT, State.ABORTED)


def population_of(request: str) -> str:
    """Whose budget what was asked counts against: of a collection's request, or a study's."""
    return str(json.loads(request).get("population", EVERYBODY))


def _release(workspace: Workspace, kept: CollectionRow, users: int | None = None) -> Release:
    """With the users who were counted once there is a result; until then, and without one, with the fewest allowed."""
    document = workspace.signed(kept).document
    if users is None:
        users = int(json.loads(kept.result)["users"]) if kept.result else document.minimum
    hiding, fakes = max(0, users - 1), document.hiding_fakes
    return Release(kept.name, document.mechanism, hiding, fakes, least=document.minimum - 1)
