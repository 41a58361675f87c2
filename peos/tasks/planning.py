"""The mechanism and the fakes of a task's round: as the planner's local hashing of a list, for keys in hidden groups.

A group's reports are a share of all, for each size and ε_l the same one, so that what is best for one question to all
is best for several, and the error of one frequency is larger by the group's share.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Generic, Required, TypedDict, TypeVar

from peos.errors import WrongInput
from peos.ldp.base import Mechanism
from peos.ldp.grouped_hash import GroupedHash
from peos.ldp.grouped_tables import GroupedTables
from peos.privacy.guarantees import Guarantees, guarantees
from peos.privacy.planner import Kinds, Plan, plan

_STEP: Final = 1e-4  # of ε_l, beyond what the claim is off

M_co = TypeVar("M_co", bound=Mechanism, covariant=True)


class Targets(TypedDict, total=False):
    """The same, as a task's options."""

    users: Required[int]
    delta: Required[float]
    eps_server: float | None
    eps_users: float | None
    eps_local: float | None
    d_prime: int | None
    fakes: int | str
    shufflers: int


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Users and targets, as `peos.privacy.planner.plan` takes them."""

    users: int
    delta: float
    eps_server: float | None = None
    eps_users: float | None = None
    eps_local: float | None = None
    d_prime: int | None = None
    fakes: int | str = "auto"
    shufflers: int = 3


@dataclass(frozen=True)
class Planned(Generic[M_co]):
    """A round's mechanism, not yet bound to a question, its fakes, and what is claimed of it."""

    mechanism: M_co
    users: int
    fakes: int
    guarantees: Guarantees


def planned(asked: Asked, weights: Sequence[int]) -> Planned[GroupedHash]:
    """The least error that keeps to the targets; with ε_l, d' and fakes given, that and what follows from it."""
    if _is_given(asked):
        mechanism, fakes = GroupedHash.build(1, asked.eps_local or 0.0, asked.d_prime or 0), int(asked.fakes)
    else:
        found = _least_error(asked, GroupedHash.name, len(weights) + 1)
        assert isinstance(found.randomizer, GroupedHash), "as it was asked for"
        mechanism, fakes = found.randomizer, found.fakes
    claims = guarantees(mechanism, asked.users, fakes, asked.delta, asked.shufflers)
    return Planned(mechanism.weighted(weights), asked.users, fakes, claims)


def planned_tables(asked: Asked, tables: Sequence[int], weights: Sequence[int] | None = None) -> Planned[GroupedTables]:
    """The same for tables of these numbers of cells.

    A uniform word is in a cell of a record's as often as with one table of Σπ_jL_j/Σπ_j cells. Where that is no whole
    number the claim is a little above that of the next one, so ε_l is lowered until it keeps to the targets again.
    """
    if _is_given(asked):
        mechanism, fakes = GroupedTables(tables, asked.eps_local or 0.0, weights=weights), int(asked.fakes)
        claims = guarantees(mechanism, asked.users, fakes, asked.delta, asked.shufflers)
        return Planned(mechanism, asked.users, fakes, claims)
    own = [1] * len(tables) if weights is None else weights
    cells = -(-sum(size * weight for size, weight in zip(tables, own, strict=True)) // sum(own))
    found = _least_error(asked, GroupedTables.name, cells)
    epsilon = found.eps_local
    while True:
        mechanism = GroupedTables(tables, epsilon, weights=weights)
        claims = guarantees(mechanism, asked.users, found.fakes, asked.delta, asked.shufflers)
        excess = max((claim / target for claim, target in _claimed(claims, asked) if target is not None), default=0.0)
        if excess <= 1.0:
            return Planned(mechanism, asked.users, found.fakes, claims)
        epsilon -= 2 * math.log(excess) + _STEP


def planned_among(asked: Asked, users: int, domain: int, kinds: Kinds) -> Planned[Mechanism]:
    """The least error of these families for a round of so many users that keeps to the targets of all rounds."""
    found = _least_error(replace(asked, users=users, d_prime=None), kinds, domain)
    return Planned(found.randomizer, users, found.fakes, found.guarantees)


def planned_as(asked: Asked, users: int, mechanism: Mechanism) -> Planned[Mechanism]:
    """A mechanism that is given, with the fakes that are, and what is claimed of a round of so many users."""
    fakes = asked.fakes if isinstance(asked.fakes, int) else 0
    return Planned(mechanism, users, fakes, guarantees(mechanism, users, fakes, asked.delta, asked.shufflers))


def _claimed(claims: Guarantees, asked: Asked) -> list[tuple[float, float | None]]:
    return [(claims.server.epsilon, asked.eps_server), (claims.users.epsilon, asked.eps_users)]


def _is_given(asked: Asked) -> bool:
    """Whether nothing is left to choose: ε_l and the fakes are named, and no other target is."""
    if asked.eps_server is not None or asked.eps_users is not None or not isinstance(asked.fakes, int):
        return False
    if asked.eps_local is None:
        raise WrongInput("plan.no_target", "no target was given", hint="give eps_server, eps_users or eps_local")
    return True


def _least_error(asked: Asked, mechanism: str | Kinds, domain: int) -> Plan:
    return plan(
        asked.users,
        domain,
        asked.delta,
        eps_server=asked.eps_server,
        eps_users=asked.eps_users,
        eps_local=asked.eps_local,
        fakes=asked.fakes,
        d_prime=asked.d_prime,
        mechanism=mechanism,
        shufflers=asked.shufflers,
    )
