"""What is claimed of a collection, for each coalition that could turn against a user.

By the theorem where it applies and by exact accounting, which claims less; both are shown. Claims are frozen values,
apart from the code that spends them. Neighbours: one user's value is replaced. Assumed: shufflers follow the protocol
(protocol.md §1) and the encryption holds; against the analyzer alone also that the other users are honest: their
reports hide hers, and a user whom the analyzer made up, or who sends what is not randomised, hides no one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from peos.errors import WrongInput
from peos.ldp.base import Mechanism
from peos.privacy.exact import least_epsilon
from peos.privacy.theorem import epsilon_server, epsilon_users, fourteen
from peos.shuffle.schedule import Schedule

_SMALL: Final = 0.01  # probabilities below are powers of ten
_RAISED: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
HONEST: Final = (
    "ε_c assumes that the other users are honest: the organisation that hands out tickets could add users of its own."
)
"""Of every claim that counts on other users' reports; those against all other users and against everybody do not."""


@dataclass(frozen=True)
class Claim:
    """(ε, δ) against one coalition: by the thesis' theorem, and by exact accounting; None where nothing is claimed."""

    coalition: str
    delta: float
    theorem: float | None
    exact: float | None
    local: float  # holds against every coalition, with δ = 0
    why: str = ""  # why no more than ε_l is claimed, where that is so
    half_of_users: float | None = None  # ε if half of the users were the analyzer's; None if it counts on none of them

    @property
    def epsilon(self) -> float:
        """The least ε that is claimed here, ε_l included."""
        return min(value for value in (self.theorem, self.exact, self.local) if value is not None)

    def to_json(self) -> dict[str, float | None]:
        """The row as scripts read it: these names stay."""
        shown = {"delta": self.delta, "theorem": self.theorem, "exact": self.exact}
        return shown if self.half_of_users is None else {**shown, "half_of_users": self.half_of_users}

    def in_words(self) -> str:
        """Who is meant, and what holds; and what it assumes of the other users, if anything."""
        claimed = [
            f"ε = {rounded_up(value)} at δ = {power(self.delta)} {how}"
            for value, how in ((self.theorem, "by the theorem"), (self.exact, "by exact accounting"))
            if value is not None and value < self.local
        ]
        if not claimed:
            return (
                f"Against {self.coalition}: no more than ε_l = {rounded_up(self.local)} is claimed, because {self.why}."
            )
        return f"Against {self.coalition}: {', '.join(claimed)}. {self.assumed}".rstrip()

    @property
    def assumed(self) -> str:
        """What is assumed of the other users, and what holds if half of it fails; "" if they do not count."""
        if self.half_of_users is None:
            return ""
        return f"{HONEST} If half of the users were the analyzer's, ε would be {rounded_up(self.half_of_users)}."


@dataclass(frozen=True)
class Guarantees:
    """One claim per coalition; `local` is ε_l, which holds if everyone else colludes."""

    server: Claim
    users: Claim
    local: float
    shufflers: int

    def to_json(self) -> dict[str, object]:
        """server, users and local, as scripts read them: these names stay."""
        return {"server": self.server.to_json(), "users": self.users.to_json(), "local": self.local}

    @property
    def summary(self) -> str:
        """The three ε, in short."""
        c, s, local = map(rounded_up, (self.server.epsilon, self.users.epsilon, self.local))
        return f"ε_c = {c}, ε_s = {s}, ε_l = {local} at δ = {power(self.server.delta)}"

    @property
    def anyone(self) -> str:
        """The coalition against which ε_l alone is left."""
        return f"the analyzer with {Schedule(self.shufflers).colluders + 1} or more shufflers, and anyone else"

    def in_words(self) -> tuple[str, ...]:
        """For each coalition what is claimed and assumed, from the weakest to the strongest."""
        last = f"Against {self.anyone}: ε_l = {rounded_up(self.local)}, δ = 0."
        return self.server.in_words(), self.users.in_words(), last


