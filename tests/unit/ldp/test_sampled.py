"""Sampled items: what is sent for every set is what is claimed, estimates are unbiased, and small mistakes are seen."""

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from peos.crypto.randomness import Randomness
from peos.ldp import GRR, LocalHash, Question, choose_sampled, from_parameters
from peos.ldp.base import UNASKED
from peos.ldp.mixture import logarithm_up
from peos.ldp.sampled import MOST_SLOTS, Sampled, SampledGRR, SampledHash, Sets, epsilon_inside
from tests.full import full
from tests.raising import raises
from tests.unit.ldp.enumeration import Enumeration
from tests.vectors import make_sampled_vectors as generator

VECTORS: dict[str, list[dict[str, Any]]] = json.loads(generator.VECTORS.read_text(encoding="utf-8"))
Law = Mapping[int, Fraction]


class FewWords(GRR):
    """Words of 5 bits, coins of 4."""

    _bits = 5
    _coin_bits = 4


class FewSeeds(LocalHash):
    """Seeds of 2 bits, numbers of 3, coins of 4."""

    _seed_bits = 2
    _bits = 3
    _coin_bits = 4


class Narrow(SampledGRR):
    """Few enough to enumerate."""

    _kind = FewWords


class NarrowHash(SampledHash):
    """Likewise."""

    _kind = FewSeeds


