"""Receipts: a shuffler's signed word that a submission is durable with it, which its user keeps.

A shuffler commits submissions in groups, and signs one root over each group; a receipt is that signature with the path
of one submission under it. With it the user asks later whether her row was counted, and convicts a shuffler that
acknowledged it and left it out of its list (protocol.md §6.3).
"""

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from peos.crypto import tree
from peos.crypto.identity import Identity, verifies

MAX_GROUP: Final = 4096  # submissions under one signature; a path has at most 12 nodes
_LABEL: Final = "receipt"


@dataclass(frozen=True)
class Acknowledged:
    """What a receipt is about: the row of a submission, in which collection, and the key of the ticket behind it."""

    collection: bytes
    row: bytes
    user_key: bytes

    @property
    def leaf(self) -> bytes:
        """What it is in the tree of its group; all three have fixed lengths."""
        return hashlib.sha256(b"\x00" + self.collection + self.row + self.user_key).digest()


@dataclass(frozen=True)
class Acknowledgement:
    """A shuffler's word that a part of this submission is durable with it."""

    collection: bytes
    row: bytes
    receipt: "Receipt"


@dataclass(frozen=True)
class Receipt:
    """A shuffler's signature under a group of submissions, and the way to it from one of them."""

    place: int
    count: int
    path: tuple[bytes, ...]
    signature: bytes

    def holds(self, shuffler: bytes, acknowledged: Acknowledged) -> bool:
        """Whether the shuffler with this identity key signed that this submission is durable with it."""
        if not 0 < self.count <= MAX_GROUP:
            return False
        root = tree.top(acknowledged.leaf, self.place, self.count, self.path)
        return root is not None and _is_signed(shuffler, self.signature, self.count, root)


@lru_cache(maxsize=64)
def _is_signed(shuffler: bytes, signature: bytes, count: int, root: bytes) -> bool:
    """The receipts of one group share a signature, which is verified once."""
    return verifies(shuffler, signature, _LABEL, struct.pack(">I", count), root)


def receipts(identity: Identity, group: Sequence[Acknowledged]) -> list[Receipt]:
    """One receipt each, for one signature in all."""
    leaves = b"".join(one.leaf for one in group)
    levels = list(tree.levels(leaves))
    signature = identity.sign(_LABEL, struct.pack(">I", len(group)), tree.root(leaves))
    paths = tree.paths(levels, range(len(group)))
    return [Receipt(place, len(group), path, signature) for place, path in enumerate(paths)]
