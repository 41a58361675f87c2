"""The life of a collection with the analyzer as a machine: what clock, vectors and answers make of it."""

import contextlib
import math
from collections.abc import Callable
from functools import partial

import pytest

from peos.collection.analysis import (
    FULL,
    Answer,
    Answered,
    Ask,
    Clear,
    Clock,
    Close,
    Complete,
    Durable,
    Filled,
    Publish,
    SendDummies,
    Session,
    SetState,
    Wait,
    check_abort,
    check_close,
    check_open,
    check_publish,
    not_accepted,
    too_late,
)
from peos.collection.lifecycle import State, way
from peos.collection.replies import Status
from peos.crypto.kdf import Context
from peos.errors import Closed, NotYet, PeosError, Refused, RemoteFault
from peos.shuffle.messages import Header, Kind, Step, VectorHeader
from tests.raising import raises
from tests.unit.collection.made import COLLECTION, DOCUMENT

CLOSES, ERASE = DOCUMENT.closes_at, DOCUMENT.erase_by
OUTPUT = tuple(
    VectorHeader(
        Header(Context(COLLECTION, b"f" * 32, 1), Step(len(DOCUMENT.schedule.rounds), Kind.DELIVERY), sender, 0),
        *(60, 8, bytes(32), b"t" * 32),
    )
    for sender in DOCUMENT.schedule.last
)


def said(state: str, reason: str = "") -> Status:
    """A shuffler's answer."""
    return Status(COLLECTION, state, reason=reason)


@pytest.mark.parametrize(
    ("kept", "now", "effects"),
    [
        (Durable(State.DRAFT), ERASE + 1.0, (Wait(math.inf),)),  # it is the command's that creates it
        (Durable(State.OPEN, 0.0), 0.5, (SendDummies(), Wait(1.0))),
        (Durable(State.OPEN, 0.0), CLOSES, (SetState(State.CLOSED),)),
        (Durable(State.CLOSED), CLOSES, (Ask(), Wait(ERASE))),
        (Durable(State.OPEN, 0.0, OUTPUT), ERASE, (Complete(),)),  # it was seen late
        (Durable(State.SHUFFLING, 0.0, OUTPUT[:1]), CLOSES, (Ask(), Wait(ERASE))),
        (Durable(State.DELIVERED, 0.0, OUTPUT), ERASE, (Publish(),)),
        (Durable(State.PUBLISHED), 0.0, (Clear(),)),
        (Durable(State.ABORTED), 0.0, (Clear(),)),
    ],
)
def test_what_is_to_be_done_now(kept: Durable, now: float, effects: tuple[object, ...]) -> None:
    assert Session(DOCUMENT).on(Clock(kept, now)) == effects


@pytest.mark.parametrize("state", [State.OPEN, State.CLOSED, State.SHUFFLING])
def test_what_is_not_complete_when_all_must_be_erased_ends(state: State) -> None:
    (end,) = Session(DOCUMENT).on(Clock(Durable(state, 0.0, OUTPUT[:1]), ERASE))
    assert isinstance(end, SetState)
    assert (end.there, end.reason) == (
        State.ABORTED,
        "the output was not complete when everything had to be erased",
    )


def test_shufflers_are_asked_now_and_then_also_after_a_clock_was_set_back() -> None:
    session, kept = Session(DOCUMENT, ask_every=1.0), Durable(State.CLOSED)
    asked = [now for now in (0.0, 0.5, 0.9, 1.0, 1.5, 2.0, 0.7) if Ask() in session.on(Clock(kept, now))]
    assert asked == [0.0, 1.0, 2.0, 0.7]


def test_answers_move_it_on_or_end_it_and_come_too_late_for_what_has_moved_on() -> None:
    session, open_, frozen = Session(DOCUMENT), said("closed"), said("frozen")
    gone = said("aborted", "too few")
    closed = Durable(State.CLOSED)
    assert session.on(Answered(closed, [open_, open_, open_])) == ()
    assert session.on(Answered(closed, [open_, frozen, open_])) == (SetState(State.SHUFFLING),)
    assert session.on(Answered(closed, [open_, gone, open_])) == (
        SetState(State.ABORTED, "shuffler 2 (shuffler 2) aborted: too few"),
    )
    assert session.on(Answered(Durable(State.DELIVERED, 0.0, OUTPUT), [gone, gone, gone])) == ()
    assert session.on(Answered(Durable(State.SHUFFLING, 0.0, OUTPUT[:1]), [gone, gone, frozen])) == (
        SetState(State.SHUFFLING),
    ), "a last hider that has delivered may go"


