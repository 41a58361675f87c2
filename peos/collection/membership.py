"""Whether a user's report was counted: what she asks, what a shuffler shows, and what that proves (protocol.md §6.4).

She asks with her row, the receipt of the shuffler that she asks, and a signature of her ticket's key that she made when
she submitted: her device has forgotten the key. A shuffler shows her row in its own list and in the frozen one, or the
rows between which it would stand. All lists are signed, so that a shuffler which acknowledged her submission and left
it out is convicted by its own two signatures, before anybody.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from peos.collection.freeze import Announcement, Announcements, FrozenDigest, frozen_digest
from peos.collection.receipts import Acknowledged, Receipt
from peos.collection.rows import ListProof, Membership, membership
from peos.crypto.identity import Identity, verifies

MOST_SHOWN: Final = 2  # rows of a list
_LABEL: Final = "membership"


@dataclass(frozen=True)
class MembershipRequest:
    """A user's request to one shuffler about her row, signed with her key, with its receipt."""

    collection: bytes
    row: bytes
    user_key: bytes
    receipt: Receipt
    signature: bytes

    def verifies(self, shuffler: bytes) -> bool:
        """Whether the shuffler with this identity acknowledged the row, and its user asks."""
        acknowledged = Acknowledged(self.collection, self.row, self.user_key)
        return self.receipt.holds(shuffler, acknowledged) and verifies(
            self.user_key, self.signature, _LABEL, self.collection, self.row
        )


@dataclass(frozen=True)
class FrozenLists:
    """What a shuffler shows of a freeze that is over: all signed lists, and its signature under the one that counts."""

    announcements: Announcements
    frozen: FrozenDigest
    count: int
    root: bytes

    def is_list_of(self, digest: bytes) -> bool:
        """Whether count and root are those of this frozen digest."""
        return frozen_digest(self.announcements.collection, self.count, self.root) == digest

    def is_signed(self, number: int, collection: bytes, identities: Sequence[bytes]) -> bool:
        """Whether every shuffler signed its list, and shuffler `number` the one that counts, of this collection."""
        held, frozen = self.announcements.held, self.frozen
        return (
            self.announcements.collection == frozen.collection == collection
            and [one.shuffler for one in held] == list(range(1, len(identities) + 1))
            and all(one.verifies(identities[one.shuffler - 1], collection) for one in held)
            and self.is_list_of(frozen.digest)
            and verifies(identities[number - 1], frozen.signature, "frozen", collection, frozen.digest)
        )


@dataclass(frozen=True)
class MembershipProof:
    """What a shuffler shows of a row: in its own list, and in the frozen one."""

    lists: FrozenLists
    own: tuple[ListProof, ...]
    counted: tuple[ListProof, ...]


@dataclass(frozen=True)
class Verified:
    """What came of asking: whether the row was counted (None: not proved either way), and what speaks against whom."""

    counted: bool | None
    findings: tuple[str, ...]


def ask(key: Identity, collection: bytes, row: bytes) -> bytes:
    """The signature with which its user may ask about a row; it is good for nothing else."""
    return key.sign(_LABEL, collection, row)


def verified(
    collection: bytes, row: bytes, identities: Sequence[bytes], proofs: Mapping[int, MembershipProof]
) -> Verified:
    """What the proofs of shufflers that hold receipts come to, by number from 1.

    A finding names a shuffler by what it signed itself. Whose proof is missing is the caller's to say.
    """
    judge = _Judge(collection, row, identities)
    for number, proof in sorted(proofs.items()):
        judge.take(number, proof)
    return judge.verdict


class _Judge:
    def __init__(self, collection: bytes, row: bytes, identities: Sequence[bytes]) -> None:
        self._collection, self._row, self._identities = collection, row, identities
        self._lists: dict[int, Announcement] = {}
        self._frozen: dict[bytes, list[int]] = {}  # who signed which frozen digest
        self._counted: set[Membership] = set()
        self._own: dict[int, Membership] = {}
        self._findings: list[str] = []

    def take(self, number: int, proof: MembershipProof) -> None:
        """One shuffler's proof."""
        lists = proof.lists
        if not lists.is_signed(number, self._collection, self._identities):
            self._find(number, "shows lists that are not signed as they must be")
            return
        for one in lists.announcements.held:
            known = self._lists.setdefault(one.shuffler, one)
            if known.list != one.list:
                self._find(one.shuffler, "signed two different lists")
        self._frozen.setdefault(lists.frozen.digest, []).append(number)
        own = next(one for one in lists.announcements.held if one.shuffler == number)
        self._own[number] = membership(own.root, own.count, self._row, proof.own)
        counted = membership(lists.root, lists.count, self._row, proof.counted)
        if Membership.UNPROVED in (self._own[number], counted):
            self._find(number, "does not prove what it says of the row")
            return
        self._counted.add(counted)
        if self._own[number] is Membership.ABSENT:
            self._find(number, "acknowledged the report and left it out of the list that it signed")

    @property
    def verdict(self) -> Verified:
        """What all of them together say."""
        if len(self._frozen) > 1:
            signed = "; ".join(", ".join(f"shuffler {who}" for who in whose) for whose in self._frozen.values())
            self._findings.append(f"shufflers signed different frozen lists: {signed}")
        counted = self._counted == {Membership.IN} and len(self._frozen) == 1
        absent = self._counted == {Membership.ABSENT} and len(self._frozen) == 1
        everybody = len(self._own) == len(self._identities)
        if absent and everybody and not self._findings:
            self._findings.append(
                "every shuffler's own list has the report, but the frozen list, which all signed, has not"
            )
        return Verified(True if counted else False if absent else None, tuple(dict.fromkeys(self._findings)))

    def _find(self, number: int, what: str) -> None:
        self._findings.append(f"shuffler {number} {what}")
