"""One shuffler's collection in memory, with the others played by the test."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Final

from peos.collection.freeze import Announcement, Announcements
from peos.collection.lifecycle import State
from peos.crypto.kdf import Context
from peos.crypto.randomness import KEY_BYTES, Randomness
from peos.crypto.vault import Vault
from peos.errors import NotYet, PeosError
from peos.net.calls import Caller
from peos.net.logs import Log
from peos.net.observer import Observer
from peos.shuffle.delivery_state import DeliveryState, Phase
from peos.shuffle.messages import SignedNotice
from peos.store.base import Submission, Vector
from peos.store.memory import MemoryStore
from peos.wire.documents import SignedDocument
from peos.wire.freezes import encode_announcements
from peos.wire.methods import Method
from shuffler.outbox import Outbox
from tests.unit.collection.made import COLLECTION, SHUFFLERS, row
from tests.unit.store.made import ASKED, FROZEN, TRANSCRIPT, vector

ME: Final = 3  # a last hider of three
OBSERVER: Final = Observer(Log("test"))
HERE: Final = Context(COLLECTION, FROZEN)
NOWHERE: Final = Path("/nowhere")
"""The folder of a shuffler that keeps nothing: what would be written there fails."""
VAULT: Final = Vault(bytes(KEY_BYTES), Randomness(b"\x04" * 32))


class Signed(SignedDocument):
    """A document under the digest that everything in these tests has, whatever a test changes in it."""

    @property
    def digest(self) -> bytes:
        """That one."""
        return COLLECTION


class Told(Outbox):
    """Remembers the notices that were to be sent."""

    def __init__(self) -> None:
        super().__init__({}, OBSERVER)
        self.notices: list[tuple[SignedNotice, int]] = []

    def notice(self, signed: SignedNotice, receiver: int) -> None:
        """Remember it."""
        assert signed.verifies(SHUFFLERS[signed.notice.sender - 1].public)
        self.notices.append((signed, receiver))


class Other(Caller):
    """Another party, whose answers the test gives: a value, an error, or a function of the request."""

    def __init__(self, party: str, answers: dict[Method, Any]) -> None:
        self.party = party
        self.answers = answers
        self.asked: list[Method] = []

    async def ask(self, method: Method, request: Any, **_: Any) -> Any:
        """The answer that the test gave."""
        self.asked.append(method)
        return _given(self.answers.get(method, NotYet("test.notyet", f"{self.party}: nothing yet")), request)

    async def stream(self, method: Method, request: Any, **_: Any) -> AsyncIterator[Any]:
        """The answers that the test gave, one after another."""
        self.asked.append(method)
        for one in _given(self.answers.get(method, NotYet("test.notyet", f"{self.party}: nothing yet")), request):
            yield one

    async def send(self, method: Method, requests: Callable[[], Any], **_: Any) -> Any:
        """Takes everything in, and answers."""
        self.asked.append(method)
        return _given(self.answers.get(method, NotYet("test.notyet", f"{self.party}: nothing yet")), list(requests()))

    async def close(self) -> None:
        """Nothing to close."""


def _given(answer: Any, request: Any) -> Any:
    if isinstance(answer, PeosError):
        raise answer
    return answer(request) if callable(answer) else answer


def rows(count: int = 6) -> list[bytes]:
    """Submissions, in their order."""
    return sorted(row(f"user {number}") for number in range(count))


def announced(lists: dict[int, list[bytes]] | None = None) -> Announcements:
    """What a shuffler holds that has heard of these lists; by default all three have the same six rows."""
    lists = lists or {number: rows() for number in (1, 2, 3)}
    made = (Announcement.sign(SHUFFLERS[who - 1], who, COLLECTION, listed) for who, listed in lists.items())
    return Announcements(COLLECTION, tuple(made))


def memory(place: Phase | None = None, *, frozen: bool = True, listed: list[bytes] | None = None) -> MemoryStore:
    """A store with one collection: closed, or frozen and shuffling with a delivery state."""
    store = MemoryStore(Randomness(b"\x01" * 32))
    store.put_collection(COLLECTION, b"signed", b"roster", ASKED, State.OPEN)
    store.submit_many([Submission(COLLECTION, one, bytes(8)) for one in listed or rows()])
    store.set_state(COLLECTION, State.CLOSED)
    if frozen:
        store.put_frozen(COLLECTION, FROZEN, encode_announcements(announced()), rows())
        store.set_state(COLLECTION, State.SHUFFLING)
    if place is not None:
        stand(store, place)
    return store


def stand(store: MemoryStore, place: Phase) -> None:
    """Come to a delivery state of attempt 2, by the way that leads there."""
    store.put_delivery_state(COLLECTION, DeliveryState(Phase.FREE, 2, 1))
    final: Vector = vector(2)
    way = {
        Phase.FREE: (),
        Phase.STORED: (Phase.STORED,),
        Phase.SENDING: (Phase.STORED, Phase.SENDING),
        Phase.DONE: (Phase.STORED, Phase.SENDING, Phase.DONE),
        Phase.ABORTED: (Phase.STORED, Phase.SENDING, Phase.ABORTED),
        Phase.DEAD: (Phase.DEAD,),
    }
    for one in way[place]:
        store.put_delivery_state(
            COLLECTION, DeliveryState(one, 2, 1, TRANSCRIPT), final if one is Phase.STORED else None
        )


def run(test: Awaitable[None]) -> None:
    """Run an asynchronous test to its end, which comes soon."""

    async def whole() -> None:
        await asyncio.wait_for(asyncio.ensure_future(test), 120)

    asyncio.run(whole())


def failing(store: MemoryStore, name: str, errors: list[Exception], *, behind: bool) -> None:
    """A method of the store that fails with each of these, before or behind what it does, and then not any more."""
    original = getattr(store, name)

    def fails(*given: Any, **named: Any) -> Any:
        result = original(*given, **named) if behind or not errors else None
        if errors:
            raise errors.pop(0)
        return result

    setattr(store, name, fails)
