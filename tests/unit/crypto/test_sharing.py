"""Additive shares: they sum back, and all but one of them say nothing."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peos.crypto.randomness import Randomness
from peos.crypto.sharing import combine, split
from tests.unit.crypto.conftest import Uniform


@given(st.lists(st.integers(0, 2**64 - 1), max_size=20), st.integers(1, 7), st.binary(min_size=32, max_size=32))
def test_shares_sum_back_to_the_words(words: list[int], parties: int, key: bytes) -> None:
    secret = np.array(words, dtype=np.uint64)
    shares = split(secret, parties, Randomness(key))
    assert len(shares) == parties
    assert combine(shares).tolist() == words
    assert secret.tolist() == words, "the secret itself was changed"


def test_matrices_of_words_keep_their_shape(rng: Randomness) -> None:
    secret = rng.uint64((5, 3))
    shares = split(secret, 3, rng)
    assert all(share.shape == (5, 3) for share in shares)
    assert np.array_equal(combine(shares), secret)


@pytest.mark.parametrize("secret", [0, 2**64 - 1])
def test_any_two_of_three_shares_are_jointly_uniform_whatever_the_secret(
    secret: int, rng: Randomness, uniform: Uniform
) -> None:
    shares = split(np.full(64_000, secret, dtype=np.uint64), 3, rng)
    for shift in (60, 0):  # the four highest bits, then the four lowest
        for one, other in combinations(range(3), 2):
            a, b = ((shares[i] >> np.uint64(shift)).astype(np.int64) & 15 for i in (one, other))
            cells = np.bincount(16 * a + b, minlength=256)
            uniform(cells.tolist(), f"shares {one} and {other} of {secret}, bits {shift} to {shift + 3}")


def test_all_three_shares_together_are_not_uniform(rng: Randomness, uniform: Uniform) -> None:
    shares = split(np.zeros(64_000, dtype=np.uint64), 3, rng)
    a, b, c = (share.astype(np.int64) & 7 for share in shares)
    with pytest.raises(AssertionError, match="all three"):
        uniform(np.bincount(64 * a + 8 * b + c, minlength=512).tolist(), "all three")
