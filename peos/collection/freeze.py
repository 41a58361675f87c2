"""The freeze: which submissions count, agreed by every pair of shufflers before any shuffling (protocol.md §6.4).

Each shuffler signs the length and the root of its list, and shows every announcement that it holds to all others. Only
when every other holds the same r announcements does it show the list itself: no list is composed after seeing the
others', and a shuffler that announces two is named by its own two signatures. What all lists have in common counts.
After that comparison all honest shufflers compute one frozen digest, so that another one names its sender.
"""

import hashlib
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from peos.collection.rows import RowList, leaf
from peos.collection.ticket import ID_BYTES
from peos.crypto import tree
from peos.crypto.identity import Identity, verifies
from peos.crypto.kdf import Context
from peos.errors import LocalFault, NotYet, Refused, RemoteFault

STEP: Final = "freeze"


@dataclass(frozen=True)
class Announcement:
    """A shuffler's signature under the list that it is going to show."""

    shuffler: int
    count: int
    root: bytes
    signature: bytes

    @classmethod
    def sign(cls, identity: Identity, shuffler: int, collection: bytes, rows: Sequence[bytes]) -> "Announcement":
        """The announcement of a sorted list; LocalFault if it is none."""
        root = RowList(rows).root
        return cls(shuffler, len(rows), root, identity.sign("list", *_list(collection, len(rows), root)))

    @property
    def list(self) -> tuple[int, bytes]:
        """What stands for the list."""
        return self.count, self.root

    def verifies(self, identity: bytes, collection: bytes) -> bool:
        """Whether the shuffler with this identity key signed it for this collection."""
        return verifies(identity, self.signature, "list", *_list(collection, self.count, self.root))


@dataclass(frozen=True)
class Announcements:
    """All announcements that a shuffler holds, sorted; two of one shuffler are the proof that it signed two lists."""

    collection: bytes
    held: tuple[Announcement, ...]


@dataclass(frozen=True)
class Stretch:
    """A part of a sorted list: `total` rows in all, these from `first` on."""

    collection: bytes
    total: int
    first: int
    rows: tuple[bytes, ...]


@dataclass(frozen=True)
class FrozenDigest:
    """A shuffler's signature under what it froze."""

    collection: bytes
    digest: bytes
    signature: bytes


class Freeze:
    """One shuffler's side of the freeze: takes in announcements, lists and signed digests; `context` is its result."""

    def __init__(
        self, me: int, identities: tuple[bytes, ...], collection: bytes, own: Sequence[bytes], identity: Identity
    ) -> None:
        self._me = me
        self._identities = identities
        self._collection = collection
        self._identity = identity
        self._held = {me: [Announcement.sign(identity, me, collection, own)]}
        self._compared: set[int] = {me}  # who holds all announcements, the same as here
        self._common = own  # of all lists that were shown
        self._shown: set[int] = {me}
        self._confirmed: set[int] = {me}

    @property
    def announcements(self) -> Announcements:
        """What this shuffler says first, and all that it has heard of others."""
        held = [one for who in sorted(self._held) for one in sorted(self._held[who], key=lambda one: one.list)]
        return Announcements(self._collection, tuple(held))

    @property
    def evidence(self) -> tuple[Announcement, ...]:
        """Two lists that one shuffler signed, if one did."""
        return next((tuple(held) for held in self._held.values() if len(held) > 1), ())

    def heard(self, who: int, held: Sequence[Announcement]) -> None:
        """Take in another shuffler's announcements; RemoteFault if one signed two lists or is unsigned."""
        self._require_other(who)
        for one in held:
            known = self._held.get(one.shuffler, [])
            if any(one.list == before.list for before in known):
                continue
            if one.shuffler > len(self._identities) or not one.verifies(
                self._identities[one.shuffler - 1], self._collection
            ):
                raise _fault(
                    "freeze.announcement", who, f"passed on an announcement that shuffler {one.shuffler} did not sign"
                )
            if len(known) < 2:
                self._held[one.shuffler] = [*known, one]
        self._require_one_list_each()
        theirs = {one.shuffler for one in held}
        if who not in theirs:
            raise _fault("freeze.not_announced", who, "did not announce its list")
        if len(theirs) == len(self._identities):
            self._compared.add(who)

    @property
    def uncompared(self) -> tuple[int, ...]:
        """Who has not yet been seen to hold all announcements."""
        return tuple(who for who in range(1, len(self._identities) + 1) if who not in self._compared)

    @property
    def may_show_list(self) -> bool:
        """Whether all hold the same announcements, so that no shuffler can choose its list by another's."""
        return not self.uncompared and not self.evidence

    @property
    def unshown(self) -> tuple[int, ...]:
        """Whose list has not been seen yet."""
        return tuple(who for who in range(1, len(self._identities) + 1) if who not in self._shown)

    def listing(self, who: int) -> "Listing":
        """Another shuffler's list, to be fed as it comes; NotYet before all announcements are compared."""
        self._require_other(who)
        if not self.may_show_list:
            raise NotYet("freeze.not_compared", "lists are compared once all shufflers hold the same announcements")
        (announced,) = self._held[who]
        return Listing(self, who, announced, self._common)

    def listed(self, who: int, common: Sequence[bytes]) -> None:
        """Another shuffler has shown its list, of which this is also in all before it."""
        self._common = common
        self._shown.add(who)

    @property
    def rows(self) -> tuple[bytes, ...]:
        """What counts, in its order: what every shuffler holds."""
        if self.unshown:
            raise _fault("freeze.not_shown", self.unshown[0], "has not shown its list")
        return tuple(self._common)

    @property
    def digest(self) -> bytes:
        """The frozen digest: the document, n, and the root of what counts."""
        counted = self.rows
        return frozen_digest(self._collection, len(counted), RowList(counted).root)

    def sign(self) -> FrozenDigest:
        """This shuffler's word on what it froze."""
        return sign_frozen(self._identity, self._collection, self.digest)

    def confirmed(self, who: int, digest: bytes, signature: bytes) -> None:
        """Another shuffler's signed digest, which must be this one's."""
        self._require_other(who)
        if not verifies(self._identities[who - 1], signature, "frozen", self._collection, digest):
            raise _fault("freeze.signature", who, "signed its frozen digest wrongly")
        if digest != self.digest:
            raise _fault("freeze.digest", who, "froze another list")
        self._confirmed.add(who)

    @property
    def context(self) -> Context:
        """The frozen collection, once every other shuffler confirmed it."""
        missing = [who for who in range(1, len(self._identities) + 1) if who not in self._confirmed]
        if missing:
            raise _fault("freeze.not_confirmed", missing[0], "has not confirmed the frozen list")
        return Context(self._collection, self.digest)

    def _require_one_list_each(self) -> None:
        if not self.evidence:
            return
        who = self.evidence[0].shuffler
        if who == self._me:
            raise LocalFault(
                "freeze.own_key_used",
                "another list was signed with this shuffler's identity key",
                hint="find out whether a second process or a copy of its folder uses the same keys",
            )
        raise _fault(
            "freeze.two_lists",
            who,
            "signed two different lists",
            "its two signatures prove it; they are in the audit log",
        )

    def _require_other(self, who: int) -> None:
        if who == self._me or not 1 <= who <= len(self._identities):
            raise _fault("freeze.stranger", who, "is not another shuffler of this collection")


