"""From targets to parameters: which mechanism, ε_l, d' and how many fakes, at the least error (privacy.md §3).

    plan(users=990_002, domain=42_178, delta=1e-9, eps_server=0.2, fakes=0).mechanism == "grr"
    plan(users=990_002, domain=42_178, delta=1e-9, eps_server=0.2, fakes=0, accounting="theorem").d_prime == 45

Under theorem accounting this makes the choices of the thesis (§9.3.3, §9.5.3, §9.5.4), and targets above 1 ask for
what 1 asks for, where the theorems end, unless the limit on ε_l meets them by itself. Under exact accounting no target
is out of reach, since a small ε_l meets any: refused is what could only be met by estimates that tell nothing.
"""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Final

from peos.crypto.schemes import scheme as scheme_named
from peos.errors import Refused, WrongInput
from peos.ldp.base import Mechanism, require_collectable
from peos.ldp.members import Members
from peos.privacy import exact_search
from peos.privacy.costs import Cost, cost
from peos.privacy.guarantees import Guarantees, guarantees, rounded_up
from peos.privacy.infeasible import USELESS, exact_refusal, theorem_refusal
from peos.privacy.targets import MOST_FAKES_PER_USER, Size, Targets, checked
from peos.privacy.theorem import mean_needed
from peos.privacy.theorem_search import Need, least_variance
from peos.registry import DEFAULT_SCHEME, KEYED, MECHANISMS
from peos.shuffle.schedule import Schedule
from peos.tabular import Columns, Rows, Tabular

MODEST_EPSILON_LOCAL: Final = 4.0
"""Where no limit on ε_l is asked, the plan goes this far, or as far as the best plan without fakes has to go. Without
any limit the least error would always be at the most fakes and at an ε_l that protects no user."""

LARGEST_EPSILON_LOCAL: Final = 16.0
"""The limit for that best plan without fakes, and where the fakes are fixed: e^16 is nine million to one."""

Kinds = tuple[type[Mechanism], ...]

_NORMAL_95: Final = 1.959963984540054
_EQUAL: Final = 1e-3  # relative: variances closer than this are the same
_TRIED: Final = 2  # kinds held against the exact bound
_NEAR_LIMIT: Final = 1e-3  # a whole number of fakes may stop the search a hair below


@dataclass(frozen=True)
class Alternative:
    """The next best mechanism, for comparison."""

    mechanism: str
    eps_local: float
    d_prime: int | None
    fakes: int
    mse: float


@dataclass(frozen=True, repr=False)
class Plan(Tabular):
    """Parameters of a collection, and what they give and cost."""

    mechanism: str
    eps_local: float
    d_prime: int | None
    fakes: int
    mse: float  # the variance of one frequency whose true value is 0, fakes included
    guarantees: Guarantees
    cost: Cost
    randomizer: Mechanism  # the mechanism itself, not yet bound to a question
    users: int
    domain: int
    delta: float
    shufflers: int
    accounting: str
    runner_up: Alternative | None
    notes: tuple[str, ...]

    @property
    def stderr(self) -> float:
        """The standard error of a rare value's frequency."""
        return math.sqrt(self.mse)

    @property
    def halfwidth95(self) -> float:
        """Half the width of its 95 % interval."""
        return _NORMAL_95 * self.stderr

    @property
    def summary(self) -> str:
        """What is drawn, and what it gives to whom."""
        size = "" if self.d_prime is None else f", d' = {self.d_prime:,}"
        return (
            f"{self.mechanism}{size}, {self.fakes:,} fake reports for {self.users:,} users: standard error "
            f"{self.stderr:.3g}; " + self.guarantees.summary
        )

    def rows(self) -> Rows:
        """A row for each coalition: its ε and δ."""
        claims = (self.guarantees.server, self.guarantees.users)
        epsilons = [*(claim.epsilon for claim in claims), self.guarantees.local]
        deltas = [0.0 if claim.epsilon == claim.local else claim.delta for claim in claims]
        against = [*(claim.coalition for claim in claims), self.guarantees.anyone]
        columns: Columns = {"against": against, "epsilon": epsilons, "delta": [*deltas, 0.0]}
        return Rows(self.summary, columns, measure="epsilon")

    def to_json(self) -> dict[str, object]:
        """The plan as scripts read it (these names stay), with what was asked."""
        return {
            "mechanism": self.mechanism,
            "eps_local": self.eps_local,
            "d_prime": self.d_prime,
            "mechanism_parameters": dict(self.randomizer.shown),
            "fakes": self.fakes,
            "mse": self.mse,
            "stderr": self.stderr,
            "halfwidth95": self.halfwidth95,
            "guarantees": self.guarantees.to_json(),
            "cost": self.cost.to_json(),
            "users": self.users,
            "domain": self.domain,
            "delta": self.delta,
            "shufflers": self.shufflers,
            "accounting": self.accounting,
            "runner_up": None if self.runner_up is None else asdict(self.runner_up),
            "notes": list(self.notes),
        }


