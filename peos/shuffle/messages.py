"""What shufflers say to one another: small statements within an attempt, vectors, and signed notices about attempts.

Each statement and vector carries a header (collection, frozen list, attempt, step, from, to). A receiver keeps at most
one per header: identical bytes are ignored, different bytes end the attempt.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from peos.crypto.identity import Identity, verifies
from peos.crypto.kdf import Context

STATEMENT_BYTES: Final = 32


class Kind(IntEnum):
    """What a message within an attempt is."""

    COMMIT = 1  # hash of a hider's contribution to the round's seed
    REVEAL = 2  # the contribution
    CONFIRM = 3  # hash of the seed, to all shufflers
    SEED = 4  # a leaver's piece, as the seed of a stream
    PIECE = 5  # a leaver's piece, as an explicit vector
    ROOT = 6  # commits to a hider's vector after a round, to all shufflers
    HANDOVER = 7  # the ciphertexts
    CIPHER_ROOT = 8  # commits to the ciphertexts after a pass, to all shufflers
    DELIVERY = 9  # a final vector, to the analyzer
    PATH = 10  # where the dummies' rows are after a round, to all shufflers, once the output is delivered
    OPENING = 11  # the dummies' rows at every step, to all shufflers and the analyzer


VECTORS: Final = frozenset({Kind.PIECE, Kind.HANDOVER, Kind.DELIVERY, Kind.PATH, Kind.OPENING})
PUBLIC: Final = frozenset({Kind.CONFIRM, Kind.ROOT, Kind.CIPHER_ROOT})  # said to all shufflers; in the transcript


@dataclass(frozen=True, order=True)
class Step:
    """A place in the protocol: which round, and what is said there."""

    round: int
    kind: Kind

    def __str__(self) -> str:
        return f"round {self.round}, {self.kind.name.lower()}"


@dataclass(frozen=True)
class Header:
    """Where a message belongs. `receiver` 0 is the analyzer."""

    context: Context
    step: Step
    sender: int
    receiver: int


@dataclass(frozen=True, repr=False)
class Statement:
    """A message of exactly 32 bytes."""

    header: Header
    body: bytes

    def __repr__(self) -> str:
        return f"Statement({self.header.step}, from {self.header.sender} to {self.header.receiver})"


@dataclass(frozen=True)
class VectorHeader:
    """What precedes a vector: its shape, the hash of its bytes, and in a delivery the attempt's transcript."""

    header: Header
    rows: int
    row_bytes: int
    sha256: bytes
    transcript: bytes = b""


class NoticeKind(IntEnum):
    """What a shuffler says about a whole attempt."""

    ASK = 1  # where are you in this attempt?
    OPEN = 2  # this attempt begins (shuffler 1 alone says so)
    STORED = 3  # my final vector of this attempt is durable
    LOST = 4  # I left this attempt and shall never send anything of it
    TOMBSTONE = 5  # I delivered nothing, and never will


@dataclass(frozen=True)
class Notice:
    """What one shuffler says about an attempt; `transcript` is empty but in STORED."""

    kind: NoticeKind
    sender: int
    attempt: int
    transcript: bytes = b""


@dataclass(frozen=True)
class SignedNotice:
    """A notice as it crosses the wire, signed with its sender's identity."""

    context: Context  # of the frozen collection: its attempt is 0
    notice: Notice
    signature: bytes

    @classmethod
    def sign(cls, identity: Identity, context: Context, notice: Notice) -> "SignedNotice":
        """Sign what `notice` says of the frozen collection `context`."""
        return cls(context, notice, identity.sign("notice", *_fields(context, notice)))

    def verifies(self, public: bytes) -> bool:
        """Whether `public` signed this."""
        return verifies(public, self.signature, "notice", *_fields(self.context, self.notice))


@dataclass(frozen=True)
class SignedReceipt:
    """The analyzer's delivery receipt: it has the output of an attempt, and its senders may erase."""

    context: Context
    transcript: bytes
    signature: bytes

    @classmethod
    def sign(cls, identity: Identity, context: Context, transcript: bytes) -> "SignedReceipt":
        """Acknowledge the output of `context`'s attempt."""
        return cls(context, transcript, identity.sign("receipt", *_output(context, transcript)))

    def verifies(self, public: bytes) -> bool:
        """Whether the analyzer `public` signed this."""
        return verifies(public, self.signature, "receipt", *_output(self.context, self.transcript))


@dataclass(frozen=True)
class SignedReveal:
    """The hash of what the analyzer showed of its dummies, under its signature: two of them for one list convict it."""

    hash: bytes
    signature: bytes

    @classmethod
    def sign(cls, identity: Identity, context: Context, hash_: bytes) -> "SignedReveal":
        """Answer for what was shown of the frozen collection `context`."""
        return cls(hash_, identity.sign("revealed", context.collection, context.frozen, hash_))

    def verifies(self, public: bytes, context: Context) -> bool:
        """Whether the analyzer `public` signed this."""
        return verifies(public, self.signature, "revealed", context.collection, context.frozen, self.hash)


def _output(context: Context, transcript: bytes) -> tuple[bytes, ...]:
    return context.collection, context.frozen, context.attempt.to_bytes(4, "big"), transcript


def _fields(context: Context, notice: Notice) -> tuple[bytes, ...]:
    numbers = bytes([notice.kind, notice.sender]) + notice.attempt.to_bytes(4, "big")
    return context.collection, context.frozen, numbers, notice.transcript
