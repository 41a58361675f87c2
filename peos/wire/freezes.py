"""The freeze on the wire: announcements, lists in stretches, signed digests."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from peos.collection.document import ID_BYTES, MAX_ROWS
from peos.collection.freeze import Announcement, FrozenDigest, Stretch
from peos.collection.submission import Triple
from peos.crypto.identity import SIGNATURE_BYTES
from peos.crypto.kdf import DIGEST_BYTES
from peos.errors import BadEncoding
from peos.wire import freeze_pb2 as pb
from peos.wire.strict import VERSION, exactly, parse, serialize, within

TRIPLE_BYTES: Final = ID_BYTES + SIGNATURE_BYTES + DIGEST_BYTES
STRETCH: Final = 8192  # triples; under 1 MiB


def encode_announcement(announcement: Announcement) -> bytes:
    """The hash of a list."""
    return serialize(pb.ListAnnouncement(version=VERSION, collection=announcement.collection, hash=announcement.hash))


def decode_announcement(data: bytes) -> Announcement:
    """An announcement, its lengths checked."""
    message = parse(pb.ListAnnouncement, data)
    return Announcement(
        exactly(message.collection, DIGEST_BYTES, "an announcement's collection"),
        exactly(message.hash, DIGEST_BYTES, "an announcement's hash"),
    )


def stretches(collection: bytes, triples: tuple[Triple, ...]) -> Iterator[Stretch]:
    """A whole list, cut so that no message grows with n; an empty list is one empty stretch."""
    for first in range(0, max(len(triples), 1), STRETCH):
        yield Stretch(collection, len(triples), first, triples[first : first + STRETCH])


def encode_stretch(stretch: Stretch) -> bytes:
    """A part of a list."""
    packed = b"".join(triple.id + triple.ticket + triple.digest for triple in stretch.triples)
    return serialize(
        pb.ListChunk(
            version=VERSION, collection=stretch.collection, total=stretch.total, first=stretch.first, triples=packed
        )
    )


def decode_stretch(data: bytes) -> Stretch:
    """A part of a list, sorted by distinct ids, that fits into its total."""
    message = parse(pb.ListChunk, data)
    exactly(message.collection, DIGEST_BYTES, "a list's collection")
    within(message.total, 0, MAX_ROWS, "a list's total")
    packed = message.triples
    if len(packed) % TRIPLE_BYTES:
        raise BadEncoding(f"a list of {len(packed)} bytes is not made of triples of {TRIPLE_BYTES}")
    triples = tuple(_triple(packed[at : at + TRIPLE_BYTES]) for at in range(0, len(packed), TRIPLE_BYTES))
    within(message.first + len(triples), len(triples), message.total, "the end of a stretch")
    if message.total and not triples:
        raise BadEncoding("a stretch of a list that is not empty brings nothing")
    ids = [triple.id for triple in triples]
    if any(left >= right for left, right in pairwise(ids)):
        raise BadEncoding("a list is not sorted by distinct ids")
    return Stretch(message.collection, message.total, message.first, triples)


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


def _triple(packed: bytes) -> Triple:
    ticket_end = ID_BYTES + SIGNATURE_BYTES
    return Triple(packed[:ID_BYTES], packed[ID_BYTES:ticket_end], packed[ticket_end:])
