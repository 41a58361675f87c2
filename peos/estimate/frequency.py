"""Unbiased frequencies from support counts, fakes included (protocol.md §6.7, privacy.md §1).

With S_v the number of reports that support v among n users' and m fakes,
    f̂_v = (S_v − n q − m u) / (n (p − q)),
    Var f̂_v = [n f_v p(1−p) + n (1−f_v) q(1−q) + m u(1−u)] / (n (p−q))².
The thesis' (9.5) is the special case of GRR, where u = 1/d makes both corrections meet.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.errors import WrongInput
from peos.estimate.support import ends, least_found
from peos.tabular import Rows, Tabular, of_values

Floats = NDArray[np.float64]

FEW: Final = 100.0
"""Where fewer reports than that are expected to support a value, or to fail to, intervals are exact (privacy.md §4)."""


BEYOND: Final = "Shares below 0 or above 1 come from the noise that protects users; the true share lies between."
"""Of raw estimates: cutting them off would make the others wrong on average."""


@dataclass(frozen=True)
class FrequencyOracle:
    """p: a report supports its own value; q: another value; u: a uniformly random report supports any value.

    `slack`: q is a mean over hash functions, and those that were drawn may support another value likelier by so much.
    """

    p: float
    q: float
    u: float
    slack: float = 0.0

    def __post_init__(self) -> None:
        if not (0.0 <= self.q < self.p <= 1.0 and 0.0 <= self.u <= 1.0 and self.slack >= 0.0):
            raise WrongInput(
                "estimate.probabilities",
                "a report must support its own value likelier than another, with probabilities in [0, 1]",
            )


@dataclass(frozen=True, eq=False, repr=False)
class Frequencies(Tabular):
    """Estimated frequencies, whatever reports they come from, and the variance of each at the estimate itself."""

    frequency: Floats
    variance: Floats
    users: int
    fakes: int

    @property
    def stderr(self) -> Floats:
        """The standard error of each frequency."""
        return np.sqrt(self.variance)

    @property
    def tested(self) -> int:
        """How many were estimated together, which is what `significant` takes into account."""
        return len(self.frequency)

    @property
    def summary(self) -> str:
        """How many values, from whom, and how many are found."""
        found = self.significant()
        told = "" if found is None else f", {int(found.sum()):,} found"
        reports = f"{self.users:,} users" + (f" and {self.fakes:,} fake reports" if self.fakes else "")
        return f"{len(self.frequency):,} frequencies from {reports}{told}"

    def rows(self, labels: Sequence[str] | None = None) -> Rows:
        """A row a value, by its label where they are given."""
        shown = {"frequency": self.frequency, "stderr": self.stderr, "interval95": self.interval()}
        named = called(labels, len(self.frequency))
        return of_values(self.summary, named, {**shown, "significant": self.significant()})

    @abstractmethod
    def interval(self, level: float = 0.95) -> Floats:
        """(domain, 2): for each value alone, an interval that covers its frequency with probability `level`."""

    def significant(self, level: float = 0.05) -> NDArray[np.bool_] | None:  # noqa: ARG002 - of use to those who can say
        """(domain,): which values are found; None where that cannot be said."""
        return None

    def to_json(self) -> dict[str, object]:
        """What a result shows of where they come from: these names stay."""
        return {"oracle": None, "bits": None}


def called(labels: Sequence[str] | None, count: int, what: str = "value") -> dict[str, Sequence[str] | range]:
    """The column that says of what each row is: its label, or its number where there are no labels."""
    if labels is None:
        return {what: range(count)}
    if len(labels) != count:
        raise WrongInput("estimate.labels", f"there are {count} {what}s, and {len(labels)} labels for them")
    return {"label": list(labels)}


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(Frequencies):
    """Frequencies from support counts, with variances of the plug-in kind: at the estimate clipped to [0, 1]."""

    oracle: FrequencyOracle
    counts: NDArray[np.int64]  # the support counts that all this is made of

    def to_json(self) -> dict[str, object]:
        """p, q and u."""
        return {**super().to_json(), "oracle": {"p": self.oracle.p, "q": self.oracle.q, "u": self.oracle.u}}

    def interval(self, level: float = 0.95) -> Floats:
        """(domain, 2): for each value alone, an interval that covers its frequency with probability `level`.

        It holds every f from which the estimate lies within z of f's own standard errors (Wilson's score interval):
        Var is exact and linear in f, a + b·f, so the ends are the roots of (f̂ − f)² = z²(a + b·f). With many reports
        that is f̂ ± z·stderr. Where FEW of them are expected, counts are too coarse for that: it also holds every
        number of holders that the count's exact law does not speak against, so that it covers at least so often.
        """
        _check_probability(level, "a confidence level")
        z = NormalDist().inv_cdf((1 + level) / 2)
        a, a_plus_b = (float(_variance(self.oracle, np.float64(f), self.users, self.fakes)) for f in (0.0, 1.0))
        b = a_plus_b - a
        middle = self.frequency + z * z * b / 2
        # a + b·f̂ is the variance at the estimate, which no count makes negative but by rounding.
        half = z * np.sqrt(np.maximum(a + b * self.frequency, 0.0) + z * z * b * b / 4)
        low, high = middle - half, middle + half
        p, q, u = self.oracle.p, self.oracle.q, self.oracle.u
        if min(self.users * q + self.fakes * u, self.users * (1 - p) + self.fakes * (1 - u)) < FEW:
            fewest, most = ends(self.counts, p, q, u, users=self.users, fakes=self.fakes, level=level)
            low, high = np.minimum(low, fewest / self.users), np.maximum(high, most / self.users)
        return np.stack((low, high), axis=1)

    def significant(self, level: float = 0.05) -> NDArray[np.bool_]:
        """(domain,): which values are found: their supports are too many to be other values' reports and fakes alone.

        With probability at least 1 − `level` no value is found that no user holds, among all values together. Each is
        held against the exact tail of its count at `level` over the number of values (Bonferroni): whatever their
        counts have to do with each other (privacy.md §4).
        """
        _check_probability(level, "a level of significance")
        q = min(1.0, self.oracle.q + self.oracle.slack)
        chance = level / len(self.counts)
        found = self.counts >= least_found(q, self.oracle.u, users=self.users, fakes=self.fakes, chance=chance)
        return np.asarray(found)


def variance_of_frequency(oracle: FrequencyOracle, *, users: int, fakes: int, frequency: float) -> float:
    """Exact variance of one estimated frequency whose true value is `frequency`."""
    checked_sizes(users, fakes)
    if not 0.0 <= frequency <= 1.0:
        raise WrongInput("estimate.probability", f"a frequency lies between 0 and 1, not at {frequency}")
    return float(_variance(oracle, np.float64(frequency), users, fakes))


def estimate_frequencies(oracle: FrequencyOracle, counts: NDArray[np.int64], *, users: int, fakes: int) -> Estimate:
    """Frequencies of the users' values from the support counts of users and fakes together."""
    checked_sizes(users, fakes)
    given = np.asarray(counts)
    if given.dtype.kind not in "iu" or np.any(given < 0) or np.any(given > users + fakes):
        raise WrongInput(
            "estimate.counts",
            f"support counts are whole numbers from 0 to the {users + fakes} reports of users and fakes",
        )
    excess = given.astype(np.float64) - users * oracle.q - fakes * oracle.u
    frequency = np.asarray(excess / (users * (oracle.p - oracle.q)), dtype=np.float64)
    variance = np.asarray(_variance(oracle, np.clip(frequency, 0.0, 1.0), users, fakes), dtype=np.float64)
    return Estimate(frequency, variance, users, fakes, oracle, given.astype(np.int64))


def _variance(oracle: FrequencyOracle, frequency: Floats | np.float64, users: int, fakes: int) -> Floats | np.float64:
    p, q, u = oracle.p, oracle.q, oracle.u
    of_reports = users * (frequency * p * (1 - p) + (1 - frequency) * q * (1 - q))
    return (of_reports + fakes * u * (1 - u)) / (users * (p - q)) ** 2


def checked_sizes(users: int, fakes: int) -> None:
    """Refuse numbers of users and fakes that no estimate can be made of."""
    if not (isinstance(users, Integral) and isinstance(fakes, Integral)) or users < 1 or fakes < 0:
        raise WrongInput(
            "estimate.sizes",
            f"an estimate needs a whole number of users, at least 1, and of fakes, not {users} and {fakes}",
        )


def _check_probability(level: float, what: str) -> None:
    if not 0.0 < level < 1.0:
        raise WrongInput("estimate.probability", f"{what} lies between 0 and 1, not at {level}")
