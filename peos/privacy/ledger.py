"""What a population has given away, and whether one more collection is still within its budget.

    Ledger(Budget(1.0, 1e-6)).with_release(first).with_release(second).spent.epsilon

A population is the users whom the analyzer asks again and again: every member is taken to have answered every
collection. The analyzer keeps this account of what *it* may learn, and the budget is about that; what it could learn if
all other users were its own is shown too. What a user gives away to all who collude is the sum of her ε_l, which her
own client keeps and refuses to exceed.
"""

from dataclasses import dataclass, replace
from functools import cached_property

from peos.errors import Refused, WrongInput
from peos.privacy.composition import Composed, Release, Study, spent
from peos.privacy.guarantees import power, rounded_up
from peos.privacy.theorem import fourteen

_NAMED = 5  # of the collections that spent a budget


@dataclass(frozen=True)
class Budget:
    """The most that all collections over one population may give away together."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        fourteen(self.delta)
        if not 0.0 < self.epsilon < float("inf"):
            raise WrongInput("budget.epsilon", f"a budget's epsilon is a number above 0, not {self.epsilon:g}")


@dataclass(frozen=True)
class Ledger:
    """One population's collections in the order in which they were asked."""

    budget: Budget
    releases: tuple[Release | Study, ...] = ()

    @cached_property
    def spent(self) -> Composed:
        """What they give away together to the analyzer, at the budget's δ, if the other users are honest.

        Whatever of each was chosen for what earlier ones found.
        """
        return spent(self.releases, self.budget.delta)

    @cached_property
    def spent_alone(self) -> Composed:
        """The same if all other users are on the analyzer's side: a user is hidden by the fakes alone."""
        return spent([release.alone for release in self.releases], self.budget.delta)

    def with_release(self, release: Release | Study) -> "Ledger":
        """The ledger with one more; Refused, naming the collections that spent the budget, if it would be exceeded."""
        if any(known.name == release.name for known in self.releases):
            raise WrongInput("budget.name", f"{release.name} is in the ledger already")
        grown = replace(self, releases=(*self.releases, release))
        if grown.spent.epsilon > self.budget.epsilon:
            given = rounded_up(grown.spent.epsilon)
            limit = f"ε = {self.budget.epsilon:g} at δ = {power(self.budget.delta)}"
            if not self.releases:
                raise Refused(
                    "budget.too_small",
                    f"{release.name} alone would give away {given}, and the budget is {limit}",
                    hint="ask for a smaller ε, or allow a larger budget",
                )
            raise Refused(
                "budget.spent",
                f"with {release.name} the population would have given away {given}, and the "
                f"budget is {limit}: {rounded_up(self.spent.epsilon)} of it was spent by {self._names()}",
                hint="ask for a smaller ε, ask other users, or allow a larger budget",
            )
        return grown

    def _names(self) -> str:
        names = [release.name for release in self.releases]
        if len(names) > _NAMED:
            names = [*names[:_NAMED], f"{len(names) - _NAMED} more"]
        return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
