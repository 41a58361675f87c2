"""The sequential shuffle's claims: as PEOS' for the fakes that are left, and never for more."""

import pytest

from peos.ldp import GRR
from peos.privacy.guarantees import guarantees
from peos.privacy.sequential import all_fakes, fakes_for, honest_fakes, remaining, sequential_guarantees
from peos.shuffle.schedule import Schedule

SHUFFLERS = [3, 4, 5, 7, 9]


@pytest.mark.parametrize("shufflers", SHUFFLERS)
@pytest.mark.parametrize("fakes", [0, 1, 5, 1000, 1001])
def test_each_colluding_shuffler_takes_its_share_of_the_fakes(shufflers: int, fakes: int) -> None:
    left = [remaining(fakes, shufflers, colluding) for colluding in range(shufflers + 1)]
    assert (left[0], left[-1]) == (fakes, 0)
    assert left == sorted(left, reverse=True)
    for colluding, count in enumerate(left):
        honest = shufflers - colluding
        assert honest * (fakes // shufflers) <= count <= fakes * honest // shufflers, "those collude that drew the most"


@pytest.mark.parametrize("shufflers", [3, 5])
def test_a_claim_against_colluders_is_peos_claim_with_the_fakes_of_the_others(shufflers: int) -> None:
    mechanism, users, fakes, delta = GRR(8, 3.0), 300, 100, 1e-6
    found = sequential_guarantees(mechanism, users, fakes, delta, shufflers)
    assert [row.shufflers for row in found.colluding] == list(range(shufflers))
    for row in found.colluding:
        peos = guarantees(mechanism, users, row.fakes, delta, shufflers)
        assert row.server.to_json() == peos.server.to_json()
        assert row.users.to_json() == peos.users.to_json()
    few = found.colluding[Schedule(shufflers).colluders]
    assert (found.server, found.users, found.local) == (few.server, few.users, mechanism.epsilon_local)
    assert found.users.epsilon > guarantees(mechanism, users, fakes, delta, shufflers).users.epsilon


def test_every_number_of_colluders_has_its_sentences_and_its_row() -> None:
    found = sequential_guarantees(GRR(8, 3.0), 300, 101, 1e-6, 3)
    sentences = found.in_words()
    assert len(sentences) == 2 * 3 + 1
    assert sentences[0].startswith(
        "Against the analyzer with 1 of the 3 shufflers, whose fakes do not count (67 do): ε"
    )
    assert sentences[2] == "Against the analyzer with all 3 shufflers, and anyone else: ε_l = 3.0000, δ = 0."
    assert sentences[3].startswith("Against the analyzer alone: ")
    assert any("2 of the 3 shufflers, whose fakes do not count (33 do)" in one for one in sentences[5:])
    shown = found.to_json()
    assert set(shown) == {"server", "users", "local", "colluding"}
    assert [row["fakes"] for row in shown["colluding"]] == [101, 67, 33]  # type: ignore[attr-defined] # rows of JSON


def test_without_fakes_left_other_users_hide_nobody() -> None:
    found = sequential_guarantees(GRR(8, 3.0), 300, 2, 1e-6, 3)
    assert found.colluding[2].fakes == 0
    assert found.colluding[2].users.epsilon == found.local
    assert "no report hides the user's" in found.colluding[2].users.in_words()


@pytest.mark.parametrize("shufflers", SHUFFLERS)
@pytest.mark.parametrize("needed", [0, 1, 7, 100, 12_345])
def test_no_more_fakes_are_added_than_it_takes(shufflers: int, needed: int) -> None:
    total, few = fakes_for(needed, shufflers), Schedule(shufflers).colluders
    assert remaining(total, shufflers, few) >= needed
    assert total == 0 or remaining(total - 1, shufflers, few) < needed


def test_a_number_that_was_asked_for_stays_and_the_plan_counts_on_less() -> None:
    assert honest_fakes("300", 3) == "200"
    assert all_fakes("300", 200, 3) == 300
    assert honest_fakes("auto", 3) == "auto"
    assert all_fakes("auto", 200, 3) == 300
