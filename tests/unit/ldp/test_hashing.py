"""The hash family, counted over all of its functions; and support counts against evaluation at every pair."""

from fractions import Fraction

import numpy as np
import pytest

from peos.crypto.randomness import Randomness
from peos.ldp import LocalHash, Question
from peos.ldp.hashing import HashFamily

SMALL = [(5, 2), (7, 3), (6, 4), (11, 11), (4, 7), (2, 2), (2, 5), (13, 8), (12, 10)]


def every_function(family: HashFamily) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """(P(P−1), d): the values of H_{a,b}, for all a ∈ [1, P) and b ∈ [0, P)."""
    prime = family.prime
    a = np.repeat(np.arange(1, prime, dtype=np.uint64), prime)
    b = np.tile(np.arange(prime, dtype=np.uint64), prime - 1)
    return family.evaluate(a[:, np.newaxis], b[:, np.newaxis], np.arange(family.domain))


@pytest.mark.parametrize(("domain", "cells"), SMALL)
def test_the_collision_probability_is_that_of_every_pair_of_values(domain: int, cells: int) -> None:
    family = HashFamily(domain, cells, salt=0)
    values = every_function(family)
    for x in range(domain):
        for other in range(x):
            met = Fraction(int(np.sum(values[:, x] == values[:, other])), len(values))
            assert met == family.collision_probability


@pytest.mark.parametrize(("domain", "cells"), SMALL)
@pytest.mark.parametrize("bits", [4, 7])
def test_u_is_the_probability_that_a_uniform_word_matches_any_value(domain: int, cells: int, bits: int) -> None:
    family = HashFamily(domain, cells, salt=0)
    values = every_function(family)
    told = np.array([z * cells >> bits for z in range(2**bits)])
    for x in range(domain):
        matches = np.sum(values[:, x, np.newaxis] == told)
        assert Fraction(int(matches), len(values) * 2**bits) == family.match_probability(bits)


@pytest.mark.parametrize(("domain", "d_prime"), SMALL)
def test_p_and_q_follow_from_the_mixture_over_all_functions(domain: int, d_prime: int) -> None:
    """p and q recomputed from counts of coincidences alone; 32-bit numbers are stood for by their exact shares."""
    m = LocalHash(domain, 2.0, d_prime=d_prime)
    values = every_function(m.family)
    starts = [-(-y * 2**32 // d_prime) for y in range(d_prime + 1)]
    share = [Fraction(starts[y + 1] - starts[y], 2**32) for y in range(d_prime)]
    tally = np.bincount(values[:, 0], minlength=d_prime)
    match = sum((Fraction(int(tally[y]), len(values)) * share[y] for y in range(d_prime)), Fraction(0))
    collide = Fraction(int(np.sum(values[:, 0] == values[:, 1])), len(values))
    γ = m.gamma
    assert m.oracle.u == float(match)
    assert m.oracle.p == float(1 - γ + γ * match)
    assert m.oracle.q == float((1 - γ) * collide + γ * match)


def test_for_powers_of_two_a_fake_matches_with_probability_one_in_d_prime() -> None:
    for domain in (2, 915, 42178):
        for j in (1, 5, 10, 16):
            assert LocalHash(domain, 3.0, d_prime=2**j).family.match_probability(32) == Fraction(1, 2**j)


@pytest.mark.parametrize(
    ("domain", "d_prime"),
    [
        (2, 2),
        (3, 2),
        (100, 7),
        (97, 8),
        (101, 100),
        (127, 127),
        (64, 100),
        (10, 1000),
        (915, 45),
        (4096, 64),
        (1000, 3),
    ],
)
@pytest.mark.parametrize("users", [0, 1, 5, 2000])
def test_support_counts_equal_evaluation_at_all_pairs(domain: int, d_prime: int, users: int, rng: Randomness) -> None:
    m = LocalHash(domain, 1.0, d_prime=d_prime)
    words = rng.uint64((users, 1))
    seeds, answers = m.decode(words)
    pairs = m.hash(seeds[:, np.newaxis], np.arange(domain)[np.newaxis, :]) == answers[:, np.newaxis]
    assert np.array_equal(m.support_counts(words), pairs.sum(axis=0))


def test_support_counts_are_the_same_across_chunks_and_with_or_without_the_table_of_inverses(rng: Randomness) -> None:
    """P = 70001 for 150,000 reports takes the table and three chunks; the same reports in small lots take neither."""
    m = LocalHash(70_000, 3.0, d_prime=500)
    words = rng.uint64((150_000, 1))
    lots = sum((m.support_counts(words[start : start + 50_000]) for start in range(0, 150_000, 50_000)), 0)
    whole = m.support_counts(words)
    assert m.family.prime == 70_001
    assert np.array_equal(whole, lots)
    few = words[:20]
    seeds, answers = m.decode(few)
    assert np.array_equal(m.support_counts(few), (m.hash(seeds[:, None], np.arange(70_000)) == answers[:, None]).sum(0))


@pytest.mark.full
def test_large_domains_are_counted_without_overflow(rng: Randomness) -> None:
    m = LocalHash(1 << 24, 3.0, d_prime=2**16)
    words = rng.uint64((2, 1))
    seeds, answers = m.decode(words)
    expected = sum((m.hash(seeds[i : i + 1], np.arange(1 << 24)) == answers[i]).astype(np.int64) for i in range(2))
    assert m.family.prime == 16_777_259
    assert np.array_equal(m.support_counts(words), expected)


def test_ranks_are_a_permutation_and_break_up_progressions() -> None:
    """A pair of neighbours is mapped apart by differences that hardly repeat; the identity would repeat one always."""
    ranks = HashFamily(10_007, 64, salt=0).ranks.astype(np.int64)
    assert np.array_equal(np.sort(ranks), np.arange(10_007))
    differences = np.diff(ranks) % 10_007
    most = int(np.bincount(differences).max())
    assert most <= 12, f"one difference occurs {most} times among 10,006"


def test_questions_set_the_functions_of_two_collections_apart() -> None:
    one = LocalHash(915, 3.0, d_prime=64, question=Question(b"a", "colour", "2025"))
    two = LocalHash(915, 3.0, d_prime=64, question=Question(b"a", "colour", "2026"))
    seeds = np.arange(1000, dtype=np.uint64)
    same = int(np.sum(one.hash(seeds, np.zeros(1000, dtype=int)) == two.hash(seeds, np.zeros(1000, dtype=int))))
    assert one.digest != two.digest
    assert same < 60, f"{same} of 1000 seeds agree, about 16 are expected"


def test_a_single_seed_hashes_as_it_does_among_others() -> None:
    m = LocalHash(915, 3.0, d_prime=64)
    seeds = np.arange(200, dtype=np.uint64)
    together = m.hash(seeds, np.array(7))
    assert [int(m.hash(np.array(seed), np.array(7))) for seed in seeds] == together.tolist()
