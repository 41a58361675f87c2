"""SUE's fields: where they stand, across words too; which width is chosen; and that reports touch only one's own."""

import math

import numpy as np
import pytest

from peos.crypto.randomness import U64, Randomness
from peos.errors import WrongInput
from peos.ldp import SUE, UE


def fields_of(words: U64, mechanism: SUE) -> list[list[int]]:
    """Each report's fields from Σ_j word_j·2^(64j), in Python's integers."""
    wholes = [sum(int(word) << 64 * j for j, word in enumerate(row)) for row in words]
    b = mechanism.field_bits
    return [[whole >> i * b & (1 << b) - 1 for i in range(mechanism.domain)] for whole in wholes]


@pytest.mark.parametrize("bits", range(2, 17))
def test_bits_are_read_from_fields_as_the_protocol_lays_them(bits: int, rng: Randomness) -> None:
    for domain in (2, 33, 64, 70):
        mechanism = SUE.from_parameters(domain, {"tau": max(1, 2 ** (bits - 2) - 1), "field_bits": bits})
        words = rng.uint64((40, mechanism.words))
        expected = np.array([[field < mechanism.tau for field in row] for row in fields_of(words, mechanism)])
        assert mechanism.words == math.ceil(domain * bits / 64)
        assert np.array_equal(mechanism.decode(words), expected)
        assert np.array_equal(mechanism.support_counts(words), expected.sum(axis=0))


@pytest.mark.parametrize("bits", [2, 3, 5, 7, 11, 13, 16])
def test_redrawing_changes_ones_own_field_and_no_other_bit(bits: int, rng: Randomness) -> None:
    """The same stream is asked first for the uniform words alone, then for reports."""
    mechanism = SUE.from_parameters(70, {"tau": 1, "field_bits": bits})
    values = np.arange(70)
    key = rng.bytes(32)
    plain = Randomness(key).uint64((70, mechanism.words))
    for words in (mechanism.randomize(values, Randomness(key)), mechanism.encode(values, Randomness(key))):
        changed = [sum(int(word) << 64 * j for j, word in enumerate(row)) for row in np.bitwise_xor(plain, words)]
        for value, difference in enumerate(changed):
            assert difference >> value * bits < 2**bits
            assert difference & (1 << value * bits) - 1 == 0


@pytest.mark.parametrize(("bits", "reports"), [(1, 20), (2, 40), (3, 40), (7, 300)])
def test_counts_that_are_added_up_within_words_stay_apart(bits: int, reports: int) -> None:
    """Reports so wide that each is compared by itself, and so many that their sums fill what room a word has."""
    mechanism = UE((64 // bits) * 16384, 1.0, share=0.9, field_bits=bits)
    every = np.zeros((reports, mechanism.words), dtype=np.uint64)
    assert set(mechanism.support_counts(every)) == {reports}
    assert set(mechanism.support_counts(~every)) == {0}


@pytest.mark.parametrize("bits", range(1, 17))
def test_a_few_candidates_are_counted_as_among_all(bits: int, rng: Randomness) -> None:
    mechanism = UE(130, 1.0, share=0.3, field_bits=bits)
    words = rng.uint64((70, mechanism.words))
    expected = mechanism.decode(words).sum(axis=0)
    for few in ([129], [0, 64, 129], list(range(0, 130, 2))):
        assert np.array_equal(mechanism.support_counts(words, np.array(few)), expected[few])


def test_counts_are_the_same_across_chunks(rng: Randomness) -> None:
    mechanism = SUE(21, 4.0)
    words = rng.uint64((20_000, mechanism.words))
    assert np.array_equal(mechanism.support_counts(words), mechanism.decode(words).sum(axis=0))


@pytest.mark.parametrize(("bits", "epsilon"), [(2, 2.20), (3, 3.89), (4, 5.42), (5, 6.87)])
def test_one_of_two_to_the_b_gives_the_epsilon_of_the_privacy_page(bits: int, epsilon: float) -> None:
    mechanism = SUE.from_parameters(10, {"tau": 1, "field_bits": bits})
    assert round(mechanism.epsilon_local, 2) == epsilon
    asked = math.nextafter(mechanism.epsilon_local, math.inf)
    assert SUE(10, asked).parameters == {"tau": 1, "field_bits": bits}


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 1, 2, 2.2, 3, 4, 5, 6, 8, 12, 20])
def test_the_default_width_is_the_least_within_five_percent_of_the_best(epsilon: float) -> None:
    mechanism = SUE(10, epsilon)
    best = SUE(10, epsilon, field_bits=16).variance(1000)
    assert mechanism.epsilon_local <= epsilon
    assert mechanism.variance(1000) <= 1.05 * best * (1 + 1e-12)
    for narrower in range(2, mechanism.field_bits):
        try:
            other = SUE(10, epsilon, field_bits=narrower)
        except WrongInput:
            continue
        assert other.variance(1000) > 1.05 * best, f"{narrower} bits would have done"


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0])
def test_tau_is_the_smallest_that_keeps_to_epsilon(epsilon: float) -> None:
    mechanism = SUE(10, epsilon, field_bits=16)
    lower = {"tau": mechanism.tau - 1, "field_bits": 16}
    assert mechanism.epsilon_local <= epsilon < SUE.from_parameters(10, lower).epsilon_local


def test_the_variance_is_that_of_ideal_local_hashing_with_as_many_cells() -> None:
    """privacy.md §1: whole-vector SUE is local hashing with d' = e^(ε/2) + 1."""
    mechanism = SUE.from_parameters(10, {"tau": 1, "field_bits": 4})
    E = math.exp(mechanism.epsilon_local)
    cells = math.sqrt(E) + 1
    ideal = (E + cells - 1) ** 2 / (1000 * (E - 1) ** 2 * (cells - 1))
    assert math.isclose(mechanism.variance(1000), ideal, rel_tol=1e-12)
