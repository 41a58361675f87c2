"""The life of a collection as a machine, on a store in memory: how it ends, and what is said of one that has ended.

A tombstone comes from who delivered nothing, none from who may have, and nothing at all from a store that was lost.
"""

from collections import deque
from dataclasses import dataclass, field, replace

import pytest

from peos.collection.lifecycle import State
from peos.collection.session import (
    Clock,
    Compared,
    Durable,
    Erase,
    Failed,
    Finish,
    Fix,
    ForgetEvidence,
    Freeze,
    Interrupt,
    Known,
    Moved,
    Noted,
    NoteEvidence,
    Ordered,
    Pause,
    Read,
    Session,
    SetState,
    Wait,
    last_words,
)
from peos.crypto.kdf import Context
from peos.errors import Closed, LocalFault, NotYet, Refused, RemoteFault
from peos.shuffle.delivery_state import DeliveryState, Phase
from peos.shuffle.effects import Notify, Persist
from peos.shuffle.messages import Notice, NoticeKind
from peos.store.base import Collection
from peos.store.memory import MemoryStore
from tests.raising import raises
from tests.unit.collection.made import COLLECTION, DOCUMENT
from tests.unit.shuffler_process.played import HERE, ME, memory

SOON = DOCUMENT.closes_at - 1.0


def durable(store: MemoryStore) -> Durable:
    """What the store says."""
    kept = store.collection(COLLECTION)
    frozen = kept.frozen.digest if kept.frozen else None
    return Durable(kept.state, kept.reason, kept.delivery_state, frozen, kept.lost)


@dataclass
class Carried:
    """Carries effects out on a store, and remembers what was said."""

    store: MemoryStore
    told: list[tuple[Notice, int]] = field(default_factory=list)

    def drive(self, machine: Session, now: float = SOON) -> None:
        """Until it waits for something that is not played here, or is finished."""
        effects = deque(machine.on(Clock(now)))
        while effects:
            match effects.popleft():
                case Read():
                    effects.extendleft(reversed(machine.on(Known(durable(self.store), now))))
                case SetState(here, there, reason):
                    if machine.state is here:
                        self.store.set_state(COLLECTION, there, reason)
                        machine.on(Moved(there, reason))
                case Persist(delivery_state):
                    self.store.put_delivery_state(COLLECTION, delivery_state)
                case Notify(notice, receivers):
                    self.told += [(notice, receiver) for receiver in receivers]
                case Erase():
                    self.store.erase(COLLECTION)
                case Finish() | Wait() | Pause():
                    return
            if not effects:
                effects.extend(machine.on(Clock(now)))


def abort(store: MemoryStore) -> tuple[State, list[tuple[Notice, int]]]:
    """The collection is given up; the state that comes of it, and what was said."""
    carried, machine = Carried(store), Session(ME, DOCUMENT, durable(store), inspects=False)
    machine.doom = "a reason"
    carried.drive(machine)
    return store.collection(COLLECTION).state, carried.told


def answer(store: MemoryStore, asked: Notice, context: Context = HERE) -> list[tuple[Notice, int]]:
    """What is said to one that asks after the end."""
    found = last_words(ME, DOCUMENT.schedule, durable(store), context, asked)
    return [(tell.notice, receiver) for tell in found for receiver in tell.receivers]


def ask(attempt: int) -> Notice:
    """Shuffler 1 asks where this shuffler stands in an attempt."""
    return Notice(NoticeKind.ASK, 1, attempt)


@pytest.mark.parametrize("place", [Phase.FREE, Phase.STORED, Phase.DEAD])
def test_who_has_sent_nothing_dies_durably_and_signs_its_tombstone(place: Phase) -> None:
    store = memory(place)
    state, told = abort(store)
    here = store.collection(COLLECTION)
    assert (state, here.reason, here.delivery_state.phase, here.erased) == (State.ABORTED, "a reason", Phase.DEAD, True)
    assert [(notice.kind, receiver) for notice, receiver in told] == [
        (NoticeKind.TOMBSTONE, 1),
        (NoticeKind.TOMBSTONE, 2),
    ]


@pytest.mark.parametrize("place", [Phase.SENDING, Phase.ABORTED])
def test_who_may_have_sent_something_ends_without_a_tombstone(place: Phase) -> None:
    store = memory(place)
    assert abort(store) == (State.ABORTED, [])
    assert store.delivery_state(COLLECTION).phase is Phase.ABORTED


def test_what_was_delivered_is_not_aborted() -> None:
    store = memory(Phase.DONE)
    assert abort(store) == (State.PUBLISHED, [])


