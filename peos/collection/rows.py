"""A shuffler's list of submissions as a tree: its root is announced and published, and every row can be shown in it.

A row is id ‖ commitment, 48 bytes; the list is sorted by them, and no id is there twice. So a row is shown to be in the
list by its path, and shown not to be in it by the two rows between which it would stand (protocol.md §6.4).
"""

import hashlib
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import pairwise
from typing import Final

from peos.crypto import tree
from peos.errors import LocalFault

ROW_BYTES: Final = 48
_ID_BYTES: Final = 16


@dataclass(frozen=True)
class ListProof:
    """One row of a list: where it stands, and the sibling nodes on its way up to the root."""

    place: int
    row: bytes
    path: tuple[bytes, ...]


class Membership(Enum):
    """What the rows that were shown say of a row."""

    IN = "in the list"
    ABSENT = "not in the list"
    UNPROVED = "unproved"


class RowList:
    """A sorted list of rows. The tree over it takes 64 bytes a row, and is made once it is asked for."""

    def __init__(self, rows: Sequence[bytes]) -> None:
        if any(len(row) != ROW_BYTES for row in rows):
            raise LocalFault("freeze.row_length", f"a row of a list has {ROW_BYTES} bytes")
        if any(left[:_ID_BYTES] >= right[:_ID_BYTES] for left, right in pairwise(rows)):
            raise LocalFault("freeze.rows", "a list is sorted by id, and has no id twice")
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @cached_property
    def root(self) -> bytes:
        """What stands for the whole list, together with its length."""
        return bytes(self._levels[-1]) or tree.EMPTY

    def show(self, row: bytes) -> tuple[ListProof, ...]:
        """The row itself if it is in the list, else the one or two that would be its neighbours."""
        place = bisect_left(self._rows, row)
        if place < len(self) and self._rows[place] == row:
            places = [place]
        else:
            places = [near for near in (place - 1, place) if 0 <= near < len(self)]
        paths = tree.paths(self._levels, places)
        return tuple(ListProof(near, self._rows[near], path) for near, path in zip(places, paths, strict=True))

    @cached_property
    def _levels(self) -> list[bytes | bytearray]:
        return list(tree.levels(b"".join(map(leaf, self._rows))))


def membership(root: bytes, count: int, row: bytes, shown: Sequence[ListProof]) -> Membership:
    """Whether a row is in the list of `count` rows under `root`, by the rows that its shuffler shows."""
    if any(len(one.row) != ROW_BYTES or tree.top(leaf(one.row), one.place, count, one.path) != root for one in shown):
        return Membership.UNPROVED
    match shown:
        case [only] if only.row == row:
            return Membership.IN
        case [] if count == 0 and root == tree.EMPTY:
            return Membership.ABSENT
        case [first] if first.place == 0 and row < first.row:
            return Membership.ABSENT
        case [last] if last.place == count - 1 and last.row < row:
            return Membership.ABSENT
        case [left, right] if right.place == left.place + 1 and left.row < row < right.row:
            return Membership.ABSENT
    return Membership.UNPROVED


def leaf(row: bytes) -> bytes:
    """What a row is in the tree."""
    return hashlib.sha256(b"\x00" + row).digest()
