"""A collection's session with zeros made ahead: filled while open, used by its passes, gone at its end."""

import asyncio
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from peos.collection.document import Document
from peos.collection.freeze import sign_frozen
from peos.collection.lifecycle import State
from peos.compute import Inline
from peos.crypto.randomness import Randomness
from peos.shuffle.effects import CIPHERTEXTS
from peos.store.base import Submission
from peos.store.memory import MemoryStore
from peos.wire.freezes import stretches
from peos.wire.methods import GET_ANNOUNCEMENTS, GET_FROZEN_DIGEST, GET_LIST, GET_UNSENT
from shuffler import session as session_
from shuffler import workbench as bench_
from shuffler.meter import Meter
from shuffler.session import CollectionSession
from shuffler.store_thread import StoreThread
from shuffler.workbench import Bench
from shuffler.zero_pool import ZeroPool
from tests.keys import small_key
from tests.unit.collection.made import COLLECTION, DOCUMENT, DUMMIES, ENCRYPTION, PUBLIC, SHUFFLERS
from tests.unit.shuffler_process.played import NOWHERE, OBSERVER, VAULT, Other, Signed, announced, rows, run
from tests.unit.shuffler_process.test_session import ABORT, CLOSE, frozen_digest, reached
from tests.unit.store.made import ASKED

FIRST = 1  # encrypts the fakes, and makes the first pass


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_, "RETRY", 0.02)
    monkeypatch.setattr(Document, "encryption", lambda _: ENCRYPTION)  # below the floor for keys that come in


def others() -> dict[int, Other]:
    """Shufflers 2 and 3, who hold the same six submissions."""
    digest = frozen_digest()
    return {
        who: Other(
            f"shuffler {who}",
            {
                GET_ANNOUNCEMENTS: announced(),
                GET_LIST: list(stretches(COLLECTION, tuple(rows()))),
                GET_FROZEN_DIGEST: sign_frozen(SHUFFLERS[who - 1], COLLECTION, digest),
            },
        )
        for who in (2, 3)
    }


def test_a_stock_is_filled_while_open_used_by_the_shuffle_and_erased_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    benches: list[Bench] = []

    class Seen(Bench):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            benches.append(self)

    monkeypatch.setattr(bench_, "Bench", Seen)
    store = MemoryStore(Randomness(b"\x01" * 32))
    store.put_collection(COLLECTION, b"signed", b"roster", ASKED, State.OPEN)
    zero = PUBLIC.zero_source(Randomness(b"\x03" * 32)).zeros(1).tobytes()
    store.submit_many([Submission(COLLECTION, one, zero) for one in rows()])
    ahead = ZeroPool(worth=1, workers=lambda: Inline(Randomness(b"\x02" * 32)))
    now = int(time.time())
    document = replace(DOCUMENT, closes_at=now + 100, shuffle_by=now + 200, erase_by=now + 300)

    async def test(stored: StoreThread) -> None:
        session = CollectionSession(
            signed=Signed(b"", b"", document),
            number=FIRST,
            cards=(),
            identity=SHUFFLERS[FIRST - 1],
            kept=store.collection(COLLECTION),
            store=stored,
            callers=others(),
            analyzer=Other("the analyzer", {GET_UNSENT: DUMMIES}),
            engine=Inline(Randomness(b"\x01" * 32)),
            ahead=ahead,
            step_seconds=60.0,
            folder=NOWHERE,
            vault=VAULT,
            observer=OBSERVER,
            meter=Meter(),
        )
        running = asyncio.ensure_future(session.run())
        assert session._stock is not None
        ready = session._stock.ready
        await reached(lambda: len(ready) >= 2 * document.fakes + len(rows()), "a stock for one attempt")
        before = len(ready)
        await session.order(CLOSE)
        await reached(lambda: bool(benches) and CIPHERTEXTS in benches[0].vectors, "the shuffle has begun")
        assert len(ready) == before - document.fakes, "its shares of the fakes took a zero each"
        words = np.arange(3, dtype=np.uint64)
        passed = benches[0].remask(benches[0].encrypt(words), words, 1)
        assert np.array_equal(small_key(512).decrypt(passed), words + words)
        assert len(ready) == before - document.fakes - 6, "so does a pass"
        await session.order(ABORT)
        await running
        assert len(ready) == 0

    stored = StoreThread(lambda: store)
    run(test(stored))
    stored.close()
    ahead.close()
