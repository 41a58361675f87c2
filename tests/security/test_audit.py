"""An audit of the claims: what a distinguisher makes of the real randomisers' output, in lower bounds on ε.

It looks for an event that is likely with one value and rare with another. With Clopper-Pearson bounds on both
probabilities, α = 1e-6 for each audit, ln((P − δ)/Q) is a lower bound on the true ε: it must stay below what is
claimed, and rise above the claim when ε_l is misreported. The event is chosen on one half of the runs,
and counted on the other.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import beta

from peos.crypto.randomness import Randomness
from peos.ldp import GRR, SUE, LocalHash
from peos.ldp.base import PureMechanism
from peos.privacy.exact import epsilon
from tests.full import full
from tests.statistical.views import MINE, OTHER, SinglingOut, Views, drawn, matches

ALPHA = 1e-6
REPORTS = 400_000
USERS, FAKES, RUNS, DELTA = 30, 15, 30_000, 1e-2
MAKE: dict[str, Callable[[float], PureMechanism | SinglingOut]] = {
    "grr": lambda e: GRR(6, e),
    "solh": lambda e: LocalHash(40, e, d_prime=8),
    "sue": lambda e: SUE(6, e, field_bits=10),
    "views that single her out": lambda e: SinglingOut([1, 2], e, 8),
}
COLLECTED = [full(name) if name.startswith("views") else name for name in MAKE]


@dataclass(frozen=True)
class Audit:
    """How often an event came about with one value, and with the other."""

    first: int
    second: int
    runs: int

    def epsilon(self, delta: float = 0.0) -> float:
        """The lower bound on ε, 0 where nothing is shown."""
        least = beta.ppf(ALPHA / 2, self.first, self.runs - self.first + 1) if self.first else 0.0
        most = beta.ppf(1 - ALPHA / 2, self.second + 1, self.runs - self.second)
        return max(0.0, math.log(max(float(least) - delta, 1e-300) / float(most)))


def audit_reports(mechanism: PureMechanism | SinglingOut, rng: Randomness) -> float:
    """Single reports: a match of one value and not of the other is e^(ε_l) times as likely, the most there is."""
    counts = []
    for value in (MINE, OTHER):
        words = mechanism.randomize(np.full(REPORTS, value), rng)
        counts.append(int(np.sum(matches(mechanism, words, MINE) & ~matches(mechanism, words, OTHER))))
    return Audit(counts[0], counts[1], REPORTS).epsilon()


def audit_collections(mechanism: PureMechanism | SinglingOut, rng: Randomness) -> float:
    """Whole collections: the likelihood ratio is the score, its threshold is chosen on the first half of the runs."""
    scores = []
    for mirrored in (False, True):
        ratios = []
        for _ in range(RUNS // 5000):
            views = drawn(mechanism, USERS, FAKES, 5000, rng)
            if mirrored:  # her value is OTHER: the same draw, the two names exchanged
                views = Views(views.mechanism, views.fakes, views.other, views.mine, views.third)
            ratios.append(views.ratio())
        scores.append(np.concatenate(ratios))
    half = RUNS // 2
    candidates = np.quantile(scores[0][:half], np.linspace(0.02, 0.6, 30))
    threshold = max(candidates, key=lambda t: count(scores, t, slice(0, half)).epsilon(DELTA))
    return count(scores, threshold, slice(half, RUNS)).epsilon(DELTA)


def count(scores: list[NDArray[np.float64]], threshold: float, part: slice) -> Audit:
    first, second = (int(np.sum(side[part] <= threshold)) for side in scores)
    return Audit(first, second, part.stop - part.start)


@pytest.mark.parametrize("name", MAKE)
def test_no_report_tells_more_than_its_local_epsilon_and_it_is_reached(name: str, rng: Randomness) -> None:
    mechanism = MAKE[name](2.0)
    found = audit_reports(mechanism, rng)
    evidence = f"{mechanism}: at least {found:.4f} of {mechanism.epsilon_local:.4f} in {REPORTS} reports"
    assert found <= mechanism.epsilon_local, evidence
    assert found > 0.9 * mechanism.epsilon_local, f"the audit sees nearly all there is: {evidence}"


@pytest.mark.parametrize("name", MAKE)
def test_a_misreported_local_epsilon_is_found_out(name: str, rng: Randomness) -> None:
    """The randomiser draws with an ε_l of 2.2 where 2 is claimed."""
    claimed = MAKE[name](2.0).epsilon_local
    found = audit_reports(MAKE[name](2.2), rng)
    assert found > claimed, f"{name}: {found:.4f} of a true 2.2 against a claimed {claimed:.4f}"


@pytest.mark.parametrize("name", COLLECTED)
def test_no_collection_tells_more_than_exact_accounting_claims(name: str, rng: Randomness) -> None:
    mechanism = MAKE[name](3.0)
    claimed = epsilon(mechanism, USERS, FAKES, DELTA)
    found = audit_collections(mechanism, rng)
    evidence = f"{mechanism}: at least {found:.4f} of {claimed:.4f} at δ = {DELTA}, {RUNS} collections of {USERS}"
    assert claimed < 0.8 * mechanism.epsilon_local, "the shuffle matters here"
    assert found <= claimed, evidence
    assert found > 0.3 * claimed, f"the audit sees much of what there is: {evidence}"


@pytest.mark.parametrize("name", COLLECTED)
def test_a_collection_whose_users_tell_more_than_they_are_accounted_for_is_found_out(
    name: str, rng: Randomness
) -> None:
    claimed = epsilon(MAKE[name](3.0), USERS, FAKES, DELTA)
    found = audit_collections(MAKE[name](6.5), rng)
    assert found > claimed, f"{name}: at least {found:.4f} against a claimed {claimed:.4f}"
