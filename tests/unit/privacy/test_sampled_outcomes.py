"""Sampled items against every outcome of tiny collections: the claim is never below the truth, and reached.

The truth is of the mechanism as it is drawn: each cell's law is that of padding, sampling and the coin, in fractions.
"""

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import pytest

from peos.ldp.blanket import Blanket, even_blanket
from peos.ldp.sampled import SampledGRR, SampledHash
from peos.privacy.exact import bound, epsilon
from tests.full import full
from tests.unit.privacy.outcomes import Law, true_delta, view

EPSILONS = (0.0, 0.2, 0.6, 1.0)
ROUNDING = 1e-13
Set = tuple[int, ...]


def sets_of(items: int, most: int) -> list[Set]:
    return [one for size in range(most + 1) for one in itertools.combinations(range(items), size)]


def slots_of(one: Set, items: int, slots: int, *, distinct: bool = True) -> list[int]:
    """What is in the slots of a set."""
    dummies = [items + (at if distinct else 0) for at in range(max(0, slots - len(one)))]
    return [*one, *dummies]


def grr(items: int, slots: int, *, distinct: bool = True) -> tuple[dict[Set, Law], Law, Blanket]:
    """Laws of the reports of sets of up to three items, that of a fake, and what the accounting makes of it."""
    mechanism = SampledGRR(items, slots, 1.5)
    γ, cells = mechanism.gamma, items + slots
    fake: Law = {(cell,): Fraction(1, cells) for cell in range(cells)}
    laws: dict[Set, Law] = {}
    for one in sets_of(items, min(items, 3)):
        told = slots_of(one, items, slots, distinct=distinct)
        laws[one] = {(cell,): γ / cells + (1 - γ) * Fraction(told.count(cell), len(told)) for cell in range(cells)}
    # Of cells that are even, as 2^64 words nearly are.
    return laws, fake, even_blanket(γ, Fraction(slots, cells), Fraction(0), mechanism.epsilon_local)


def hashed(items: int, slots: int, cells: int = 2) -> tuple[dict[Set, Law], Law, Blanket]:
    """The same by hashing, with all functions from items and dummies to cells, which is more than pairwise."""
    mechanism = SampledHash(items, slots, 1.5, cells)
    γ = mechanism.gamma
    functions = list(itertools.product(range(cells), repeat=items + slots))
    seen_chance = Fraction(1, len(functions) * cells)
    laws: dict[Set, defaultdict[Set, Fraction]] = {}
    fake: defaultdict[Set, Fraction] = defaultdict(Fraction)
    for one in sets_of(items, min(items, 3)):
        told, law = slots_of(one, items, slots), defaultdict[Set, Fraction](Fraction)
        for function in functions:
            for y in range(cells):
                met = Fraction(sum(function[slot] == y for slot in told), len(told) * len(functions))
                law[(*(int(cell == y) for cell in function),)] += γ * seen_chance + (1 - γ) * met
        laws[one] = law
    for function in functions:
        for y in range(cells):
            fake[(*(int(cell == y) for cell in function),)] += seen_chance
    match = Fraction(1, cells)
    return dict(laws), dict(fake), even_blanket(γ, match, match * match, mechanism.epsilon_local)


GRR = [(2, 1), (2, 2), (3, 2), full(3, 3)]


def exceeds(
    laws: dict[Set, Law], fake: Law, blanket: Blanket, others: int, fakes: int, given: list[tuple[Set, ...]]
) -> tuple[bool, float]:
    """Whether the claim is below the truth for some data of the others and pair of sets, and how near the truth is."""
    bounds = [bound(blanket, others, fakes, epsilon, cut=1e-30) for epsilon in EPSILONS]
    largest, over = [0.0] * len(EPSILONS), False
    for theirs in given:
        views = [view([*(laws[one] for one in theirs), *[fake] * fakes, law]) for law in laws.values()]
        for one, other in itertools.permutations(views, 2):
            for at, each in enumerate(EPSILONS):
                truth = true_delta(one, other, each)
                over |= truth > bounds[at] + ROUNDING
                largest[at] = max(largest[at], truth)
    return over, largest[1] / bounds[1]