def test_before_the_freeze_there_is_nothing_to_sign() -> None:
    assert abort(memory(frozen=False)) == (State.ABORTED, [])


def test_an_abort_that_was_cut_short_before_its_state_is_completed() -> None:
    store = memory(Phase.STORED)
    store.put_delivery_state(COLLECTION, DeliveryState(Phase.DEAD, 2, 1))
    carried = Carried(store)
    carried.drive(Session(ME, DOCUMENT, durable(store)))
    here = store.collection(COLLECTION)
    assert (here.state, here.reason, here.erased) == (State.ABORTED, "it was given up before a restart", True)
    assert len(carried.told) == 2


def test_an_abort_that_was_cut_short_after_its_state_is_erased() -> None:
    store = memory(Phase.DEAD)
    store.set_state(COLLECTION, State.ABORTED, "the first reason")
    Carried(store).drive(Session(ME, DOCUMENT, durable(store)))
    here = store.collection(COLLECTION)
    assert (here.reason, here.erased) == ("the first reason", True)


def test_a_tombstone_does_not_wait_for_the_erasure_which_is_repeated() -> None:
    store = memory(Phase.FREE)
    erase, machine, carried = store.erase, Session(ME, DOCUMENT, durable(store)), Carried(store)
    machine.doom = "a reason"

    def held_up(_: bytes) -> None:
        raise OSError(24, "too many open files")

    setattr(store, "erase", held_up)  # noqa: B010 - as a disk that cannot be written to now
    with pytest.raises(OSError, match="too many") as caught:
        carried.drive(machine)
    here = store.collection(COLLECTION)
    assert (here.state, here.delivery_state.phase, here.erased) == (State.ABORTED, Phase.DEAD, False)
    assert [receiver for _, receiver in carried.told] == [1, 2]
    setattr(store, "erase", erase)  # noqa: B010 - and now it can
    assert machine.on(Failed(caught.value)) == (Read(),)
    assert machine.on(Known(durable(store), SOON)) == (Pause(2.0),)
    carried.drive(machine)
    assert store.collection(COLLECTION).erased


def test_who_asks_after_the_end_is_told_of_the_death() -> None:
    store = memory(Phase.STORED)
    abort(store)
    ((notice, receiver),) = answer(store, ask(2))
    assert (notice.kind, receiver) == (NoticeKind.TOMBSTONE, 1)


def test_who_asks_about_a_list_that_was_never_frozen_here_gets_a_tombstone_for_it() -> None:
    store = memory(frozen=False)
    abort(store)
    ((notice, _),) = answer(store, ask(1), Context(COLLECTION, b"\x77" * 32))
    assert notice.kind is NoticeKind.TOMBSTONE


def test_who_was_done_never_says_that_nothing_was_delivered() -> None:
    said = {notice.kind for attempt in (2, 3) for notice, _ in answer(memory(Phase.DONE), ask(attempt))}
    assert not said & {NoticeKind.TOMBSTONE, NoticeKind.LOST}


def test_a_notice_about_another_list_is_refused() -> None:
    with raises("freeze.notice_other"):
        answer(memory(Phase.DONE), ask(2), Context(COLLECTION, b"\x77" * 32))


class Restored(MemoryStore):
    """A store that came from a backup; the real one says so of each unfinished collection."""

    def collection(self, digest: bytes) -> Collection:
        """Lost."""
        return replace(super().collection(digest), lost=True)


@pytest.mark.parametrize("place", [Phase.FREE, Phase.STORED, Phase.SENDING, Phase.DONE])
def test_a_store_that_was_lost_signs_nothing_and_ends_what_it_has(place: Phase) -> None:
    store = memory(place)
    store.__class__ = Restored
    carried = Carried(store)
    carried.drive(Session(ME, DOCUMENT, durable(store)))
    assert (store.collection(COLLECTION).state, carried.told) == (State.ABORTED, [])
    assert store.delivery_state(COLLECTION).phase is place
    with raises("collection.lost"):
        answer(store, ask(2))


# What an error means.


def failed(machine: Session, error: Exception, kept: Durable, now: float = SOON, *, broken: bool = False) -> None:
    """An effect fails, and the store is read again."""
    assert machine.on(Failed(error, broken, broken)) == (Read(),)
    machine.on(Known(kept, now))


def test_an_error_is_judged_by_what_is_durable_and_not_by_itself() -> None:
    machine = Session(ME, DOCUMENT, Durable(State.CLOSED))
    failed(machine, LocalFault("test.localfault", "the store failed"), Durable(State.FROZEN, frozen=bytes(32)))
    assert (machine.state, machine.doom, machine.stalled) == (State.FROZEN, "", "")