def plan(
    users: int,
    domain: int,
    delta: float,
    *,
    eps_server: float | None = None,
    eps_users: float | None = None,
    eps_local: float | None = None,
    fakes: int | str = "auto",
    mechanism: str | type[Mechanism] | Kinds = "auto",
    d_prime: int | None = None,
    signs: int | None = None,
    size: int | None = None,
    field_bits: int | None = None,
    accounting: str = "exact",
    shufflers: int = 3,
    scheme: str = DEFAULT_SCHEME,
) -> Plan:
    """The parameters of least MSE that keep to every target; Refused, with the nearest choice, if none do.

    `mechanism` is a name, a family or several that may compete. `users` are honest and unknown to the adversary. n_r is
    the least that meets the targets unless more lowers the MSE, and at most 100 a user; where no limit on ε_l is asked
    see `MODEST_EPSILON_LOCAL`.
    """
    Schedule(shufflers)  # refuses a number that cannot shuffle
    scheme_named(scheme)  # and this a name that is none; the scheme decides what the plan costs, and nothing else
    _check_accounting(accounting)
    targets = checked(
        users=users,
        domain=domain,
        delta=delta,
        eps_server=eps_server,
        eps_users=eps_users,
        eps_local=eps_local,
        fakes=fakes,
        size=_size_of({"d_prime": d_prime, "signs": signs, "size": size, "field_bits": field_bits}),
    )
    kinds = _kinds(targets, mechanism, accounting)
    # Where ε_l alone meets what is asked, there is nothing to account for.
    exact = accounting == "exact" and math.isfinite(targets.strictest)
    limit = _limit(targets, kinds, exact=exact)
    found = _exact_offers(targets, kinds, limit) if exact else _offers(targets, kinds, limit)
    offers = sorted(found, key=lambda offer: offer.mse)
    if accounting == "exact":
        offers = _cheapest_first(offers, targets.users)
    if exact and (not offers or offers[0].mse >= USELESS):
        raise exact_refusal(targets, kinds, limit)
    if not offers:
        raise theorem_refusal(targets, [members for _, members in _by_theorem(targets, kinds)])
    best = offers[0]
    return Plan(
        mechanism=best.built.name,
        eps_local=best.built.epsilon_local,
        d_prime=_d_prime(best.built),
        fakes=best.fakes,
        mse=best.mse,
        guarantees=guarantees(best.built, targets.users, best.fakes, targets.delta, shufflers),
        cost=cost(best.built.words, targets.users, best.fakes, shufflers, scheme),
        randomizer=best.built,
        users=targets.users,
        domain=targets.domain,
        delta=targets.delta,
        shufflers=shufflers,
        accounting=accounting,
        runner_up=next((_alternative(offer) for offer in offers[1:]), None),
        notes=tuple(_notes(targets, limit, best)),
    )


