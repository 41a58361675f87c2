"""A collection in memory with each party's processor time kept apart: what `peos bench overhead` measures.

The parties are those of `peos.simulate`, so every message is encoded by its sender and decoded by its receiver. What
is not in it: processes, TLS, and the inspection of the dummies' rows.
"""

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final

import numpy as np

from peos.bench.machine import Row, seconds
from peos.collection.prepare import prepare
from peos.collection.submission import Part
from peos.collection.ticket import ID_BYTES, Ticket, issue
from peos.crypto.identity import Identity
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.base import PrivateKey, ZeroSource
from peos.ldp.local_hash import LocalHash
from peos.protocols import ShuffleProtocol
from peos.shuffle import combine
from peos.shuffle.effects import Effect, Event, Pass, Peel
from peos.shuffle.messages import Kind
from peos.shuffle.vectors import Workbench
from peos.simulate import Node, Simulation
from peos.simulate.node import Rpc
from peos.wire import submissions

SCALED_TO: Final = 1_000_000
COLD_REPORTS: Final = 8
_DOMAIN: Final = 1024


@dataclass(frozen=True)
class Measured:
    """One collection: what each party's work took, and what it sent."""

    users: int
    user_ms: float  # one report, randomised, split, encrypted without tables, and encoded
    user_bytes: int
    intake_s: float  # of the average shuffler: tickets and shares checked
    agree_s: float  # the freeze
    pass_s: float  # of all passes over the ciphertexts, of all holders
    shuffle_s: tuple[float, ...]  # of each shuffler, its passes included
    decrypt_s: float
    count_s: float
    agree_mb: float  # sent by the average shuffler
    shuffle_mb: tuple[float, ...]  # sent by each
    analyzer_mb: float  # received
    counts: dict[str, int]

    def costs(self) -> dict[str, float]:
        """What grows with n, by name."""
        shufflers = len(self.shuffle_s)
        return {
            "intake_s": self.intake_s,
            "agree_s": self.agree_s,
            "pass_s": self.pass_s,
            "shuffler_s": sum(self.shuffle_s) / shufflers,
            "shuffler_s_most": max(self.shuffle_s),
            "analyzer_s": self.decrypt_s,
            "count_s": self.count_s,
            "agree_mb": self.agree_mb,
            "shuffler_mb": sum(self.shuffle_mb) / shufflers,
            "shuffler_mb_most": max(self.shuffle_mb),
            "analyzer_mb": self.analyzer_mb,
        }


class BenchOfMany(Workbench):
    """Vectors on which zeros are made as for a million reports, from the tables that then pay."""

    @cached_property
    def zeros(self) -> ZeroSource:
        """This shuffler's own supply."""
        return self.public.zero_source(self._rng, expected=SCALED_TO)


class TimedNode(Node):
    """A shuffler that notes its processor time."""

    workbench_type = BenchOfMany

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.seconds: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def clocked(self, what: str) -> Iterator[None]:
        """What is done meanwhile is this shuffler's."""
        begun = time.process_time()
        try:
            yield
        finally:
            self.seconds[what] += time.process_time() - begun

    def submit(self, encoded: bytes) -> bytes:
        """As a shuffler takes in a part."""
        with self.clocked("intake"):
            return super().submit(encoded)

    def begin(self, *given: Any, **named: Any) -> None:
        """Laying out the vectors is part of the shuffle."""
        with self.clocked("shuffle"):
            super().begin(*given, **named)


class Timed(Simulation):
    """A simulation that charges work to the party that does it."""

    node_type = TimedNode
    received = 0  # bytes, by the analyzer

    def feed(self, node: Node, event: Event) -> None:
        """The machine, and what it asks for."""
        with _of(node).clocked("shuffle"):
            super().feed(node, event)

    def carry_out(self, node: Node, effect: Effect) -> None:
        """Passes are noted separately."""
        if isinstance(effect, Pass | Peel):
            with _of(node).clocked("pass"):
                super().carry_out(node, effect)
        else:
            super().carry_out(node, effect)

    def read(self, node: Node, sender: int, what: Rpc, messages: Sequence[bytes]) -> Event | None:
        """Decoding and checking is the receiver's work."""
        with _of(node).clocked("shuffle"):
            return super().read(node, sender, what, messages)

    def _collect(self, sender: int, messages: Sequence[bytes]) -> None:
        self.received += sum(map(len, messages))
        super()._collect(sender, messages)

    def prepared(self, report: U64, ticket: Ticket) -> tuple[Part, ...]:
        """One user's submission, on a device that has prepared nothing."""
        splitter = self.encryption.splitter(self.rng, 1)
        return prepare(self.digest, splitter, report, [ticket], self.rng)[0]