def guarantees(mechanism: Mechanism, users: int, fakes: int, delta: float, shufflers: int = 3) -> Guarantees:
    """What is claimed for `users` honest users (dummies and known Sybils not counted) and `fakes` fake reports.

    Up to c = ⌈r/2⌉ − 1 shufflers change nothing: they know neither the permutation nor the fakes (protocol.md §3, §4).
    """
    if users < 1 or fakes < 0:
        raise WrongInput(
            "plan.sizes",
            f"a guarantee needs at least one user and no negative number of fakes, not {users} and {fakes}",
        )
    fourteen(delta)
    local = mechanism.epsilon_local
    few = Schedule(shufflers).colluders
    some = f"{few} of the {shufflers} shufflers" if few == 1 else f"up to {few} of the {shufflers} shufflers"
    left = max(0, users // 2 - 1)  # the others who are honest if half of all users, rounded up, are the analyzer's
    exact_alone, exact_half, exact = (_exact(mechanism, others, fakes, delta) for others in (0, left, users - 1))
    # What holds though others help holds if they do not.
    exact_half = _least(exact_alone, exact_half)
    exact = _least(exact_half, exact)
    half = _least(epsilon_server(mechanism, left + 1, fakes, delta), exact_half, local)
    server = Claim(
        f"the analyzer, alone or with {some}",
        delta,
        epsilon_server(mechanism, users, fakes, delta),
        exact,
        local,
        _why(mechanism, fakes + users - 1),
    )
    return Guarantees(
        server=replace(server, half_of_users=half) if server.epsilon < local and users > 1 else server,
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


def weakest(of: Sequence[Guarantees]) -> Guarantees:
    """What holds where a user answers one of several collections, and nothing tells in advance which (privacy.md §2).

    Her report is in one of them, and the others' parameters and questions depend on no report of hers: the pointwise
    maximum of their curves is hers.
    """
    return Guarantees(
        server=_weakest([one.server for one in of]),
        users=_weakest([one.users for one in of]),
        local=max(one.local for one in of),
        shufflers=of[0].shufflers,
    )


def _weakest(claims: Sequence[Claim]) -> Claim:
    def most(values: Sequence[float | None]) -> float | None:
        given = [value for value in values if value is not None]
        return max(given) if len(given) == len(claims) else None

    return replace(
        max(claims, key=lambda claim: claim.epsilon),
        theorem=most([claim.theorem for claim in claims]),
        exact=most([claim.exact for claim in claims]),
        local=max(claim.local for claim in claims),
        half_of_users=most([claim.half_of_users for claim in claims]),
    )


def rounded_up(epsilon: float) -> str:
    """ε with four digits after the point, never less than it is."""
    return f"{math.ceil(epsilon * 1e4) / 1e4:.4f}"


def _exact(mechanism: Mechanism, others: int, fakes: int, delta: float) -> float | None:
    """By exact accounting, with `others` users and the fakes to hide among; None if nothing hides."""
    blanket = mechanism.blanket
    return None if blanket is None or others + fakes == 0 else least_epsilon(blanket, others, fakes, delta)


def _least(*claims: float | None) -> float | None:
    """The least of what is claimed; None if nothing is."""
    return min((claim for claim in claims if claim is not None), default=None)


def _why(mechanism: Mechanism, reports: int) -> str:
    if mechanism.blanket is None:
        return mechanism.no_blanket
    if not reports:
        return "no report hides the user's"
    return "too few reports hide the user's"


def power(chance: float) -> str:
    """A small probability in powers of ten: 10⁻⁶, 2.5 × 10⁻⁷."""
    if not 0 < chance < _SMALL:
        return f"{chance:g}"
    digits, _, exponent = f"{chance:.6e}".partition("e")
    digits = digits.rstrip("0").rstrip(".")
    times = "" if digits == "1" else f"{digits} × "
    return f"{times}10{str(int(exponent)).translate(_RAISED)}"
