"""The analyzer's durable state, in one SQLite file: collections, sealed secrets, deliveries, receipts, results.

The serving process and the commands write to it at the same time: every change is one transaction, synchronous before
it returns, and a state changes only as the life-cycle table allows. Vectors are files next to it (`delivery_receiver`).

A change that raised may be there all the same; so each may be repeated, and what is there already stays as it is.
"""

import json
import time
from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from peos.collection.lifecycle import OVER, State, way
from peos.collection.study import StudyState
from peos.crypto.kdf import Context
from peos.errors import Conflict, Unknown, WrongInput
from peos.shuffle.messages import Header, Kind, Step, VectorHeader
from peos.store import audit
from peos.store.base import AuditEntry, Plain
from peos.store.database import Database, Layout

_STUDIES: Final = (
    """
    CREATE TABLE study (
        name TEXT PRIMARY KEY, id BLOB NOT NULL UNIQUE, request TEXT NOT NULL, words TEXT NOT NULL,
        state TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '', created REAL NOT NULL, result TEXT
    ) STRICT
    """,
    """
    CREATE TABLE round (  -- the collections of a study, in the order in which they were asked
        digest BLOB PRIMARY KEY REFERENCES collection, study TEXT NOT NULL REFERENCES study
    ) STRICT
    """,
)
_TABLES: Final = (
    """
    CREATE TABLE collection (
        digest BLOB PRIMARY KEY, name TEXT NOT NULL UNIQUE, request TEXT NOT NULL, words TEXT NOT NULL,
        proposal BLOB NOT NULL,           -- a Proposal: the signed document, and everybody's card
        key BLOB, dummies BLOB NOT NULL,  -- sealed; the key is erased with the vectors
        parts BLOB,                       -- the dummies' parts, sealed
        opened_at REAL,
        state TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '', since REAL NOT NULL,
        done INTEGER NOT NULL DEFAULT 0, total INTEGER NOT NULL DEFAULT 0,
        receipt BLOB, result TEXT
    ) STRICT
    """,
    """
    CREATE TABLE dummy (   -- those that every shuffler has acknowledged
        digest BLOB NOT NULL, number INTEGER NOT NULL, bytes INTEGER NOT NULL, PRIMARY KEY (digest, number)
    ) STRICT
    """,
    """
    CREATE TABLE delivery (
        digest BLOB NOT NULL, sender INTEGER NOT NULL, frozen BLOB NOT NULL, attempt INTEGER NOT NULL,
        round INTEGER NOT NULL, rows INTEGER NOT NULL, row_bytes INTEGER NOT NULL, sha256 BLOB NOT NULL,
        transcript BLOB NOT NULL, PRIMARY KEY (digest, sender)
    ) STRICT
    """,
    """
    CREATE TABLE erasing (  -- erased above, and perhaps not yet from the write-ahead log
        digest BLOB PRIMARY KEY
    ) STRICT
    """,
    """
    CREATE TABLE unopened ( -- the analyst's word to publish though a shuffler's rows were not seen
        digest BLOB NOT NULL, shuffler INTEGER NOT NULL, PRIMARY KEY (digest, shuffler)
    ) STRICT
    """,
)
LAYOUT: Final = Layout(
    what="the analyzer's database",
    version=2,
    application=0x70656F61,
    tables=(*_TABLES, *_STUDIES, *audit.TABLES),
    steps={0: audit.TRIGGERS, 1: _STUDIES},
    unmarked=frozenset({"collection", "dummy", "delivery", "erasing", "unopened", "audit"}),
)
_ANALYZER: Final = 0


@dataclass(frozen=True)
class CollectionRow:
    """One collection as the store has it."""

    digest: bytes
    name: str
    request: str
    words: str  # the guarantees that were planned, a sentence a line
    proposal: bytes = field(repr=False)
    key: bytes | None = field(repr=False)
    dummies: bytes = field(repr=False)
    parts: bytes | None = field(repr=False)
    opened_at: float | None
    state: State
    reason: str
    since: float  # when the state was reached
    done: int
    total: int
    receipt: bytes | None = field(repr=False)
    result: str | None = field(repr=False)

    @property
    def expected(self) -> int:
        """How many users were expected when it was created."""
        return int(json.loads(self.request)["users"])


