"""How many users a small frozen list has: dummies do not count, and those that were not sent prove themselves."""

import asyncio

import pytest

from peos.collection.document import Document, Dummy
from peos.collection.lifecycle import State
from peos.store.memory import MemoryStore
from peos.wire.methods import GET_FROZEN_DIGEST, GET_UNSENT
from shuffler import session as session_
from shuffler.store_thread import StoreThread
from tests.unit.collection.made import COLLECTION, DUMMIES, ENCRYPTION
from tests.unit.shuffler_process.played import Other, memory, rows
from tests.unit.shuffler_process.test_session import alive, lived, others, reached


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_, "RETRY", 0.02)
    monkeypatch.setattr(Document, "encryption", lambda _: ENCRYPTION)  # below the floor for keys that come in


def test_dummies_that_were_not_sent_are_asked_for_where_they_decide_and_prove_themselves() -> None:
    """Six rows: enough for a minimum of three with three dummies among them, not with four."""
    sent, unsent = DUMMIES[:3], DUMMIES[3:]
    listed = sorted([*rows(3), *(one.id + bytes(32) for one in sent)])
    stranger = Dummy(bytes(32), bytes(16), DUMMIES[0].words)

    async def test(store: MemoryStore, stored: StoreThread) -> None:
        analyzer = Other("the analyzer", {})
        parties = others(listed, listed)
        session = alive(store, stored, parties, analyzer=analyzer, minimum=3)
        running = asyncio.ensure_future(session.run())
        await reached(lambda: analyzer.asked.count(GET_UNSENT) >= 3, "asked again while the analyzer is not ready")
        assert store.collection(COLLECTION).state is State.CLOSED
        analyzer.answers[GET_UNSENT] = [*unsent, stranger]
        await reached(lambda: "does not commit to" in session.stalled, "it names who showed it")
        assert "analyzer" in session.stalled
        analyzer.answers[GET_UNSENT] = [*unsent, unsent[0]]
        await reached(lambda: "one twice" in session.stalled, "nor does one count twice")
        analyzer.answers[GET_UNSENT] = DUMMIES  # also of those that are there, as when an acknowledgement was lost
        await reached(lambda: GET_FROZEN_DIGEST in parties[1].asked, "the freeze goes on")
        running.cancel()

    lived(test, memory(frozen=False, listed=listed))


def test_where_all_lists_have_nothing_in_common_the_collection_ends_with_that() -> None:
    async def test(store: MemoryStore, stored: StoreThread) -> None:
        await alive(store, stored, others([one for one in rows(9) if one not in rows()], rows()), minimum=3).run()
        assert store.collection(COLLECTION).reason == "0 reports, the minimum is 3"

    lived(test, memory(frozen=False))


@pytest.mark.parametrize("shown", [DUMMIES[4:], DUMMIES])
def test_a_dummy_that_is_in_the_list_or_not_shown_counts_as_one(shown: tuple[Dummy, ...]) -> None:
    listed = sorted([*rows(2), *(one.id + bytes(32) for one in DUMMIES[:4])])

    async def test(store: MemoryStore, stored: StoreThread) -> None:
        session = alive(
            store, stored, others(listed, listed), analyzer=Other("the analyzer", {GET_UNSENT: shown}), minimum=3
        )
        await session.run()
        assert store.collection(COLLECTION).reason == "2 reports, the minimum is 3"

    lived(test, memory(frozen=False, listed=listed))


def test_where_the_dummies_do_not_decide_the_analyzer_is_not_asked() -> None:
    many = rows(len(DUMMIES) + 3)

    async def test(store: MemoryStore, stored: StoreThread) -> None:
        analyzer = Other("the analyzer", {})
        parties = others(many, many)
        session = alive(store, stored, parties, analyzer=analyzer, minimum=3)
        running = asyncio.ensure_future(session.run())
        await reached(lambda: GET_FROZEN_DIGEST in parties[1].asked, "the freeze goes on")
        assert GET_UNSENT not in analyzer.asked
        running.cancel()

    lived(test, memory(frozen=False, listed=many))