def measure(
    users: int, shufflers: int, protocol: ShuffleProtocol, key: PrivateKey | None = None, *, rng: Randomness
) -> Measured:
    """A collection of `users` reports of one word, without fakes; `key` where the protocol has one of a scheme."""
    mechanism = LocalHash(_DOMAIN, 4.0, d_prime=64)
    found = Timed(mechanism, protocol=protocol, shufflers=shufflers, rng=rng, key=key)
    if key is not None:  # a key's tables are made once
        key.decrypt(key.public.encrypt(np.zeros(1, np.uint64), key.public.zero_source(rng).zeros(1)))
    user_ms, user_bytes = _one_user(found)
    found.submit(found.mechanism.randomize(np.arange(users) % _DOMAIN, rng))
    _, freezing = seconds(found.freeze)
    nodes = [_of(node) for node in found.nodes]
    laid_out = sum(node.seconds["shuffle"] for node in nodes)
    agreed = found.traffic.sent.copy()
    found.shuffle()
    decrypting = time.process_time()
    words = found.decrypted()
    counting = time.process_time()
    owned = np.stack([dummy.words for dummy in found.dummies])
    reports = combine.without_dummies(words, owned, ())
    found.mechanism.tally(reports)
    counted = time.process_time()
    numbers = range(1, shufflers + 1)
    vectors, rows = found.traffic.vectors, len(words)
    passes, is_remasked = sum(node.passes for node in nodes), found.encryption.public is not None
    explicit = sum(number for kind, number in vectors.items() if kind is not Kind.HANDOVER) - 1
    return Measured(
        users=users,
        user_ms=user_ms,
        user_bytes=user_bytes,
        intake_s=sum(node.seconds["intake"] for node in nodes) / shufflers,
        agree_s=(freezing - laid_out) / shufflers,
        pass_s=sum(node.seconds["pass"] for node in nodes),
        shuffle_s=tuple(node.seconds["shuffle"] for node in nodes),
        decrypt_s=counting - decrypting,
        count_s=counted - counting,
        agree_mb=sum(agreed[number] for number in numbers) / shufflers / 1e6,
        shuffle_mb=tuple((found.traffic.sent[number] - agreed[number]) / 1e6 for number in numbers),
        analyzer_mb=found.received / 1e6,
        counts={
            "rows": rows,
            "rounds": len(found.document.schedule.rounds),
            "passes": passes,
            "ciphertext_vectors": vectors[Kind.HANDOVER] + 1,  # and the last holder's, to the analyzer
            "plaintext_vectors": explicit,
            "encryptions": rows,
            "rerandomisations": rows * passes if is_remasked else 0,
            "layers_removed": 0 if is_remasked else rows * passes,
            "decryptions": rows,
        },
    )


def per_user(small: Measured, large: Measured) -> Row:
    """What one more user costs: the slope between two sizes, so that tables and keys, made once, are not in it."""
    apart = large.users - small.users
    before = small.costs()
    return {name: (cost - before[name]) / apart for name, cost in large.costs().items()}


def _one_user(found: Timed) -> tuple[float, int]:
    """Milliseconds and bytes of one user's one report on a device that has prepared nothing."""
    rng = found.rng
    ids = [rng.bytes(ID_BYTES) for _ in range(COLD_REPORTS)]
    tickets = [issue(found.enrolment, found.digest, id_, Identity.generate(rng)) for id_ in ids]
    value = np.zeros(1, np.int64)

    def submission(ticket: Ticket) -> list[bytes]:
        parts = found.prepared(found.mechanism.randomize(value, rng), ticket)
        return [submissions.encode_part(part) for part in parts]

    took = []
    for ticket in tickets:
        encoded, each = seconds(partial(submission, ticket))
        took.append(each)
    return sorted(took)[COLD_REPORTS // 2] * 1e3, sum(map(len, encoded))


def _of(node: Node) -> TimedNode:
    assert isinstance(node, TimedNode), "the simulation was made of them"
    return node