class OneDummy(Narrow):
    """Wrong: all dummies are one."""

    def at(self, sets: Sets, drawn: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.minimum(super().at(sets, drawn), self.domain)


class Truncated(Narrow):
    """Wrong: of a set of more than ℓ items the first ℓ are drawn from alone, so that others are never estimated."""

    def sampled(self, sets: Sets, rng: Randomness) -> NDArray[np.int64]:
        return self.at(sets, rng.below(np.full(len(sets), self.slots, np.uint64)).astype(np.int64))


class Unpadded(Narrow):
    """Wrong: a set of one item is not filled up."""

    def sampled(self, sets: Sets, rng: Randomness) -> NDArray[np.int64]:
        return self.at(sets, rng.below(np.maximum(sets.sizes, 1).astype(np.uint64)).astype(np.int64))


class InnerClaimed(NarrowHash):
    """Wrong: what randomised response gains is claimed for hashing."""

    @property
    def epsilon_local(self) -> float:
        return math.log1p(math.expm1(super().epsilon_local) / self.slots)


def every_set(items: int) -> list[tuple[int, ...]]:
    return [one for size in range(items + 1) for one in itertools.combinations(range(items), size)]


def law(mechanism: Sampled, one: Sequence[int]) -> Law:
    """Of the report of a set, over all that is drawn."""
    slots = max(len(one), mechanism.slots) if not isinstance(mechanism, Truncated | Unpadded) else 0
    if isinstance(mechanism, Truncated):
        slots = mechanism.slots
    elif isinstance(mechanism, Unpadded):
        slots = max(len(one), 1)
    narrow, seed = (3, [("top", 2)]) if isinstance(mechanism, SampledHash) else (5, [])
    least = 2**narrow // mechanism.cells
    preimage = ("below", math.lcm(least, least + (2**narrow % mechanism.cells != 0)))
    draws = [("below", slots), *seed, preimage, ("top", 4), ("top", 5)]
    source = Enumeration(draws)
    given = Sets(np.tile(np.array(one, np.int64), source.rows), np.full(source.rows, len(one), np.int64))
    words = mechanism.randomize(given, source)[:, 0]
    assert source.finished()
    found, counts = np.unique(words, return_counts=True)
    return {int(word): Fraction(int(count), source.rows) for word, count in zip(found, counts, strict=True)}


def worst(laws: Sequence[Law]) -> Fraction:
    words = set().union(*laws)
    assert all(word in one for one in laws for word in words), "a report betrays that a set is impossible"
    return max(max(one[word] for one in laws) / min(one[word] for one in laws) for word in words)


def keeps(mechanism: Sampled) -> tuple[float, float]:
    """The true ε of all sets and the claimed one, both rounded up."""
    laws = [law(mechanism, one) for one in every_set(mechanism.domain)]
    return logarithm_up(worst(laws)), mechanism.epsilon_local


@pytest.mark.parametrize(("items", "slots"), [(1, 1), (3, 1), (3, 2), (3, 3), (4, 2), (5, 3), full(6, 5)])
@pytest.mark.parametrize("epsilon", [0.7, 2.0])
def test_randomised_response_keeps_to_epsilon_and_reaches_it(items: int, slots: int, epsilon: float) -> None:
    """For all sets, also of more items than slots, where the cells are uneven too."""
    true, claimed = keeps(Narrow(items, slots, epsilon))
    assert true == claimed <= epsilon


@pytest.mark.parametrize(("items", "slots", "cells"), [(3, 1, 2), (3, 2, 3), (4, 2, 2), (4, 3, 3)])
def test_hashing_keeps_to_epsilon(items: int, slots: int, cells: int) -> None:
    true, claimed = keeps(NarrowHash(items, slots, 1.5, cells))
    assert 0.7 * claimed < true <= claimed <= 1.5


@pytest.mark.parametrize("wrong", [OneDummy(5, 5, 1.0), Unpadded(3, 3, 1.0), InnerClaimed(4, 2, 1.5, 2)])
def test_a_mechanism_that_is_a_little_wrong_exceeds_what_it_claims(wrong: Sampled) -> None:
    true, claimed = keeps(wrong)
    assert true > claimed * 1.2, (true, claimed)


def test_with_one_dummy_for_all_the_true_epsilon_is_that_of_the_inside() -> None:
    """The reference's ε of 2.26 in place of 1 with five slots."""
    made = SampledGRR(5, 5, 1.0)
    assert logarithm_up(1 + (1 - made.gamma) / made.gamma * made.cells) == pytest.approx(2.26, abs=0.005)


@pytest.mark.parametrize("kind", [Narrow(6, 2, 1.5), Narrow(5, 3, 0.7), Narrow(4, 4, 2.0), Narrow(3, 1, 1.0)], ids=str)
def test_a_report_supports_each_item_as_often_as_the_estimate_takes_it_to(kind: Sampled) -> None:
    """p for an item of a set of at most ℓ, u of a uniform word; of a longer set p − q falls as ℓ/|v|; even cells."""
    supports = supported(kind)
    assert supports.shape == (2**5, kind.domain), "dummies are not shown"
    assert supports.mean(axis=0) == pytest.approx(kind.oracle.u, rel=1e-14)
    for one in every_set(kind.domain):
        assert chances(kind, one, supports) == pytest.approx(expected(kind, one), rel=1e-13), one


def test_truncation_is_seen_by_that() -> None:
    wrong, whole = Truncated(6, 2, 1.5), tuple(range(6))
    assert chances(wrong, whole[:2], supported(wrong)) == pytest.approx(expected(wrong, whole[:2]), rel=1e-13)
    assert chances(wrong, whole, supported(wrong)) != pytest.approx(expected(wrong, whole), rel=0.1)


def supported(kind: Sampled) -> NDArray[np.bool_]:
    words = np.arange(2**5, dtype=np.uint64)[:, np.newaxis]
    return np.asarray(np.stack([kind.support_counts(word[np.newaxis]) for word in words]) == 1)


def chances(kind: Sampled, one: Sequence[int], supports: NDArray[np.bool_]) -> list[float]:
    sent = law(kind, one).items()
    return [float(sum(chance for word, chance in sent if supports[word, x])) for x in range(kind.domain)]


def expected(kind: Sampled, one: Sequence[int]) -> list[float]:
    p, q = kind.oracle.p, kind.oracle.q
    return [q + (p - q) * kind.slots / max(len(one), kind.slots) * (x in one) for x in range(kind.domain)]


def drawn_sets(users: int, sizes: Sequence[int], items: int, seed: int) -> Sets:
    rng = np.random.default_rng(seed)
    return Sets.of([rng.choice(items, size, replace=False).tolist() for size in rng.choice(sizes, users)])


@pytest.mark.parametrize(
    "made", [SampledGRR(12, 4, 2.0), SampledHash(12, 4, 2.0), full(SampledHash(12, 4, 2.0, 4))], ids=str
)
def test_estimates_are_unbiased_with_the_stated_variance(made: Sampled) -> None:
    """Over 600 collections of the same 400 sets of at most ℓ items and 100 fakes; drawing the item is part of it."""
    users, fakes, runs = 400, 100, 600
    rng, sets = Randomness(b"\x05" * 32), drawn_sets(400, (0, 1, 2, 4), 12, 1)
    many = Sets(np.tile(sets.items, runs), np.tile(sets.sizes, runs))
    words = made.randomize(many, rng).reshape(runs, users, 1)
    noise = rng.uint64((runs, fakes, 1))
    found = [
        made.estimate(made.tally(np.concatenate((words[run], noise[run]))), users, fakes).frequency
        for run in range(runs)
    ]
    truth = np.bincount(sets.items, minlength=12) / users
    stated = np.array([made.variance(users, fakes, f) for f in truth])
    assert np.all(np.abs(np.mean(found, axis=0) - truth) <= 4.5 * np.sqrt(stated / runs))
    # Each ratio is within 4.5 · √(2/600) = .26 of 1, and their mean over twelve items within 5 %.
    ratios = np.var(found, axis=0) / stated
    assert np.all(np.abs(ratios - 1) <= 0.26), ratios
    assert abs(float(ratios.mean()) - 1) <= 0.05, ratios


@pytest.mark.parametrize("made", [SampledGRR(10, 2, 3.0), SampledHash(10, 2, 3.0, 16)], ids=str)
def test_an_item_of_a_longer_set_counts_as_slots_over_its_size(made: Sampled) -> None:
    users = 60_000
    sets = drawn_sets(users, (1, 6), 10, 2)
    weights = np.minimum(1.0, made.slots / np.repeat(sets.sizes, sets.sizes))
    weighted = np.bincount(sets.items, weights=weights, minlength=10) / users
    found = made.estimate(made.tally(made.randomize(sets, Randomness(b"\x06" * 32))), users)
    assert np.all(np.abs(found.frequency - weighted) <= 5 * found.stderr)
    assert np.mean(np.bincount(sets.items, minlength=10) / users - weighted) > 8 * float(found.stderr.mean())


def test_the_thesis_variances() -> None:
    for items, slots, epsilon in ((1_000, 1, 1.0), (500, 6, 2.0), (128, 10, 0.5)):
        E = math.exp(epsilon)
        direct = SampledGRR(items, slots, epsilon).variance(1)
        assert direct == pytest.approx((slots * E + items - 1) / (E - 1) ** 2, rel=1e-6)
        hashed = SampledHash(1 << 20, slots, epsilon).variance(1)
        assert hashed == pytest.approx(4 * slots**2 * E / (E - 1) ** 2, rel=0.01)


def test_the_rule_of_the_thesis_changes_at_its_bound() -> None:
    for slots, epsilon in ((1, 1.0), (2, 0.5), (6, 2.0)):
        bound = slots * (4 * slots - 1) * math.exp(epsilon) + 1
        assert isinstance(choose_sampled(math.floor(bound), epsilon, slots), SampledGRR)
        assert isinstance(choose_sampled(math.ceil(bound), epsilon, slots), SampledHash)


INSIDE = {  # table 5.1 of the thesis: ℓ = 2, 5, 10, 20, 50, 100
    0.1: "0.19 0.42 0.72 1.13 1.83 2.44",
    0.5: "0.83 1.45 2.01 2.64 3.51 4.19",
    1.0: "1.49 2.26 2.90 3.57 4.46 5.15",
    2.0: "2.62 3.49 4.17 4.86 5.77 6.46",
    4.0: "4.68 5.59 6.29 6.98 7.89 8.59",
}


@pytest.mark.parametrize("epsilon", INSIDE)
def test_table_5_1_by_what_is_drawn(epsilon: float) -> None:
    found = []
    for slots in (2, 5, 10, 20, 50, 100):
        made = SampledGRR(100, slots, epsilon)
        inside = math.log(made.randomiser.oracle.p / made.randomiser.oracle.q)
        assert inside == pytest.approx(math.log1p(slots * math.expm1(epsilon)), rel=1e-9)
        found.append(f"{inside:.2f}")
    assert " ".join(found) == INSIDE[epsilon]


def true_delta(epsilon: float, inside: float, slots: int, size: int, other: int) -> float:
    """δ of hashing one of the slots by ideal functions at ε', for disjoint sets of these sizes, by their loads."""
    gain, cells = math.expm1(inside), math.ceil(math.exp(inside) + 1)
    most, beside = max(size, slots), max(other, slots)
    total, chance = 0.0, 1 / cells
    for a in range(most + 1):
        for b in range(beside + 1):
            both = _binomial(most, a, chance) * _binomial(beside, b, chance)
            total += both * max(0.0, 1 + gain * a / most - math.exp(epsilon) * (1 + gain * b / beside))
    return total * cells / (gain + cells)


def _binomial(trials: int, hits: int, chance: float) -> float:
    return math.comb(trials, hits) * chance**hits * (1 - chance) ** (trials - hits)


def test_theorem_5_5_1_holds_for_sets_that_fill_the_slots() -> None:
    """By the exact δ, for ideal functions; with a pair more in a cell than ℓ' allows it would not."""
    for epsilon, slots, delta in ((1.0, 20, 1e-3), (4.0, 5, 1e-3), (2.0, 10, 1e-9), (4.0, 50, 1e-9)):
        inside = epsilon_inside(epsilon, slots, delta)
        assert inside > epsilon
        assert true_delta(epsilon, inside, slots, slots, slots) <= delta
        assert true_delta(epsilon, math.log1p(slots * math.expm1(epsilon)), slots, slots, slots) > delta
    assert epsilon_inside(0.5, 2, 1e-9) == pytest.approx(0.5)


@pytest.mark.parametrize("case", VECTORS["drawn"], ids=lambda case: f"d={case['items']},l={case['slots']}")
def test_slots_thresholds_and_cells_are_those_of_the_vectors(case: dict[str, Any]) -> None:
    made = SampledGRR(case["items"], case["slots"], float(case["epsilon"]))
    assert made.parameters == {"threshold": case["threshold"], "slots": case["slots"]}
    assert f"{made.epsilon_local:.12f}" == f"{float(case['epsilon_local']):.12f}"
    for held in case["held"]:
        slots = np.arange(len(held["slots"]))
        sets = Sets(np.tile(np.array(held["set"], np.int64), len(slots)), np.full(len(slots), len(held["set"])))
        assert made.at(sets, slots).tolist() == held["slots"]
    for told in case["told"]:
        counts = made.support_counts(np.array([[told["word"]]], np.uint64))
        assert np.flatnonzero(counts).tolist() == [told["cell"]] * (told["cell"] < case["items"])


@pytest.mark.parametrize("case", VECTORS["hashed"], ids=lambda case: f"d={case['items']},l={case['slots']}")
def test_hashed_supports_are_those_of_the_vectors(case: dict[str, Any]) -> None:
    ask = Question(bytes.fromhex(case["analyzer"]), case["question"], case["epoch"])
    parameters = {key: case[key] for key in ("threshold", "cells", "slots")}
    made = from_parameters("sampled_hash", case["items"], parameters, ask)
    assert isinstance(made, SampledHash)
    for report in case["reports"]:
        counts = made.support_counts(np.array([[report["word"]]], np.uint64))
        assert np.flatnonzero(counts).tolist() == report["support"]


def test_the_vectors_are_what_their_generator_makes() -> None:
    assert generator.VECTORS.read_text(encoding="utf-8") == generator.text()


@pytest.mark.parametrize("made", [SampledGRR(100, 5, 2.0), SampledHash(100, 5, 2.0, 9)], ids=str)
def test_a_document_makes_the_same_mechanism_and_refuses_what_is_none(made: SampledGRR | SampledHash) -> None:
    again = from_parameters(made.name, made.domain, made.parameters)
    assert isinstance(again, Sampled)
    assert again == made
    assert again.epsilon_local == made.epsilon_local <= 2.0
    assert again.oracle == made.oracle
    assert made != type(made)(100, 4, 2.0)
    for change, id_ in (
        ({"slots": 0}, "mechanism.range"),
        ({"slots": 101}, "mechanism.range"),
        ({"slots": MOST_SLOTS + 1}, "mechanism.range"),
        ({"threshold": 0}, "mechanism.range"),
        ({"padding": 1}, "mechanism.parameters"),
    ):
        with raises(id_):
            type(made).from_parameters(made.domain, {**made.parameters, **change}, UNASKED)
    with raises("mechanism.range"):
        type(made)(0, 1, 1.0)
    for items, sizes, id_ in (
        ([100], [1], "mechanism.items"),
        ([-1], [1], "mechanism.items"),
        ([1, 2], [1], "mechanism.items"),
        ([1, 1], [2], "mechanism.items_order"),
        ([2, 1], [2], "mechanism.items_order"),
    ):
        with raises(id_):
            made.randomize(Sets(np.array(items, np.int64), np.array(sizes, np.int64)))
    assert made.randomize(Sets.of([[3, 1, 3], [], [99]])).shape == (3, 1)


def test_an_epsilon_that_cannot_be_drawn_inside_is_refused() -> None:
    with raises("mechanism.epsilon_inside"):
        SampledGRR(1_000, 100, 20.0)