def test_a_full_collection_closes_once_and_only_while_it_is_open() -> None:
    session = Session(DOCUMENT)
    assert session.on(Filled(Durable(State.OPEN, 0.0))) == (SetState(State.CLOSED, FULL),)
    for later in (State.CLOSED, State.SHUFFLING, State.ABORTED):
        assert session.on(Filled(Durable(later, 0.0))) == ()


def test_the_order_to_close_is_repeated_while_a_shuffler_is_open_and_not_by_the_clock() -> None:
    session, closed = Session(DOCUMENT), Durable(State.CLOSED)
    answers: list[Answer] = [said("closed"), said("open"), RemoteFault("test.silent", "says nothing")]
    session.on(Clock(closed, CLOSES - 1))
    assert session.on(Answered(closed, answers)) == (Close(),)
    assert session.on(Answered(Durable(State.OPEN), answers)) == (), "no order was given"
    session.on(Clock(closed, CLOSES))
    assert session.on(Answered(closed, answers)) == (), "each closes by its own clock"


def test_a_way_passes_every_state_and_none_leads_back() -> None:
    assert way("analyzer", State.OPEN, State.DELIVERED) == (State.CLOSED, State.SHUFFLING, State.DELIVERED)
    assert way("analyzer", State.OPEN, State.OPEN) == ()
    assert way("analyzer", State.DELIVERED, State.ABORTED) == (State.ABORTED,)
    for here, there in (
        (State.SHUFFLING, State.OPEN),
        (State.PUBLISHED, State.ABORTED),
        (State.ABORTED, State.PUBLISHED),
        (State.DELIVERED, State.FROZEN),
    ):
        with raises("collection.transition", here, there):
            way("analyzer", here, there)


def test_a_shuffler_accepts_waits_or_will_not() -> None:
    silent = RemoteFault("test.remotefault", "cannot be reached")
    assert not_accepted("one", said("open"), None, may_pass=False) == ""
    assert "operator" in not_accepted("one", said("draft"), None, may_pass=False)
    assert not_accepted("one", Status(COLLECTION, "", known=False), None, may_pass=False).endswith("collection yet")
    assert not_accepted("one", silent, None, may_pass=False) == str(silent)
    assert not_accepted("one", silent, Refused("test.refused", "busy"), may_pass=True) == "busy"
    with raises("test.refused", kind=Refused):
        not_accepted("one", silent, Refused("test.refused", "not allowed"), may_pass=False)
    with raises("collection.refused"):
        not_accepted("one", said("aborted"), None, may_pass=False)
    assert too_late("it", DOCUMENT, CLOSES - 0.1, ["one"]) is None
    assert isinstance(too_late("it", DOCUMENT, CLOSES, ["one"]), Closed)


def test_orders_are_carried_out_in_the_states_that_allow_them() -> None:
    allowed: dict[str, set[State]] = {name: set() for name in ("open", "close", "abort", "publish")}
    for state in State:
        checks: dict[str, Callable[[], None]] = {
            "open": partial(check_open, "it", state, "why"),
            "close": partial(check_close, "it", state),
            "abort": partial(check_abort, "it", state),
            "publish": partial(check_publish, "it", state, frozenset(), {}, is_awaited=False),
        }
        for name, check in checks.items():
            with contextlib.suppress(PeosError):
                check()
                allowed[name].add(state)
    assert allowed["open"] == set(State) - {State.ABORTED}
    assert allowed["close"] == {State.OPEN, State.CLOSED, State.FROZEN, State.SHUFFLING}
    assert allowed["abort"] == set(State) - {State.PUBLISHED}
    assert allowed["publish"] == {State.DELIVERED}


def test_publishing_without_rows_takes_the_word_about_each_of_them() -> None:
    unseen = {2: "nothing was heard of it", 3: "it showed less than the others"}
    with pytest.raises(NotYet):
        check_publish("it", State.DELIVERED, frozenset({2, 3}), unseen, is_awaited=True)
    with raises("result.unopened", "shuffler 3"):
        check_publish("it", State.DELIVERED, frozenset({2}), unseen, is_awaited=False)
    with raises("input.unopened_seen", "shuffler 1"):
        check_publish("it", State.DELIVERED, frozenset({1, 2, 3}), unseen, is_awaited=False)
    check_publish("it", State.DELIVERED, frozenset({2, 3}), unseen, is_awaited=False)