@dataclass(frozen=True)
class StudyRow:
    """One study as the store has it. `request` is the spec that it was asked with."""

    name: str
    id: bytes
    request: str
    words: str
    state: StudyState
    reason: str
    created: float
    result: str | None = field(repr=False)


class Store:
    """The analyzer's database. Any thread may call; each call is short."""

    def __init__(self, file: Path, *, changed: Callable[[], object] = lambda: None) -> None:
        self._changed = changed  # called after a change that another process may be waiting for
        self._base = Database(file, LAYOUT, threads=True)
        self._base.require_sound()

    def close(self) -> None:
        """Close the database; a thread that is still at work gets an error, not a database that vanishes under it."""
        self._base.close()

    def add(
        self,
        *,
        digest: bytes,
        name: str,
        request: str,
        words: str,
        proposal: bytes,
        key: bytes,
        dummies: bytes,
        study: str | None = None,
    ) -> None:
        """A new collection, in draft; of a study the next round."""
        row = (digest, name, request, words, proposal, key, dummies, State.DRAFT.value, time.time())
        with self._base.transaction():
            if self._base.row("SELECT 1 FROM collection WHERE name = ?", name):
                raise WrongInput(
                    "input.name_taken", f"there is a collection {name} already", hint="choose another name"
                )
            self._base.run(
                "INSERT INTO collection (digest, name, request, words, proposal, key, dummies, state, since) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                *row,
            )
            if study is not None:
                self._base.run("INSERT INTO round VALUES (?, ?)", digest, study)
            self._line("created", {"collection": digest.hex(), "name": name})

    # Studies.

    def add_study(self, name: str, id_: bytes, request: str, words: str) -> None:
        """A new study, of which nothing was asked yet."""
        with self._base.transaction():
            if self._base.row("SELECT 1 FROM study WHERE name = ?", name):
                raise WrongInput("input.name_taken", f"there is a study {name} already", hint="choose another name")
            self._base.run(
                "INSERT INTO study (name, id, request, words, state, created) VALUES (?, ?, ?, ?, ?, ?)",
                *(name, id_, request, words, StudyState.RUNNING, time.time()),
            )
            self._line("study created", {"study": id_.hex(), "name": name})

    def study(self, name: str) -> StudyRow | None:
        """The study of that name, if there is one."""
        row = self._base.row("SELECT * FROM study WHERE name = ?", name)
        return None if row is None else _study(row)

    def studies(self) -> list[StudyRow]:
        """Every study, by name."""
        return [_study(row) for row in self._base.rows("SELECT * FROM study ORDER BY name")]

    def rounds(self, study: str) -> list[CollectionRow]:
        """The collections of a study, in the order in which they were asked."""
        query = "SELECT collection.* FROM collection JOIN round USING (digest) WHERE study = ? ORDER BY round.rowid"
        return [_kept(row) for row in self._base.rows(query, study)]

    def study_of(self, digest: bytes) -> StudyRow | None:
        """The study that a collection is a round of."""
        row = self._base.row("SELECT study.* FROM study JOIN round ON study = name WHERE digest = ?", digest)
        return None if row is None else _study(row)

    def end_study(self, name: str, state: StudyState, reason: str = "", result: str | None = None) -> None:
        """Nothing more is asked of it; what it ended with stays."""
        with self._base.transaction():
            done = self._base.run(
                "UPDATE study SET state = ?, reason = ?, result = ? WHERE name = ? AND state = ?",
                *(state, reason, result, name, StudyState.RUNNING),
            )
            if done.rowcount:
                self._line("study ended", {"study": name, "state": state, "reason": reason})

    def all(self) -> list[CollectionRow]:
        """Every collection, by name."""
        return [_kept(row) for row in self._base.rows("SELECT * FROM collection ORDER BY name")]

    def live(self, also: Set[bytes] = frozenset()) -> list[CollectionRow]:
        """Those for which something is left to do, by name: not over, or with secrets; and `also` those named."""
        query = "SELECT * FROM collection WHERE state NOT IN (?, ?) OR key IS NOT NULL OR parts IS NOT NULL"
        found = {kept.digest: kept for kept in map(_kept, self._base.rows(query, *OVER))}
        return sorted((*found.values(), *map(self.get, also - found.keys())), key=lambda kept: kept.name)

    def over(self) -> list[tuple[bytes, str, bool]]:
        """Digest and name of each that is over, and whether it was published."""
        found = self._base.rows("SELECT digest, name, state FROM collection WHERE state IN (?, ?)", *OVER)
        return [(row["digest"], row["name"], row["state"] == State.PUBLISHED) for row in found]

    def over_proposals(self) -> list[tuple[bytes, bytes]]:
        """Digest and proposal of each that is over."""
        found = self._base.rows("SELECT digest, proposal FROM collection WHERE state IN (?, ?)", *OVER)
        return [(row["digest"], row["proposal"]) for row in found]

    def named(self, name: str) -> CollectionRow | None:
        """The collection of that name, if there is one."""
        rows = self._base.rows("SELECT * FROM collection WHERE name = ?", name)
        return _kept(rows[0]) if rows else None

    def get(self, digest: bytes) -> CollectionRow:
        """The collection of that digest; Unknown if there is none."""
        rows = self._base.rows("SELECT * FROM collection WHERE digest = ?", digest)
        if not rows:
            raise Unknown(
                "collection.unknown", "there is no such collection here", hint="compare the digest with the analyzer's"
            )
        return _kept(rows[0])

    def put_parts(self, digest: bytes, parts: bytes) -> bytes:
        """Keep the dummies' sealed parts, unless some are kept already; what is kept is what is sent."""
        with self._base.transaction():
            self._base.run("UPDATE collection SET parts = ? WHERE digest = ? AND parts IS NULL", parts, digest)
            row = self._base.row("SELECT parts FROM collection WHERE digest = ?", digest)
        return cast(bytes, row["parts"])

    def dummy_taken(self, digest: bytes, number: int, sent: int) -> None:
        """Every shuffler acknowledged this dummy, of which so many bytes were sent."""
        with self._base.transaction():
            done = self._base.run("INSERT OR IGNORE INTO dummy VALUES (?, ?, ?)", digest, number, sent)
            if done.rowcount:
                self._line("dummy submitted", {"collection": digest.hex(), "number": number})

    def dummies_taken(self, digest: bytes) -> frozenset[int]:
        """The dummies, by number, that every shuffler has acknowledged."""
        return frozenset(row["number"] for row in self._base.rows("SELECT number FROM dummy WHERE digest = ?", digest))

    def dummy_bytes(self, digest: bytes) -> int:
        """How many bytes of dummies were sent and acknowledged."""
        return int(
            self._base.rows("SELECT coalesce(sum(bytes), 0) AS sent FROM dummy WHERE digest = ?", digest)[0]["sent"]
        )

    def move(self, digest: bytes, there: State, reason: str = "") -> bool:
        """To another state, through those between; False if it is there, LocalFault if no way leads there."""
        with self._base.transaction():
            has_moved = _move(self._base, digest, there, reason)
        self._changed()
        return has_moved

    def progress(self, digest: bytes, done: int, total: int) -> None:
        """How far the decryption is."""
        with self._base.transaction():
            self._base.run("UPDATE collection SET done = ?, total = ? WHERE digest = ?", done, total, digest)

    def deliveries(self, digest: bytes) -> list[VectorHeader]:
        """The vectors that are here whole."""
        return [
            _header(row) for row in self._base.rows("SELECT * FROM delivery WHERE digest = ? ORDER BY sender", digest)
        ]

    def add_delivery(self, header: VectorHeader) -> None:
        """A vector is here whole, its file durable; another of the same sender is a Conflict."""
        place = header.header
        row = (
            *(place.context.collection, place.sender, place.context.frozen, place.context.attempt),
            *(place.step.round, header.rows, header.row_bytes, header.sha256, header.transcript),
        )
        with self._base.transaction():
            query = "SELECT * FROM delivery WHERE digest = ? AND sender = ?"
            known = self._base.row(query, place.context.collection, place.sender)
            if known is not None:
                if tuple(known) != row:
                    raise Conflict(
                        "delivery.vector_exists", f"another vector of shuffler {place.sender} is here already"
                    )
                return
            self._base.run("INSERT INTO delivery VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", *row)
            fields = {"shuffler": place.sender, "attempt": place.context.attempt, "rows": header.rows}
            self._line("vector", {"collection": place.context.collection.hex(), **fields})

    def put_receipt(self, digest: bytes, receipt: bytes) -> None:
        """The output is complete: its receipt, and with it the state."""
        with self._base.transaction():
            self._base.run("UPDATE collection SET receipt = ? WHERE digest = ? AND receipt IS NULL", receipt, digest)
            _move(self._base, digest, State.DELIVERED, "")
        self._changed()

    def publish_without(self, digest: bytes, shufflers: Collection[int]) -> None:
        """The analyst's word: publish, though the rows of these were not seen."""
        with self._base.transaction():
            for who in sorted(shufflers):
                self._base.run("INSERT OR IGNORE INTO unopened VALUES (?, ?)", digest, who)
            told = ", ".join(map(str, sorted(shufflers)))
            self._line("published unopened", {"collection": digest.hex(), "shufflers": told})
        self._changed()

    def unopened(self, digest: bytes) -> frozenset[int]:
        """The shufflers without whose rows the analyst said to publish."""
        rows = self._base.rows("SELECT shuffler FROM unopened WHERE digest = ?", digest)
        return frozenset(row["shuffler"] for row in rows)

    def put_result(self, digest: bytes, result: str) -> None:
        """Publish, once: what is published stays."""
        with self._base.transaction():
            _move(self._base, digest, State.PUBLISHED, "")
            self._base.run("UPDATE collection SET result = ? WHERE digest = ? AND result IS NULL", result, digest)

    def erase(self, digest: bytes) -> None:
        """Forget the decryption key, and with it whatever could still be decrypted; `settle` completes it."""
        with self._base.transaction():
            kept = "WHERE digest = ? AND coalesce(key, parts) IS NOT NULL"
            if self._base.run(f"UPDATE collection SET key = NULL, parts = NULL {kept}", digest).rowcount:  # noqa: S608 - fixed
                self._base.run("INSERT OR IGNORE INTO erasing VALUES (?)", digest)
                self._line("erased", {"collection": digest.hex()})
        self.settle()

    def settle(self) -> bool:
        """Empty the write-ahead log if it may hold what was erased; False while another process reads from it.

        Called again and again: what is left is noted durably, by whichever process erased it.
        """
        erased = [row["digest"] for row in self._base.rows("SELECT digest FROM erasing")]
        if not erased:
            return True
        is_empty = self._base.empty_log()
        if is_empty:
            with self._base.transaction():  # only those: another process may have erased more meanwhile
                self._base.run_many("DELETE FROM erasing WHERE digest = ?", [(digest,) for digest in erased])
        return is_empty

    def note(self, event: str, digest: bytes, **fields: str | int) -> None:
        """A line in the audit log about what changes nothing here."""
        with self._base.transaction():
            self._line(event, {"collection": digest.hex(), **fields})

    def audit_log(self) -> list[AuditEntry]:
        """The audit log; LocalFault if it was tampered with."""
        with self._base.transaction():
            found = list(audit.entries(self._base))
        audit.verify(found, None)
        return found

    def _line(self, event: str, fields: Mapping[str, Plain]) -> None:
        audit.append(self._base, time.time(), event, fields)


