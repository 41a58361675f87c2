"""One collection of users in pairs, every message of it recorded as it crosses the wire.

The two users of a pair carry the same word, so the output itself shows where the two rows of a pair are; which of them
is which is what the adversary bets on. Everything is the real code: tickets, freeze, shuffle and delivery, through the
encodings of the wire. Only the keys are small, which no defence against linking depends on. The inspection, which comes
afterwards, shows rows of dummies; their places before and after are given to the adversary, and no more of it.
"""

import hashlib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from peos.collection.submission import Part
from peos.crypto.identity import Identity
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.base import PublicKey
from peos.crypto.schemes.paillier import PaillierPrivateKey
from peos.errors import BadEncoding
from peos.ldp import GRR
from peos.protocols.peos import ShareEncryption
from peos.shuffle.effects import Effect, Event, Pass, TimedOut
from peos.shuffle.messages import Notice, Statement, VectorHeader
from peos.simulate import Node, Simulation
from peos.simulate.node import Rpc, Traffic
from peos.v1 import shuffle_pb2 as pb
from peos.wire import shuffles

FAKES: Final = 16
CHUNK: Final = 1000  # bytes, so that rows of short vectors travel in many chunks, some across two
Index = NDArray[np.intp]


@dataclass
class Wire(Traffic):
    """Traffic that keeps what was sent, in order: the sender, and its messages."""

    log: list[tuple[int, tuple[bytes, ...]]] = field(default_factory=list, repr=False)

    def count(self, sender: int, encoded: Sequence[bytes]) -> None:
        """Note messages as they leave, and keep them."""
        super().count(sender, encoded)
        self.log.append((sender, tuple(encoded)))


@dataclass(frozen=True, eq=False)
class Carried:
    """A vector as it was sent: its header, its rows as bytes, and which chunk brought each row, of which size."""

    header: VectorHeader
    rows: NDArray[np.uint8]
    chunk: NDArray[np.float64]
    size: NDArray[np.float64]


class Keys(Node):
    """A shuffler that may work with a key that lacks a defence."""

    def __init__(self, number: int, signed: bytes, identity: Identity, rng: Randomness, *, floor: int) -> None:
        super().__init__(number, signed, identity, rng, floor=floor)
        assert isinstance(self.encryption, ShareEncryption), "the collection's protocol has a scheme"
        self.encryption = replace(self.encryption, public=self.key_in_use(self.public))

    def key_in_use(self, public: PublicKey) -> PublicKey:
        """The key as it is."""
        return public


class PairedCollection(Simulation):
    """A collection that loses its first attempts, each at the latest moment at which one can be lost.

    Every vector has reached its shuffler then, and the last holder crashes in its pass over the ciphertexts.
    """

    node_type: type[Node] = Keys

    def __init__(
        self, key: PaillierPrivateKey, rng: Randomness, *, shufflers: int = 3, pairs: int = 50, lost: int = 1
    ) -> None:
        super().__init__(GRR(2, 1.0), shufflers=shufflers, fakes=FAKES, rng=rng, key=key)
        self.private = key
        self.wire = Wire()
        self.traffic = self.wire
        self.words: list[Statement] = []
        self.notices: list[tuple[Notice, int]] = []  # with their receivers
        self._lost = lost
        self._crashed: deque[Node] = deque()
        self._collect_all(pairs)

    def _collect_all(self, pairs: int) -> None:
        reports = np.repeat(self.rng.uint64(pairs), 2)[self.rng.permutation(2 * pairs)]
        self.submit(reports.reshape(-1, 1))
        self.freeze()
        begun = len(self.wire.log)
        with patch.object(shuffles, "encode_vector", partial(shuffles.encode_vector, chunk=CHUNK)):
            self.shuffle()
        self.vectors = [_carried(sent) for _, sent in self.wire.log[begun:] if len(sent) > 1]

    # What is recorded on the way.

    def parts_of(self, reports: U64, ids: Sequence[bytes]) -> list[tuple[Part, ...]]:
        """Everybody's parts, in the order in which they are submitted."""
        self.parts = super().parts_of(reports, ids)
        return self.parts

    def read(self, node: Node, sender: int, what: Rpc, messages: Sequence[bytes]) -> Event | None:
        """Keep words and notices as they arrive."""
        if what is Rpc.WORD:
            self.words.append(shuffles.decode_statement(messages[0]))
        if what is Rpc.NOTICE:
            self.notices.append((shuffles.decode_notice(messages[0]).notice, node.number))
        return super().read(node, sender, what, messages)

    def carry_out(self, node: Node, effect: Effect) -> None:
        """Do what a machine asks, but for the last pass of an attempt that is to be lost."""
        last = len(self.document.schedule.passes)
        if isinstance(effect, Pass) and effect.hop == last and node.machine.delivery_state.attempt <= self._lost:
            self._crashed.append(node)
            return
        super().carry_out(node, effect)

    def shuffle(self) -> None:
        """Until all is delivered, through the attempts that are lost."""
        super().shuffle()
        while self._crashed:
            self.feed(self._crashed.popleft(), TimedOut())
            super().shuffle()

    @property
    def trace(self) -> bytes:
        """Who sent how many messages of which sizes in which order, and which notices were given; as a hash.

        Up to the receipt: what the inspection shows of dummies' rows is as long as their places make it.
        """
        told = [(notice.kind, notice.sender, notice.attempt, receiver) for notice, receiver in self.notices]
        sizes = [(sender, tuple(map(len, sent))) for sender, sent in self.wire.log]
        return hashlib.sha256(repr((sizes, told)).encode()).digest()


def _carried(messages: tuple[bytes, ...]) -> Carried:
    """A vector out of its messages, whatever the order of its chunks."""
    header = shuffles.decode_vector_header(messages[0])
    whole = bytearray(header.rows * header.row_bytes)
    chunk, size = np.zeros(header.rows), np.zeros(header.rows)
    for number, data in enumerate(messages[1:]):
        piece = pb.VectorChunk.FromString(data)
        whole[piece.offset : piece.offset + len(piece.data)] = piece.data
        first, end = piece.offset // header.row_bytes, -(-(piece.offset + len(piece.data)) // header.row_bytes)
        chunk[first:end], size[first:end] = number, len(data)
    rows = np.frombuffer(bytes(whole), np.uint8).reshape(header.rows, header.row_bytes)
    if hashlib.sha256(rows.tobytes()).digest() != header.sha256:
        raise BadEncoding("test.badencoding", "a recorded vector is not the one that was announced")
    return Carried(header, rows, chunk, size)