def test_nothing_is_concluded_while_the_store_cannot_be_read() -> None:
    machine = Session(ME, DOCUMENT, Durable(State.CLOSED))
    for _ in range(20):
        assert machine.on(Failed(Closed("test.closed", "it has ended there"))) == (Read(),)
        assert machine.on(Failed(LocalFault("test.localfault", "the store failed"))) == (Pause(2.0),)
        assert machine.on(Clock(SOON)) == (Freeze(),)
    assert (machine.doom, machine.stalled) == ("", "it has ended there")


def test_faults_that_others_do_not_see_end_only_what_is_frozen_and_not_sent() -> None:
    for state, place, ends in (
        (State.CLOSED, Phase.FREE, False),
        (State.FROZEN, Phase.FREE, True),
        (State.SHUFFLING, Phase.STORED, True),
        (State.SHUFFLING, Phase.SENDING, False),
        (State.DELIVERED, Phase.DONE, False),
    ):
        kept = Durable(state, delivery_state=DeliveryState(place, 1), frozen=bytes(32))
        machine = Session(ME, DOCUMENT, kept)
        for number in range(1, 6):
            failed(machine, LocalFault("test.localfault", "the store failed"), kept)
            assert bool(machine.doom) is (ends and number == 5), (state, number)
            machine.on(Clock(SOON))


def test_a_step_that_was_taken_forgives_the_faults_before_it() -> None:
    kept = Durable(State.FROZEN, frozen=bytes(32))
    machine = Session(ME, DOCUMENT, kept)
    for _ in range(20):
        failed(machine, LocalFault("test.localfault", "the store failed"), kept)
        machine.on(Clock(SOON))  # tried again
        machine.on(Clock(SOON))  # and it went through
    assert machine.doom == ""


@pytest.mark.parametrize(
    "error",
    [RemoteFault("test.silent", "is silent"), NotYet("test.later", "later"), Refused("test.no", "no")],
)
def test_what_may_pass_is_waited_for_until_the_time_to_shuffle_by(error: Exception) -> None:
    kept = Durable(State.CLOSED)
    machine = Session(ME, DOCUMENT, kept)
    for _ in range(100):
        failed(machine, error, kept)
        assert machine.on(Clock(SOON)) == (Freeze(),)
    failed(machine, error, kept)
    assert machine.on(Clock(DOCUMENT.shuffle_by)) == (ForgetEvidence(), Read())
    assert machine.doom == f"the time to shuffle by has passed: {error}"


def test_a_proof_is_noted_before_the_end_and_once() -> None:
    kept = Durable(State.CLOSED)
    machine = Session(ME, DOCUMENT, kept)
    failed(machine, RemoteFault("test.remotefault", "signed two different lists"), kept, broken=True)
    assert machine.on(Clock(SOON)) == (Read(),)
    assert machine.on(Known(kept, SOON))[0] == NoteEvidence()
    machine.on(Noted())
    assert machine.on(Clock(SOON)) == (Read(),)
    end = machine.on(Known(kept, SOON))
    assert end == (SetState(State.CLOSED, State.ABORTED, "signed two different lists"),)


def test_too_few_rows_are_the_end_and_nothing_is_fixed() -> None:
    enough = DOCUMENT.minimum + 20
    machine = Session(ME, DOCUMENT, Durable(State.CLOSED))
    assert machine.on(Compared(enough, dummies=20)) == (Fix(),)
    assert machine.on(Compared(enough - 1, dummies=20)) == ()
    assert "the minimum is" in machine.doom


def test_an_order_to_abort_interrupts_and_is_not_forgotten() -> None:
    machine = Session(ME, DOCUMENT, Durable(State.CLOSED))
    assert machine.on(Ordered(abort=True)) == (Interrupt("the analyzer aborted the collection"),)
    assert machine.on(Failed(RemoteFault("test.remotefault", "is silent"))) == (Read(),)
    machine.on(Known(Durable(State.CLOSED), SOON))
    assert machine.on(Clock(SOON)) == (Read(),)
    assert isinstance(machine.on(Known(Durable(State.CLOSED), SOON))[-1], SetState)
    assert machine.state is State.CLOSED, "until it is durable"


@pytest.mark.parametrize("state", [State.PUBLISHED, State.ABORTED])
def test_an_order_after_the_end_changes_nothing(state: State) -> None:
    assert Session(ME, DOCUMENT, Durable(state)).on(Ordered(abort=True)) == ()


def test_what_was_delivered_cannot_be_aborted_by_order() -> None:
    with raises("collection.delivered"):
        Session(ME, DOCUMENT, Durable(State.DELIVERED)).on(Ordered(abort=True))