@dataclass(frozen=True)
class _Offer:
    """A mechanism at its best, as it would be drawn."""

    built: Mechanism
    fakes: int
    mse: float
    kind: type[Mechanism]  # which made it: an alias makes what has another name


def _size_of(given: dict[str, int | None]) -> Size | None:
    """The one that is asked for, if any."""
    asked = [Size(name, value) for name, value in given.items() if value is not None]
    if len(asked) > 1:
        names = " and ".join(one.name for one in asked)
        raise WrongInput("plan.size", f"{names} belong to different mechanisms", hint="give one of them")
    return asked[0] if asked else None


def _check_accounting(accounting: str) -> None:
    if accounting not in ("exact", "theorem"):
        raise WrongInput("plan.accounting", f"accounting is exact or theorem, not {accounting!r}")


def _kinds(targets: Targets, mechanism: str | type[Mechanism] | Kinds, accounting: str) -> Kinds:
    """The mechanisms that may compete, or why the one asked for may not."""
    if isinstance(mechanism, type):
        return (mechanism,)
    if not isinstance(mechanism, str):
        return mechanism
    require_collectable(mechanism)
    if mechanism in KEYED:  # what tasks ask for
        return (KEYED[mechanism],)
    if mechanism != "auto" and mechanism not in MECHANISMS:
        raise WrongInput("plan.mechanism", f"a mechanism is auto, {', '.join(MECHANISMS)}, not {mechanism!r}")
    shuffled = targets.server is not None or targets.others is not None
    asked = {name: kind for name, kind in MECHANISMS.items() if mechanism in ("auto", name)}
    if targets.size is not None:
        sized = {name: kind for name, kind in MECHANISMS.items() if kind.size_name == targets.size.name}
        asked = {name: kind for name, kind in asked.items() if name in sized}
        if not asked:
            whose = " or ".join(f"{kind.short} ({name})" for name, kind in sized.items())
            raise WrongInput("plan.size", f"{targets.size.name} belongs to {whose}, not to {mechanism}")
    elif mechanism == "auto":
        asked = {name: kind for name, kind in asked.items() if kind.is_proposed(shuffled=shuffled)}
        if accounting == "theorem":  # the choices of the thesis, also where nothing is shuffled
            asked = {name: kind for name, kind in asked.items() if _claims(targets, kind, accounting)}
    able = [kind for kind in asked.values() if not shuffled or _claims(targets, kind, accounting)]
    if not able:
        name, kind = next(iter(asked.items()))
        by_theorem = accounting == "theorem"
        why = kind.no_theorem if by_theorem else kind.no_blanket
        raise Refused(
            "plan.local_only",
            f"{name} can claim its local epsilon only: {why}",
            hint=f"ask for {'exact accounting, for ' * by_theorem}a local epsilon alone, or for another mechanism",
        )
    return tuple(able)


def _claims(targets: Targets, kind: type[Mechanism], accounting: str) -> bool:
    """Whether anything is known of its reports in a shuffle."""
    if accounting == "theorem":
        return kind.theorem_members(targets.domain) is not None
    return exact_search.is_known(kind, targets.domain)


def _by_theorem(targets: Targets, kinds: Kinds) -> Iterator[tuple[type[Mechanism], Members]]:
    """The mechanisms that the theorems are about, with their numbers of cells."""
    for kind in kinds:
        members = kind.theorem_members(targets.domain, 0 if targets.size is None else targets.size.value)
        if members is not None:
            yield kind, members


def _limit(targets: Targets, kinds: Kinds, *, exact: bool) -> float:
    """The limit on ε_l: as asked, or the one that `MODEST_EPSILON_LOCAL` explains."""
    if targets.local is not None:
        return targets.local
    others = math.inf if targets.others is None else targets.others
    if targets.fakes is not None and targets.server is not None and targets.server < others:
        return LARGEST_EPSILON_LOCAL  # with the fakes fixed the target bounds ε_l, as in the thesis' (9.4)
    return max(MODEST_EPSILON_LOCAL, _without_fakes(targets, kinds, exact=exact))


