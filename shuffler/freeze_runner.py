"""The freeze over the network: each shuffler pulls the others' announcements, lists and signed digests.

Pulling makes a restart harmless: what is asked for again is answered again, from the same durable list. Within one
process the freeze outlives every failed try, and the collection's end: who signed two lists is shown to all that ask.
"""

import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Final

from peos.collection.freeze import Announcement, Announcements, Freeze, FrozenDigest, Stretch, sign_frozen
from peos.crypto.identity import Identity
from peos.errors import BadEncoding, Closed, NotYet, PeosError, RemoteFault
from peos.net.calls import Caller
from peos.store.base import Frozen as Kept
from peos.wire.freezes import STRETCH, decode_announcements, stretches
from peos.wire.methods import GET_ANNOUNCEMENTS, GET_FROZEN_DIGEST, GET_LIST
from shuffler.store_thread import StoreThread

LIST_TIMEOUT: Final = 600.0
BREACH_SECONDS: Final = 30.0
BREACHES: Final = 3
_ANNOUNCEMENTS: Final = "freeze, announcements"
_LIST: Final = "freeze, list"
_DIGEST: Final = "freeze, digest"


class FreezeRunner:
    """One shuffler's list, shown to the others as the freeze allows, and the freeze itself."""

    def __init__(
        self, number: int, identities: tuple[bytes, ...], collection: bytes, own: Sequence[bytes], identity: Identity
    ) -> None:
        self._collection = collection
        self._own = tuple(own)
        self._freeze = Freeze(number, identities, collection, self._own, identity)
        self._signed: FrozenDigest | None = None
        self._wrong: dict[tuple[str, str], tuple[float, int]] = {}  # who broke the freeze where: since when, how often
        self.step = ""  # what is awaited
        self.waited_for = ""  # and from whom
        self.done = self.total = 0  # of a list
        self.since = time.monotonic()

    async def announcements(self) -> Announcements:
        """All announcements that are held here, this shuffler's own among them; shown to all at once."""
        return self._freeze.announcements

    async def stretches(self) -> AsyncIterator[Stretch]:
        """This list, once every other holds the same announcements."""
        if not self._freeze.may_show_list:
            raise NotYet("freeze.too_early", "the list is shown once all shufflers hold the same announcements")
        for stretch in stretches(self._collection, self._own):
            yield stretch

    async def signed(self) -> FrozenDigest:
        """The signed digest of what this shuffler froze."""
        if self._signed is None:
            raise NotYet("freeze.not_frozen", "the list is not frozen yet")
        return self._signed

    @property
    def is_hopeless(self) -> bool:
        """Whether another signed two lists, or breaks the freeze again and again: a restart would have passed."""
        now = time.monotonic()
        return bool(self.evidence) or any(
            times >= BREACHES and now - since >= BREACH_SECONDS for since, times in self._wrong.values()
        )

    @property
    def evidence(self) -> tuple[Announcement, ...]:
        """Two lists that one shuffler signed, if one did."""
        return self._freeze.evidence

    @property
    def evidence_fields(self) -> dict[str, str | int]:
        """The same for the audit log."""
        fields: dict[str, str | int] = {"collection": self._collection.hex()}
        for name, one in zip(("one", "other"), self.evidence, strict=True):
            fields |= {"shuffler": one.shuffler, f"{name}_count": one.count, f"{name}_root": one.root.hex()}
            fields[f"{name}_signature"] = one.signature.hex()
        return fields

    async def collect(self, callers: Mapping[int, Caller]) -> tuple[bytes, ...]:
        """The announcements that all shufflers hold."""
        for who, caller in callers.items():
            await self._compare(who, caller)
        for who in self._freeze.uncompared:
            self._await(_ANNOUNCEMENTS, callers[who])
            raise NotYet(
                "freeze.not_held", f"{callers[who].party}, {_ANNOUNCEMENTS}: it does not hold all announcements yet"
            )
        try:
            for who in self._freeze.unshown:
                await self._list_of(who, callers[who])
        except Closed:
            await self._ask_why(callers)
            raise
        return self._freeze.rows

    async def agree(self, callers: Mapping[int, Caller]) -> bytes:
        """The frozen digest, once every other has signed the same."""
        self._signed = self._freeze.sign()
        try:
            await self._confirm(callers)
        except Closed:
            await self._ask_why(callers)
            raise
        self.waited_for = ""
        return self._freeze.context.frozen

    async def _compare(self, who: int, caller: Caller) -> None:
        """Take in what another holds of all announcements."""
        self._await(_ANNOUNCEMENTS, caller)
        with self._watching(caller, BadEncoding):
            said = await caller.ask(GET_ANNOUNCEMENTS, self._collection, step=_ANNOUNCEMENTS)
        with self._watching(caller, RemoteFault):
            self._require_this(said.collection, caller)
            self._freeze.heard(who, said.held)

    async def _ask_why(self, callers: Mapping[int, Caller]) -> None:
        """Another has ended the collection: if one signed two lists, the proof of it is shown there."""
        for who, caller in callers.items():
            try:
                await self._compare(who, caller)
            except PeosError:
                if self.evidence:
                    raise

    async def _confirm(self, callers: Mapping[int, Caller]) -> None:
        for who, caller in callers.items():
            self._await(_DIGEST, caller)
            with self._watching(caller, BadEncoding):
                said = await caller.ask(GET_FROZEN_DIGEST, self._collection, step=_DIGEST)
            with self._watching(caller, RemoteFault):
                self._require_this(said.collection, caller)
                self._freeze.confirmed(who, said.digest, said.signature)

    async def _list_of(self, who: int, caller: Caller) -> None:
        """Another's list, row by row: nothing is kept of it but what counts so far."""
        self._await(_LIST, caller)
        with self._watching(caller, BadEncoding):
            listing = self._freeze.listing(who)
            async for stretch in caller.stream(GET_LIST, self._collection, step=_LIST, timeout=LIST_TIMEOUT):
                if stretch.first != listing.count or (listing.count and stretch.total != self.total):
                    raise BadEncoding("freeze.list_gap", "sent a list with a gap", party=caller.party, step=_LIST)
                self.total = stretch.total
                with self._watching(caller, RemoteFault, forgive=False):
                    self._require_this(stretch.collection, caller)
                    listing.feed(stretch.rows)
                self.done = listing.count
            if listing.count != self.total:
                raise BadEncoding(
                    "freeze.list_short", "sent a list that ends too early", party=caller.party, step=_LIST
                )
        with self._watching(caller, RemoteFault):
            listing.finish()

    def _require_this(self, collection: bytes, caller: Caller) -> None:
        if collection != self._collection:
            raise RemoteFault(
                "freeze.answer_collection", "answered for another collection", party=caller.party, step=self.step
            )

    @contextmanager
    def _watching(self, caller: Caller, breach: type[RemoteFault], *, forgive: bool = True) -> Iterator[None]:
        """Remember who does not keep to the freeze, until it does; a transport that fails is no breach."""
        key = (caller.party, self.step)
        try:
            yield
        except breach:
            since, times = self._wrong.get(key, (time.monotonic(), 0))
            self._wrong[key] = since, times + 1
            raise
        if breach is RemoteFault and forgive:
            self._wrong.pop(key, None)

    def _await(self, step: str, caller: Caller) -> None:
        if (step, caller.party) != (self.step, self.waited_for):
            self.step, self.waited_for, self.since = step, caller.party, time.monotonic()
            self.done = self.total = 0


class Frozen:
    """A finished freeze, read from the store for shufflers that are not finished."""

    def __init__(self, collection: bytes, store: StoreThread, identity: Identity, frozen: Kept) -> None:
        self._collection = collection
        self._store = store
        self._signed = sign_frozen(identity, collection, frozen.digest)
        self._announcements = decode_announcements(frozen.announcements)

    async def announcements(self) -> Announcements:
        """Those of all shufflers, as they were compared."""
        return self._announcements

    async def stretches(self) -> AsyncIterator[Stretch]:
        """This list; all have announced theirs, or nothing would have been frozen."""
        total = await self._store(lambda store: store.count(self._collection))
        listed = await self._store(lambda store: store.rows(self._collection))
        first = 0
        while first < total or first == 0:
            # The iterator is the store's, and moves in the store's thread only.
            rows = await self._store(lambda _: tuple(islice(listed, STRETCH)))
            if not rows and total:
                raise Closed("freeze.list_erased", "the collection has ended here, and its list is erased")
            yield Stretch(self._collection, total, first, rows)
            first += len(rows)
            if not rows:
                return

    async def signed(self) -> FrozenDigest:
        """The signed digest of what this shuffler froze."""
        return self._signed
