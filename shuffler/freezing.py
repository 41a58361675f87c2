"""The freeze over the network: each shuffler pulls the others' announcements, lists and signed digests.

Pulling makes a restart harmless: what is asked for again is answered again, from the same durable list. Within one
process the freeze outlives every failed try, so that a party which announces another list than before is noticed.
"""

import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Final

from peos.collection.freeze import Announcement, Freeze, FrozenDigest, Stretch, list_hash
from peos.collection.submission import Triple
from peos.crypto.identity import Identity
from peos.errors import BadEncoding, NotYet, RemoteFault
from peos.net.calls import Caller
from peos.wire.freezes import STRETCH, stretches
from peos.wire.methods import GET_ANNOUNCEMENT, GET_FROZEN_DIGEST, GET_LIST
from shuffler.storing import Stored

LIST_TIMEOUT: Final = 600.0
BREACH_SECONDS: Final = 30.0
BREACHES: Final = 3
_ANNOUNCEMENT: Final = "freeze, announcement"
_LIST: Final = "freeze, list"
_DIGEST: Final = "freeze, digest"


class Freezing:
    """One shuffler's list, shown to the others as the freeze allows, and the freeze itself."""

    def __init__(
        self, number: int, identities: tuple[bytes, ...], collection: bytes, own: list[Triple], identity: Identity
    ) -> None:
        self._collection = collection
        self._own = tuple(sorted(own))
        self._identity = identity
        self._freeze = Freeze(number, identities, collection, own)
        self._signed: FrozenDigest | None = None
        self._wrong: dict[tuple[str, str], tuple[float, int]] = {}  # who broke the freeze where: since when, how often
        self.step = ""  # what is awaited
        self.waited_for = ""  # and from whom
        self.done = self.total = 0  # of a list
        self.since = time.monotonic()

    async def announcement(self) -> Announcement:
        """The hash of this list; shown to all at once."""
        return Announcement(self._collection, self._freeze.announcement)

    async def stretches(self) -> AsyncIterator[Stretch]:
        """This list, once every other has announced its own."""
        if not self._freeze.may_show_list:
            raise NotYet("the list is shown once all shufflers have announced theirs")
        for stretch in stretches(self._collection, self._own):
            yield stretch

    async def signed(self) -> FrozenDigest:
        """What this shuffler froze, signed."""
        if self._signed is None:
            raise NotYet("the list is not frozen yet")
        return self._signed

    @property
    def is_hopeless(self) -> bool:
        """Whether another does not keep to the freeze, again and again: a restart of its would have passed."""
        now = time.monotonic()
        return any(times >= BREACHES and now - since >= BREACH_SECONDS for since, times in self._wrong.values())

    async def collect(self, callers: Mapping[int, Caller]) -> tuple[Triple, ...]:
        """What all shufflers hold, each list as it was announced."""
        for who, caller in callers.items():
            self._await(_ANNOUNCEMENT, caller)
            with self._watching(caller, BadEncoding):
                said = await caller.ask(GET_ANNOUNCEMENT, self._collection, step=_ANNOUNCEMENT)
            with self._watching(caller, RemoteFault):
                self._freeze.announced(who, self._of_this(said.collection, said.hash, caller))
        for who, caller in callers.items():
            self._await(_LIST, caller)
            with self._watching(caller, BadEncoding):
                shown = await self._list_of(caller)
            with self._watching(caller, RemoteFault):
                self._freeze.listed(who, shown)
        return self._freeze.triples

    async def agree(self, callers: Mapping[int, Caller]) -> bytes:
        """The frozen digest, once every other has signed the same."""
        self._signed = signed(self._identity, self._collection, self._freeze.digest)
        for who, caller in callers.items():
            self._await(_DIGEST, caller)
            with self._watching(caller, BadEncoding):
                said = await caller.ask(GET_FROZEN_DIGEST, self._collection, step=_DIGEST)
            with self._watching(caller, RemoteFault):
                self._freeze.confirmed(who, self._of_this(said.collection, said.digest, caller), said.signature)
        self.waited_for = ""
        return self._freeze.context.frozen

    async def _list_of(self, caller: Caller) -> list[Triple]:
        shown: list[Triple] = []
        async for stretch in caller.stream(GET_LIST, self._collection, step=_LIST, timeout=LIST_TIMEOUT):
            if stretch.first != len(shown) or (shown and stretch.total != self.total):
                raise BadEncoding("showed a list with a gap", party=caller.party, step=_LIST)
            shown += stretch.triples
            self.done, self.total = len(shown), stretch.total
        if len(shown) != self.total:
            raise BadEncoding("showed a list that ends too early", party=caller.party, step=_LIST)
        return shown

    def _of_this(self, collection: bytes, said: bytes, caller: Caller) -> bytes:
        if collection != self._collection:
            raise RemoteFault("answered for another collection", party=caller.party, step=self.step)
        return said

    @contextmanager
    def _watching(self, caller: Caller, breach: type[RemoteFault]) -> Iterator[None]:
        """Remember who does not keep to the freeze, until it does; a transport that fails is no breach."""
        key = (caller.party, self.step)
        try:
            yield
        except breach:
            since, times = self._wrong.get(key, (time.monotonic(), 0))
            self._wrong[key] = since, times + 1
            raise
        if breach is RemoteFault:
            self._wrong.pop(key, None)

    def _await(self, step: str, caller: Caller) -> None:
        if (step, caller.party) != (self.step, self.waited_for):
            self.step, self.waited_for, self.since = step, caller.party, time.monotonic()
            self.done = self.total = 0


class Frozen:
    """What others may still want to see of a freeze that is over here, out of the store."""

    def __init__(self, collection: bytes, store: Stored, frozen: FrozenDigest) -> None:
        self._collection = collection
        self._store = store
        self._signed = frozen
        self._hash = b""

    async def announcement(self) -> Announcement:
        """The hash of this list."""
        if not self._hash:
            self._hash = await self._store(lambda store: list_hash(store.triples(self._collection)))
        return Announcement(self._collection, self._hash)

    async def stretches(self) -> AsyncIterator[Stretch]:
        """This list; all have announced theirs, or nothing would have been frozen."""
        total = await self._store(lambda store: store.count(self._collection))
        listed = await self._store(lambda store: store.triples(self._collection))
        first = 0
        while first < total or first == 0:
            # The iterator is the store's, and moves in the store's thread only.
            triples = await self._store(lambda _: tuple(islice(listed, STRETCH)))
            yield Stretch(self._collection, total, first, triples)
            first += len(triples)
            if not triples:
                return  # erased meanwhile: whoever reads sees a list that ends too early

    async def signed(self) -> FrozenDigest:
        """What this shuffler froze, signed."""
        return self._signed


def signed(identity: Identity, collection: bytes, frozen: bytes) -> FrozenDigest:
    """A shuffler's word on what it froze."""
    return FrozenDigest(collection, frozen, identity.sign("frozen", collection, frozen))
