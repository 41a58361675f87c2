"""What the sequential shuffle guarantees: order hides as long as one shuffler is honest, fakes only if theirs is.

A shuffler knows the fakes that it drew, so with j of r colluding n_r·(r − j)/r fakes are left (protocol.md §9). Claims
assume, as everywhere, that those who collude follow the protocol; in a sequential shuffle one that does not can replace
every other report, and leave a user with the fakes of the honest alone.
"""

from dataclasses import dataclass, replace
from typing import Final

from peos.ldp.base import Mechanism
from peos.privacy.guarantees import Claim, Guarantees, guarantees
from peos.shuffle.fakes import own_fakes
from peos.shuffle.schedule import Schedule

WEAKER: Final = (
    "a sequential shuffle protects less than PEOS: a shuffler may choose its fakes, and replace reports with only spot "
    "checks to notice (docs/protocol.md §9)"
)


@dataclass(frozen=True)
class Colluding:
    """What is claimed with so many shufflers on the analyzer's side."""

    shufflers: int
    fakes: int  # of the others: those that still hide a user
    server: Claim
    users: Claim

    def to_json(self) -> dict[str, object]:
        """The row as scripts read it."""
        claims = {"server": self.server.to_json(), "users": self.users.to_json()}
        return {"shufflers": self.shufflers, "fakes": self.fakes, **claims}


@dataclass(frozen=True)
class SequentialGuarantees(Guarantees):
    """As for PEOS against as many shufflers as PEOS allows for, fewer fakes counted; and for every other number."""

    colluding: tuple[Colluding, ...] = ()

    def to_json(self) -> dict[str, object]:
        """PEOS' keys, and `colluding`: a row for each number of shufflers."""
        return {**super().to_json(), "colluding": [row.to_json() for row in self.colluding]}

    @property
    def anyone(self) -> str:
        """The coalition against which ε_l alone is left."""
        return f"the analyzer with all {self.shufflers} shufflers, and anyone else"

    def in_words(self) -> tuple[str, ...]:
        """PEOS' three coalitions, then the numbers of shufflers that these do not name."""
        few = Schedule(self.shufflers).colluders
        others = [row for row in self.colluding if row.shufflers != few]
        return (*super().in_words(), *(claim.in_words() for row in others for claim in (row.server, row.users)))


def sequential_guarantees(
    mechanism: Mechanism, users: int, fakes: int, delta: float, shufflers: int
) -> SequentialGuarantees:
    """What is claimed for `users` honest users and fakes of which each shuffler draws its share."""
    rows = tuple(_colluding(mechanism, users, fakes, delta, shufflers, count) for count in range(shufflers))
    peos = rows[Schedule(shufflers).colluders]
    return SequentialGuarantees(peos.server, peos.users, mechanism.epsilon_local, shufflers, rows)


def remaining(fakes: int, shufflers: int, colluding: int) -> int:
    """The fakes of the honest, if those collude that drew the most."""
    return sum(own_fakes(fakes, shufflers, who) for who in range(colluding + 1, shufflers + 1))


def fakes_for(needed: int, shufflers: int) -> int:
    """How many fakes there must be for `needed` to be left with as many shufflers colluding as PEOS allows for."""
    few = Schedule(shufflers).colluders
    total = needed * shufflers // (shufflers - few)
    while remaining(total, shufflers, few) < needed:
        total += 1
    return total


def honest_fakes(asked: str, shufflers: int) -> str:
    """What a plan may count on of the fakes that were asked for, a number or `auto`."""
    return str(remaining(int(asked), shufflers, Schedule(shufflers).colluders)) if asked.isdecimal() else asked


def all_fakes(asked: str, planned: int, shufflers: int) -> int:
    """How many fakes there are to be, if a plan counts on `planned` of the honest."""
    return int(asked) if asked.isdecimal() else fakes_for(planned, shufflers)


def _colluding(mechanism: Mechanism, users: int, fakes: int, delta: float, shufflers: int, count: int) -> Colluding:
    left = remaining(fakes, shufflers, count)
    found = guarantees(mechanism, users, left, delta, shufflers)
    some = f"{count} of the {shufflers} shufflers, whose fakes do not count ({left:,} do)"
    server = f"the analyzer with {some}" if count else "the analyzer alone"
    everybody = f"the analyzer with all other users and {some}" if count else "the analyzer with all other users"
    return Colluding(count, left, replace(found.server, coalition=server), replace(found.users, coalition=everybody))
