"""Hash trees: one root over many leaves, and short proofs that a leaf stands at its place under it.

A leaf is 32 bytes; node = SHA-256(1 ‖ left ‖ right); an unpaired node moves up as it is. Callers hash their leaves with
a first byte of 0, so that no leaf is a node. The number of leaves is part of what a proof is checked against: signed
roots come with it.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

NODE_BYTES: Final = 32
EMPTY: Final = hashlib.sha256(b"\x01").digest()  # the root over no leaves


def levels(leaves: bytes | bytearray) -> Iterator[bytes | bytearray]:
    """The leaves side by side, then the nodes above them, up to the root."""
    level = leaves
    yield level
    while len(level) > NODE_BYTES:
        level = _above(level)
        yield level


def root(leaves: bytes | bytearray) -> bytes:
    """The root over leaves that lie side by side."""
    *_, highest = levels(leaves)
    return bytes(highest) or EMPTY


def paths(levels: Iterable[bytes | bytearray], places: Sequence[int]) -> list[tuple[bytes, ...]]:
    """The sibling nodes on the way from each place up to the root."""
    beside: list[list[bytes]] = [[] for _ in places]
    for height, level in enumerate(levels):
        for found, place in zip(beside, places, strict=True):
            at = (place >> height ^ 1) * NODE_BYTES
            if at < len(level) and len(level) > NODE_BYTES:
                found.append(bytes(level[at : at + NODE_BYTES]))
    return [tuple(found) for found in beside]


def top(leaf: bytes, place: int, count: int, path: Sequence[bytes]) -> bytes | None:
    """The root that a path leads to from a leaf at its place among `count`; None if the path does not fit them."""
    if not 0 <= place < count:
        return None
    node, beside = leaf, iter(path)
    while count > 1:
        if place ^ 1 < count:
            other = next(beside, None)
            if other is None or len(other) != NODE_BYTES:
                return None
            left, right = (other, node) if place & 1 else (node, other)
            node = hashlib.sha256(b"\x01" + left + right).digest()
        place, count = place >> 1, (count + 1) >> 1
    return node if next(beside, None) is None else None


class Growing:
    """The root over leaves that come one after another, in memory that does not grow with them."""

    def __init__(self) -> None:
        self.count = 0
        self._nodes: list[bytes] = []  # of whole subtrees, each smaller than the one before

    def add(self, leaf: bytes) -> None:
        """One more leaf."""
        sha256, node, whole = hashlib.sha256, leaf, self.count
        while whole & 1:
            node, whole = sha256(b"\x01" + self._nodes.pop() + node).digest(), whole >> 1
        self._nodes.append(node)
        self.count += 1

    @property
    def root(self) -> bytes:
        """The root over the leaves so far."""
        if not self._nodes:
            return EMPTY
        *others, node = self._nodes
        for left in reversed(others):
            node = hashlib.sha256(b"\x01" + left + node).digest()
        return node


def _above(level: bytes | bytearray) -> bytearray:
    sha256, pairs = hashlib.sha256, len(level) // (2 * NODE_BYTES)
    nodes = bytearray()
    for start in range(0, pairs * 2 * NODE_BYTES, 2 * NODE_BYTES):
        nodes += sha256(b"\x01" + level[start : start + 2 * NODE_BYTES]).digest()
    return nodes + level[pairs * 2 * NODE_BYTES :]
