"""Users' parts and their acknowledgements on the wire."""

from typing import Final

from peos.collection.document import ID_BYTES
from peos.collection.rows import ROW_BYTES
from peos.collection.submission import SALT_BYTES, Acknowledgement, Part
from peos.crypto.identity import PUBLIC_BYTES, SIGNATURE_BYTES
from peos.crypto.kdf import DIGEST_BYTES
from peos.errors import BadEncoding
from peos.shuffle.schedule import MAX_SHUFFLERS, MIN_SHUFFLERS
from peos.wire import submission_pb2 as pb
from peos.wire.strict import MESSAGE_LIMIT, VERSION, exactly, parse, serialize, within

MAX_SHARE_BYTES: Final = MESSAGE_LIMIT - 1024  # with nine hashes, all else in a part is under 600 bytes


def encode_part(part: Part) -> bytes:
    """A user's part for one shuffler."""
    return serialize(
        pb.Part(
            version=VERSION,
            collection=part.collection,
            shuffler=part.shuffler,
            id=part.id,
            ticket=part.ticket,
            salt=part.salt,
            hashes=part.hashes,
            share=part.share,
            user_key=part.user_key,
            signature=part.signature,
        )
    )


def decode_part(data: bytes) -> Part:
    """A part of the right shape; `collection.submission.check_part` says whether to take it."""
    message = parse(pb.Part, data)
    if not message.share:
        raise BadEncoding("a part has no share")
    count = within(len(message.hashes), MIN_SHUFFLERS, MAX_SHUFFLERS, "the number of a part's hashes")
    return Part(
        collection=exactly(message.collection, DIGEST_BYTES, "a part's collection"),
        shuffler=within(message.shuffler, 1, count, "a part's shuffler"),
        id=exactly(message.id, ID_BYTES, "a part's id"),
        ticket=exactly(message.ticket, SIGNATURE_BYTES, "a part's ticket"),
        user_key=exactly(message.user_key, PUBLIC_BYTES, "a part's user key"),
        signature=exactly(message.signature, SIGNATURE_BYTES, "a part's signature"),
        salt=exactly(message.salt, SALT_BYTES, "a part's salt"),
        hashes=tuple(exactly(hash_, DIGEST_BYTES, "a part's hash") for hash_ in message.hashes),
        share=message.share,
    )


def encode_acknowledgement(acknowledgement: Acknowledgement) -> bytes:
    """A shuffler's word that a part is durable."""
    return serialize(
        pb.Acknowledgement(version=VERSION, collection=acknowledgement.collection, row=acknowledgement.row)
    )


def decode_acknowledgement(data: bytes) -> Acknowledgement:
    """An acknowledgement, its lengths checked."""
    message = parse(pb.Acknowledgement, data)
    return Acknowledgement(
        exactly(message.collection, DIGEST_BYTES, "an acknowledgement's collection"),
        exactly(message.row, ROW_BYTES, "an acknowledgement's row"),
    )
