"""What a plan says a collection costs, counted by hand."""

from itertools import combinations

import pytest

from peos.errors import WrongInput
from peos.privacy.costs import colluders, cost, explicit_vectors, hiders


@pytest.mark.parametrize(("shufflers", "vectors"), [(3, 3), (4, 5), (5, 13), (7, 48)])
def test_explicit_vectors_are_those_of_protocol_md(shufflers: int, vectors: int) -> None:
    assert explicit_vectors(shufflers) == vectors


@pytest.mark.parametrize(("shufflers", "may"), [(3, 1), (4, 1), (5, 2), (6, 2), (7, 3)])
def test_so_many_shufflers_may_collude_that_some_round_has_none_of_them(shufflers: int, may: int) -> None:
    assert colluders(shufflers) == may
    rounds = list(combinations(range(shufflers), hiders(shufflers)))
    for size, safe in ((may, True), (may + 1, False)):
        for coalition in combinations(range(shufflers), size):
            assert any(not set(coalition) & set(members) for members in rounds) is safe


@pytest.mark.parametrize(("shufflers", "megabytes"), [(3, 520.0), (7, 493.7)])
def test_a_million_reports_cost_a_shuffler_what_protocol_md_says(shufflers: int, megabytes: float) -> None:
    assert cost(1, 10**6, 0, shufflers).shuffler_mb == pytest.approx(megabytes, rel=1e-3)


def test_a_users_bytes_by_hand() -> None:
    """One word, three shufflers: a ciphertext, two words, and three times id, ticket, salt and three hashes."""
    assert cost(1, 1000, 0, 3).user_bytes == 768 + 2 * 8 + 3 * (16 + 64 + 16 + 3 * 32)
    assert cost(5, 1000, 0, 3).user_bytes == 5 * (768 + 2 * 8) + 3 * (16 + 64 + 16 + 3 * 32)


def test_fakes_cost_as_much_as_users_and_shuffler_1_encrypts_them_besides() -> None:
    mixed, alone = cost(1, 600, 400, 3), cost(1, 1000, 0, 3)
    assert mixed.shuffler_mb == alone.shuffler_mb
    assert mixed.analyzer_s == alone.analyzer_s
    assert mixed.user_bytes == alone.user_bytes
    assert mixed.shuffler_s > alone.shuffler_s


@pytest.mark.parametrize("shufflers", [0, 2, 10])
def test_numbers_of_shufflers_that_cannot_run_a_collection_are_refused(shufflers: int) -> None:
    with pytest.raises(WrongInput, match="cannot run a collection"):
        cost(1, 1000, 0, shufflers)
