"""What an analyst asks of a plan, checked; and, where it cannot be had, what could be asked instead."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from peos.errors import Refused, WrongInput
from peos.ldp import MAX_ENUMERABLE, MAX_EPSILON
from peos.ldp.base import whole_number
from peos.ldp.local_hash import MAX_CELLS
from peos.privacy.closed_form import binomial_epsilon, fourteen, mean_needed
from peos.privacy.search import Cells, Need, grr_cells, hash_cells

MOST_FAKES_PER_USER: Final = 100
"""The search stops here: a shuffle a hundred times the size of the collection is no plan."""

LEAST_TARGET: Final = 1e-6  # mechanisms tell nothing apart with less
_MOST_USERS: Final = 10**12
_HAIR: Final = 1.02  # what is proposed leaves the reports something to say, and not just barely


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
    d_prime: int | None

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

    def cells(self, kind: str) -> Cells:
        """The numbers of cells that a mechanism may have."""
        return grr_cells(self.domain) if kind == "grr" else hash_cells(self.domain, self.d_prime)

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
    d_prime: int | None,
) -> Targets:
    """The targets, or one sentence about the first that makes no sense."""
    fourteen(delta)
    if eps_server is None and eps_users is None and eps_local is None:
        raise WrongInput("no target was given", hint="give one or more of eps_server, eps_users and eps_local")
    return Targets(
        users=whole_number(users, "the number of users", least=1, most=_MOST_USERS),
        domain=whole_number(domain, "the size of the domain", least=2, most=MAX_ENUMERABLE),
        delta=float(delta),
        server=_target(eps_server, "eps_server"),
        others=_target(eps_users, "eps_users"),
        local=_target(eps_local, "eps_local", most=MAX_EPSILON),
        fakes=_fakes(fakes),
        d_prime=None if d_prime is None else whole_number(d_prime, "d_prime", least=2, most=MAX_CELLS),
    )


def refusal(targets: Targets, kinds: Iterable[str]) -> Refused:
    """Which target cannot be met by any of these mechanisms, and the nearest that could be asked."""
    need = targets.need(MAX_EPSILON)
    # The fewer the cells, the more reports fall on each: what the fewest cannot reach, none can.
    fewest = max(map(targets.cells, kinds), key=lambda given: float(given.support[0]))
    cells, support = int(fewest.cells[0]), float(fewest.support[0])
    by_users = need.users_mean > need.most_fakes * support
    name, target = ("eps_users", targets.others) if by_users else ("eps_server", targets.server)
    wanted = need.users_mean if by_users else need.server_mean
    hiding = need.most_fakes + (0 if by_users else targets.users - 1)
    nearest = []
    epsilon = binomial_epsilon(hiding * support / _HAIR, targets.delta)
    if epsilon is not None:
        nearest.append(f"{name} = {_two_digits_up(epsilon):g}")
    if targets.d_prime is not None and (fewer := math.floor(hiding / wanted / _HAIR)) >= 2:
        nearest.append(f"d_prime = {fewer}")
    if targets.fakes is None:
        per_user = MOST_FAKES_PER_USER + (0 if by_users else 1)
        nearest.append(f"{math.ceil(_HAIR * wanted / support / per_user) + 1:,} users")
        at_hand = f"at most {MOST_FAKES_PER_USER} fakes for each"
    else:
        missing = wanted / support - (0 if by_users else targets.users - 1)
        nearest.append(f"{math.ceil(_HAIR * missing):,} fakes")
        at_hand = f"{targets.fakes:,} fakes"
    nearest.append(f"eps_local = {target:g}, which meets it without the shuffle")
    return Refused(
        f"{name} = {target:g} at delta = {targets.delta:g} cannot be met with {targets.users:,} users, {at_hand} and "
        f"reports that tell {cells:,} answers or more apart",
        hint=f"the nearest that can: {', or '.join(nearest)}",
    )


def _target(value: float | None, name: str, most: float = math.inf) -> float | None:
    if value is None:
        return None
    if not 0.0 < value <= most or math.isinf(value):
        limit = "" if math.isinf(most) else f" and at most {most:g}"
        raise WrongInput(f"{name} is a number above 0{limit}, not {value:g}")
    if value < LEAST_TARGET:
        raise WrongInput(f"{name} is at least {LEAST_TARGET:g}, not {value:g}", hint="nothing can be learned with less")
    return float(value)


def _fakes(value: int | str) -> int | None:
    if value == "auto":
        return None
    if isinstance(value, str):
        if not (value.isascii() and value.isdigit() and len(value) <= 20):
            raise WrongInput(f"the number of fakes is auto or a whole number, not {value[:40]!r}")
        value = int(value)
    return whole_number(value, "the number of fakes", least=0, most=MOST_FAKES_PER_USER * _MOST_USERS)


def _two_digits_up(value: float) -> float:
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return math.ceil(value / step) * step
