"""Each coalition's claim: who is meant, what holds, and why nothing holds where nothing does."""

import dataclasses

import pytest

from peos.ldp import GRR, SUE, LocalHash
from peos.privacy import guarantees
from peos.privacy.exact import epsilon
from peos.privacy.guarantees import rounded_up
from tests.raising import raises


def test_the_rows_are_as_the_design_fixes_them() -> None:
    m = LocalHash(42_178, 4.49, d_prime=44)
    found = guarantees(m, 990_002, 20_000, 1e-9)
    shape = found.to_json()
    assert set(shape) == {"server", "users", "local"}
    assert shape["server"] == {
        "delta": 1e-9,
        "theorem": found.server.theorem,
        "exact": found.server.exact,
        "half_of_users": found.server.half_of_users,
    }
    assert shape["users"] == {"delta": 1e-9, "theorem": found.users.theorem, "exact": found.users.exact}
    assert shape["local"] == m.epsilon_local


def test_a_stronger_coalition_is_promised_less() -> None:
    found = guarantees(LocalHash(42_178, 4.49, d_prime=44), 990_002, 20_000, 1e-9)
    assert found.server.theorem is not None
    assert found.users.theorem is not None
    assert found.server.theorem < found.users.theorem < found.local


def test_sue_claims_nothing_by_the_theorem_and_what_it_deserves_exactly() -> None:
    found = guarantees(SUE(64, 4.0), 10**6, 10**5, 1e-9)
    assert (found.server.theorem, found.users.theorem) == (None, None)
    assert found.server.exact is not None
    assert found.users.exact is not None
    assert found.server.exact < found.users.exact < 0.2 < found.local
    claimed = f": ε = {rounded_up(found.server.exact)} at δ = 10⁻⁹ by exact accounting. ε_c assumes"
    assert claimed in found.server.in_words()


def test_without_fakes_nothing_is_claimed_against_all_other_users_and_the_reason_is_given() -> None:
    found = guarantees(GRR(16, 2.0), 10**6, 0, 1e-9)
    assert found.server.theorem is not None
    assert (found.users.theorem, found.users.exact) == (None, None)
    assert found.users.epsilon == found.local
    assert found.in_words()[1].endswith("is claimed, because no report hides the user's.")


def test_where_the_noise_is_too_small_for_the_theorem_exact_accounting_still_claims() -> None:
    found = guarantees(GRR(16, 2.0), 100, 3, 1e-9)
    assert found.server.theorem is None
    assert found.server.exact is not None
    assert found.server.epsilon == found.server.exact < 1.0
    assert "by the theorem" not in found.in_words()[0]


@pytest.mark.parametrize("make", [GRR, LocalHash, SUE])
@pytest.mark.parametrize(("users", "fakes"), [(1, 1), (2, 0), (10, 3), (300, 20), (20_000, 4000)])
def test_no_claim_is_above_the_local_one_nor_above_that_against_more_parties(
    make: type[GRR], users: int, fakes: int
) -> None:
    found = guarantees(make(12, 3.5), users, fakes, 1e-6)
    assert found.server.epsilon <= found.users.epsilon <= found.local
    for claim in (found.server, found.users):
        assert claim.exact is None or claim.exact <= found.local
        if claim.theorem is not None:
            assert claim.exact is not None
            assert claim.exact < claim.theorem


def test_the_least_claim_includes_the_local_one_and_the_words_do_not_quote_what_is_weaker() -> None:
    claim = guarantees(GRR(2, 0.1), 10**4, 0, 1e-9).server
    assert claim.theorem is not None
    assert claim.theorem > claim.local
    assert claim.exact is not None
    assert claim.epsilon == claim.exact
    assert "by the theorem" not in claim.in_words()
    alone = dataclasses.replace(claim, exact=claim.local, why="too few reports hide the user's")
    assert alone.epsilon == claim.local
    assert "no more than ε_l = 0.1000 is claimed, because too few reports hide the user's" in alone.in_words()


