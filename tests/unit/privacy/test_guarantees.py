"""Each coalition's claim: who is meant, what holds, and why nothing holds where nothing does."""

import dataclasses

import pytest

from peos.errors import WrongInput
from peos.ldp import GRR, SUE, LocalHash
from peos.privacy import guarantees
from peos.privacy.guarantees import rounded_up


def test_the_rows_are_as_the_design_fixes_them() -> None:
    m = LocalHash(42_178, 4.49, d_prime=44)
    found = guarantees(m, 990_002, 20_000, 1e-9)
    shape = found.to_json()
    assert set(shape) == {"server", "users", "local"}
    assert shape["server"] == {"delta": 1e-9, "theorem": found.server.theorem, "exact": None}
    assert shape["users"] == {"delta": 1e-9, "theorem": found.users.theorem, "exact": None}
    assert shape["local"] == m.epsilon_local


def test_a_stronger_coalition_is_promised_less() -> None:
    found = guarantees(LocalHash(42_178, 4.49, d_prime=44), 990_002, 20_000, 1e-9)
    assert found.server.theorem is not None
    assert found.users.theorem is not None
    assert found.server.theorem < found.users.theorem < found.local


def test_sue_claims_its_local_epsilon_only_and_says_why() -> None:
    found = guarantees(SUE(64, 4.0), 10**9, 10**9, 1e-9)
    assert (found.server.theorem, found.users.theorem) == (None, None)
    assert found.server.epsilon == found.users.epsilon == found.local == SUE(64, 4.0).epsilon_local
    for sentence in found.in_words()[:2]:
        assert "theorem 9.3.1 is false" in sentence


def test_without_fakes_nothing_is_claimed_against_all_other_users_and_the_reason_is_given() -> None:
    found = guarantees(GRR(16, 2.0), 10**6, 0, 1e-9)
    assert found.server.theorem is not None
    assert found.users.theorem is None
    assert found.users.why == "no report hides the user's"


def test_where_the_noise_is_too_small_the_words_say_so() -> None:
    found = guarantees(GRR(16, 2.0), 100, 3, 1e-9)
    assert found.server.theorem is None
    assert "the noise is too small for the theorem, which holds up to ε = 1 only" in found.in_words()[0]


def test_the_least_claim_includes_the_local_one() -> None:
    found = guarantees(GRR(2, 0.1), 10**4, 0, 1e-9)
    assert found.server.theorem is not None
    assert found.server.theorem > found.local
    assert found.server.epsilon == found.local


def test_one_user_alone_is_hidden_by_fakes_only() -> None:
    found = guarantees(GRR(2, 3.0), 1, 10**4, 1e-6)
    assert found.server.theorem == found.users.theorem


@pytest.mark.parametrize(
    ("shufflers", "some", "more"),
    [
        (3, "1 of the 3 shufflers", "2 or more shufflers"),
        (4, "1 of the 4 shufflers", "2 or more shufflers"),
        (7, "up to 3 of the 7 shufflers", "4 or more shufflers"),
    ],
)
def test_the_words_name_the_coalitions(shufflers: int, some: str, more: str) -> None:
    server, users, anyone = guarantees(GRR(4, 1.0), 10**6, 10**5, 1e-9, shufflers).in_words()
    assert server.startswith(f"Against the analyzer, alone or with {some}: ε = 0.")
    assert users.startswith(f"Against the analyzer with all other users and {some}: ε = 0.")
    assert anyone.startswith(f"Against the analyzer with {more}, and whoever else: ε_l = 1.0")


def test_claims_cannot_be_changed_once_made() -> None:
    found = guarantees(GRR(4, 1.0), 10**6, 10**5, 1e-9)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.server.theorem = 0.0  # type: ignore[misc] # the point of the test


@pytest.mark.parametrize(("users", "fakes"), [(0, 10), (-5, 10), (10, -1)])
def test_impossible_numbers_are_refused(users: int, fakes: int) -> None:
    with pytest.raises(WrongInput, match="at least one user and no negative number of fakes"):
        guarantees(GRR(4, 1.0), users, fakes, 1e-9)


def test_what_is_shown_is_never_less_than_what_holds() -> None:
    assert rounded_up(0.20001) == "0.2001"
    assert rounded_up(0.2) == "0.2000"
