"""How a collection ends: a tombstone from who delivered nothing, none from who may have, nothing from a lost store."""

from dataclasses import replace

import pytest

from peos.collection.lifecycle import State
from peos.crypto.kdf import Context
from peos.shuffle.messages import Notice, NoticeKind, SignedNotice
from peos.shuffle.standing import Place, Standing
from peos.store.base import Collection
from peos.store.memory import MemoryStore
from tests.raising import raises
from tests.unit.collection.made import COLLECTION, SHUFFLERS
from tests.unit.shuffler_process.played import HERE, Told, ending, memory, run


def abort(store: MemoryStore, told: Told) -> State:
    """End the collection; the state that comes of it."""
    found: list[State] = []

    async def test() -> None:
        last, stored = ending(store, told)
        found.append(await last.abort("a reason"))
        stored.close()

    run(test())
    return found[0]


def answer(store: MemoryStore, told: Told, asked: SignedNotice) -> None:
    """Answer a notice after the end."""

    async def test() -> None:
        last, stored = ending(store, told)
        await last.answer(asked)
        stored.close()

    run(test())


def ask(attempt: int, context: Context = HERE) -> SignedNotice:
    """Shuffler 1 asks where this shuffler stands in an attempt."""
    return SignedNotice.sign(SHUFFLERS[0], context, Notice(NoticeKind.ASK, 1, attempt))


@pytest.mark.parametrize("place", [Place.FREE, Place.STORED, Place.DEAD])
def test_who_has_sent_nothing_dies_durably_and_signs_its_tombstone(place: Place) -> None:
    store, told = memory(place), Told()
    assert abort(store, told) is State.ABORTED
    here = store.collection(COLLECTION)
    assert (here.state, here.reason, here.standing.place, here.erased) == (
        State.ABORTED,
        "a reason",
        Place.DEAD,
        True,
    )
    assert [(signed.notice.kind, receiver) for signed, receiver in told.notices] == [
        (NoticeKind.TOMBSTONE, 1),
        (NoticeKind.TOMBSTONE, 2),
    ]


@pytest.mark.parametrize("place", [Place.SENDING, Place.ABORTED])
def test_who_may_have_sent_something_ends_without_a_tombstone(place: Place) -> None:
    store, told = memory(place), Told()
    assert abort(store, told) is State.ABORTED
    assert store.standing(COLLECTION).place is Place.ABORTED
    assert told.notices == []


def test_what_was_delivered_is_not_aborted() -> None:
    store, told = memory(Place.DONE), Told()
    assert abort(store, told) is State.DELIVERED
    assert told.notices == []


def test_before_the_freeze_there_is_nothing_to_sign() -> None:
    store, told = memory(frozen=False), Told()
    assert abort(store, told) is State.ABORTED
    assert told.notices == []


def test_an_abort_that_was_cut_short_is_completed() -> None:
    store, told = memory(Place.STORED), Told()
    store.put_standing(COLLECTION, Standing(Place.DEAD, 2, 1))
    store.set_state(COLLECTION, State.ABORTED, "the first reason")
    assert abort(store, told) is State.ABORTED
    here = store.collection(COLLECTION)
    assert (here.reason, here.erased) == ("the first reason", True)
    assert len(told.notices) == 2


def test_a_tombstone_does_not_wait_for_the_erasure_which_is_repeated() -> None:
    store, told = memory(Place.FREE), Told()
    erase = store.erase

    def held_up(_: bytes) -> None:
        raise OSError(24, "too many open files")

    setattr(store, "erase", held_up)  # noqa: B010 - as a disk that cannot be written to now
    with pytest.raises(OSError, match="too many"):
        abort(store, told)
    here = store.collection(COLLECTION)
    assert (here.state, here.standing.place, here.erased) == (State.ABORTED, Place.DEAD, False)
    assert [receiver for _, receiver in told.notices] == [1, 2]
    setattr(store, "erase", erase)  # noqa: B010 - and now it can
    assert abort(store, told) is State.ABORTED
    assert store.collection(COLLECTION).erased


def test_who_asks_after_the_end_is_told_of_the_death() -> None:
    store, told = memory(Place.STORED), Told()
    abort(store, told)
    told.notices.clear()
    answer(store, told, ask(2))
    ((signed, receiver),) = told.notices
    assert (signed.notice.kind, receiver) == (NoticeKind.TOMBSTONE, 1)


def test_who_asks_about_a_list_that_was_never_frozen_here_gets_a_tombstone_for_it() -> None:
    store, told = memory(frozen=False), Told()
    abort(store, told)
    theirs = Context(COLLECTION, b"\x77" * 32)
    answer(store, told, ask(1, theirs))
    ((signed, _),) = told.notices
    assert signed.notice.kind is NoticeKind.TOMBSTONE
    assert signed.context == theirs


def test_who_was_done_never_says_that_nothing_was_delivered() -> None:
    store, told = memory(Place.DONE), Told()
    for attempt in (2, 3):
        answer(store, told, ask(attempt))
    said = {signed.notice.kind for signed, _ in told.notices}
    assert not said & {NoticeKind.TOMBSTONE, NoticeKind.LOST}


def test_a_notice_about_another_list_is_refused() -> None:
    store, told = memory(Place.DONE), Told()
    with raises("freeze.notice_other"):
        answer(store, told, ask(2, Context(COLLECTION, b"\x77" * 32)))
    assert told.notices == []


class Restored(MemoryStore):
    """A store that came from a backup; the real one says so of each unfinished collection."""

    def collection(self, digest: bytes) -> Collection:
        """Lost."""
        return replace(super().collection(digest), lost=True)


@pytest.mark.parametrize("place", [Place.FREE, Place.STORED, Place.SENDING])
def test_a_store_that_was_lost_signs_nothing(place: Place) -> None:
    store, told = memory(place), Told()
    store.__class__ = Restored
    assert abort(store, told) is State.ABORTED
    with raises("collection.lost"):
        answer(store, told, ask(2))
    assert told.notices == []
