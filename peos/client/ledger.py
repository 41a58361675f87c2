"""What a user has answered and spent, and what she may still spend; in whole millionths of ε_l."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Final

from peos.client.consent import Consent
from peos.errors import Refused

MILLIONTHS: Final = 1_000_000
_NAMED: Final = 5


@dataclass(frozen=True)
class Charge:
    """What one collection has cost: each of `users` paid `cost` (millionths of ε_l) once."""

    collection: bytes
    question: str
    users: int
    cost: int
    study: bytes | None = None  # where the collection is a round of one,
    round: int = 0  # and which
    is_named: bool = False  # whether the users are known by name, and not by their tickets


@dataclass(frozen=True)
class Ledger:
    """One user's, as far as it decides about one question. `answered`: the collection and ticket of her report."""

    budget: int
    spent: int = 0
    answered: tuple[bytes, bytes] | None = None
    charges: tuple[Charge, ...] = ()
    in_study: tuple[bytes, int] | None = None  # the collection and round of the question's study that she answered


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


def charge(consent: Consent, ledger: Ledger) -> int:
    """What a first answer costs her; Refused if she answered it or its study before, it closed, or she spent all."""
    cost = charge_of(consent.document.mechanism.epsilon_local)
    if ledger.answered is not None:
        raise _answered(consent, *ledger.answered)
    if ledger.in_study is not None:
        collection, number = ledger.in_study
        raise Refused(
            "consent.other_round",
            f"round {number} of this study was answered already, in collection {collection.hex()[:8]}…",
            hint="one round a study: a second answer would make the first less private",
        )
    if consent.closed_at:
        raise Refused(
            "consent.closed",
            f"the collection takes no new answers any more: it has closed at {consent.closed_at}",
            hint="nothing was sent, and nothing is spent; wait for another invitation",
        )
    if ledger.spent + cost > ledger.budget:
        raise Refused(
            "consent.budget",
            f"this answer costs ε_l = {shown(cost)}, and of the budget of {shown(ledger.budget)} "
            f"{shown(ledger.spent)} is spent{_on(ledger.charges)}",
            hint="nothing was sent; the limit is `budget` of client.toml",
        )
    return cost


def _answered(consent: Consent, collection: bytes, ticket: bytes) -> Refused:
    if collection == consent.digest:
        return Refused(
            "consent.answered",
            f"this collection was answered already, under the ticket {ticket.hex()[:8]}…",
            hint="one answer per person: a second one would make the first less private",
        )
    return Refused(
        "consent.answered_question",
        f"this question was answered already, in collection {collection.hex()[:8]}…, and a remembered report goes "
        "into another collection only with tombstones of the first one's shufflers, which cannot be shown yet",
        hint="nothing was sent; the analyzer may ask anew under another epoch",
    )


def _on(charges: Sequence[Charge]) -> str:
    named = [f"collection {one.collection.hex()[:8]}… ({shown(one.cost)})" for one in charges[:_NAMED]]
    if len(charges) > _NAMED:
        named.append(f"{len(charges) - _NAMED} more")
    return f", on {', '.join(named)}" if named else ""
