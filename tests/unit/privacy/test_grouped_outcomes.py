"""Hidden groups against every outcome of tiny collections: nothing is lost by them, and much is if they are shown.

A record is a key in each group; a report is a group, a hash function (any from keys to cells, all equally likely, which
is more than pairwise independent) and a cell. All that two records can be told apart by is the group of a report, and
which of the keys it supports.
"""

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import pytest

from peos.ldp.blanket import Blanket, even_blanket
from peos.ldp.grouped_hash import GroupedHash
from peos.privacy.exact import bound
from tests.full import full
from tests.unit.privacy.outcomes import Law, true_delta, view

EPSILONS = (0.0, 0.2, 0.6, 1.0)
ROUNDING = 1e-13
CELLS, KEYS = 2, 2
CASES = [(1, 1), (1, 3), full((1, 1, 1)), full((1, 1, 2))]


def laws(weights: tuple[int, ...], epsilon: float = 1.5) -> tuple[list[Law], Law, Blanket]:
    """A report's law for every record, a fake's, and what the accounting makes of it."""
    mechanism = GroupedHash(weights, epsilon, CELLS)
    γ, whole = mechanism.gamma, sum(weights)
    fake: defaultdict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    told: defaultdict[tuple[int, ...], Fraction] = defaultdict(Fraction)  # by group and key, and what is seen
    for group, weight in enumerate(weights):
        share = Fraction(weight, whole)
        for hashes in itertools.product(range(CELLS), repeat=KEYS):
            for y in range(CELLS):
                seen = (group, *(int(h == y) for h in hashes))
                fake[seen] += share / CELLS ** (KEYS + 1)
                for key in range(KEYS):
                    chance = share / CELLS**KEYS * (hashes[key] == y)
                    told[group, key, *seen] += chance
    records = itertools.product(range(KEYS), repeat=len(weights))
    found: list[Law] = [
        {
            seen: γ * chance + (1 - γ) * sum(told[group, key, *seen] for group, key in enumerate(record))
            for seen, chance in fake.items()
        }
        for record in records
    ]
    met = Fraction(1, CELLS)
    return found, dict(fake), even_blanket(γ, met, met * met, mechanism.epsilon_local)


@pytest.mark.parametrize("fakes", [0, 1])
@pytest.mark.parametrize("weights", CASES, ids=str)
def test_no_data_of_the_others_exceeds_the_claim(weights: tuple[int, ...], fakes: int) -> None:
    """The analyzer alone, two other users with every pair of records, every pair of the victim's, both directions."""
    found, fake, blanket = laws(weights)
    bounds = [bound(blanket, 2, fakes, epsilon, cut=1e-30) for epsilon in EPSILONS]
    largest = [0.0] * len(EPSILONS)
    for others in itertools.combinations_with_replacement(found, 2):
        views = [view([*others, *[fake] * fakes, law]) for law in found]
        for one, other in itertools.permutations(views, 2):
            for at, epsilon in enumerate(EPSILONS):
                truth = true_delta(one, other, epsilon)
                assert truth <= bounds[at] + ROUNDING, (epsilon, truth, bounds[at])
                largest[at] = max(largest[at], truth)
    assert largest[0] > 0.5 * bounds[0], ("the bound is no empty one", largest, bounds)


@pytest.mark.parametrize("fakes", [1, 2])
@pytest.mark.parametrize("weights", CASES, ids=str)
def test_against_all_other_users_the_claim_is_the_truth(weights: tuple[int, ...], fakes: int) -> None:
    """Reached by records that differ in every group."""
    found, fake, blanket = laws(weights)
    views = [view([fake] * fakes + [law]) for law in found]
    for epsilon in EPSILONS:
        truth = max(true_delta(one, other, epsilon) for one, other in itertools.permutations(views, 2))
        assert math.isclose(truth, bound(blanket, 0, fakes, epsilon, cut=1e-30), rel_tol=3e-6)


@pytest.mark.parametrize(("weights", "factor"), [((1, 1), 1.1), ((1, 3), 1.03)], ids=str)
def test_a_group_that_is_public_hides_less_than_is_claimed(weights: tuple[int, ...], factor: float) -> None:
    """Whose report answers which group is known: the victim hides among three others as far as they are in hers."""
    found, _, blanket = laws(weights)
    groups = range(len(weights))
    shares = [weight / sum(weights) for weight in weights]
    claimed, truth = bound(blanket, 3, 0, 0.2, cut=1e-30), 0.0
    for others in itertools.combinations_with_replacement((0, -1), 3):
        hidden = 0.0
        for assigned in itertools.product(groups, repeat=4):
            hers = assigned[3]
            near = [
                _within(found[other], hers) for other, group in zip(others, assigned[:3], strict=True) if group == hers
            ]
            one, other = (view([*near, _within(found[at], hers)]) for at in (0, -1))
            hidden += math.prod(shares[group] for group in assigned) * true_delta(one, other, 0.2)
        truth = max(truth, hidden)
    assert truth > claimed * factor, (truth, claimed)


def _within(law: Law, group: int) -> Law:
    """The law of a report that is known to answer this group."""
    share = sum(chance for seen, chance in law.items() if seen[0] == group)
    return {seen: chance / share for seen, chance in law.items() if seen[0] == group}
