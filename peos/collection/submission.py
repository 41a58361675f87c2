"""One user's submission: a report split into one part a shuffler, bound together by a digest (protocol.md §6.3).

Part i carries its own salt and the salted hashes of all parts, so that every shuffler computes the same submission
digest while learning nothing of another's part. Freezing compares rows, which commit to it: a user, or a fault, that
gives different splittings under one id is not counted at all. By id alone, mixtures of two splittings would be.

The digest is signed with the user's key, which her ticket names: what one shuffler has seen of a submission does not
let it make another under the same ticket.
"""

import hashlib
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np

from peos.collection.document import Document
from peos.collection.ticket import ID_BYTES, Ticket, admits
from peos.crypto.identity import PUBLIC_BYTES, SIGNATURE_BYTES, verifies
from peos.crypto.kdf import DIGEST_BYTES
from peos.crypto.randomness import U64, Randomness
from peos.errors import RemoteFault
from peos.protocols import Encryption

SALT_BYTES: Final = 16


@dataclass(frozen=True, repr=False)
class Part:
    """What one shuffler gets: its share (encrypted for shuffler 1), and what binds it to the others."""

    collection: bytes
    shuffler: int
    id: bytes
    ticket: bytes
    user_key: bytes
    signature: bytes  # by the user's key, over the submission digest
    salt: bytes
    hashes: tuple[bytes, ...]
    share: bytes

    @property
    def digest(self) -> bytes:
        """The submission digest: SHA-256(collection ‖ id ‖ h_1 ‖ … ‖ h_r)."""
        return submission_digest(self.collection, self.id, self.hashes)

    @property
    def row(self) -> bytes:
        """What a shuffler keeps of the submission and compares with the others: id ‖ commitment.

        Equal rows are of one ticket, one user's key and one digest, unless SHA-256 collides: all have fixed lengths.
        """
        return self.id + hashlib.sha256(b"row" + self.ticket + self.user_key + self.digest).digest()

    def __repr__(self) -> str:
        return f"Part(of {self.id.hex()[:8]}… for shuffler {self.shuffler})"


class Verdict(Enum):
    """What to do with a part, given what is stored under its ticket."""

    STORE = "store"  # new: acknowledge once it is durable
    KNOWN = "known"  # the identical repeat: acknowledge
    CONFLICT = "conflict"  # another submission under a ticket that was used: refuse


def submission_digest(collection: bytes, id_: bytes, hashes: tuple[bytes, ...]) -> bytes:
    """SHA-256(collection ‖ id ‖ h_1 ‖ … ‖ h_r)."""
    return hashlib.sha256(b"".join((collection, id_, *hashes))).digest()


def bind(collection: bytes, ticket: Ticket, shares: tuple[bytes, ...], rng: Randomness) -> tuple[Part, ...]:
    """One part for each shuffler out of the shares' bytes, signed with the ticket's key."""
    salts = [rng.bytes(SALT_BYTES) for _ in shares]
    hashes = tuple(_hash(salt, share) for salt, share in zip(salts, shares, strict=True))
    signature = ticket.key.sign("submission", submission_digest(collection, ticket.id, hashes))
    user_key = ticket.key.public
    return tuple(
        Part(collection, number, ticket.id, ticket.signature, user_key, signature, salt, hashes, share)
        for number, (salt, share) in enumerate(zip(salts, shares, strict=True), start=1)
    )


def check_part(part: Part, document: Document, collection: bytes, encryption: Encryption, me: int) -> bytes:
    """Its row, once all that a shuffler asks of a part holds; RemoteFault says which condition fails.

    A part that passes can spoil its sender's own report only.
    """
    if part.collection != collection:
        raise _refused(
            "submit.collection", "the submission belongs to another collection", "fetch the invitation again"
        )
    if part.shuffler != me:
        raise _refused(
            "submit.shuffler", "the part is not the one for this shuffler", "send each part to the shuffler it names"
        )
    if len(part.hashes) != len(document.shufflers):
        raise _refused(
            "submit.hashes", "the part does not have one hash for each shuffler", "fetch the invitation again"
        )
    hashes = [("hash", hash_, DIGEST_BYTES) for hash_ in part.hashes]
    fixed = [
        ("id", part.id, ID_BYTES),
        ("ticket", part.ticket, SIGNATURE_BYTES),
        ("user key", part.user_key, PUBLIC_BYTES),
        ("signature", part.signature, SIGNATURE_BYTES),
        ("salt", part.salt, SALT_BYTES),
    ]
    for what, field, length in (*fixed, *hashes):
        if len(field) != length:
            raise _refused(
                "submit.field_length",
                f"the part's {what} has {len(field)} bytes, not {length}",
                "use a client of this version",
            )
    if len(part.share) != encryption.share_bytes(me):
        raise _refused(
            "submit.share_length", "the share has the wrong length", "use the mechanism that the document names"
        )
    if _hash(part.salt, part.share) != part.hashes[me - 1]:
        raise _refused("submit.share_hash", "the share does not match its hash", "send the stored submission again")
    if not admits(document.enrolment_key, part.ticket, document.scope(collection), part.id, part.user_key):
        raise _refused(
            "submit.ticket",
            "the ticket is not valid for this collection, id and user key",
            "ask the analyst for a ticket",
        )
    if document.study is not None and not document.study.asks(part.id):
        raise _refused(
            "submit.other_round",
            "this round asks others; your ticket is not for it",
            "wait for the invitation of another round of the study",
        )
    if not verifies(part.user_key, part.signature, "submission", part.digest):
        raise _refused(
            "submit.signature",
            "the submission is not signed by the ticket's user key",
            "answer with the key of the ticket",
        )
    encryption.check_share(part.share, me)
    return part.row


def judge(stored: bytes | None, new: bytes) -> Verdict:
    """One submission a ticket, and so one an id, which the ticket names: the row stored under it decides."""
    if stored is None:
        return Verdict.STORE
    return Verdict.KNOWN if stored == new else Verdict.CONFLICT


def plain_share(share: bytes) -> U64:
    """The words of a plaintext share."""
    return np.frombuffer(share, dtype="<u8").astype(np.uint64)


def _hash(salt: bytes, share: bytes) -> bytes:
    return hashlib.sha256(salt + share).digest()


def _refused(id_: str, sentence: str, hint: str) -> RemoteFault:
    return RemoteFault(id_, sentence, party="user", step="submission", hint=hint)
