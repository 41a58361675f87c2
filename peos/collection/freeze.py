"""The freeze: which submissions count, agreed by every pair of shufflers before any shuffling (protocol.md §6.4).

Each shuffler announces the hash of its list before it shows the list, so that nobody composes its own after seeing the
others'. What all of them hold counts; the signed digest of document, triples and n is compared between every pair.
"""

import hashlib
import struct
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from peos.collection.submission import Triple
from peos.crypto.identity import Identity, verifies
from peos.crypto.kdf import Context
from peos.errors import LocalFault, Refused, RemoteFault


@dataclass(frozen=True)
class Announcement:
    """The hash of the list that its sender is going to show."""

    collection: bytes
    hash: bytes


@dataclass(frozen=True)
class Stretch:
    """A part of a list that is sorted by id: `total` triples in all, these from `first` on."""

    collection: bytes
    total: int
    first: int
    triples: tuple[Triple, ...]


@dataclass(frozen=True)
class FrozenDigest:
    """A shuffler's signature under what it froze."""

    collection: bytes
    digest: bytes
    signature: bytes


def list_hash(triples: Iterable[Triple]) -> bytes:
    """What a shuffler announces of its list."""
    hasher = hashlib.sha256(b"list")
    for triple in sorted(triples):
        hasher.update(triple.id + triple.ticket + triple.digest)
    return hasher.digest()


class Freeze:
    """One shuffler's side of the freeze: takes in announcements, lists and signed digests; `context` is its result."""

    def __init__(self, me: int, identities: tuple[bytes, ...], collection: bytes, own: Iterable[Triple]) -> None:
        self._me = me
        self._identities = identities
        self._collection = collection
        mine = frozenset(own)
        # Of another's list only what is here too is kept, as the objects that are here: memory does not grow with r.
        self._lists: dict[int, frozenset[Triple]] = {me: mine}
        self._announced: dict[int, bytes] = {me: list_hash(mine)}
        self._confirmed: set[int] = {me}
        if not _distinct(mine):
            raise LocalFault("this shuffler's own list has an id twice")

    @property
    def announcement(self) -> bytes:
        """What this shuffler says first."""
        return self._announced[self._me]

    def announced(self, who: int, hash_: bytes) -> None:
        """Another shuffler's announcement; it may not change its mind."""
        self._require_other(who)
        if self._announced.setdefault(who, hash_) != hash_:
            raise RemoteFault("announced two different lists", party=f"shuffler {who}", step="freeze")

    @property
    def may_show_list(self) -> bool:
        """Whether all have announced, so that showing the list lets nobody choose his own by it."""
        return len(self._announced) == len(self._identities)

    def listed(self, who: int, triples: Iterable[Triple]) -> None:
        """Another shuffler's list, which must be the one it announced, with distinct ids."""
        self._require_other(who)
        shown = list(triples)
        if self._announced.get(who) != list_hash(shown):
            raise RemoteFault("showed another list than it announced", party=f"shuffler {who}", step="freeze")
        if not _distinct(shown):
            raise RemoteFault("listed an id twice", party=f"shuffler {who}", step="freeze")
        theirs = frozenset(shown)
        mine = self._lists[self._me]
        self._lists[who] = mine if mine <= theirs else frozenset(triple for triple in mine if triple in theirs)

    @property
    def triples(self) -> tuple[Triple, ...]:
        """What counts, in the order of the rows: what every shuffler holds, by id."""
        if len(self._lists) < len(self._identities):
            missing = next(who for who in range(1, len(self._identities) + 1) if who not in self._lists)
            raise RemoteFault("has not shown its list", party=f"shuffler {missing}", step="freeze")
        return tuple(sorted(frozenset.intersection(*self._lists.values())))

    @property
    def digest(self) -> bytes:
        """The frozen digest: document, triples and n."""
        hasher = hashlib.sha256(b"frozen" + self._collection)
        counted = self.triples
        hasher.update(struct.pack(">Q", len(counted)))
        for triple in counted:
            hasher.update(triple.id + triple.ticket + triple.digest)
        return hasher.digest()

    def sign(self, identity: Identity) -> bytes:
        """This shuffler's signature under the frozen digest."""
        return identity.sign("frozen", self._collection, self.digest)

    def confirmed(self, who: int, digest: bytes, signature: bytes) -> None:
        """Another shuffler's signed digest, which must be this one's."""
        self._require_other(who)
        if not verifies(self._identities[who - 1], signature, "frozen", self._collection, digest):
            raise RemoteFault("signed its frozen digest wrongly", party=f"shuffler {who}", step="freeze")
        if digest != self.digest:
            raise RemoteFault("froze another list", party=f"shuffler {who}", step="freeze")
        self._confirmed.add(who)

    @property
    def context(self) -> Context:
        """The frozen collection, once every other shuffler confirmed it."""
        missing = [who for who in range(1, len(self._identities) + 1) if who not in self._confirmed]
        if missing:
            raise RemoteFault("has not confirmed the frozen list", party=f"shuffler {missing[0]}", step="freeze")
        return Context(self._collection, self.digest)

    def _require_other(self, who: int) -> None:
        if who == self._me or not 1 <= who <= len(self._identities):
            raise RemoteFault("is not another shuffler of this collection", party=f"shuffler {who}", step="freeze")


def check_minimum(counted: int, dummies: int, minimum: int) -> None:
    """Refuse to shuffle too few, whatever the analyzer asks: dummies hide nobody."""
    if counted - dummies < minimum:
        raise Refused(
            f"{max(counted - dummies, 0)} reports, the minimum is {minimum}",
            hint="the collection is aborted; open another one for longer, or for more users",
        )


def _distinct(triples: Collection[Triple]) -> bool:
    return len({triple.id for triple in triples}) == len(triples)
