"""The store's contract, on every store there is: collections, submissions, the freeze."""

import time
from collections.abc import Callable

import numpy as np
import pytest

from peos.collection.lifecycle import SHUFFLER, State
from peos.collection.submission import Verdict
from peos.crypto.randomness import Randomness
from peos.errors import Conflict, LocalFault, Unknown, WrongInput
from peos.ldp.base import Question
from peos.shuffle.delivery_state import DeliveryState, Phase
from peos.store.base import ShufflerStore, Submission
from tests.raising import raises
from tests.unit.store.made import ANNOUNCED, ASKED, DIGEST, FROZEN, OTHER, frozen, opened, stored, submission, vector


def test_a_store_is_itself_and_grows(store: ShufflerStore) -> None:
    identity, generation = store.identity, store.generation
    assert len(identity) == 16
    opened(store)
    assert (store.identity, store.generation > generation) == (identity, True)


# Collections.


def test_a_collection_is_kept_as_it_came_and_the_same_again_changes_nothing(store: ShufflerStore) -> None:
    store.put_collection(DIGEST, b"signed", b"roster", ASKED)
    generation = store.generation
    store.put_collection(DIGEST, b"signed", b"roster", ASKED)
    here = store.collection(DIGEST)
    assert (here.digest, here.signed, here.roster, here.question) == (DIGEST, b"signed", b"roster", ASKED)
    assert (here.state, here.count, here.frozen, here.delivery_state) == (State.DRAFT, 0, None, DeliveryState())
    assert (here.erased, here.lost, store.collections(), store.generation) == (False, False, [here], generation)


def test_a_collection_is_not_replaced(store: ShufflerStore) -> None:
    opened(store)
    with pytest.raises(Conflict):
        store.put_collection(DIGEST, b"signed", b"another roster", ASKED, State.OPEN)
    assert store.collection(DIGEST).roster == b"roster"


def test_collections_come_in_the_order_of_arrival(store: ShufflerStore) -> None:
    digests = [bytes([number]) * 32 for number in (9, 3, 7)]
    for number, digest in enumerate(digests):
        opened(store, digest, Question(b"a", f"question {number}"))
    assert [here.digest for here in store.collections()] == digests


def test_an_analyzers_questions_are_listed_since_a_moment_but_for_those_aborted_without_output(
    store: ShufflerStore,
) -> None:
    before = time.time() - 3600
    assert store.asked_since(ASKED.analyzer, before) == []
    opened(store)
    opened(store, OTHER, Question(ASKED.analyzer, "Another?", "2030-01"))
    opened(store, b"\x03" * 32, Question(b"\x0b" * 32, ASKED.question, "2030-01"))
    opened(store, b"\x04" * 32, Question(ASKED.analyzer, ASKED.question, "2030-02"))
    assert store.asked_since(ASKED.analyzer, before) == [ASKED.question, "Another?", ASKED.question]
    assert store.asked_since(ASKED.analyzer, time.time() + 3600) == []
    store.set_state(OTHER, State.ABORTED)
    assert store.asked_since(ASKED.analyzer, before) == [ASKED.question] * 2


def test_a_collection_that_was_aborted_while_it_was_sent_counts_as_asked(store: ShufflerStore) -> None:
    frozen(store)
    store.set_state(DIGEST, State.SHUFFLING)
    store.put_delivery_state(DIGEST, stored(1), vector(1))
    store.put_delivery_state(DIGEST, stored(1, Phase.SENDING))
    store.set_state(DIGEST, State.ABORTED)
    assert store.asked_since(ASKED.analyzer, time.time() - 3600) == [ASKED.question]


def test_a_collection_begins_as_a_draft_or_open(store: ShufflerStore) -> None:
    for state in set(State) - {State.DRAFT, State.OPEN}:
        with raises("store.first_state"):
            store.put_collection(DIGEST, b"", b"", ASKED, state)
    assert store.collections() == []


def test_what_is_not_kept_is_unknown_to_every_call(store: ShufflerStore) -> None:
    calls: list[Callable[[], object]] = [
        lambda: store.collection(DIGEST),
        lambda: store.set_state(DIGEST, State.OPEN),
        lambda: store.note_refused(DIGEST, {"late": 1}),
        lambda: store.refused(DIGEST),
        lambda: store.submit(DIGEST, submission(1).row, b"share"),
        lambda: store.count(DIGEST),
        lambda: list(store.rows(DIGEST)),
        lambda: store.put_frozen(DIGEST, FROZEN, ANNOUNCED, []),
        lambda: list(store.frozen_rows(DIGEST)),
        lambda: list(store.shares(DIGEST)),
        lambda: store.fake_seed(DIGEST, Randomness(bytes(32))),
        lambda: store.put_delivery_state(DIGEST, DeliveryState()),
        lambda: store.delivery_state(DIGEST),
        lambda: store.final_vector(DIGEST),
        lambda: store.erase(DIGEST),
    ]
    for call in calls:
        with raises("collection.unknown", "0101010101010101"):
            call()


