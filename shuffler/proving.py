"""Proofs to users, once the lists are frozen, that their rows are in them or not (protocol.md §6.4).

The trees of one collection are kept in memory while it is asked about: 64 bytes a row.
"""

import asyncio
from dataclasses import dataclass

from peos.collection.freeze import FrozenDigest, sign_frozen
from peos.collection.membership import FrozenLists, MembershipProof, MembershipRequest
from peos.collection.rows import RowList
from peos.crypto.identity import Identity
from peos.errors import LocalFault, Refused
from peos.store.base import Collection, Lists, ShufflerStore
from peos.wire.freezes import decode_announcements
from shuffler.background import in_background
from shuffler.store_thread import StoreThread


@dataclass(frozen=True, repr=False)
class _Trees:
    """Both lists of one collection, ready to be shown."""

    collection: bytes
    own: RowList
    counted: RowList
    lists: FrozenLists


class Proving:
    """Shows this shuffler's lists, to members whole and to users row by row."""

    def __init__(self, store: StoreThread, identity: Identity) -> None:
        self._store = store
        self._identity = identity
        self._trees: _Trees | None = None
        self._making = asyncio.Lock()

    async def lists(self, digest: bytes) -> FrozenLists:
        """All signed lists of a collection that is frozen; NotYet before, Closed once the rows are erased."""
        return (await self._of(digest)).lists

    async def prove(self, asked: MembershipRequest) -> MembershipProof:
        """Where a user's row stands, for who has this shuffler's receipt for it and signs with its key."""
        if not asked.verifies(self._identity.public):
            raise Refused(
                "membership.caller",
                "the request is not of a user whose report this shuffler acknowledged",
                hint="ask from the device that submitted",
            )
        trees = await self._of(asked.collection)
        return MembershipProof(trees.lists, trees.own.show(asked.row), trees.counted.show(asked.row))

    def forget(self, digest: bytes) -> None:
        """The rows of a collection are erased."""
        if self._trees is not None and self._trees.collection == digest:
            self._trees = None

    async def _of(self, digest: bytes) -> _Trees:
        async with self._making:
            if self._trees is None or self._trees.collection != digest:
                self._trees = None  # before the next: memory holds one collection's trees
                kept, rows = await self._store(lambda store: _read(store, digest))
                self._trees = await in_background(lambda: self._made(kept, rows))
            return self._trees

    def _made(self, kept: Collection, rows: Lists) -> _Trees:
        if kept.frozen is None:
            raise LocalFault("store.lists_early", "the store has lists of a collection that is not frozen")
        own, counted = RowList(rows.own), RowList(rows.counted)
        signed: FrozenDigest = sign_frozen(self._identity, kept.digest, kept.frozen.digest)
        lists = FrozenLists(decode_announcements(kept.frozen.announcements), signed, len(counted), counted.root)
        if not lists.is_list_of(kept.frozen.digest):
            raise LocalFault(
                "membership.rows", "the rows that are kept are not those that were frozen", hint="restore the folder"
            )
        return _Trees(kept.digest, own, counted, lists)


def _read(store: ShufflerStore, digest: bytes) -> tuple[Collection, Lists]:
    return store.collection(digest), store.lists(digest)
