"""Grouped hashing, run through every random input of a narrow twin: its law is the claimed one, for every record."""

import itertools
import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from peos.crypto.randomness import Randomness
from peos.estimate.grouped import GroupEstimate
from peos.ldp import from_parameters
from peos.ldp.grouped_hash import GroupedHash, Keys
from tests.raising import raises
from tests.unit.ldp.enumeration import Enumeration

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "grouped_hash.json").read_text())


class Narrow(GroupedHash):
    """Seeds of 3 bits, numbers of 2, coins of 5: every draw of a report is 3 + 1 + 2 + 5 + 5 bits."""

    _seed_bits = 3
    _bits = 2
    _coin_bits = 5


class Tells(Narrow):
    """A record that fits nothing is told by a fixed number: wrong."""

    def encode(self, keys: Keys, rng: Randomness) -> np.ndarray:
        words = super().encode(keys, rng)
        return np.where(np.any(keys.fits, axis=1, keepdims=True), words, words & ~np.uint64(3))


DRAWS = [("top", 3), ("below", 2), ("top", 2), ("top", 5), ("top", 5)]
RECORDS = (
    (((0, 0), (0, 0)), True),
    (((0, 1), (0, 1)), True),
    (((0, 0), (5, 1)), True),
    (((0, 0), (0, 0)), False),
)


def keys(pairs: Sequence[tuple[int, int]], rows: int, *, fits: bool) -> Keys:
    """The same keys for every row."""
    parents, exts = (np.array([[pair[at] for pair in pairs]] * rows, np.uint64) for at in (0, 1))
    return Keys(parents, exts, np.full(parents.shape, fits))


def law(mechanism: GroupedHash, pairs: Sequence[tuple[int, int]], *, fits: bool) -> dict[int, Fraction]:
    source = Enumeration(DRAWS)
    words = mechanism.randomize(keys(pairs, source.rows, fits=fits), source)
    assert source.finished()
    found, counts = np.unique(words[:, 0], return_counts=True)
    return {int(one): Fraction(int(count), source.rows) for one, count in zip(found, counts, strict=True)}


@pytest.mark.parametrize("weights", [(1, 1), (1, 3)])
def test_a_report_is_uniform_with_probability_gamma_else_any_word_that_supports_her_key(
    weights: tuple[int, ...],
) -> None:
    mechanism = Narrow(weights, 1.5, 2)
    words = np.arange(2**5, dtype=np.uint64)[:, np.newaxis]
    groups, seeds, answers = mechanism.decode(words)
    uniform = mechanism.gamma / 2**5
    laws = []
    for pairs, fits in RECORDS:
        parents, exts = (np.array([pair[at] for pair in pairs], np.uint64)[groups] for at in (0, 1))
        supported = mechanism.hashes.hash(seeds, parents, exts) == answers
        told = [Fraction(int(one), 2**4) if fits else Fraction(1, 2**5) for one in supported]
        expected = {
            int(word): uniform + (1 - mechanism.gamma) * chance for word, chance in zip(words[:, 0], told, strict=True)
        }
        laws.append(law(mechanism, pairs, fits=fits))
        assert laws[-1] == expected, pairs
    worst = max(float(one[word] / other[word]) for one, other in itertools.permutations(laws, 2) for word in one)
    assert worst == pytest.approx(np.exp(mechanism.epsilon_local), rel=1e-12)


def test_a_record_that_fits_nothing_sends_a_uniform_word_and_one_that_does_not_is_seen() -> None:
    even = {word: Fraction(1, 2**5) for word in range(2**5)}
    assert law(Narrow((1, 1), 1.5, 2), RECORDS[3][0], fits=False) == even
    assert law(Tells((1, 1), 1.5, 2), RECORDS[3][0], fits=False) != even


def test_what_is_drawn_is_the_same_for_every_record() -> None:
    """The stream is where it would be for any other record: neither draws nor work tell outsiders apart."""
    after = set()
    mechanism = GroupedHash((1, 2), 4.0, 64)
    for pairs, fits in RECORDS:
        rng = Randomness(bytes(32))
        mechanism.randomize(keys(pairs, 50, fits=fits), rng)
        after.add(rng.bytes(32))
    assert len(after) == 1


@pytest.mark.parametrize("vector", VECTORS["groups"], ids=lambda vector: f"{vector['weights']}-{vector['seed']}")
def test_groups_are_those_of_the_vectors(vector: dict[str, list[int]]) -> None:
    found = GroupedHash(vector["weights"], 1.0, 2).group_of(np.array([vector["seed"]], np.uint64))
    assert found.tolist() == [vector["group"]]


