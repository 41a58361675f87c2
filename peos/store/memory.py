"""The store's contract in memory, for tests of what is built on it. Nothing here outlives the process."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from typing_extensions import override  # grpcio brings it; Python has it from 3.12 on

from peos.collection.lifecycle import State
from peos.collection.submission import Verdict, judge
from peos.collection.ticket import ID_BYTES
from peos.crypto.randomness import Randomness
from peos.errors import Conflict, LocalFault
from peos.ldp.base import Question
from peos.shuffle.delivery_state import DeliveryState
from peos.shuffle.streaming import Rows
from peos.store import audit, rules
from peos.store.base import (
    AuditEntry,
    Collection,
    Finished,
    Frozen,
    Judged,
    Lists,
    Plain,
    ShufflerStore,
    Submission,
    Vector,
)


@dataclass
class _Kept:
    """One collection and what belongs to it."""

    here: Collection
    shares: dict[bytes, bytes] = field(default_factory=dict, repr=False)
    rows: dict[bytes, bytes] = field(default_factory=dict)  # by id
    uncounted: set[bytes] = field(default_factory=set)
    refused: Counter[str] = field(default_factory=Counter)
    seed: bytes = field(default=b"", repr=False)
    vector: Vector | None = field(default=None, repr=False)
    lists: Lists | None = field(default=None, repr=False)  # once it is erased


class MemoryStore(ShufflerStore):
    """A store that is gone with the process."""

    def __init__(self, rng: Randomness, *, clock: Callable[[], float] = time.time) -> None:
        self._identity = rng.bytes(16)
        self._clock = clock
        self._kept: dict[bytes, _Kept] = {}
        self._log: list[AuditEntry] = []
        self._generation = 0
        self._changed("opened", {})

    @override
    def close(self) -> None:
        """Nothing to let go of."""

    @override
    def settle(self) -> None:
        """Nothing is left undone."""

    @property
    @override
    def identity(self) -> bytes:
        return self._identity

    @property
    @override
    def generation(self) -> int:
        return self._generation

    # Collections.

    @override
    def put_collection(
        self, digest: bytes, signed: bytes, roster: bytes, question: Question, state: State = State.DRAFT
    ) -> None:
        rules.require_first_state(state)
        known = self._kept.get(digest)
        if known is not None:
            if (known.here.signed, known.here.roster) != (signed, roster):
                raise Conflict(
                    "collection.differs", "this collection is kept here with other addresses or another signature"
                )
            return
        before = self.delivered_before(question)
        if before is not None:
            raise rules.answered_before(before)
        made = Collection(
            digest, signed, roster, question, state, "", 0, None, DeliveryState(), erased=False, lost=False
        )
        self._kept[digest] = _Kept(made)
        self._changed("accepted", {"collection": digest.hex(), "state": state.value})

    @override
    def collections(self) -> list[Collection]:
        return [kept.here for kept in self._kept.values()]

    @override
    def unfinished(self) -> list[Collection]:
        return [here for here in self.collections() if not rules.is_finished(here.state, erased=here.erased)]

    @override
    def finished(self) -> list[Finished]:
        return [
            Finished(here.digest, here.signed, here.roster, self._of(here.digest).lists is not None)
            for here in self.collections()
            if rules.is_finished(here.state, erased=here.erased)
        ]

    @override
    def collection(self, digest: bytes) -> Collection:
        return self._of(digest).here

    @override
    def set_state(self, digest: bytes, state: State, reason: str = "") -> None:
        kept = self._of(digest)
        there = rules.next_state(kept.here, state)
        if there is None:
            return
        kept.here = replace(kept.here, state=there, reason=reason)
        self._changed("state", {"collection": digest.hex(), "state": state.value, "reason": reason})

    @override
    def delivered_before(self, question: Question) -> bytes | None:
        return next((here.digest for here in self._asking(question) if rules.is_answered(here)), None)

    @override
    def asked_since(self, analyzer: bytes, moment: float) -> list[str]:
        came = [entry.fields["collection"] for entry in self._log if entry.event == "accepted" and entry.time >= moment]
        return rules.asked_by(analyzer, [self.collection(bytes.fromhex(str(digest))) for digest in came])

    @override
    def note_refused(self, digest: bytes, reasons: Mapping[str, int]) -> None:
        rules.require_reasons(reasons)
        self._of(digest).refused.update(reasons)

    @override
    def refused(self, digest: bytes) -> dict[str, int]:
        return dict(self._of(digest).refused)

    # Submissions.

    @override
    def submit_many(self, submissions: Sequence[Submission]) -> list[Judged]:
        return [self._take(one) for one in submissions]

    def _take(self, one: Submission) -> Judged:
        kept, id_ = self._kept.get(one.collection), one.row[:ID_BYTES]
        if kept is None:
            return rules.unknown(one.collection)
        stored = kept.rows.get(id_)
        refusal = rules.closed(kept.here.state, lost=kept.here.lost, erased=kept.here.erased)
        if stored is None and refusal is not None:
            return refusal
        verdict = judge(stored, one.row)
        if verdict is Verdict.STORE:
            kept.shares[id_], kept.rows[id_] = one.share, one.row
            kept.here = replace(kept.here, count=kept.here.count + 1)
        elif verdict is Verdict.CONFLICT:
            kept.refused[verdict.value] += 1
        return verdict

    @override
    def count(self, digest: bytes) -> int:
        return self._of(digest).here.count

    @override
    def rows(self, digest: bytes) -> Iterator[bytes]:
        return iter(sorted(self._of(digest).rows.values()))

    # The freeze.

    @override
    def put_frozen(self, digest: bytes, frozen: bytes, announcements: bytes, rows: Iterable[bytes]) -> None:
        kept = self._of(digest)
        if not rules.require_freezable(kept.here, frozen, self._asking(kept.here.question)):
            return
        left_out, count = rules.uncounted(self.rows(digest), rows)
        kept.uncounted = set(left_out)
        kept.here = replace(kept.here, frozen=Frozen(frozen, count, announcements), state=State.FROZEN, reason="")
        self._changed("frozen", {"collection": digest.hex(), "frozen": frozen.hex()})

    @override
    def frozen_rows(self, digest: bytes) -> Iterator[bytes]:
        kept = self._of(digest)
        rules.require_frozen(kept.here)
        return (row for row in self.rows(digest) if row[:ID_BYTES] not in kept.uncounted)

    @override
    def shares(self, digest: bytes) -> Iterator[bytes]:
        kept = self._of(digest)
        return (kept.shares[row[:ID_BYTES]] for row in self.frozen_rows(digest))

    @override
    def fake_seed(self, digest: bytes, rng: Randomness) -> bytes:
        kept = self._of(digest)
        rules.require_frozen(kept.here)
        if not kept.seed:
            kept.seed = rng.bytes(rules.SEED_BYTES)
            self._changed("fakes", {"collection": digest.hex()})
        return kept.seed

    # Delivery.

    @override
    def put_delivery_state(self, digest: bytes, delivery_state: DeliveryState, vector: Rows | None = None) -> None:
        kept = self._of(digest)
        rules.require_standing(kept.here, delivery_state, vector, has_vector=kept.vector is not None)
        if delivery_state == kept.here.delivery_state:
            rules.require_same_vector(same=vector is None or _is_same(kept.vector, vector))
            return
        if vector is not None:
            kept.vector = vector[:].copy()
            kept.vector.flags.writeable = False
        elif delivery_state.phase not in rules.KEEPS_VECTOR:
            kept.vector = None
        kept.here = replace(kept.here, delivery_state=delivery_state)
        self._changed("standing", rules.delivery_state_fields(digest, delivery_state))

    @override
    def delivery_state(self, digest: bytes) -> DeliveryState:
        return self._of(digest).here.delivery_state

    @override
    def final_vector(self, digest: bytes) -> Vector:
        vector = self._of(digest).vector
        if vector is None:
            raise LocalFault("store.no_vector", "no final vector is kept for this collection")
        return vector

    @override
    def erase(self, digest: bytes) -> None:
        kept = self._of(digest)
        if kept.here.erased:
            return
        lists = self.lists(digest) if kept.here.frozen is not None else None
        self._kept[digest] = _Kept(replace(kept.here, erased=True), refused=kept.refused, lists=lists)
        self._changed("erased", {"collection": digest.hex()})

    # What users may still ask.

    @override
    def lists(self, digest: bytes) -> Lists:
        kept = self._of(digest)
        rules.require_listed(kept.here)
        if kept.here.erased:
            if kept.lists is None:
                raise rules.rows_are_gone()
            return kept.lists
        own = list(self.rows(digest))
        return Lists(own, [row for row in own if row[:ID_BYTES] not in kept.uncounted])

    @override
    def forget_rows(self, digest: bytes) -> None:
        self._of(digest).lists = None

    # The audit log.

    @override
    def audit(self, event: str, fields: Mapping[str, Plain]) -> None:
        last = (self._log[-1].number, self._log[-1].hash) if self._log else audit.START
        self._log.append(audit.following(last, self._clock(), event, fields))

    @override
    def audit_entries(self) -> Iterator[AuditEntry]:
        return iter(list(self._log))

    @override
    def verify_audit(self) -> int:
        return audit.verify(self._log, None)

    def _changed(self, event: str, fields: Mapping[str, Plain]) -> None:
        self.audit(event, fields)
        self._generation += 1

    def _of(self, digest: bytes) -> _Kept:
        if digest not in self._kept:
            raise rules.unknown(digest)
        return self._kept[digest]

    def _asking(self, question: Question) -> list[Collection]:
        return [kept.here for kept in self._kept.values() if kept.here.question == question]


def _is_same(kept: Vector | None, vector: Rows) -> bool:
    return kept is not None and np.array_equal(kept, vector[:])
