"""What is claimed of a collection, for each coalition that could turn against a user.

By the theorem where it applies and by exact accounting, which claims less; both are shown. Claims are frozen values,
apart from the code that spends them. Neighbours: one user's value is replaced. Assumed: shufflers follow the protocol
(protocol.md §1) and the encryption holds.
"""

import math
from dataclasses import dataclass

from peos.errors import WrongInput
from peos.ldp.base import Mechanism
from peos.privacy.blanket import blanket_of
from peos.privacy.closed_form import epsilon_server, epsilon_users, fourteen
from peos.privacy.exact import least_epsilon
from peos.shuffle.schedule import Schedule


@dataclass(frozen=True)
class Claim:
    """(ε, δ) against one coalition: by the thesis' theorem, and by exact accounting; None where nothing is claimed."""

    coalition: str
    delta: float
    theorem: float | None
    exact: float | None
    local: float  # holds against every coalition, with δ = 0
    why: str = ""  # why no more than ε_l is claimed, where that is so

    @property
    def epsilon(self) -> float:
        """The least ε that is claimed here, ε_l included."""
        return min(value for value in (self.theorem, self.exact, self.local) if value is not None)

    def to_json(self) -> dict[str, float | None]:
        """The row as scripts read it: these names stay."""
        return {"delta": self.delta, "theorem": self.theorem, "exact": self.exact}

    def in_words(self) -> str:
        """One sentence: who is meant, and what holds."""
        claimed = [
            f"ε = {rounded_up(value)} at δ = {self.delta:g} {how}"
            for value, how in ((self.theorem, "by the theorem"), (self.exact, "by exact accounting"))
            if value is not None and value < self.local
        ]
        if not claimed:
            return (
                f"Against {self.coalition}: no more than ε_l = {rounded_up(self.local)} is claimed, because {self.why}."
            )
        return f"Against {self.coalition}: {', '.join(claimed)}."


@dataclass(frozen=True)
class Guarantees:
    """One claim per coalition; `local` is ε_l, which holds whoever colludes."""

    server: Claim
    users: Claim
    local: float
    shufflers: int

    def to_json(self) -> dict[str, object]:
        """server, users and local, as scripts read them: these names stay."""
        return {"server": self.server.to_json(), "users": self.users.to_json(), "local": self.local}

    @property
    def anyone(self) -> str:
        """The coalition against which ε_l alone is left."""
        return f"the analyzer with {Schedule(self.shufflers).colluders + 1} or more shufflers, and whoever else"

    def in_words(self) -> tuple[str, ...]:
        """A sentence for each coalition, from the weakest to the strongest."""
        last = f"Against {self.anyone}: ε_l = {rounded_up(self.local)}, δ = 0."
        return self.server.in_words(), self.users.in_words(), last


def guarantees(mechanism: Mechanism, users: int, fakes: int, delta: float, shufflers: int = 3) -> Guarantees:
    """What is claimed for `users` honest users (dummies and known Sybils not counted) and `fakes` fake reports.

    Up to c = ⌈r/2⌉ − 1 shufflers change nothing: they know neither the permutation nor the fakes (protocol.md §3, §4).
    """
    if users < 1 or fakes < 0:
        raise WrongInput(
            f"a guarantee needs at least one user and no negative number of fakes, not {users} and {fakes}"
        )
    fourteen(delta)
    local = mechanism.epsilon_local
    few = Schedule(shufflers).colluders
    some = f"{few} of the {shufflers} shufflers" if few == 1 else f"up to {few} of the {shufflers} shufflers"
    exact, exact_alone = (_exact(mechanism, others, fakes, delta) for others in (users - 1, 0))
    if exact is not None and exact_alone is not None:
        exact = min(exact, exact_alone)  # what holds though all others help holds if they do not
    return Guarantees(
        server=Claim(
            f"the analyzer, alone or with {some}",
            delta,
            epsilon_server(mechanism, users, fakes, delta),
            exact,
            local,
            _why(mechanism, fakes + users - 1),
        ),
        users=Claim(
            f"the analyzer with all other users and {some}",
            delta,
            epsilon_users(mechanism, fakes, delta),
            exact_alone,
            local,
            _why(mechanism, fakes),
        ),
        local=local,
        shufflers=shufflers,
    )


def rounded_up(epsilon: float) -> str:
    """ε with four digits after the point, never less than it is."""
    return f"{math.ceil(epsilon * 1e4) / 1e4:.4f}"


def _exact(mechanism: Mechanism, others: int, fakes: int, delta: float) -> float | None:
    """By exact accounting, with `others` users and the fakes to hide among; None if nothing hides."""
    blanket = blanket_of(mechanism)
    return None if blanket is None or others + fakes == 0 else least_epsilon(blanket, others, fakes, delta)


def _why(mechanism: Mechanism, reports: int) -> str:
    if blanket_of(mechanism) is None:
        return f"nothing is known of {mechanism.name} in a shuffle"
    if not reports:
        return "no report hides the user's"
    return "too few reports hide the user's"