def _without_fakes(targets: Targets, kinds: Kinds, *, exact: bool) -> float:
    """The ε_l of the best plan whose strictest target is met by the users alone; 0 if there is none."""
    if exact:
        bare = replace(targets, server=targets.strictest, others=None, fakes=0)
        points = [p for kind in kinds if (p := exact_search.promising(bare, kind, LARGEST_EPSILON_LOCAL)) is not None]
        return min(points, key=lambda point: point.variance).epsilon_local if points else 0.0
    mean = mean_needed(targets.strictest, targets.delta)
    need = Need(targets.users, mean, 0.0, LARGEST_EPSILON_LOCAL, least_fakes=0, most_fakes=0)
    found = [best for _, members in _by_theorem(targets, kinds) if (best := least_variance(need, members)) is not None]
    return min(found, key=lambda choice: choice.variance).epsilon_local if found else 0.0


def _exact_offers(targets: Targets, kinds: Kinds, limit: float) -> Iterator[_Offer]:
    """The best of the two kinds that promise most: the exact bounds of the others would take time for nothing."""
    promised = []
    for kind in kinds:
        if (point := exact_search.promising(targets, kind, limit)) is not None:
            built = kind.build(targets.domain, point.epsilon_local, point.size)
            promised.append(_Offer(built, point.fakes, point.variance, kind))
    ranked = _cheapest_first(sorted(promised, key=lambda offer: offer.mse), targets.users)
    for offer in ranked[:_TRIED]:
        found = exact_search.best(targets, offer.kind, limit)
        if found is not None:
            yield _Offer(found.built, found.fakes, found.mse, offer.kind)


def _cheapest_first(offers: list[_Offer], users: int) -> list[_Offer]:
    """Of those as good as the first, to a thousandth, the one that is counted soonest; the others; its equals."""
    equal = [offer for offer in offers if offer.mse <= offers[0].mse * (1 + _EQUAL)]
    equal.sort(key=lambda offer: offer.built.steps(users + offer.fakes))
    return equal[:1] + [offer for offer in offers if offer not in equal] + equal[1:]


def _offers(targets: Targets, kinds: Kinds, limit: float) -> Iterator[_Offer]:
    known = dict(_by_theorem(targets, kinds))
    for kind in kinds:
        if kind in known:
            choice = least_variance(targets.need(limit), known[kind])
            if choice is None:
                continue
            built, fakes = kind.build(targets.domain, choice.epsilon_local, choice.cells), choice.fakes
        else:
            try:
                size = 0 if targets.size is None else targets.size.value
                built, fakes = kind.build(targets.domain, limit, size), targets.fakes or 0
            except WrongInput:
                if len(kinds) == 1:
                    raise
                continue  # at an ε_l finer than its reports allow, the others compete without it
        yield _Offer(built, fakes, built.variance(users=targets.users, fakes=fakes), kind)


def _notes(targets: Targets, limit: float, best: _Offer) -> Iterator[str]:
    if targets.local is None and best.built.epsilon_local >= limit * (1 - _NEAR_LIMIT):
        yield (
            f"no limit on ε_l was asked, and {rounded_up(limit)} was taken: "
            "a higher one lowers the error, a lower one protects users better if shufflers collude"
        )
    if targets.fakes is None and best.fakes == MOST_FAKES_PER_USER * targets.users:
        yield f"the search for fakes ended at {MOST_FAKES_PER_USER} a user"
    if best.mse >= USELESS:
        yield "the standard error is above one half: these estimates would tell nothing"


def _alternative(offer: _Offer) -> Alternative:
    built = offer.built
    return Alternative(built.name, built.epsilon_local, _d_prime(built), offer.fakes, offer.mse)


def _d_prime(mechanism: Mechanism) -> int | None:
    return mechanism.shown.get("d_prime")
