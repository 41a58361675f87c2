"""What a user is told: what became of her report, where it stands, what she has spent."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any, Final

from peos.net.submit import Refusal

MILLIONTHS: Final = 1_000_000


def charge_of(epsilon: float) -> int:
    """ε in millionths, rounded up: what a report costs."""
    return ceil(Fraction(epsilon) * MILLIONTHS)


def budget_of(epsilon: float) -> int:
    """ε in millionths, rounded down: what may be spent."""
    return floor(Fraction(epsilon) * MILLIONTHS)


def shown(millionths: int) -> str:
    """Millionths as people read them, exactly."""
    whole, rest = divmod(millionths, MILLIONTHS)
    return f"{whole}.{rest:06}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class Result:
    """What became of one submission.

    `repeated` says that the answer had been given before: the value was not used, and nothing was randomised again.
    """

    ticket: bytes  # its id
    accepted: bool
    repeated: bool
    refusals: tuple[Refusal, ...] = ()


@dataclass(frozen=True)
class Standing:
    """Where a collection stands in a user's memory (or many users')."""

    collection: bytes
    question: str
    closes_at: int
    prepared: int
    accepted: int
    acknowledged: dict[str, int]  # by shuffler
    refused: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """For --json."""
        return {
            "collection": self.collection.hex(),
            "question": self.question,
            "closes_at": self.closes_at,
            "prepared": self.prepared,
            "accepted": self.accepted,
            "acknowledged": self.acknowledged,
            "missing": {name: self.prepared - count for name, count in self.acknowledged.items()},
            "refused": list(self.refused),
        }


@dataclass(frozen=True)
class Charge:
    """What one collection has cost: each of `users` paid `cost` (millionths of ε_l) once."""

    collection: bytes
    question: str
    users: int
    cost: int


@dataclass(frozen=True)
class Ledger:
    """All that was ever charged here. `own` is the folder's owner; others are users of `submit-file`, by ticket."""

    budget: int
    own_spent: int
    own: tuple[Charge, ...]
    others: tuple[Charge, ...]
    most_spent_by_another: int

    def to_json(self) -> dict[str, Any]:
        """For --json."""
        return {
            "budget": self.budget / MILLIONTHS,
            "spent": self.own_spent / MILLIONTHS,
            "left": max(self.budget - self.own_spent, 0) / MILLIONTHS,
            "charges": [_charge(charge) for charge in self.own],
            "others": [_charge(charge) for charge in self.others],
            "most_spent_by_another": self.most_spent_by_another / MILLIONTHS,
        }


def _charge(charge: Charge) -> dict[str, Any]:
    return {
        "collection": charge.collection.hex(),
        "question": charge.question,
        "users": charge.users,
        "eps_local": charge.cost / MILLIONTHS,
    }
