"""One shuffler in memory, and the messages that it sends and takes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

import numpy as np

from peos.collection.freeze import Freeze
from peos.collection.submission import Part, Verdict, check_part, judge
from peos.collection.ticket import ID_BYTES
from peos.crypto.identity import Identity
from peos.crypto.kdf import Context
from peos.crypto.onion import OnionPrivateKey
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.base import Packed, PublicKey
from peos.errors import RemoteFault
from peos.protocols import Assignment
from peos.shuffle.bench import AbstractBench
from peos.shuffle.delivery_state import DeliveryState
from peos.shuffle.effects import Event, ReceivedVector
from peos.shuffle.inspect.machine import Inspection
from peos.shuffle.machine import Shuffler
from peos.shuffle.messages import Kind
from peos.shuffle.relay import Line, Relay
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

    shuffler_type: type[Shuffler] | None = None  # None: the protocol's
    workbench_type = Workbench
    relay_type = Relay
    inspection_type = Inspection

    def __init__(self, number: int, signed: bytes, identity: Identity, rng: Randomness, *, floor: int) -> None:
        self.number = number
        self.identity = identity
        self.rng = rng
        self.signed = documents.decode_signed_document(signed, floor=floor)
        self.document = self.signed.document
        self.encryption = self.document.encryption(floor=floor)
        self.fake_seed = rng.bytes(32)
        self.parts: dict[bytes, Part] = {}  # by id
        self.delivery_state = DeliveryState()
        self.durable: Vector | None = None  # the final vector, once stored
        self.reports: list[str] = []
        self.passes = 0

    @property
    def public(self) -> PublicKey:
        """The key under which rows are re-randomised."""
        assert self.encryption.public is not None, "only some protocols have one"
        return self.encryption.public

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
        machine_type = self.shuffler_type or self.document.protocol.machine
        self.machine = machine_type(self.number, self.document.schedule, context, self.rng)
        shares = b"".join(self.parts[row[:ID_BYTES]].share for row in frozen)
        self.lay_out(np.frombuffer(shares, np.uint8).reshape(len(frozen), -1))

    def lay_out(self, shares: Packed) -> None:
        """The frozen vector, on a bench."""
        self.bench: AbstractBench = self.encryption.bench(self.assignment, self)
        frozen = self.bench.frozen_room(self.number)
        frozen[: len(shares)] = shares
        self.bench.begin(self.number, frozen, self.fake_shares(self.fake_seed), self.fake_seed)

    @property
    def assignment(self) -> Assignment:
        """What this shuffler has to shuffle."""
        return self.document.assignment(self.number, self.context, len(self.frozen), len(self.document.dummies))

    def of_shares(self, rows: int, words: int, public: PublicKey) -> AbstractBench:
        """A bench for shares."""
        return self.workbench_type(rows, words, public, self.rng)

    def of_onions(self, number: int, line: Line) -> AbstractBench:
        """A bench for onions."""
        return self.relay_type(number, line, OnionPrivateKey.of(self.identity))

    def fake_shares(self, seed: bytes) -> U64:
        """What this shuffler draws of the fakes."""
        return self.encryption.own_fakes(self.assignment, seed)

    def erase(self) -> None:
        """Forget the shares, and every vector."""
        self.parts.clear()
        self.durable = None
        self.bench.vectors.clear()

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