@pytest.mark.parametrize("fakes", [0, 1, full(2)])
@pytest.mark.parametrize("others", [1, 2])
@pytest.mark.parametrize(("items", "slots"), GRR)
def test_no_data_of_the_others_exceeds_the_claim(items: int, slots: int, others: int, fakes: int) -> None:
    """The analyzer alone, n = 2 and 3, sets of none to three items, both directions."""
    laws, fake, blanket = grr(items, slots)
    given = list(itertools.combinations_with_replacement(laws, others))
    over, near = exceeds(laws, fake, blanket, others, fakes, given)
    assert not over
    assert near > 0.5, "the bound is no empty one"


@pytest.mark.parametrize("fakes", [1, 2, 3])
@pytest.mark.parametrize(("items", "slots"), [(2, 1), (2, 2), (3, 2), (4, 2)])
def test_against_all_other_users_the_claim_is_the_truth_for_sets_that_fill_the_slots(
    items: int, slots: int, fakes: int
) -> None:
    laws, fake, blanket = grr(items, slots)
    views = {one: view([fake] * fakes + [law]) for one, law in laws.items()}
    full_sets = [one for one in laws if len(one) == slots]
    for each in EPSILONS:
        claimed = bound(blanket, 0, fakes, each, cut=1e-30)
        assert all(true_delta(*pair, each) <= claimed + ROUNDING for pair in itertools.permutations(views.values(), 2))
        # Disjoint sets that fill the slots, or one that does and the empty set, whose slots are all dummies.
        apart = [views[()], views[full_sets[-1]]]
        assert math.isclose(true_delta(apart[0], apart[1], each), claimed, rel_tol=3e-6, abs_tol=1e-12)


@pytest.mark.parametrize(("items", "slots", "fakes"), [(2, 2, 0), (2, 2, 1), full(3, 2, 0)])
def test_hashing_is_no_worse_than_hashing_one_value(items: int, slots: int, fakes: int) -> None:
    laws, fake, blanket = hashed(items, slots)
    given = list(itertools.combinations_with_replacement(laws, 1))
    over, near = exceeds(laws, fake, blanket, 1, fakes, given)
    assert not over
    assert near > 0.3


def test_one_dummy_for_all_would_make_the_claim_false() -> None:
    laws, fake, blanket = grr(2, 2, distinct=False)
    assert exceeds(laws, fake, blanket, 1, 1, [(one,) for one in laws])[0]


def test_padding_is_what_the_claim_rests_on() -> None:
    """A set of one item that is not filled up to two gives more away."""
    laws, fake, blanket = grr(3, 2)
    γ = SampledGRR(3, 2, 1.5).gamma
    law = {cell: γ * chance + (1 - γ) * (cell == (0,)) for cell, chance in fake.items()}
    assert exceeds({**laws, (0,): law}, fake, blanket, 1, 1, [(one,) for one in laws])[0]


@pytest.mark.parametrize(("items", "slots", "local", "found", "inside"), [
    (128, 5, 4.0, 0.059, 0.136), (128, 10, 4.0, 0.065, 0.214), (1_657, 5, 6.0, 0.152, 0.350),
])  # fmt: skip
def test_the_figures_of_half_a_million_users(items: int, slots: int, local: float, found: float, inside: float) -> None:
    """ε_c without fakes at δ = 10⁻⁹; and what the inner ε' would claim by the accounting of plain GRR."""
    mechanism = SampledGRR(items, slots, local)
    assert epsilon(mechanism, 500_000, 0, 1e-9) == pytest.approx(found, abs=0.0006)
    assert epsilon(mechanism.randomiser, 500_000, 0, 1e-9) == pytest.approx(inside, abs=0.002)


def test_more_slots_cost_more_in_the_shuffle() -> None:
    """At the same ε_l; the variance grows as well."""
    claims = [epsilon(SampledGRR(128, slots, 4.0), 500_000, 0, 1e-9) for slots in (1, 2, 4, 8, 16, 32, 128)]
    assert claims == sorted(claims)
    assert claims[0] < claims[-1]