def test_what_is_recomputed_for_what_came_about_is_what_planning_for_it_would_have_said() -> None:
    m = LocalHash(500, 4.0, d_prime=16)
    planned, realised = guarantees(m, 5000, 300, 1e-6), guarantees(m, 3200, 300, 1e-6)
    assert realised.server.exact is not None
    assert planned.server.exact is not None
    assert realised.server.exact > planned.server.exact
    assert realised.users == planned.users, "against all other users only the fakes count"
    assert realised.server.exact == pytest.approx(epsilon(m, 3200, 300, 1e-6))


def test_one_user_alone_is_hidden_by_fakes_only() -> None:
    found = guarantees(GRR(2, 3.0), 1, 10**4, 1e-6)
    assert found.server.theorem == found.users.theorem
    assert found.server.exact == found.users.exact


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
    assert anyone.startswith(f"Against the analyzer with {more}, and anyone else: ε_l = 1.0")


def test_claims_cannot_be_changed_once_made() -> None:
    found = guarantees(GRR(4, 1.0), 10**6, 10**5, 1e-9)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.server.theorem = 0.0  # type: ignore[misc] # the point of the test


@pytest.mark.parametrize(("users", "fakes"), [(0, 10), (-5, 10), (10, -1)])
def test_impossible_numbers_are_refused(users: int, fakes: int) -> None:
    with raises("plan.sizes"):
        guarantees(GRR(4, 1.0), users, fakes, 1e-9)


def test_what_is_shown_is_never_less_than_what_holds() -> None:
    assert rounded_up(0.20001) == "0.2001"
    assert rounded_up(0.2) == "0.2000"


def test_the_claim_that_counts_on_other_users_says_so_and_what_is_left_if_half_are_the_analyzers() -> None:
    """The figures of 990,002 users, SOLH with d' = 705 and ε_l = 7.251: 0.2258 with all honest, 0.3245 with half."""
    m = LocalHash(42_178, 7.251, d_prime=705)
    found = guarantees(m, 990_002, 0, 1e-9)
    assert found.server.exact == pytest.approx(0.2258, abs=2e-4)
    assert found.server.half_of_users is not None
    assert found.server.half_of_users == pytest.approx(0.3245, abs=2e-4)
    assert found.server.half_of_users == pytest.approx(epsilon(m, 990_002, 0, 1e-9, known=495_001), rel=1e-3)
    assert found.server.in_words().endswith(
        "ε_c assumes that the other users are honest: the organisation that hands out tickets could add users of its "
        f"own. If half of the users were the analyzer's, ε would be {rounded_up(found.server.half_of_users)}."
    )
    assert found.server.in_words().endswith(found.server.assumed)


@pytest.mark.parametrize(("users", "fakes"), [(2, 50), (3, 50), (60, 0), (300, 20), (20_000, 4000)])
def test_with_half_of_the_users_less_is_claimed_than_with_all_and_more_than_with_none(users: int, fakes: int) -> None:
    m = GRR(12, 3.5)
    found = guarantees(m, users, fakes, 1e-6)
    half = found.server.half_of_users
    assert half is not None
    assert found.server.epsilon <= half <= found.users.epsilon
    assert half <= epsilon(m, users, fakes, 1e-6, known=min(users - 1, (users + 1) // 2)), "half, rounded up"


def test_what_holds_whatever_the_others_are_assumes_nothing_of_them() -> None:
    alone = guarantees(GRR(2, 3.0), 1, 10**4, 1e-6)
    assert (alone.server.half_of_users, alone.server.assumed) == (None, "")
    hopeless = guarantees(GRR(2, 0.1), 2, 0, 1e-9)
    assert hopeless.server.epsilon == hopeless.local
    for sentence in (
        *hopeless.in_words(),
        alone.in_words()[0],
        *guarantees(GRR(12, 3.5), 300, 20, 1e-6).in_words()[1:],
    ):
        assert "honest" not in sentence
