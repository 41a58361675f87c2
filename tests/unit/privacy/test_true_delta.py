"""The closed form against the truth: at the claimed ε the exact δ of privacy.md §2 is never above the claimed δ.

Exact against the analyzer with all other users; against the analyzer alone it is itself an upper bound of the truth.
"""

import math
from collections import Counter
from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from peos.ldp import GRR, LocalHash
from peos.ldp.base import PureMechanism
from peos.privacy import plan
from peos.privacy.theorem import epsilon_server, epsilon_users, mean_needed


def exact_delta(reports: int, cells: int, collision: float, blanket: float, epsilon: float) -> float:
    """γ/N · E((E − 1)(A − e^ε B) − N(e^ε − 1))_+ over N uniform reports, cut tails counted at their largest."""
    gain = (1 - blanket) / blanket * cells  # E − 1
    hits = np.arange(reports + 1)
    likely = binom.pmf(hits, reports, 1 / cells)
    kept = hits[likely > 1e-20]
    total = 0.0
    for b in kept:
        threshold = math.exp(epsilon) * b + reports * math.expm1(epsilon) / gain
        above = np.arange(math.floor(threshold) + 1, reports + 1)
        if collision == 0:
            chance = binom.pmf(above, reports - b, 1 / (cells - 1))
        else:  # of the b reports that match v', Bin(b, c) match v too
            chance = np.zeros(len(above))
            shared = np.arange(b + 1)
            of_shared = binom.pmf(shared, b, collision)
            for both in shared[of_shared > 1e-20]:
                other = binom.pmf(above - both, reports - b, (1 - collision) / (cells - 1))
                chance += of_shared[both] * other
        total += likely[b] * float(np.sum(chance * (above - threshold)))
    cut = float(likely[likely <= 1e-20].sum())
    return blanket * gain * (total / reports + cut)


@pytest.mark.parametrize("cells", [2, 3])
@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0])
def test_the_exact_delta_is_right_by_enumerating_every_output(cells: int, epsilon: float) -> None:
    """Three fakes and one victim with GRR: all histograms, under both values."""
    fakes, local = 3, 1.5
    blanket = cells / (math.exp(local) + cells - 1)
    laws = []
    for value in (0, 1):
        law: Counter[tuple[int, ...]] = Counter()
        for outcome in product(range(cells), repeat=fakes + 1):
            own = blanket / cells + (1 - blanket) * (outcome[0] == value)
            law[tuple(np.bincount(outcome, minlength=cells))] += own / cells**fakes
        laws.append(law)
    truth = sum(max(0.0, weight - math.exp(epsilon) * laws[1][key]) for key, weight in laws[0].items())
    assert exact_delta(fakes + 1, cells, 0.0, blanket, epsilon) == pytest.approx(truth, abs=1e-13)


@pytest.mark.parametrize("delta", [0.1, 1e-3, 1e-9])
@pytest.mark.parametrize(("cells", "target"), [(2, 1.0), (2, 0.5), (4, 1.0), (16, 1.0)])
@pytest.mark.parametrize("local", [1.0, 6.0])
def test_against_all_other_users_the_true_delta_is_within_the_claim(
    cells: int, target: float, local: float, delta: float
) -> None:
    fakes = math.ceil(mean_needed(target, delta) * cells * (1 + 1e-9))
    mechanism = GRR(cells, local)
    claimed = epsilon_users(mechanism, fakes, delta)
    assert claimed is not None
    assert claimed <= target
    blanket = float(mechanism.gamma)
    at_claim = exact_delta(fakes + 1, cells, 0.0, blanket, claimed)
    assert at_claim <= delta, (fakes, claimed, at_claim, delta)
    if local == 6.0 and delta < 0.1:
        # The comparison has teeth: a claim ten times as bold would be found out.
        assert exact_delta(fakes + 1, cells, 0.0, blanket, claimed / 10) > delta


@pytest.mark.parametrize("delta", [0.05, 1e-4])
@pytest.mark.parametrize("mechanism", [GRR(2, 0.8), GRR(5, 1.0)], ids=["2", "5"])
def test_against_the_analyzer_alone_the_true_delta_is_within_the_claim(mechanism: PureMechanism, delta: float) -> None:
    blanket, cells, fakes = float(mechanism.gamma), mechanism.cells, 50
    users = math.ceil((mean_needed(1.0, delta) * cells - fakes) / blanket) + 2
    claimed = epsilon_server(mechanism, users, fakes, delta)
    assert claimed is not None
    numbers = np.arange(users)
    chances = binom.pmf(numbers, users - 1, blanket)
    likely = numbers[chances > 1e-9]
    # The positive part falls with N, so few values of M, each at its lower neighbour, bound the mean from above.
    edges = likely[:: max(1, len(likely) // 30)]
    mass = np.add.reduceat(chances, edges)
    bound = sum(
        weight * exact_delta(int(m) + fakes + 1, cells, 0.0, blanket, claimed)
        for m, weight in zip(edges, mass, strict=True)
    ) + float(chances[: edges[0]].sum())
    assert bound <= delta, (users, claimed, bound, delta)


def test_a_plan_with_local_hashing_holds_what_it_claims_of_other_users() -> None:
    """With the real γ and the collision probability of the hash family in use, d' no power of two."""
    delta = 1e-3
    by_theorem = partial(plan, accounting="theorem", mechanism="solh", d_prime=5)
    found = by_theorem(600, 40, delta, eps_server=1.0, eps_users=1.0, eps_local=3.0)
    mechanism = found.randomizer
    assert isinstance(mechanism, LocalHash)
    claimed = found.guarantees.users.theorem
    assert claimed is not None
    at_claim = exact_delta(found.fakes + 1, 5, float(mechanism.collision_probability), float(mechanism.gamma), claimed)
    assert at_claim <= delta, (found.fakes, claimed, at_claim)