def _move(base: Database, digest: bytes, there: State, reason: str) -> bool:
    row = base.row("SELECT state FROM collection WHERE digest = ?", digest)
    here = State(row["state"])
    if here is there:
        return False
    way("analyzer", here, there)
    base.run(
        "UPDATE collection SET state = ?, reason = ?, since = ? WHERE digest = ?",
        *(there.value, reason, now := time.time(), digest),
    )
    if there is State.OPEN:
        base.run("UPDATE collection SET opened_at = ? WHERE digest = ?", now, digest)
    audit.append(base, time.time(), "state", {"collection": digest.hex(), "state": there.value, "reason": reason})
    return True


def _study(row: Any) -> StudyRow:
    fields = {name: row[name] for name in row.keys()}  # noqa: SIM118 - a row is not a mapping
    return StudyRow(**{**fields, "state": StudyState(row["state"])})


def _kept(row: Any) -> CollectionRow:
    fields = {name: row[name] for name in row.keys()}  # noqa: SIM118 - a row is not a mapping
    return CollectionRow(**{**fields, "state": State(row["state"])})


def _header(row: Any) -> VectorHeader:
    place = Header(
        Context(row["digest"], row["frozen"], row["attempt"]),
        Step(row["round"], Kind.DELIVERY),
        row["sender"],
        _ANALYZER,
    )
    return VectorHeader(place, row["rows"], row["row_bytes"], row["sha256"], row["transcript"])
