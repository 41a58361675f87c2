"""Results for a user: the outcome of her submission, its status, her ledger."""

from dataclasses import dataclass
from typing import Any

from peos.client.ledger import MILLIONTHS, Charge
from peos.net.submit import Refusal


@dataclass(frozen=True)
class Result:
    """The outcome of one submission.

    `repeated` says that the answer had been given before: the record was not used, and nothing was randomised again.
    `is_asked` is false of a ticket that is for another round of the study: nothing was sent, nor should be.
    """

    ticket: bytes  # its id
    accepted: bool
    repeated: bool
    refusals: tuple[Refusal, ...] = ()
    is_asked: bool = True


@dataclass(frozen=True)
class CollectionStatus:
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
class Ledger:
    """All that was ever charged here: to the folder's owner, and to others, who are users of `submit-file`."""

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
        "known_by": "name" if charge.is_named else "ticket",
        "study": charge.study.hex() if charge.study else None,
        "round": charge.round or None,
    }