def test_states_follow_the_table_of_a_shuffler_and_nothing_else(store: ShufflerStore) -> None:
    opened(store)
    for state in set(State) - set(SHUFFLER[State.OPEN]) - {State.OPEN}:
        with pytest.raises(LocalFault):
            store.set_state(DIGEST, state)
    store.set_state(DIGEST, State.ABORTED, "the analyzer's order")
    assert (store.collection(DIGEST).state, store.collection(DIGEST).reason) == (State.ABORTED, "the analyzer's order")
    for state in set(State) - {State.ABORTED}:
        with pytest.raises(LocalFault):
            store.set_state(DIGEST, state)


def test_a_change_that_is_there_already_is_a_success_and_changes_nothing(store: ShufflerStore) -> None:
    made = frozen(store)
    store.put_frozen(DIGEST, FROZEN, ANNOUNCED, [one.row for one in made])
    store.set_state(DIGEST, State.SHUFFLING)
    store.put_delivery_state(DIGEST, stored(1), vector(1))
    seed, before, told = store.fake_seed(DIGEST, Randomness(bytes(32))), store.collection(DIGEST), store.verify_audit()
    for _ in range(2):
        opened(store)
        store.set_state(DIGEST, State.SHUFFLING, "another reason")
        store.put_delivery_state(DIGEST, stored(1), vector(1))
        store.put_delivery_state(DIGEST, stored(1))
        assert store.fake_seed(DIGEST, Randomness(b"\x01" * 32)) == seed
        store.settle()
    assert (store.collection(DIGEST), store.verify_audit()) == (before, told)
    assert np.array_equal(store.final_vector(DIGEST), vector(1))
    store.erase(DIGEST)
    told = store.verify_audit()
    store.erase(DIGEST)
    assert store.verify_audit() == told


def test_something_else_than_what_is_there_is_no_repetition(store: ShufflerStore) -> None:
    frozen(store)
    with raises("collection.transition", "frozen", "frozen"):
        store.put_frozen(DIGEST, b"\x00" * 32, ANNOUNCED, [])
    store.set_state(DIGEST, State.SHUFFLING)
    with raises("collection.transition", "shuffling", "frozen"):
        store.put_frozen(DIGEST, FROZEN, ANNOUNCED, [])  # it is further than that
    store.put_delivery_state(DIGEST, stored(1), vector(1))
    for place in (Phase.STORED, Phase.SENDING):
        store.put_delivery_state(DIGEST, stored(1, place))
        with raises("store.vector_differs"):
            store.put_delivery_state(DIGEST, stored(1, place), vector(2))
        assert np.array_equal(store.final_vector(DIGEST), vector(1))


def test_refusals_are_counted_by_reason(store: ShufflerStore) -> None:
    opened(store)
    store.note_refused(DIGEST, {"late": 2, "the ticket is not valid": 1})
    store.note_refused(DIGEST, {"late": 3})
    store.submit_many([submission(1), _other_splitting(1)])
    assert store.refused(DIGEST) == {"late": 5, "the ticket is not valid": 1, "conflict": 1}
    with pytest.raises(WrongInput):
        store.note_refused(DIGEST, {"x" * 201: 1})


# Submissions.


def _other_splitting(number: int) -> Submission:
    one = submission(number)
    return Submission(DIGEST, one.row[:16] + b"\xff" * 32, b"another share")


def test_a_submission_is_stored_known_or_in_conflict(store: ShufflerStore) -> None:
    opened(store)
    one = submission(1)
    assert store.submit(DIGEST, one.row, one.share) is Verdict.STORE
    assert store.submit(DIGEST, one.row, one.share) is Verdict.KNOWN
    other = _other_splitting(1)
    assert store.submit(DIGEST, other.row, other.share) is Verdict.CONFLICT
    assert (store.count(DIGEST), list(store.rows(DIGEST))) == (1, [one.row])


def test_one_submission_an_id(store: ShufflerStore) -> None:
    opened(store)
    first, second = submission(1).row, submission(2).row
    assert store.submit(DIGEST, first, b"one") is Verdict.STORE
    assert store.submit(DIGEST, first[:16] + second[16:], b"two") is Verdict.CONFLICT
    assert store.submit(DIGEST, second, b"two") is Verdict.STORE
    assert store.count(DIGEST) == 2