def test_a_document_makes_the_same_mechanism_and_refuses_what_is_none() -> None:
    made = GroupedHash((1, 1, 2), 3.0, 256)
    again = from_parameters(made.name, made.domain, made.parameters)
    assert again == made
    assert again.epsilon_local == made.epsilon_local <= 3.0
    assert made.weighted((5,)).epsilon_local == made.epsilon_local
    for change, id_ in (
        ({"cells": 48}, "mechanism.power_of_two"),
        ({"cells": 2**17}, "mechanism.range"),
        ({"weight_1": 0}, "mechanism.range"),
        ({"weight_4": 1}, "mechanism.parameters"),
    ):
        with raises(id_):
            from_parameters(made.name, made.domain, {**made.parameters, **change})
    with raises("mechanism.range"):
        GroupedHash((), 1.0, 2)
    with raises("mechanism.range"):
        from_parameters(made.name, 65, made.parameters)
    with raises("mechanism.keys"):
        made.randomize(keys(((0, 0),), 3, fits=True))
    with raises("mechanism.ext"):
        made.randomize(keys(((0, 2**20),) * 3, 3, fits=True))


USERS, FAKES, RUNS = 2_000, 1_000, 1_000


@pytest.mark.parametrize("epsilon", [2.0, 5.0])
def test_estimates_given_the_groups_sizes_are_unbiased_with_the_stated_error_and_coverage(epsilon: float) -> None:
    """Weights 1 : 3 and fakes for half of the users, by the law of the counts; f from 0 to .6; by both groups."""
    mechanism = GroupedHash((1, 3), epsilon, 64)
    rng, oracle = np.random.default_rng(int(epsilon)), mechanism.oracle
    holders = np.array([0, 20, 200, 1200])
    for group, share in enumerate(mechanism.shares):
        sizes = rng.binomial(USERS + FAKES, share, RUNS)
        rare = USERS + FAKES - holders
        held = rng.hypergeometric(holders, rare, sizes[:, np.newaxis])
        counts = rng.binomial(held, oracle.p) + rng.binomial(sizes[:, np.newaxis] - held, oracle.u)
        found = [
            GroupEstimate.of(oracle, count, reports=int(size), users=USERS, fakes=FAKES)
            for count, size in zip(counts, sizes, strict=True)
        ]
        frequency = np.array([one.frequency for one in found])
        truth = holders / USERS
        variance = np.mean([oracle.variance(int(n), USERS, FAKES, truth) for n in sizes[:200]], axis=0)
        spread = frequency.std(axis=0)
        assert np.all(np.abs(frequency.mean(axis=0) - truth) <= 4.5 * spread / RUNS**0.5), group
        assert np.all(np.abs(spread / np.sqrt(variance) - 1) <= 0.1), (group, spread, np.sqrt(variance))
        ends = np.array([one.interval() for one in found])
        covered = np.mean((ends[:, :, 0] <= truth) & (truth <= ends[:, :, 1]), axis=0)
        assert np.all((covered >= 0.93) & (covered <= 0.975)), (group, covered)


def test_real_reports_have_that_law() -> None:
    """Supports of one key among real reports of real keys, and each group's size: 300 collections of few users."""
    mechanism, users, fakes, runs = GroupedHash((1, 3), 3.0, 16), 400, 200, 300
    rng = Randomness(b"\x01" * 32)
    parents = np.zeros((users, 2), np.uint64)
    exts = np.repeat(np.where(np.arange(users) < 80, 7, np.arange(users) + 1000)[:, np.newaxis], 2, axis=1)
    given = Keys(parents, exts.astype(np.uint64), np.ones((users, 2), np.bool_))
    found, z = [], []
    for _ in range(runs):
        words = np.concatenate((mechanism.randomize(given, rng), rng.uint64((fakes, 1))))
        groups, seeds, answers = mechanism.decode(words)
        here = groups == 1
        count = mechanism.hashes.pair_counts(
            seeds[here], answers[here], np.zeros(1, np.uint64), np.array([7], np.uint64)
        )
        reports = int(np.count_nonzero(here))
        estimate = GroupEstimate.of(mechanism.oracle, count, reports=reports, users=users, fakes=fakes)
        variance = mechanism.oracle.variance(reports, users, fakes, np.float64(0.2))
        found.append(float(estimate.frequency[0]))
        z.append((found[-1] - 0.2) / float(variance) ** 0.5)
    assert abs(np.mean(z)) <= 4.5 / runs**0.5
    assert abs(np.std(z) - 1) <= 0.18
