"""The mechanism and the fakes of a task's round: as the planner's local hashing of a list, for keys in hidden groups.

A group's reports are a share of all, for each size and ε_l the same one, so that what is best for one question to all
is best for several, and the error of one frequency is larger by the group's share.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Required, TypedDict

from peos.errors import WrongInput
from peos.ldp.grouped_hash import GroupedHash
from peos.privacy.guarantees import Guarantees, guarantees
from peos.privacy.planner import plan


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
class Planned:
    """A round's mechanism, not yet bound to a question, its fakes, and what is claimed of it."""

    mechanism: GroupedHash
    users: int
    fakes: int
    guarantees: Guarantees


def planned(asked: Asked, weights: Sequence[int]) -> Planned:
    """The least error that keeps to the targets; with ε_l, d' and fakes given, that and what follows from it."""
    if asked.eps_server is None and asked.eps_users is None and isinstance(asked.fakes, int):
        if asked.eps_local is None:
            raise WrongInput("plan.no_target", "no target was given", hint="give eps_server, eps_users or eps_local")
        mechanism, fakes = GroupedHash.build(1, asked.eps_local, asked.d_prime or 0), asked.fakes
    else:
        found = plan(
            asked.users,
            len(weights) + 1,
            asked.delta,
            eps_server=asked.eps_server,
            eps_users=asked.eps_users,
            eps_local=asked.eps_local,
            fakes=asked.fakes,
            d_prime=asked.d_prime,
            mechanism=GroupedHash.name,
            shufflers=asked.shufflers,
        )
        assert isinstance(found.randomizer, GroupedHash), "as it was asked for"
        mechanism, fakes = found.randomizer, found.fakes
    claims = guarantees(mechanism, asked.users, fakes, asked.delta, asked.shufflers)
    return Planned(mechanism.weighted(weights), asked.users, fakes, claims)
