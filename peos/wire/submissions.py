"""Users' parts and their acknowledgements on the wire."""

from typing import Final

from google.protobuf.message import DecodeError

from peos.collection.document import MAX_ROWS
from peos.collection.membership import MOST_SHOWN, FrozenLists, MembershipProof, MembershipRequest
from peos.collection.receipts import MAX_GROUP, Acknowledgement, Receipt
from peos.collection.rows import ROW_BYTES, ListProof
from peos.collection.submission import SALT_BYTES, Part
from peos.collection.ticket import ID_BYTES
from peos.crypto.identity import PUBLIC_BYTES, SIGNATURE_BYTES
from peos.crypto.kdf import DIGEST_BYTES
from peos.crypto.tree import NODE_BYTES
from peos.errors import BadEncoding
from peos.shuffle.schedule import MAX_SHUFFLERS, MIN_SHUFFLERS
from peos.v1 import submission_pb2 as pb
from peos.wire.freezes import decode_announcements, decode_frozen_digest, encode_announcements, encode_frozen_digest
from peos.wire.strict import MESSAGE_LIMIT, VERSION, exactly, parse, serialize, within

MAX_PATH: Final = 31  # nodes: a list is shorter than 2^31
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
        raise BadEncoding("submit.no_share", "a part has no share")
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
        pb.Acknowledgement(
            version=VERSION,
            collection=acknowledgement.collection,
            row=acknowledgement.row,
            receipt=_receipt(acknowledgement.receipt),
        )
    )


def decode_acknowledgement(data: bytes) -> Acknowledgement:
    """An acknowledgement, its lengths checked; `Receipt.holds` verifies the signature."""
    message = parse(pb.Acknowledgement, data)
    return Acknowledgement(
        exactly(message.collection, DIGEST_BYTES, "an acknowledgement's collection"),
        exactly(message.row, ROW_BYTES, "an acknowledgement's row"),
        _read_receipt(message.receipt),
    )


def encode_membership_request(asked: MembershipRequest) -> bytes:
    """A user's question whether her row was counted."""
    return serialize(
        pb.MembershipRequest(
            version=VERSION,
            collection=asked.collection,
            row=asked.row,
            user_key=asked.user_key,
            receipt=_receipt(asked.receipt),
            signature=asked.signature,
        )
    )


def decode_membership_request(data: bytes) -> MembershipRequest:
    """Such a question, its lengths checked; `MembershipRequest.verifies` says whether it is hers."""
    message = parse(pb.MembershipRequest, data)
    return MembershipRequest(
        exactly(message.collection, DIGEST_BYTES, "a membership request's collection"),
        exactly(message.row, ROW_BYTES, "a membership request's row"),
        exactly(message.user_key, PUBLIC_BYTES, "a membership request's user key"),
        _read_receipt(message.receipt),
        exactly(message.signature, SIGNATURE_BYTES, "a membership request's signature"),
    )


def encode_frozen_lists(lists: FrozenLists) -> bytes:
    """All signed lists of a freeze that is over."""
    return serialize(
        pb.FrozenLists(
            version=VERSION,
            announcements=encode_announcements(lists.announcements),
            frozen=encode_frozen_digest(lists.frozen),
            count=lists.count,
            root=lists.root,
        )
    )


def decode_frozen_lists(data: bytes) -> FrozenLists:
    """Such lists, their lengths checked; `FrozenLists.is_signed` verifies them."""
    message = parse(pb.FrozenLists, data)
    return FrozenLists(
        decode_announcements(message.announcements),
        decode_frozen_digest(message.frozen),
        within(message.count, 0, MAX_ROWS, "a frozen list's count"),
        exactly(message.root, DIGEST_BYTES, "a frozen list's root"),
    )


def encode_membership_proof(proof: MembershipProof) -> bytes:
    """What a shuffler shows of its list and of the frozen one."""
    return serialize(
        pb.MembershipProof(
            version=VERSION,
            lists=encode_frozen_lists(proof.lists),
            own=[_shown(one) for one in proof.own],
            counted=[_shown(one) for one in proof.counted],
        )
    )


def decode_membership_proof(data: bytes) -> MembershipProof:
    """Such a proof, its lengths checked; `peos.collection.membership` says what it proves."""
    message = parse(pb.MembershipProof, data)
    proof = MembershipProof(
        decode_frozen_lists(message.lists),
        tuple(map(_read_shown, message.own)),
        tuple(map(_read_shown, message.counted)),
    )
    within(max(len(proof.own), len(proof.counted)), 0, MOST_SHOWN, "the number of rows shown")
    return proof


def encode_receipt(receipt: Receipt) -> bytes:
    """A receipt by itself, as its user keeps it."""
    return serialize(_receipt(receipt))


def decode_receipt(data: bytes) -> Receipt:
    """A receipt that was kept."""
    message = pb.SubmissionReceipt()
    try:
        message.ParseFromString(data)
    except DecodeError:
        raise BadEncoding("submit.receipt", "these bytes are not a receipt") from None
    return _read_receipt(message)


def _receipt(receipt: Receipt) -> pb.SubmissionReceipt:
    path = b"".join(receipt.path)
    return pb.SubmissionReceipt(place=receipt.place, count=receipt.count, path=path, signature=receipt.signature)


def _read_receipt(message: pb.SubmissionReceipt) -> Receipt:
    return Receipt(
        within(message.place, 0, MAX_GROUP - 1, "a receipt's place"),
        within(message.count, 1, MAX_GROUP, "a receipt's count"),
        _read_path(message.path, "a receipt's path"),
        exactly(message.signature, SIGNATURE_BYTES, "a receipt's signature"),
    )


def _shown(one: ListProof) -> pb.ShownRow:
    return pb.ShownRow(place=one.place, row=one.row, path=b"".join(one.path))


def _read_shown(message: pb.ShownRow) -> ListProof:
    place = within(message.place, 0, MAX_ROWS - 1, "a shown row's place")
    return ListProof(
        place, exactly(message.row, ROW_BYTES, "a shown row"), _read_path(message.path, "a shown row's path")
    )


def _read_path(packed: bytes, what: str) -> tuple[bytes, ...]:
    if len(packed) % NODE_BYTES:
        raise BadEncoding("membership.path", f"{what} of {len(packed)} bytes is not made of nodes of {NODE_BYTES}")
    within(len(packed) // NODE_BYTES, 0, MAX_PATH, f"the length of {what}")
    return tuple(packed[at : at + NODE_BYTES] for at in range(0, len(packed), NODE_BYTES))
