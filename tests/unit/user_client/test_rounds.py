"""Rounds of a study, as a user's client holds her to one of them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from peos.client.answering import answer, faults_of
from peos.client.consent import Consent
from peos.client.ledger import Ledger
from peos.collection.document import MechanismChoice
from peos.collection.ticket import Ticket
from peos.crypto.randomness import Randomness
from peos.errors import Refused, RemoteFault
from peos.ldp import GRR
from peos.tasks.views import CandidatesView, Record, View
from tests.raising import raises
from tests.unit.collection.made import COLLECTION, DOCUMENT, ENCRYPTION, ticket
from tests.unit.user_client.conftest import Open
from tests.unit.user_client.questions import CANDIDATES, PEOPLE, PREFIXES, STUDY, asking, round_of, ticket_of
from tests.unit.user_client.test_command_line import Desk, line_of
from tests.unit.user_client.town import FakeShufflers


def test_one_round_a_study_whatever_ticket_or_invitation_comes(town: FakeShufflers, client: Open) -> None:
    town.publish(round_of(town, 1))
    assert client().open(town.invitation).submit("tea", ticket_of(town, 1, within=1)).accepted
    with raises("consent.answered"):
        client().open(town.invitation).submit("tea", ticket_of(town, 2, within=1))
    second = round_of(town, 2)
    for again in (second, replace(second, question="another wording?"), replace(second, epoch="round 2, again")):
        town.publish(again)
        for number in (1, 2):
            with raises("consent.other_round", "1"):
                client().open(town.invitation).submit("salt", ticket_of(town, number, within=2))
    (charge,) = client().ledger().own
    assert (charge.study, charge.round) == (STUDY, 1)
    assert [len(one.parts) for one in town.shufflers] == [1, 1, 1]


def test_a_round_that_was_broken_off_is_completed_with_the_same_bytes(town: FakeShufflers, client: Open) -> None:
    town.publish(round_of(town, 2))
    own = ticket_of(town, 1, within=2)
    collection = client().open(town.invitation)
    town.stop(3)
    with pytest.raises(RemoteFault):
        collection.submit("tea", own, deadline=2.0)
    town.start(3)
    assert client().open(town.invitation).submit("salt", own).repeated
    (rows,) = town.connections().values()
    assert (len(rows), len(set(rows.values()))) == (3, 1)


def test_a_ticket_of_another_round_is_told_so_and_costs_nothing(town: FakeShufflers, client: Open) -> None:
    town.publish(round_of(town, 2))
    with raises("ticket.other_round"):
        client().open(town.invitation).submit("tea", ticket_of(town, 1, within=1))
    assert client().ledger().own_spent == 0
    with raises("input.answers"):  # the collection's own digest is no scope of its tickets
        client().open(town.invitation).submit("tea", town.ticket(1))
    assert not any(one.parts for one in town.shufflers)


def test_a_file_of_all_users_asks_those_of_this_round_and_says_how_many_are_of_others(
    town: FakeShufflers, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tickets = [ticket_of(town, number, within=1 + number % 2) for number in range(5)]
    answered = 0
    for number, others in ((1, [2, 4]), (2, [1, 3, 5])):
        town.publish(round_of(town, number))
        desk = Desk(town, tmp_path, capsys)
        desk.tickets.write_text("".join(f"{line_of(one)}\n" for one in tickets))
        path = desk.folder / "records.txt"
        path.write_text("tea\n" * 5)
        given = ("submit-file", "--tickets", desk.tickets, "--records", path)
        code, out, err = desk.run(*given, "--json")
        found = json.loads(out)
        assert (code, found["accepted"], found["submitted"]) == (0, 5 - len(others), 5 - len(others)), err
        assert found["other_rounds"] == others
        answered += found["accepted"]
        code, out, _ = desk.run(*given)
        assert code == 0
        assert out.endswith(f"{len(others)} have tickets for other rounds of this study, and were not asked\n")
    assert (answered, len(town.connections())) == (5, 5)
    book = json.loads(desk.run("ledger", "--json")[1])
    assert [(one["round"], one["users"], one["known_by"]) for one in book["others"]] == [
        (1, 3, "ticket"),
        (2, 2, "ticket"),
    ]
    assert "in round 2 of study 5757" in desk.run("ledger")[1]


def test_a_user_with_a_name_answers_once_though_she_has_tickets_of_both_rounds(
    town: FakeShufflers, client: Open
) -> None:
    def given(within: int) -> list[tuple[Record, Ticket]]:
        return [("tea", ticket_of(town, number, within=within)) for number in (1, 2)]

    town.publish(round_of(town, 1))
    collection = client().open(town.invitation)
    assert [one.accepted for one in collection.submit_many(given(1), users=["Ada", "Bo"])] == [True, True]
    town.publish(round_of(town, 2))
    results = client().open(town.invitation).submit_many(given(2), users=["Ada", "Cy"])
    assert [one.accepted for one in results] == [False, True]
    assert results[0].refusals[0].error_id == "consent.other_round"
    assert all(charge.is_named for charge in client().ledger().others)


def test_views_that_she_does_not_answer_are_refused_before_anything_is_sent(town: FakeShufflers, client: Open) -> None:
    town.publish(asking(town, *PREFIXES))
    with raises("consent.views", "prefix", "value"):
        client(views=("value", "candidates")).open(town.invitation)
    client(views=("value", "prefix")).open(town.invitation)
    town.publish()
    with raises("consent.views", "value", "prefix"):
        client(views=("prefix",)).open(town.invitation)


def test_attributes_and_cells_beyond_hers_are_refused(town: FakeShufflers, client: Open) -> None:
    town.publish(asking(town, PEOPLE))
    client(attributes=("age", "smokes"), most_cells=20).open(town.invitation)
    with raises("client.attributes", "age", kind=Refused):
        client(attributes=("smokes",)).open(town.invitation)
    with raises("client.cells", "20", "19", kind=Refused):
        client(most_cells=19).open(town.invitation)
    town.publish(asking(town, CANDIDATES))
    client(attributes=("smokes",), most_cells=2).open(town.invitation)  # which has no attributes


class Counting(Randomness):
    """Notes what is drawn, and how much."""

    def __init__(self, seed: bytes) -> None:
        super().__init__(seed)
        self.drawn: list[object] = []

    def bytes(self, length: int) -> bytes:
        self.drawn.append(length)
        return super().bytes(length)


@pytest.mark.parametrize("views", [PREFIXES, (CandidatesView(("bread", "tea", "salt")),)])
def test_neither_draws_nor_bytes_tell_who_is_outside_the_question(views: tuple[View, ...], town: FakeShufflers) -> None:
    asked = asking(town, *views)
    document = replace(DOCUMENT, choice=asked.choice, views=asked.views)
    consent = Consent(COLLECTION, document, ENCRYPTION, ())
    assert not faults_of(consent, [("tea", ticket("she"))], frozenset())
    seen = set()
    for record in ("tea", "salt", "", "another", "much longer than all that is asked for " * 40, "\u202e\x00"):
        rng = Counting(b"\x05" * 32)
        made = answer(consent, record, ticket("she"), Ledger(10**9), rng)
        seen.add((tuple(rng.drawn), tuple(map(len, made.encoded))))
    assert len(seen) == 1
    assert next(iter(seen))[0], "something is drawn"


def test_every_choice_of_a_list_is_answered_by_a_mechanism_of_as_many() -> None:
    choice = MechanismChoice.of(GRR(CANDIDATES.cells - 1, 2.0))  # a list of three, and no room for the others
    with raises("mechanism.views"):
        _ = replace(DOCUMENT, choice=choice, views=(CANDIDATES.describe(),)).mechanism
