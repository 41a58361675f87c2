"""She randomises once: whatever breaks and whatever she says later, the same bytes are sent and charged once."""

import os
import sqlite3
import stat
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from google.protobuf.message import Message
from numpy.typing import NDArray

from peos.client.ledger import budget_of, charge_of, shown
from peos.collection.replies import Answer
from peos.collection.submission import Part, plain_share
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.base import Packed, ZeroSource
from peos.crypto.schemes.paillier import PaillierPublicKey
from peos.errors import RemoteFault
from peos.ldp import GRR
from peos.v1 import submission_pb2 as pb
from peos.wire import strict
from tests.raising import raises
from tests.unit.fake_shuffler import refuse
from tests.unit.user_client.conftest import Open
from tests.unit.user_client.town import FakeShufflers, full_key
from user_client.config import Config
from user_client.store import NAME, ClientStore


@pytest.fixture
def draws(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many values were randomised, call by call."""
    made: list[int] = []
    true = GRR.randomize

    def counted(self: GRR, values: NDArray[np.int64], rng: Randomness | None = None) -> U64:
        made.append(len(values))
        return true(self, values, rng)

    monkeypatch.setattr(GRR, "randomize", counted)
    return made


def test_her_answer_is_acknowledged_by_all_and_decrypts_to_her_report(
    town: FakeShufflers, client: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: list[U64] = []
    true = GRR.randomize

    def noted(self: GRR, values: NDArray[np.int64], rng: Randomness | None = None) -> U64:
        reports.append(true(self, values, rng))
        return reports[-1]

    monkeypatch.setattr(GRR, "randomize", noted)
    result = client().open(town.invitation).submit(17, town.ticket(1))
    assert result.accepted
    assert not result.repeated
    shares = [one.taken[town.ticket(1).signature].share for one in town.shufflers]
    first = full_key().decrypt(_packed(shares[0]))
    word = sum(int(share[0]) for share in (first, *map(plain_share, shares[1:]))) % 2**64
    assert [word] == [int(report[0, 0]) for report in reports]


def _packed(share: bytes) -> Packed:
    return np.frombuffer(share, np.uint8).reshape(1, -1)


def test_a_second_answer_sends_nothing_and_says_so(town: FakeShufflers, client: Open, draws: list[int]) -> None:
    client().open(town.invitation).submit(17, town.ticket(1))
    sent = [list(one.parts) for one in town.shufflers]
    again = client().open(town.invitation).submit(18, town.ticket(1))
    assert again.accepted
    assert again.repeated
    assert [one.parts for one in town.shufflers] == sent
    assert draws == [1]
    assert client().ledger().own_spent == 2_000_000


def test_after_a_stop_between_two_shufflers_the_rest_gets_the_same_submission(
    town: FakeShufflers, client: Open, draws: list[int]
) -> None:
    collection = client().open(town.invitation)
    town.stop(3)
    with raises("network.no_answer", "shuffler 3 (org-3), submission"):
        collection.submit(17, town.ticket(1), deadline=5.0)
    town.start(3)
    (before,) = client().status()
    assert before.acknowledged == {"shuffler 1 (org-1)": 1, "shuffler 2 (org-2)": 1, "shuffler 3 (org-3)": 0}
    result = client().open(town.invitation).submit(40, town.ticket(1))
    assert result.accepted
    assert result.repeated
    assert draws == [1], "she randomised again"
    assert len(set(town.connections()[town.ticket(1).id].values())) == 1
    assert [len(one.parts) for one in town.shufflers] == [1, 1, 1]
    assert client().status()[0].accepted == 1


def test_a_lost_acknowledgement_is_asked_for_with_the_same_bytes(
    town: FakeShufflers, client: Open, draws: list[int]
) -> None:
    collection = client().open(town.invitation)
    town.shufflers[1].before = refuse("full at the moment", retry=True)
    with raises("submit.closed", "full", kind=RemoteFault):
        collection.submit(17, town.ticket(1), deadline=5.0)
    town.shufflers[1].before = None
    assert client().open(town.invitation).submit(17, town.ticket(1)).accepted
    assert len(set(town.shufflers[1].parts)) == 1
    assert len(town.shufflers[1].parts) > 1, "nothing was sent twice, so nothing was tested"
    assert draws == [1]


def test_a_refusal_without_words_is_no_acknowledgement(town: FakeShufflers, client: Open) -> None:
    town.shufflers[1].before = refuse(" \n")
    assert not client().open(town.invitation).submit(17, town.ticket(1)).accepted
    (standing,) = client().status()
    assert (standing.prepared, standing.accepted) == (1, 0)
    town.shufflers[1].before = None
    assert client().open(town.invitation).submit(17, town.ticket(1)).accepted


def test_a_device_that_is_new_to_what_has_closed_is_charged_nothing_and_may_answer_if_that_was_a_lie(
    town: FakeShufflers, client: Open, draws: list[int]
) -> None:
    town.shufflers[1].has_closed = True
    collection = client().open(town.invitation)
    with raises("consent.closed", "shuffler 2 (org-2)"):
        collection.require_answerable(town.ticket(1))
    with raises("consent.closed", "shuffler 2 (org-2)"):
        collection.submit(17, town.ticket(1))
    (result,) = collection.submit_many([(17, town.ticket(2))])
    assert [one.error_id for one in result.refusals] == ["consent.closed"]
    assert draws == []
    assert client().ledger().own_spent == 0
    assert not any(one.parts for one in town.shufflers)
    town.shufflers[1].has_closed = False
    assert client().open(town.invitation).submit(17, town.ticket(1)).accepted
    assert draws == [1]


def test_who_lacks_an_acknowledgement_of_what_has_closed_gets_it_with_the_same_bytes(
    town: FakeShufflers, client: Open, draws: list[int]
) -> None:
    """And a shuffler that says so falsely gets no second report out of her, whatever ticket she brings."""
    town.shufflers[1].before = refuse("full at the moment", retry=True)
    with raises("submit.closed", "full", kind=RemoteFault):
        client().open(town.invitation).submit(17, town.ticket(1), deadline=1.0)
    town.shufflers[1].before = None
    for one in town.shufflers:
        one.has_closed = True
    collection = client().open(town.invitation)
    collection.require_answerable(town.ticket(1))
    with raises("consent.answered"):
        collection.submit(17, town.ticket(2))
    assert collection.submit(17, town.ticket(1)).accepted
    assert draws == [1]
    assert all(len(set(one.parts)) == 1 for one in town.shufflers)


def test_it_is_durable_before_the_first_byte_is_sent(town: FakeShufflers, client: Open, config: Config) -> None:
    """Every shuffler that gets a part finds the whole submission committed, as another process would see it."""
    path, found = config.folder / NAME, []

    def look(part: Part) -> Answer | None:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as other:
            found.append(other.execute("SELECT count(*) FROM parts WHERE ticket = ?", (part.id,)).fetchone()[0])
        other.close()
        return None

    for one in town.shufflers:
        one.before = look
    assert client().open(town.invitation).submit(17, town.ticket(1)).accepted
    assert found == [3, 3, 3]


def test_if_it_cannot_be_kept_nothing_is_sent(
    town: FakeShufflers, client: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = client().open(town.invitation)

    def full(*_: object) -> None:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorname = "SQLITE_FULL"
        raise error

    with monkeypatch.context() as patched:
        patched.setattr("user_client.store.ClientStore.keep", full)
        with raises("store.no_room", "the memory"):
            collection.submit(17, town.ticket(1))
    assert not any(one.parts for one in town.shufflers)
    assert client().ledger().own_spent == 0


def test_a_conflicting_answer_is_a_refusal_with_its_reason(
    town: FakeShufflers, client: Open, tmp_path: Path, draws: list[int]
) -> None:
    assert client(folder=tmp_path / "thief").open(town.invitation).submit(3, town.ticket(1)).accepted
    result = client().open(town.invitation).submit(17, town.ticket(1))
    assert not result.accepted
    assert [refusal.shuffler for refusal in result.refusals] == [1, 2, 3]
    assert {refusal.error_id for refusal in result.refusals} == {"submit.ticket_used"}
    (standing,) = client().status()
    assert standing.accepted == 0
    assert len(standing.refused) == 3
    assert draws == [1, 1]


def test_another_ticket_does_not_make_a_second_answer(town: FakeShufflers, client: Open, draws: list[int]) -> None:
    client().open(town.invitation).submit(17, town.ticket(1))
    with raises("consent.answered", "00000000…"):
        client().open(town.invitation).submit(17, town.ticket(2))
    assert draws == [1]


def test_the_same_question_in_another_collection_is_refused_without_tombstones(
    town: FakeShufflers, client: Open, draws: list[int]
) -> None:
    client().open(town.invitation).submit(17, town.ticket(1))
    town.publish(town.document(fakes=99))
    with raises("consent.answered_question"):
        client().open(town.invitation).submit(17, town.ticket(1))
    assert draws == [1]


def test_the_budget_refuses_and_names_what_spent_it(town: FakeShufflers, client: Open, draws: list[int]) -> None:
    spent = []
    for epoch in ("2031", "2032"):
        town.publish(town.document(epoch=epoch))
        spent.append(town.digest.hex()[:8])
        assert client().open(town.invitation).submit(17, town.ticket(1)).accepted
    town.publish(town.document(epoch="2033"))
    with raises("consent.budget", "ε_l = 2", "5", "4", f"{spent[0]}… (2)", f"{spent[1]}… (2)"):
        client().open(town.invitation).submit(17, town.ticket(1))
    assert draws == [1, 1]
    assert client(budget=6.0).open(town.invitation).submit(17, town.ticket(1)).accepted
    assert client().ledger().to_json()["spent"] == 6.0


def test_a_charge_is_rounded_up_and_the_budget_down() -> None:
    assert charge_of(2.0) == 2_000_000
    assert charge_of(2.0000000000000004) == 2_000_001
    assert budget_of(2.9999999999999996) == 2_999_999
    assert [shown(value) for value in (0, 1, 2_500_000, 12_000_000)] == ["0", "0.000001", "2.5", "12"]


@pytest.mark.parametrize("value", [-1, 64, 10**30, True])
def test_a_value_outside_the_domain_is_refused_and_not_repeated(town: FakeShufflers, client: Open, value: int) -> None:
    with raises("input.answers", "0", "63") as caught:
        client().open(town.invitation).submit(value, town.ticket(1))
    assert str(value) not in str(caught.value)
    assert client().status() == ()


def test_a_ticket_of_another_collection_costs_nothing(town: FakeShufflers, client: Open, draws: list[int]) -> None:
    wrong = replace(town.ticket(1), signature=town.ticket(2).signature)
    with raises("input.answers", "ticket"):
        client().open(town.invitation).submit(1, wrong)
    assert draws == []
    assert client().ledger().own_spent == 0


def test_one_report_builds_no_tables(town: FakeShufflers, client: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    true = PaillierPublicKey.zero_source

    def counted(
        self: PaillierPublicKey, rng: Randomness, *, expected: int = 1, statistical: bool = False
    ) -> ZeroSource:
        asked.append(expected)
        return true(self, rng, expected=expected, statistical=statistical)

    monkeypatch.setattr(PaillierPublicKey, "zero_source", counted)
    monkeypatch.setattr("peos.crypto.schemes.paillier.WindowZeros", None)
    assert client().open(town.invitation).submit(17, town.ticket(1)).accepted
    assert asked == [1]


def test_her_folder_is_hers_alone(town: FakeShufflers, client: Open, config: Config) -> None:
    client().open(town.invitation).submit(17, town.ticket(1))
    assert stat.S_IMODE(config.folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in config.folder.iterdir()} == {0o600}
    os.chmod(config.folder, 0o750)  # noqa: S103 - a folder that is open is what is tested
    with raises("store.open_to_others"):
        client()


def test_her_value_is_nowhere_in_her_memory_and_nothing_secret_in_a_repr(
    town: FakeShufflers, client: Open, config: Config
) -> None:
    here = client()
    collection = here.open(town.invitation)
    collection.submit(17, town.ticket(1))
    here.close()
    with closing(ClientStore(config.folder)) as memory:
        assert repr(memory.find(town.digest, town.ticket(1).id)) == "StoredSubmission(00000000…)"
    with sqlite3.connect(config.folder / NAME) as connection:
        columns = [row[1] for table in _tables(connection) for row in connection.execute(f"PRAGMA table_info({table})")]
    connection.close()
    assert not [column for column in columns if "value" in column]


def _tables(connection: sqlite3.Connection) -> list[str]:
    return [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def test_a_memory_that_is_damaged_is_refused(client: Open, config: Config) -> None:
    client().close()
    for path in config.folder.iterdir():
        path.write_bytes(b"not a database" * 100)
    with raises("store.damaged"):
        client()


def test_a_part_is_serialised_once_for_keeping_counting_and_sending(
    town: FakeShufflers, client: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    serialised: list[object] = []

    def serialize(message: Message) -> bytes:
        if isinstance(message, pb.Part):
            serialised.append(message)
        return strict.serialize(message)

    collection = client().open(town.invitation)
    monkeypatch.setattr("peos.wire.submissions.serialize", serialize)
    assert collection.submit(17, town.ticket(1)).accepted
    noted = sum(len(one.parts) for one in town.shufflers)  # the town serialises what it has read, to note it
    assert (noted, len(serialised) - noted) == (3, 3)