def test_a_list_is_the_same_from_the_closing_to_the_freeze_whatever_comes(store: ShufflerStore) -> None:
    """What a shuffler has announced once it announces after every restart: nothing comes in, and nothing goes."""
    opened(store)
    store.submit_many([submission(number) for number in range(5)])
    store.set_state(DIGEST, State.CLOSED)
    closed = list(store.rows(DIGEST))
    store.submit_many([submission(2), submission(6), _other_splitting(3)])
    assert list(store.rows(DIGEST)) == closed
    store.put_frozen(DIGEST, FROZEN, ANNOUNCED, closed[1:])
    store.submit_many([submission(7)])
    assert list(store.rows(DIGEST)) == closed
    here = store.collection(DIGEST).frozen
    assert here is not None
    assert (here.digest, here.count, here.announcements) == (FROZEN, 4, ANNOUNCED)
    store.erase(DIGEST)
    assert store.collection(DIGEST).frozen == here, "signatures stay when the rows are gone"


def test_a_batch_is_judged_one_after_another_and_one_bad_submission_spoils_no_other(store: ShufflerStore) -> None:
    opened(store)
    elsewhere = submission(3, OTHER)
    judged = store.submit_many([submission(1), submission(1), _other_splitting(1), elsewhere, submission(2)])
    assert judged[:3] == [Verdict.STORE, Verdict.KNOWN, Verdict.CONFLICT]
    assert isinstance(judged[3], Unknown)
    assert judged[4] is Verdict.STORE
    assert store.count(DIGEST) == 2
    assert store.submit_many([]) == []


def test_collections_do_not_mix(store: ShufflerStore) -> None:
    opened(store)
    opened(store, OTHER, Question(b"another"))
    one = submission(1)
    assert store.submit(DIGEST, one.row, b"here") is Verdict.STORE
    assert store.submit(OTHER, one.row, b"there") is Verdict.STORE
    assert (store.count(DIGEST), store.count(OTHER)) == (1, 1)


def test_before_opening_and_after_closing_nothing_new_is_taken_but_what_is_known_is_acknowledged(
    store: ShufflerStore,
) -> None:
    store.put_collection(DIGEST, b"", b"", ASKED)
    one, late = submission(1), submission(2)
    with raises("submit.not_open"):
        store.submit(DIGEST, one.row, one.share)
    store.set_state(DIGEST, State.OPEN)
    assert store.submit(DIGEST, one.row, one.share) is Verdict.STORE
    store.set_state(DIGEST, State.CLOSED)
    assert store.submit(DIGEST, one.row, one.share) is Verdict.KNOWN
    assert store.submit(DIGEST, _other_splitting(1).row, b"") is Verdict.CONFLICT
    with raises("submit.closed", "closed"):
        store.submit(DIGEST, late.row, late.share)
    assert store.count(DIGEST) == 1


def test_rows_stream_sorted_by_id_while_more_come(store: ShufflerStore) -> None:
    opened(store)
    made = [submission(number) for number in range(10_000)]
    store.submit_many(made[:9_000])
    streaming = store.rows(DIGEST)
    head = [next(streaming) for _ in range(10)]
    store.submit_many(made[9_000:])
    ids = [row[:16] for row in (*head, *streaming)]
    assert ids == sorted(set(ids))
    assert {one.row[:16] for one in made[:9_000]} <= set(ids)
    assert list(store.rows(DIGEST)) == sorted(one.row for one in made)


# The freeze.


def test_the_freeze_keeps_what_counts_in_the_order_of_the_rows(store: ShufflerStore) -> None:
    opened(store)
    made = sorted((submission(number) for number in range(9_000)), key=lambda one: one.row)
    store.submit_many(made)
    store.set_state(DIGEST, State.CLOSED)
    counted = [one for row, one in enumerate(made) if row % 3]
    store.put_frozen(DIGEST, FROZEN, ANNOUNCED, (one.row for one in counted))
    here = store.collection(DIGEST)
    assert (here.state, here.frozen and here.frozen.digest, here.frozen and here.frozen.count) == (
        State.FROZEN,
        FROZEN,
        6_000,
    )
    assert list(store.frozen_rows(DIGEST)) == [one.row for one in counted]
    assert list(store.shares(DIGEST)) == [one.share for one in counted]
    out = np.zeros((6_010, 24), np.uint8)
    store.fill_shares(DIGEST, out)
    assert out[:6_000].tobytes() == b"".join(one.share for one in counted)
    assert not out[6_000:].any()
    with raises("store.shares_shape"):
        store.fill_shares(DIGEST, out[:5_999])
    with raises("store.shares_shape"):
        store.fill_shares(DIGEST, out[:, :16])


