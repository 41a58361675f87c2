"""What this analyzer's collections give away of each population, from what its store knows of them.

Counted is every collection that users may have answered: one that was given up before its invitation was written is
not, and one that was aborted later is, since nobody can tell what had been delivered of it.
"""

import json
from typing import Any, Final

from analyzer.home import Home
from analyzer.store import Kept
from peos.collection.claims import hiding_fakes
from peos.collection.lifecycle import State
from peos.privacy.composition import Release
from peos.privacy.ledger import Budget, Ledger

EVERYBODY: Final = ""
"""The population of collections that name none."""


def ledger_of(home: Home, population: str, budget: Budget) -> Ledger:
    """The population's ledger, as it stands."""
    known = (kept for kept in home.store.all() if _counts(kept))
    return Ledger(budget, tuple(_release(home, kept) for kept in known if _population(kept) == population))


def populations(home: Home) -> list[str]:
    """Whom this analyzer has asked, by name."""
    return sorted({_population(kept) for kept in home.store.all() if _counts(kept)})


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
        "budget": ledger.budget.epsilon,
    }


def _counts(kept: Kept) -> bool:
    return kept.opened_at is not None or kept.state not in (State.DRAFT, State.ABORTED)


def _population(kept: Kept) -> str:
    return str(json.loads(kept.request).get("population", EVERYBODY))


def _release(home: Home, kept: Kept) -> Release:
    """With the users who took part where that is known, else with those that were expected."""
    document = home.signed(kept).document
    users = json.loads(kept.result)["users"] if kept.result else json.loads(kept.request)["users"]
    return Release(kept.name, document.mechanism, hiding=max(0, int(users) - 1), fakes=hiding_fakes(document))