class Listing:
    """One list as it is shown: never longer than announced, and never kept but for what is in all lists before it."""

    def __init__(self, freeze: Freeze, who: int, announced: Announcement, so_far: Sequence[bytes]) -> None:
        self._freeze = freeze
        self._who = who
        self._announced = announced
        self._so_far = so_far
        self._at = 0
        self._common: list[bytes] = []
        self._tree = tree.Growing()
        self._last = b""

    @property
    def count(self) -> int:
        """How many rows have come."""
        return self._tree.count

    def feed(self, rows: Iterable[bytes]) -> None:
        """The next rows."""
        so_far, at = self._so_far, self._at
        for row in rows:
            if self._tree.count == self._announced.count:
                raise self._another()
            if row[:ID_BYTES] <= self._last and self._tree.count:
                raise _fault("freeze.order", self._who, "showed a list in which an id is repeated or out of order")
            self._tree.add(leaf(row))
            self._last = row[:ID_BYTES]
            while at < len(so_far) and so_far[at] < row:
                at += 1
            if at < len(so_far) and so_far[at] == row:
                self._common.append(so_far[at])  # the object that is here: memory does not grow with r
        self._at = at

    def finish(self) -> None:
        """All rows have come: they must be those that were announced."""
        if (self._tree.count, self._tree.root) != self._announced.list:
            raise self._another()
        self._freeze.listed(self._who, self._common)

    def _another(self) -> RemoteFault:
        return _fault("freeze.another_list", self._who, "showed another list than it announced")


def frozen_digest(collection: bytes, count: int, root: bytes) -> bytes:
    """What stands for the collection and the list that counts in it."""
    return hashlib.sha256(b"frozen" + collection + struct.pack(">Q", count) + root).digest()


def sign_frozen(identity: Identity, collection: bytes, frozen: bytes) -> FrozenDigest:
    """A shuffler's word on what it froze."""
    return FrozenDigest(collection, frozen, identity.sign("frozen", collection, frozen))


def check_minimum(counted: int, dummies: int, minimum: int) -> None:
    """Refuse to shuffle too few reports, whatever the analyzer asks: dummies do not count."""
    if counted - dummies < minimum:
        raise Refused(
            "freeze.minimum",
            f"{max(counted - dummies, 0)} reports, the minimum is {minimum}",
            hint="the collection is aborted; open another one for longer, or for more users",
        )


def _list(collection: bytes, count: int, root: bytes) -> tuple[bytes, bytes, bytes]:
    return collection, struct.pack(">Q", count), root


def _fault(id_: str, who: int, sentence: str, hint: str = "") -> RemoteFault:
    return RemoteFault(id_, sentence, party=f"shuffler {who}", step=STEP, hint=hint)
