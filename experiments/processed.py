"""Stand-ins of chapter 8, collections of optimised local hashing drawn from them, and what methods err.

Support counts are drawn as `choose_by_simulation` draws them, each value's from its exact law.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from experiments.measuring import Floats, mean_of_runs
from experiments.methods import ideal_hash
from experiments.populations import Counts, zipf
from peos.estimate.frequency import Estimate, FrequencyOracle, estimate_frequencies
from peos.estimate.post_processing import post_process
from peos.estimate.post_processing.simulation import redrawn, whole_users
from peos.ldp import OLH
from peos.registry import POST_PROCESSING

SETS: Final = 64  # random ones a run
CATEGORIES: Final = 68
IN_A_CATEGORY: Final = 10.4
VECTORS: Final = tuple(name for name, method in POST_PROCESSING.items() if not method.answers_queries)

Frequencies = Mapping[str, Floats]
Rows = NDArray[np.float64]  # sets of values, a row of zeros and ones for each


@dataclass(frozen=True)
class Data:
    """A stand-in: how many users hold each value."""

    name: str
    truth: Counts

    @property
    def frequency(self) -> Floats:
        """Of each value."""
        return np.asarray(self.truth / self.truth.sum())

    def of(self, users: int) -> "Data":
        """As many users, in the same shares."""
        return Data(self.name, whole_users(self.frequency, users))


ZIPF: Final = Data("Zipf", zipf(10**6, 1024, exponent=1.5))
STAND_IN: Final = "the stand-in for Emoji is a power law; how much is gained depends on how few values hold most users"
EMOJI: Final = Data("Emoji (stand-in)", zipf(884_427, 1573, exponent=2.0))


def oracle_of(data: Data, epsilon: float, *, ours: bool = False) -> FrequencyOracle:
    """Of optimised local hashing with ideal hash functions, as the thesis has them, or with our family."""
    mechanism = OLH(len(data.truth), epsilon)
    return mechanism.oracle if ours else ideal_hash(mechanism)


def blank(data: Data, epsilon: float, *, ours: bool = False) -> Estimate:
    """An estimate of this size, to draw others like it."""
    oracle, users = oracle_of(data, epsilon, ours=ours), int(data.truth.sum())
    return estimate_frequencies(oracle, np.zeros_like(data.truth), users=users, fakes=0)


def processed(estimate: Estimate) -> Frequencies:
    """What each method makes of an estimate."""
    return {name: post_process(estimate, name).frequency for name in VECTORS}


def drawn(
    data: Data, epsilon: float, runs: int, rng: np.random.Generator, *, ours: bool = False
) -> Iterator[Frequencies]:
    """So many collections, and what each method makes of them."""
    like = blank(data, epsilon, ours=ours)
    for _ in range(runs):
        yield processed(redrawn(like, data.truth, rng))


def of_values(found: Frequencies, truth: Floats) -> dict[str, float]:
    """Mean squared errors over all values."""
    return {name: float(np.mean(np.square(each - truth))) for name, each in found.items()}


def of_top(found: Frequencies, truth: Floats, top: int) -> dict[str, float]:
    """Over the most frequent values."""
    return of_values({name: each[:top] for name, each in found.items()}, truth[:top])


def of_sets(found: Frequencies, truth: Floats, sets: Rows) -> dict[str, float]:
    """Over sums of the values of a set; post_pos answers these alone."""
    sums = {name: sets @ each for name, each in found.items()}
    sums["post_pos"] = np.maximum(sums["base"], 0.0)
    return of_values(sums, sets @ truth)


def random_sets(domain: int, share: float, rng: np.random.Generator) -> Rows:
    """Sets of so large a share of the values."""
    size = max(1, round(share * domain))
    return (np.argsort(rng.random((SETS, domain)), axis=1) < size).astype(np.float64)


def categories(domain: int, rng: np.random.Generator) -> Rows:
    """Disjoint groups of about ten values, drawn from all."""
    sizes = 1 + rng.poisson(IN_A_CATEGORY - 1, CATEGORIES)
    order, ends = rng.permutation(domain), np.cumsum(sizes)
    groups = np.zeros((CATEGORIES, domain))
    for at, end in enumerate(ends):
        groups[at, order[end - sizes[at] : end]] = 1.0
    return groups


def mean(errors: Iterable[Mapping[str, float]]) -> dict[str, tuple[float, float, int]]:
    """Of each method the mean over runs, its standard error, and the runs."""
    listed = list(errors)
    found = {}
    for name in listed[0]:
        found[name] = mean_of_runs([one[name] for one in listed])
    return found
