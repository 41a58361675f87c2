"""Many users in one process: each has ticket, memory, budget and randomness of her own, and nothing is done twice."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from peos.collection.ticket import Ticket
from peos.crypto.randomness import Randomness, system
from peos.errors import RemoteFault, WrongInput
from tests.unit.fake_shuffler import refuse
from tests.unit.user_client.conftest import Open
from tests.unit.user_client.town import NOW, FakeShufflers
from user_client.client import BadAnswers, Client
from user_client.config import Config
from user_client.submitter import BATCH


def answers(town: FakeShufflers, count: int, *, first: int = 1) -> list[tuple[int, Ticket]]:
    return [(number % 64, town.ticket(number)) for number in range(first, first + count)]


def counting(streams: list[Randomness]) -> Callable[[], Randomness]:
    def fresh() -> Randomness:
        streams.append(system())
        return streams[-1]

    return fresh


def test_all_are_accepted_with_one_digest_each_and_randomness_of_their_own(town: FakeShufflers, config: Config) -> None:
    streams: list[Randomness] = []
    given = answers(town, BATCH + 40)
    told: list[tuple[int, int]] = []
    with Client(config, clock=lambda: NOW, fresh=counting(streams)) as client:
        collection = client.open(town.invitation)
        results = collection.submit_many(given, progress=lambda *how: told.append(how))
        ledger = client.ledger()
    assert [result.ticket for result in results] == [ticket.id for _, ticket in given]
    assert all(result.accepted and not result.repeated for result in results)
    held = town.connections()
    assert all(len(held[ticket.id]) == 3 and len(set(held[ticket.id].values())) == 1 for _, ticket in given)
    assert len(streams) == len(given) + 2, "each user has a stream, and there is one for zeros and one for pauses"
    assert told[-1] == (len(given), len(given))
    assert ledger.own_spent == 0
    assert ledger.most_spent_by_another == 2_000_000
    assert [(charge.users, charge.cost) for charge in ledger.others] == [(len(given), 2_000_000)]


def test_what_broke_off_is_resumed_with_the_same_bytes_and_nothing_accepted_is_sent_again(
    town: FakeShufflers, client: Open
) -> None:
    given = answers(town, 60)
    collection = client().open(town.invitation)
    assert all(result.accepted for result in collection.submit_many(given[:20]))
    sent = [list(one.parts) for one in town.shufflers]
    town.stop(2)
    with pytest.raises(RemoteFault) as broke_off:
        collection.submit_many(given, deadline=4.0)
    assert (broke_off.value.party, broke_off.value.step) in {(f"shuffler {n} (org-{n})", "submission") for n in (1, 2)}
    town.start(2)
    results = client().open(town.invitation).submit_many(given)
    assert all(result.accepted for result in results)
    assert [result.repeated for result in results[:20]] == [True] * 20
    for one, before in zip(town.shufflers, sent, strict=True):
        assert one.parts[:20] == before
        assert len(one.parts) == len(set(one.parts)) == 60, "a part was sent twice, or in another form"
    assert client().status()[0].accepted == 60


def test_only_who_is_refused_is_refused(town: FakeShufflers, client: Open) -> None:
    given = answers(town, 5)
    bad = given[2][1].id
    full = refuse("the collection takes no more")
    town.shufflers[0].before = lambda part: full(part) if part.id == bad else None
    results = client().open(town.invitation).submit_many(given)
    assert [result.accepted for result in results] == [True, True, False, True, True]
    assert (results[2].refusals[0].shuffler, results[2].refusals[0].error_id) == (1, "submit.closed")
    assert client().status()[0].refused == ("1 by shuffler 1 (org-1): the collection takes no more",)
    town.shufflers[0].before = None
    again = client().open(town.invitation).submit_many(given)
    assert [result.accepted for result in again] == [True] * 5


def test_each_user_has_a_budget_of_her_own(town: FakeShufflers, client: Open) -> None:
    assert all(result.accepted for result in client(budget=2.0).open(town.invitation).submit_many(answers(town, 3)))
    town.publish(town.document(epoch="2031"))
    results = client(budget=2.0).open(town.invitation).submit_many(answers(town, 4))
    assert [result.accepted for result in results] == [False, False, False, True]
    assert results[0].refusals[0].error_id == "consent.budget"
    assert str(results[0].refusals[0]).startswith("this client: ")


def test_all_that_is_wrong_is_told_by_position_before_anything_is_done(town: FakeShufflers, client: Open) -> None:
    given = answers(town, 6)
    given[1] = (64, given[1][1])
    given[3] = (3, replace(given[3][1], signature=bytes(64)))
    given[5] = (5, given[0][1])
    with pytest.raises(BadAnswers) as caught:
        client().open(town.invitation).submit_many(given)
    assert caught.value.faults == (
        (1, "the value is not a whole number from 0 to 63"),
        (3, "the ticket is not valid for this collection and key"),
        (5, "the ticket is there twice"),
    )
    assert isinstance(caught.value, WrongInput)
    assert client().status() == ()
    assert not any(one.parts for one in town.shufflers)


def test_the_owner_and_a_user_of_a_file_do_not_answer_under_one_ticket_twice(town: FakeShufflers, client: Open) -> None:
    collection = client().open(town.invitation)
    collection.submit(3, town.ticket(1))
    (result,) = collection.submit_many([(4, town.ticket(1))])
    assert result.accepted
    assert result.repeated
    assert [len(one.parts) for one in town.shufflers] == [1, 1, 1]


def test_who_waits_is_told_for_whom_and_why(town: FakeShufflers, client: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("peos.net.submit._QUIET", 0.2)
    town.shufflers[1].before = refuse("full at the moment", retry=True)
    heard: list[str] = []
    collection = client().open(town.invitation)
    with pytest.raises(RemoteFault):
        collection.submit_many(answers(town, 2), waiting=heard.append, deadline=5.0)
    assert heard
    assert heard[-1].startswith("waiting for shuffler 2 (org-2): 2 parts, ")
    assert "full at the moment" in heard[-1]
