"""Where the targets cannot be had: which of them stands in the way, and what could be asked instead."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from peos.errors import Refused
from peos.ldp import MAX_EPSILON, Mechanism
from peos.ldp.members import Members
from peos.privacy.exact_search import promising
from peos.privacy.guarantees import power
from peos.privacy.targets import MOST_FAKES_PER_USER, MOST_USERS, Targets
from peos.privacy.theorem import binomial_epsilon

USELESS: Final = 0.25
"""A variance from which on a frequency's standard error is half of all there is: such estimates tell nothing."""

_HAIR: Final = 1.02  # what is proposed leaves the reports something to say, and not just barely
_HALVINGS: Final = 14


def theorem_refusal(targets: Targets, given: Iterable[Members]) -> Refused:
    """Which target the theorems cannot meet by any of these mechanisms, and the nearest that could be asked."""
    need = targets.need(MAX_EPSILON)
    # The fewer the cells, the more reports fall on each: what the fewest cannot reach, none can.
    fewest = max(given, key=lambda members: float(members.support[0]))
    cells, support = int(fewest.cells[0]), float(fewest.support[0])
    by_users = need.users_mean > need.most_fakes * support
    name, target = ("eps_users", targets.others) if by_users else ("eps_server", targets.server)
    wanted = need.users_mean if by_users else need.server_mean
    hiding = need.most_fakes + (0 if by_users else targets.users - 1)
    nearest = []
    epsilon = binomial_epsilon(hiding * support / _HAIR, targets.delta)
    if epsilon is not None:
        nearest.append(f"{name} = {_two_digits_up(epsilon):g}")
    if targets.size is not None and (fewer := math.floor(hiding / wanted / _HAIR)) >= 2:
        nearest.append(f"{targets.size.name} = {fewer}")
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
        "plan.infeasible",
        f"{name} = {target:g} at δ = {power(targets.delta)} cannot be met with {targets.users:,} users, {at_hand} and "
        f"reports that tell {cells:,} answers or more apart",
        hint=f"the nearest that can: {', or '.join(nearest)}",
    )


def exact_refusal(targets: Targets, kinds: Sequence[type[Mechanism]], limit: float) -> Refused:
    """Which target leaves only estimates that tell nothing, and the nearest that leaves more."""

    def useful(changed: Targets) -> bool:
        least = min((p.variance for kind in kinds if (p := promising(changed, kind, limit))), default=math.inf)
        return least * _HAIR < USELESS

    binding = [
        name
        for name, target, without in (
            ("eps_server", targets.server, replace(targets, server=None)),
            ("eps_users", targets.others, replace(targets, others=None)),
        )
        if target is not None and targets.by_shuffle(target) and not _is_there_another(useful, without)
    ]
    name = binding[0] if len(binding) == 1 else _stricter(targets)
    target = targets.server if name == "eps_server" else targets.others
    assert target is not None

    def with_target(value: float) -> Targets:
        return replace(targets, server=value) if name == "eps_server" else replace(targets, others=value)

    nearest = []
    looser = _least(lambda value: useful(with_target(value)), target, limit)
    if looser is not None:
        nearest.append(f"{name} = {_two_digits_up(looser):g}")
    more = _least(lambda users: useful(replace(targets, users=math.ceil(users))), targets.users, MOST_USERS)
    if more is not None:
        nearest.append(f"{math.ceil(more * _HAIR):,} users")
    if targets.fakes is None:
        at_hand = f"at most {MOST_FAKES_PER_USER} fakes for each"
    else:
        at_hand = f"{targets.fakes:,} fakes"
        if useful(replace(targets, fakes=None)):
            nearest.append("fakes = auto")
    return Refused(
        "plan.useless",
        f"{name} = {target:g} at δ = {power(targets.delta)} with {targets.users:,} users and {at_hand} leaves only "
        "estimates whose standard error is above one half",
        hint=f"the nearest that tells something: {', or '.join(nearest)}" if nearest else "ask for less",
    )


def _is_there_another(useful: Callable[[Targets], bool], without: Targets) -> bool:
    """Whether without this target another one is still asked, and stands in the way as well."""
    return (without.server is not None or without.others is not None) and not useful(without)


def _stricter(targets: Targets) -> str:
    server = math.inf if targets.server is None else targets.server
    return "eps_users" if targets.others is not None and targets.others <= server else "eps_server"


def _least(enough: Callable[[float], bool], low: float, high: float) -> float | None:
    """The least value between these that is enough, to within a hundredth; None if not even `high` is."""
    if not enough(high):
        return None
    for _ in range(_HALVINGS):
        if high <= low * 1.01:
            break
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _two_digits_up(value: float) -> float:
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return math.ceil(value / step) * step