def test_an_empty_list_can_be_frozen_too(store: ShufflerStore) -> None:
    frozen(store, 0)
    assert list(store.shares(DIGEST)) == []
    store.fill_shares(DIGEST, np.zeros((3, 24), np.uint8))


@pytest.mark.parametrize("wrong", ["unknown", "other commitment", "unsorted", "twice"])
def test_what_is_not_kept_here_cannot_be_frozen(store: ShufflerStore, wrong: str) -> None:
    opened(store)
    made = sorted(submission(number).row for number in range(4))
    store.submit_many([submission(number) for number in range(4)])
    store.set_state(DIGEST, State.CLOSED)
    lists = {
        "unknown": [*made, b"\xff" * 16 + bytes(32)],
        "other commitment": [made[0], made[1][:16] + bytes(32)],
        "unsorted": made[::-1],
        "twice": [made[0], made[0]],
    }
    with raises("store.frozen_missing"):
        store.put_frozen(DIGEST, FROZEN, ANNOUNCED, lists[wrong])
    assert (store.collection(DIGEST).state, store.collection(DIGEST).frozen) == (State.CLOSED, None)
    store.put_frozen(DIGEST, FROZEN, ANNOUNCED, made)
    assert list(store.frozen_rows(DIGEST)) == made


def test_only_a_closed_collection_is_frozen_and_only_once(store: ShufflerStore) -> None:
    opened(store)
    with pytest.raises(LocalFault):
        store.put_frozen(DIGEST, FROZEN, ANNOUNCED, [])
    store.set_state(DIGEST, State.CLOSED)
    with raises("store.frozen_state"):
        store.set_state(DIGEST, State.FROZEN)
    store.put_frozen(DIGEST, FROZEN, ANNOUNCED, [])
    with pytest.raises(LocalFault):
        store.put_frozen(DIGEST, b"\x00" * 32, ANNOUNCED, [])
    assert store.collection(DIGEST).frozen is not None


def test_shares_are_there_from_the_freeze_on(store: ShufflerStore) -> None:
    opened(store)
    for call in (store.shares, store.frozen_rows):
        with raises("store.shares_state"):
            list(call(DIGEST))


# At most one answer to a question.


@pytest.mark.parametrize("how", ["sending", "delivered"])
def test_a_question_that_was_delivered_is_refused_under_another_digest(store: ShufflerStore, how: str) -> None:
    frozen(store)
    store.set_state(DIGEST, State.SHUFFLING)
    assert store.delivered_before(ASKED) is None
    if how == "sending":
        store.put_delivery_state(DIGEST, stored(1), vector(1))
        assert store.delivered_before(ASKED) is None
        store.put_delivery_state(DIGEST, stored(1, Phase.SENDING))
    else:
        store.set_state(DIGEST, State.DELIVERED)
    assert store.delivered_before(ASKED) == DIGEST
    with raises("collection.answered", "0101010101010101"):
        opened(store, OTHER)
    for other in (Question(b"b", ASKED.question, ASKED.epoch), Question(ASKED.analyzer, ASKED.question, "2030-02")):
        assert store.delivered_before(other) is None


def test_an_aborted_delivery_counts_as_one_and_an_abort_before_it_does_not(store: ShufflerStore) -> None:
    frozen(store)
    store.set_state(DIGEST, State.SHUFFLING)
    store.put_delivery_state(DIGEST, DeliveryState(Phase.DEAD, 1))
    store.set_state(DIGEST, State.ABORTED)
    assert store.delivered_before(ASKED) is None
    frozen(store, digest=OTHER)
    store.set_state(OTHER, State.SHUFFLING)
    store.put_delivery_state(OTHER, stored(1), vector(1))
    store.put_delivery_state(OTHER, stored(1, Phase.SENDING))
    store.put_delivery_state(OTHER, DeliveryState(Phase.ABORTED, 1))
    store.set_state(OTHER, State.ABORTED)
    assert store.delivered_before(ASKED) == OTHER


def test_of_two_collections_of_one_question_one_is_frozen(store: ShufflerStore) -> None:
    opened(store, OTHER)
    frozen(store)
    store.set_state(OTHER, State.CLOSED)
    with raises("collection.answered"):
        store.put_frozen(OTHER, FROZEN, ANNOUNCED, [])
    store.set_state(DIGEST, State.ABORTED)
    store.put_frozen(OTHER, FROZEN, ANNOUNCED, [])
