"""The integers behind a draw: thresholds, cells and preimages, ε rounded to the private side."""

import math
from fractions import Fraction

import numpy as np
import pytest

from peos.crypto.randomness import Randomness
from peos.ldp import GRR, MAX_EPSILON, SUE, LocalHash
from peos.ldp.mixture import MIN_EPSILON, Mixture, largest_threshold, logarithm_up
from tests.raising import raises


def exp_below(exponent: Fraction) -> Fraction:
    """A lower bound of e^exponent from its series, short of it by far less than 2^-300 of its value."""
    term = total = Fraction(1)
    for k in range(1, 400):
        term = Fraction(math.floor(term * exponent / k * 2**400), 2**400)
        total += term
    return total


def true_ratio(threshold: int, cells: int, bits: int) -> Fraction:
    return 1 + Fraction(threshold, 2**64 - threshold) * Fraction(2**bits, 2**bits // cells)


@pytest.mark.parametrize("epsilon", [MIN_EPSILON, 0.1, 1.0, 4.5, 8.705, 16.0, MAX_EPSILON])
@pytest.mark.parametrize(("cells", "bits"), [(2, 64), (3, 64), (42178, 64), (1 << 24, 64), (45, 32), (1 << 16, 32)])
def test_t_is_the_largest_threshold_that_keeps_to_epsilon(epsilon: float, cells: int, bits: int) -> None:
    threshold = largest_threshold(epsilon, cells, bits=bits)
    bound = exp_below(Fraction(epsilon))
    assert true_ratio(threshold, cells, bits) <= bound < true_ratio(threshold + 1, cells, bits)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.5, 8.705, 16.0, MAX_EPSILON])
def test_the_epsilon_of_a_mechanism_is_the_one_asked_but_for_a_billionth(epsilon: float) -> None:
    for mechanism in (GRR(42178, epsilon), GRR(2, epsilon), LocalHash(915, epsilon, d_prime=45)):
        assert 0 <= epsilon - mechanism.epsilon_local <= 1e-9, f"{mechanism}: {mechanism.epsilon_local!r}"


def test_epsilon_is_rounded_up_to_the_next_double_and_no_further() -> None:
    for ratio in (Fraction(3), Fraction(10**6, 7), 1 + Fraction(1, 2**60), Fraction(2**70)):
        claimed = logarithm_up(ratio)
        assert exp_below(Fraction(claimed)) > ratio
        assert exp_below(Fraction(math.nextafter(claimed, 0))) < ratio


@pytest.mark.parametrize("bits", [5, 6, 8])
@pytest.mark.parametrize("cells", [2, 3, 5, 7, 16, 31])
def test_cells_and_preimages_match_their_definition_at_every_number(bits: int, cells: int) -> None:
    mixture = Mixture(2, cells, bits, coin_bits=2)
    numbers = np.arange(2**bits, dtype=np.uint64)
    answers = mixture.cell_of(numbers)
    assert answers.tolist() == [z * cells // 2**bits for z in range(2**bits)]

    class Counting(Randomness):
        """Answers `below` with its bound less one, and keeps the bounds."""

        def below(
            self, bounds: np.ndarray[tuple[int, ...], np.dtype[np.uint64]]
        ) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
            """The largest word each bound allows."""
            self.bounds = bounds
            return bounds - np.uint64(1)

    source = Counting(bytes(32))
    last = mixture.preimages(np.arange(cells), source)
    assert source.bounds.tolist() == np.bincount(answers).tolist()
    assert last.tolist() == [int(numbers[answers == y].max()) for y in range(cells)]


@pytest.mark.parametrize("cells", [2, 3, 705, 42178, 2**16, 2**24, 2**32 - 5])
def test_wide_words_are_divided_without_overflow(cells: int) -> None:
    """Against Python's integers, at the edges of cells, where a carry that is lost would show."""
    mixture = Mixture(1 << 63, cells, 64)
    some = sorted({0, 1, cells // 3, cells // 2, cells - 2, cells - 1})
    firsts = [-(-y * 2**64 // cells) for y in some]
    edges = sorted({0, 2**64 - 1, *firsts, *(first - 1 for first in firsts if first)})
    found = mixture.cell_of(np.array(edges, dtype=np.uint64)).tolist()
    assert found == [z * cells >> 64 for z in edges]
    assert mixture._first(np.array(some, dtype=np.uint64)).tolist() == firsts


def test_a_draw_decodes_to_what_was_encoded_for_every_mechanism(rng: Randomness) -> None:
    values = np.array([0, 1, 2, 449, 913, 914] * 50)
    grr = GRR(915, 3.0)
    assert np.array_equal(grr.decode(grr.encode(values, rng)), values)
    for d_prime in (45, 64, 2**16):
        hashing = LocalHash(915, 3.0, d_prime=d_prime)
        seeds, answers = hashing.decode(hashing.encode(values, rng))
        assert np.array_equal(hashing.hash(seeds, values), answers)
    for bits in (2, 7, 16):
        sue = SUE(915, MAX_EPSILON, field_bits=bits)
        assert np.all(sue.decode(sue.encode(values, rng))[np.arange(len(values)), values])


def test_an_impossible_threshold_is_refused() -> None:
    for threshold in (-1, 0, 1, 2**64 - 1, 2**64):
        is_noise = 0 < threshold < 2**64
        with raises("mechanism.threshold_epsilon" if is_noise else "mechanism.threshold"):
            Mixture(threshold, 3, 64)
