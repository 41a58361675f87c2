"""One shuffler in memory, and the messages that it sends and takes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

import numpy as np

from peos.collection.document import ID_BYTES
from peos.collection.freeze import Freeze
from peos.collection.submission import Part, Verdict, check_part, judge
from peos.crypto.identity import Identity
from peos.crypto.kdf import Context
from peos.crypto.onion import OnionKeys
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.base import Packed, PublicKey
from peos.errors import RemoteFault
from peos.shuffle import fakes
from peos.shuffle.effects import Event, ReceivedVector
from peos.shuffle.inspection import Inspection
from peos.shuffle.messages import Kind
from peos.shuffle.shuffler import Shuffler
from peos.shuffle.standing import Standing
from peos.shuffle.vectors import Vector, Workbench
from peos.wire import documents, shuffles, submissions

ANALYZER: Final = 0
USERS: Final = -1


class Rpc(Enum):
    """What a message is; on a real wire the name of the call says it."""

    WORD = "word"
    VECTOR = "vector"
    NOTICE = "notice"
    RECEIPT = "receipt"


@dataclass(frozen=True)
class Message:
    """Encoded bytes under way from one party to another."""

    sender: int
    receiver: int
    rpc: Rpc
    encoded: Sequence[bytes] = field(repr=False)


@dataclass
class Traffic:
    """What was sent, by sender (0 the analyzer, −1 the users): bytes, messages, and whole vectors by kind."""

    sent: Counter[int] = field(default_factory=Counter)
    messages: Counter[int] = field(default_factory=Counter)
    vectors: Counter[Kind] = field(default_factory=Counter)

    def count(self, sender: int, encoded: Sequence[bytes]) -> None:
        """Note messages as they leave."""
        self.sent[sender] += sum(map(len, encoded))
        self.messages[sender] += len(encoded)


class Node:
    """One shuffler: its store of submissions, its side of the freeze, its machine and its vectors."""

    shuffler_type = Shuffler
    workbench_type = Workbench
    inspection_type = Inspection

    def __init__(self, number: int, signed: bytes, identity: Identity, rng: Randomness, *, floor: int) -> None:
        self.number = number
        self.identity = identity
        self.rng = rng
        self.signed = documents.decode_signed_document(signed, floor=floor)
        self.document = self.signed.document
        self.open_keys(floor)
        self.fake_seed = rng.bytes(32)
        self.parts: dict[bytes, Part] = {}  # by id
        self.standing = Standing()
        self.durable: Vector | None = None  # the final vector, once stored
        self.reports: list[str] = []
        self.passes = 0

    def open_keys(self, floor: int) -> None:
        """Take the document's encryption key, checked."""
        self.public = self.document.encryption_key(floor=floor)

    @property
    def encryption(self) -> PublicKey | OnionKeys:
        """What users' parts are checked against."""
        return self.public

    def submit(self, encoded: bytes) -> bytes:
        """Take in a user's part; the row that is acknowledged, or RemoteFault."""
        part = submissions.decode_part(encoded)
        row = check_part(part, self.document, self.signed.digest, self.encryption, self.number)
        stored = self.parts.get(part.id)
        if judge(stored.row if stored else None, row) is Verdict.CONFLICT:
            raise RemoteFault(
                "submit.ticket_used", "another submission was made under this ticket", party="user", step="submission"
            )
        self.parts[part.id] = part
        return row

    @property
    def listed(self) -> tuple[bytes, ...]:
        """This shuffler's list."""
        return tuple(sorted(part.row for part in self.parts.values()))

    def start_freeze(self) -> Freeze:
        """This shuffler's list, against the others'."""
        identities = tuple(member.identity for member in self.document.shufflers)
        return Freeze(self.number, identities, self.signed.digest, self.listed, self.identity)

    def begin(self, frozen: Sequence[bytes], context: Context) -> None:
        """Lay out the frozen vectors, fakes last, and wait for the first attempt to be opened."""
        self.context = context
        self.frozen = tuple(frozen)
        self.rows = len(frozen) + self.document.fakes
        self.machine = self.shuffler_type(self.number, self.document.schedule, context, self.rng)
        shares = b"".join(self.parts[row[:ID_BYTES]].share for row in frozen)
        self.lay_out(np.frombuffer(shares, np.uint8).reshape(len(frozen), -1))

    def lay_out(self, shares: Packed) -> None:
        """The frozen vector, on a bench."""
        bench = self.workbench_type(self.rows, self.document.mechanism.words, self.public, self.rng)
        bench.lay_out(self.number, shares, self.fake_shares(self.fake_seed))
        self.bench = bench

    def fake_shares(self, seed: bytes) -> U64:
        """This shuffler's shares of the fakes."""
        return fakes.fake_shares(seed, self.context, self.document.fakes, self.document.mechanism.words)

    def identity_of(self, number: int) -> bytes:
        """The identity key of a shuffler."""
        return self.document.shufflers[number - 1].identity

    def read_vector(self, messages: Sequence[bytes]) -> Event | None:
        """Take in a vector from another shuffler; nothing is to be done about one that is here already."""
        header, rows = shuffles.decode_vector(messages)
        handle = self.bench.expect(header)
        if handle is None:
            return None
        self.bench.take_in(handle, header, rows)
        return ReceivedVector(header.header, handle)
