"""The freeze on the wire: announcements, lists in stretches, signed digests."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from peos.chunks import chunks
from peos.collection.document import MAX_ROWS
from peos.collection.freeze import Announcement, Announcements, FrozenDigest, Stretch
from peos.collection.rows import ROW_BYTES
from peos.collection.ticket import ID_BYTES
from peos.crypto.identity import SIGNATURE_BYTES
from peos.crypto.kdf import DIGEST_BYTES
from peos.errors import BadEncoding
from peos.shuffle.schedule import MAX_SHUFFLERS
from peos.v1 import freeze_pb2 as pb
from peos.wire.strict import VERSION, exactly, parse, serialize, within

STRETCH: Final = 16_384  # rows; under 1 MiB


def encode_announcements(announcements: Announcements) -> bytes:
    """All announcements that a shuffler holds."""
    held = [
        pb.Announcement(shuffler=one.shuffler, count=one.count, root=one.root, signature=one.signature)
        for one in announcements.held
    ]
    return serialize(pb.Announcements(version=VERSION, collection=announcements.collection, held=held))


def decode_announcements(data: bytes) -> Announcements:
    """Announcements, sorted and no more than can be needed; the freeze verifies the signatures."""
    message = parse(pb.Announcements, data)
    collection = exactly(message.collection, DIGEST_BYTES, "the announcements' collection")
    within(len(message.held), 1, 2 * MAX_SHUFFLERS, "the number of announcements")
    held = tuple(
        Announcement(
            within(one.shuffler, 1, MAX_SHUFFLERS, "an announcement's shuffler"),
            within(one.count, 0, MAX_ROWS, "an announcement's count"),
            exactly(one.root, DIGEST_BYTES, "an announcement's root"),
            exactly(one.signature, SIGNATURE_BYTES, "an announcement's signature"),
        )
        for one in message.held
    )
    if any((left.shuffler, left.list) >= (right.shuffler, right.list) for left, right in pairwise(held)):
        raise BadEncoding("freeze.announcements", "announcements are not sorted by distinct lists")
    return Announcements(collection, held)


def stretches(collection: bytes, rows: tuple[bytes, ...]) -> Iterator[Stretch]:
    """A whole list, cut so that no message grows with n; an empty list is one empty stretch."""
    for part in chunks(max(len(rows), 1), STRETCH):
        yield Stretch(collection, len(rows), part.start, rows[part])


def encode_stretch(stretch: Stretch) -> bytes:
    """A part of a list."""
    packed = b"".join(stretch.rows)
    return serialize(
        pb.ListChunk(
            version=VERSION, collection=stretch.collection, total=stretch.total, first=stretch.first, rows=packed
        )
    )


def decode_stretch(data: bytes) -> Stretch:
    """A part of a list, sorted by distinct ids, that fits into its total."""
    message = parse(pb.ListChunk, data)
    exactly(message.collection, DIGEST_BYTES, "a list's collection")
    within(message.total, 0, MAX_ROWS, "a list's total")
    packed = message.rows
    if len(packed) % ROW_BYTES:
        raise BadEncoding("freeze.list_length", f"a list of {len(packed)} bytes is not made of rows of {ROW_BYTES}")
    rows = tuple(packed[at : at + ROW_BYTES] for at in range(0, len(packed), ROW_BYTES))
    within(message.first + len(rows), len(rows), message.total, "the end of a stretch")
    if message.total and not rows:
        raise BadEncoding("freeze.list_empty", "a stretch of a list that is not empty brings nothing")
    if any(left[:ID_BYTES] >= right[:ID_BYTES] for left, right in pairwise(rows)):
        raise BadEncoding("freeze.list_order", "a list is not sorted by distinct ids")
    return Stretch(message.collection, message.total, message.first, rows)


def encode_frozen_digest(frozen: FrozenDigest) -> bytes:
    """A signed frozen digest."""
    return serialize(
        pb.FrozenDigest(version=VERSION, collection=frozen.collection, digest=frozen.digest, signature=frozen.signature)
    )


def decode_frozen_digest(data: bytes) -> FrozenDigest:
    """A frozen digest, its lengths checked; the freeze verifies the signature."""
    message = parse(pb.FrozenDigest, data)
    return FrozenDigest(
        exactly(message.collection, DIGEST_BYTES, "a frozen digest's collection"),
        exactly(message.digest, DIGEST_BYTES, "a frozen digest"),
        exactly(message.signature, SIGNATURE_BYTES, "a frozen digest's signature"),
    )
