"""What an analyst asks of a plan, checked."""

import math
from dataclasses import dataclass
from numbers import Real
from typing import Final, NamedTuple

from peos.errors import WrongInput
from peos.ldp import MAX_ENUMERABLE, MAX_EPSILON
from peos.ldp.base import whole_number
from peos.privacy.theorem import fourteen, mean_needed
from peos.privacy.theorem_search import Need
from peos.registry import MECHANISMS

MOST_FAKES_PER_USER: Final = 100
"""The search stops here: a shuffle a hundred times the size of the collection is no plan."""

LEAST_TARGET: Final = 1e-6  # mechanisms tell nothing apart with less
MOST_USERS: Final = 10**12


class Size(NamedTuple):
    """The size that is asked of a mechanism, by the name that it has there: ("d_prime", 45)."""

    name: str
    value: int


@dataclass(frozen=True)
class Targets:
    """Upper limits on ε_c (`server`), ε_s (`others`) and ε_l (`local`); None where nothing is asked."""

    users: int
    domain: int
    delta: float
    server: float | None
    others: float | None
    local: float | None
    fakes: int | None  # None: as many as are best
    size: Size | None

    def by_shuffle(self, target: float | None) -> bool:
        """Whether a target asks for what only the shuffle gives: a limit on ε_l at or below it meets it alone."""
        return target is not None and (self.local is None or self.local > target)

    @property
    def strictest(self) -> float:
        """The least ε that is asked of the shuffle, infinite if none is."""
        return min((t for t in (self.server, self.others) if t is not None and self.by_shuffle(t)), default=math.inf)

    def need(self, epsilon_local: float) -> Need:
        """The targets as means of noise."""
        return Need(
            users=self.users,
            server_mean=self._mean(self.server),
            users_mean=self._mean(self.others),
            epsilon_local=epsilon_local,
            least_fakes=self.fakes or 0,
            most_fakes=MOST_FAKES_PER_USER * self.users if self.fakes is None else self.fakes,
        )

    def _mean(self, target: float | None) -> float:
        return mean_needed(target, self.delta) if target is not None and self.by_shuffle(target) else 0.0


def checked(
    *,
    users: int,
    domain: int,
    delta: float,
    eps_server: float | None,
    eps_users: float | None,
    eps_local: float | None,
    fakes: int | str,
    size: Size | None,
) -> Targets:
    """The targets, or one sentence about the first that makes no sense."""
    fourteen(delta)
    if eps_server is None and eps_users is None and eps_local is None:
        raise WrongInput(
            "plan.no_target",
            "no target was given",
            hint="give one or more of eps_server, eps_users and eps_local (as options: --eps-server …)",
        )
    return Targets(
        users=whole_number(users, "the number of users", least=1, most=MOST_USERS),
        domain=whole_number(domain, "the size of the domain", least=2, most=MAX_ENUMERABLE),
        delta=float(delta),
        server=_target(eps_server, "eps_server"),
        others=_target(eps_users, "eps_users"),
        local=_target(eps_local, "eps_local", most=MAX_EPSILON),
        fakes=_fakes(fakes),
        size=None if size is None else _size(size),
    )


def _size(size: Size) -> Size:
    ranges = [kind.size_range for kind in MECHANISMS.values() if kind.size_name == size.name]
    least, most = min(least for least, _ in ranges), max(most for _, most in ranges)
    return Size(size.name, whole_number(size.value, size.name, least=least, most=most))


def _target(value: float | None, name: str, most: float = math.inf) -> float | None:
    if value is None:
        return None
    if not isinstance(value, Real) or not 0.0 < value <= most or math.isinf(value):
        limit = "" if math.isinf(most) else f" and at most {most:g}"
        raise WrongInput("plan.target", f"{name} is a number above 0{limit}, not {value!r}")
    if value < LEAST_TARGET:
        raise WrongInput(
            "plan.target_small",
            f"{name} is at least {LEAST_TARGET:g}, not {value:g}",
            hint="nothing can be learned with less",
        )
    return float(value)


def _fakes(value: int | str) -> int | None:
    if value == "auto":
        return None
    if isinstance(value, str):
        if not (value.isascii() and value.isdigit() and len(value) <= 20):
            raise WrongInput("plan.fakes", f"the number of fakes is auto or a whole number, not {value[:40]!r}")
        value = int(value)
    return whole_number(value, "the number of fakes", least=0, most=MOST_FAKES_PER_USER * MOST_USERS)
