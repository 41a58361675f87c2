"""The freeze over the network: each shuffler pulls the others' announcements, lists and signed digests.

Pulling makes a restart harmless: what is asked for again is answered again, from the same durable list.
"""

from collections.abc import Mapping
from typing import Final

from peos.collection.freeze import Announcement, Freeze, FrozenDigest, Stretch, check_minimum
from peos.collection.submission import Triple
from peos.crypto.identity import Identity
from peos.errors import NotYet, RemoteFault
from peos.net.calls import Caller
from peos.wire.freezes import stretches
from peos.wire.methods import GET_ANNOUNCEMENT, GET_FROZEN_DIGEST, GET_LIST

LIST_TIMEOUT: Final = 600.0


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
        self._over = False
        self.waited_for = ""  # whose answer is awaited

    def announcement(self) -> Announcement:
        """The hash of this list; shown to all at once."""
        return Announcement(self._collection, self._freeze.announcement)

    def stretches(self) -> list[Stretch]:
        """This list, once every other has announced its own."""
        if not (self._over or self._freeze.may_show_list):
            raise NotYet("the list is shown once all shufflers have announced theirs")
        return list(stretches(self._collection, self._own))

    def signed(self) -> FrozenDigest:
        """What this shuffler froze, signed."""
        if self._signed is None:
            raise NotYet("the list is not frozen yet")
        return self._signed

    def resume(self, frozen: bytes) -> None:
        """It was frozen before a restart: show the others what they may still want to see."""
        self._over = True
        self._signed = self._sign(frozen)

    async def run(
        self, callers: Mapping[int, Caller], *, dummies: int, minimum: int
    ) -> tuple[bytes, tuple[Triple, ...]]:
        """The frozen digest and what counts, agreed with all the others."""
        ask = self._collection
        for who, caller in callers.items():
            self.waited_for = caller.party
            said = await caller.ask(GET_ANNOUNCEMENT, ask, step="freeze, announcement")
            self._freeze.announced(who, self._of_this(said.collection, said.hash, caller))
        for who, caller in callers.items():
            self.waited_for = caller.party
            self._freeze.listed(who, await self._list_of(caller))
        triples = self._freeze.triples
        check_minimum(len(triples), dummies, minimum)
        self._signed = self._sign(self._freeze.digest)
        for who, caller in callers.items():
            self.waited_for = caller.party
            frozen = await caller.ask(GET_FROZEN_DIGEST, ask, step="freeze, digest")
            self._freeze.confirmed(who, self._of_this(frozen.collection, frozen.digest, caller), frozen.signature)
        self.waited_for = ""
        return self._freeze.context.frozen, triples

    async def _list_of(self, caller: Caller) -> list[Triple]:
        shown: list[Triple] = []
        total = 0
        async for stretch in caller.stream(GET_LIST, self._collection, step="freeze, list", timeout=LIST_TIMEOUT):
            if stretch.first != len(shown) or (shown and stretch.total != total):
                raise RemoteFault("showed a list with a gap", party=caller.party, step="freeze, list")
            total = stretch.total
            shown += stretch.triples
        if len(shown) != total:
            raise RemoteFault("showed a list that ends too early", party=caller.party, step="freeze, list")
        return shown

    def _of_this(self, collection: bytes, said: bytes, caller: Caller) -> bytes:
        if collection != self._collection:
            raise RemoteFault("answered for another collection", party=caller.party, step="freeze")
        return said

    def _sign(self, frozen: bytes) -> FrozenDigest:
        return FrozenDigest(self._collection, frozen, self._identity.sign("frozen", self._collection, frozen))
