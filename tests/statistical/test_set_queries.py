"""Sums over sets of a quarter to a half of all values err less than if a report's supports were pairwise independent.

Users report independently, so the variance of an estimated sum is the mean over them of the variance of one report's
number of supports in the set, about its exact mean, over n(p − q)². It is held against that of ideal hashing with the
same γ and μ, where two values are supported together as if by two coins. Each figure is of n = 4,000 reports, and holds
with five of its standard errors added.
"""

import numpy as np
import pytest
from numpy.typing import NDArray

from peos.crypto.randomness import Randomness
from peos.estimate.frequency import FrequencyOracle
from peos.ldp import HadamardResponse, LocalHash, SubsetSelection
from peos.ldp.base import PureMechanism

DOMAIN = 1024
REPORTS = 4_000
MOST = 1.05
SIGMAS = 5.0
MECHANISMS: list[PureMechanism] = [
    made
    for epsilon in (1.0, 4.0)
    for made in (LocalHash(DOMAIN, epsilon), HadamardResponse(DOMAIN, epsilon), SubsetSelection(DOMAIN, epsilon))
]
Bits = NDArray[np.bool_]
Counts = NDArray[np.int64]


def sets() -> dict[str, Counts]:
    """Aligned with powers of two, not aligned, every so many values, and at random."""
    found = {
        f"from {first}, {size}": np.arange(first, first + size) for first, size in ((0, 256), (256, 256), (0, 512))
    }
    found |= {
        f"from {first}, {size}": np.arange(first, first + size) for first, size in ((100, 256), (77, 300), (333, 500))
    }
    found |= {f"every {step}": np.arange(0, DOMAIN, step) for step in (2, 3, 4)}
    rng = np.random.default_rng(14)
    return found | {f"random, {size}": rng.choice(DOMAIN, size, replace=False) for size in (256, 300, 400, 512)}


def populations() -> dict[str, Counts]:
    """All users at one value, and by Zipf's law."""
    weights = 1 / np.arange(1, DOMAIN + 1) ** 1.5
    return {
        "all at 600": np.full(REPORTS, 600),
        "Zipf": np.random.default_rng(15).choice(DOMAIN, REPORTS, p=weights / weights.sum()),
    }


def supports(mechanism: PureMechanism, words: NDArray[np.uint64]) -> Bits:
    """(n, d): which values each report supports."""
    every = np.arange(mechanism.domain)
    if isinstance(mechanism, LocalHash):
        seeds, answers = mechanism.decode(words)
        return np.asarray(mechanism.hash(seeds[:, np.newaxis], every) == answers[:, np.newaxis])
    if isinstance(mechanism, HadamardResponse):
        rows, signs = mechanism.decode(words)
        return np.asarray(mechanism.family.signs_at(rows[:, np.newaxis], mechanism._places) == signs[:, np.newaxis])
    assert isinstance(mechanism, SubsetSelection)
    multiples, ends = mechanism.decode(words)
    return mechanism.circle.holds(multiples[:, np.newaxis], ends[:, np.newaxis], mechanism._ranks)


def ratios(mechanism: PureMechanism, values: Counts, found: Bits) -> dict[str, tuple[float, float]]:
    """Of each set, its sum's variance over that of pairwise independent supports, and the standard error of that."""
    oracle = mechanism.oracle
    told = 1 - float(mechanism.gamma)
    ideal = FrequencyOracle(p=oracle.p, q=oracle.u, u=oracle.u)
    scale = ((ideal.p - ideal.q) / (oracle.p - oracle.q)) ** 2
    assert oracle.p == pytest.approx(told + (1 - told) * oracle.u)
    given = {}
    for name, members in sets().items():
        has = np.isin(values, members)
        mean = has * oracle.p + (len(members) - has) * oracle.q
        squares = np.square(found[:, members].sum(axis=1) - mean) * scale
        apart = has * ideal.p * (1 - ideal.p) + (len(members) - has) * ideal.q * (1 - ideal.q)
        given[name] = float(squares.mean() / apart.mean()), float(squares.std() / apart.mean() / np.sqrt(len(values)))
    return given


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_sums_over_large_sets_vary_less_than_those_of_pairwise_independent_supports(mechanism: PureMechanism) -> None:
    rng = Randomness(mechanism.digest)
    for population, values in populations().items():
        found = supports(mechanism, mechanism.randomize(values, rng))
        for name, (ratio, error) in ratios(mechanism, values, found).items():
            assert ratio + SIGMAS * error <= MOST, f"{population}, {name}: {ratio:.3f} ± {error:.3f}"


def test_supports_that_come_in_pairs_would_be_seen() -> None:
    """As of hash functions that do not look at a value's last bit."""
    mechanism, values = HadamardResponse(DOMAIN, 2.0), np.full(REPORTS, 600)
    found = supports(mechanism, mechanism.randomize(values, Randomness(mechanism.digest)))
    seen = ratios(mechanism, values, found[:, np.arange(DOMAIN) & ~1])
    assert seen["from 0, 256"][0] - SIGMAS * seen["from 0, 256"][1] > MOST, seen["from 0, 256"]
