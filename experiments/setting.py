"""What an experiment draws, and what it says of each mechanism."""

import math
from dataclasses import dataclass
from typing import Final

from experiments.measuring import Measurement, affordable, measure, real, variance_by_value, work
from experiments.populations import Counts, DataSet, zipf
from experiments.report import Row, shortened
from peos.crypto.randomness import Randomness
from peos.estimate.frequency import FrequencyOracle
from peos.ldp import GRR, LocalHash
from peos.ldp.base import Mechanism, PureMechanism
from peos.privacy import Plan, plan
from peos.privacy.exact import epsilon as exact_epsilon

QUICK_STEPS: Final = 4e6
LONG: Final = 2e9  # steps: Kosarak with d' of about 20
FEW: Final = 10


@dataclass(frozen=True)
class Setting:
    """What a run draws: its population, repeats drawn value by value, steps for real repeats, and the stream."""

    truth: Counts
    repeats: int
    steps: float
    quick: bool
    rng: Randomness

    @property
    def domain(self) -> int:
        """d of the population drawn; parameters follow from the data set's."""
        return len(self.truth)

    @property
    def users(self) -> int:
        """n of the population drawn."""
        return int(self.truth.sum())


def setting(size: DataSet, quick: bool, rng: Randomness) -> Setting:
    """A hundred repeats of everything at full size, or a quick look with few steps."""
    return Setting(zipf(size.users, size.domain), 20 if quick else 100, QUICK_STEPS if quick else math.inf, quick, rng)


def planned_best(size: DataSet, *, eps_server: float, eps_local: float | None = None) -> Plan:
    """Our best plan without fakes among the thesis' own mechanisms, which is what its figures are compared with."""
    asked = {"eps_server": eps_server, "eps_local": eps_local, "fakes": 0}
    plans = (
        plan(size.users, size.domain, size.delta, mechanism=kind.name, **asked)  # type: ignore[arg-type] # by name
        for kind in (GRR, LocalHash)
    )
    return min(plans, key=lambda one: one.mse)


def rebuilt(mechanism: Mechanism, domain: int) -> PureMechanism:
    """The same parameters over another domain; over its own, the mechanism as planned."""
    return pure(type(mechanism).from_parameters(domain, mechanism.parameters))


def pure(mechanism: Mechanism) -> PureMechanism:
    """As a planner chose it: everything that it chooses from counts supports."""
    assert isinstance(mechanism, PureMechanism)
    return mechanism


def measured(built: PureMechanism, given: Setting) -> Measurement:
    """The error of real repeats, as many as the steps pay for; few where a single one takes very many."""
    most = FEW if work(built, given.users) > LONG else given.repeats
    repeats = affordable(built, given.users, given.steps, most)
    return measure(
        real(built, given.truth, repeats, given.rng), given.truth, variance_by_value(built.oracle, given.truth)
    )


def at_average(oracle: FrequencyOracle, data: DataSet) -> float:
    """The variance at frequency 1/d, which is the mean over all values."""
    p, q = oracle.p, oracle.q
    return (p * (1 - p) / data.domain + (1 - 1 / data.domain) * q * (1 - q)) / (data.users * (p - q) ** 2)


def claims(mechanism: Mechanism, data: DataSet, theorem: float | None) -> Row:
    """The ε of the run: by the theorem as the thesis applies it, by exact accounting, and each user's own."""
    mechanism = rebuilt(mechanism, data.domain)
    return {
        "eps_theorem": shortened(theorem),
        "eps_exact": shortened(exact_epsilon(mechanism, data.users, 0, data.delta)),
        "eps_local": shortened(mechanism.epsilon_local),
    }
