"""The store of a shuffler in one SQLite file, with final vectors as files next to it.

A final vector may be hundreds of megabytes. It is written, fsync'ed, renamed and its folder fsync'ed *before* the row
that names it is committed: a crash in between leaves a file that no row names, which the next opening removes; never a
row without its file.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from typing_extensions import override  # grpcio brings it; Python has it from 3.12 on

from peos.collection.lifecycle import State
from peos.collection.submission import Verdict
from peos.crypto.randomness import Randomness
from peos.errors import Conflict, LocalFault, NotYet
from peos.ldp.base import Question
from peos.shuffle.delivery_state import DeliveryState, Phase
from peos.shuffle.streaming import Rows
from peos.store import audit, private_files, rules
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
from peos.store.database import Database
from peos.store.rollback import settle_witness, witness_of
from peos.store.schema import ERASED, LAYOUT, is_finished, sealed
from peos.store.submissions import SubmissionFile, read_lists, wipe, write_lists
from peos.store.vectors import Named, VectorFiles

IDENTITY_BYTES: Final = 16
_STRETCH_BYTES: Final = 16 << 20
_OPEN_FILES: Final = 4
_COLUMNS: Final = (
    "number, digest, signed, roster, analyzer, question, epoch, state, reason, count, frozen, frozen_count, "
    "announcements, place, attempt, left_, transcript, vector, vector_hash, rows, row_bytes, erased, lost, seal"
)  # all but the seed of the fakes, which is read where it is needed
_COLLECTIONS: Final = f"SELECT {_COLUMNS} FROM collections ORDER BY number"  # noqa: S608 (constants are joined)
_COLLECTION: Final = f"SELECT {_COLUMNS} FROM collections WHERE digest = ?"  # noqa: S608 (likewise)
_ASKING: Final = (
    f"SELECT {_COLUMNS} FROM collections "  # noqa: S608 (likewise)
    "WHERE analyzer = ? AND question = ? AND epoch = ? ORDER BY number"
)
Clock = Callable[[], float]


class SqliteStore(ShufflerStore):
    """Opened in the folder of one party, which it makes; `rng` draws its identity if it is new.

    A store that lags behind its witness was restored from a backup and is refused. With `restored` it opens all the
    same, and every collection that was unfinished in it is lost: nothing more is signed for it. `witness` may name a
    file on another disk; by default it lies in the folder, and a backup must leave it out.
    """

    def __init__(
        self,
        path: Path,
        rng: Randomness,
        *,
        witness: Path | None = None,
        restored: bool = False,
        clock: Clock = time.time,
    ) -> None:
        self._clock = clock
        self._submissions = path / "submissions"
        self._files: dict[bytes, SubmissionFile] = {}  # the one used last at the end
        self._witness = witness or path / "witness"
        self._witnessed = False  # whether the witness knows of the last change
        private_files.private_folder(path)
        self._lock = private_files.lock(path / "lock")
        try:
            private_files.private_folder(self._submissions)
            self._vectors = VectorFiles(path / "vectors")
            self._database = Database(path / "store.sqlite", LAYOUT)
            try:
                self._open(rng, accept=restored)
            except BaseException:
                self._database.close()
                raise
        except BaseException:
            private_files.unlock(self._lock)
            raise

    def _open(self, rng: Randomness, *, accept: bool) -> None:
        if self._database.row("SELECT 1 FROM store") is None:
            self._database.run("INSERT INTO store VALUES (1, ?, 0)", rng.bytes(IDENTITY_BYTES))
        self._database.require_sound()
        for row in self._database.rows(_COLLECTIONS):
            self._sound(row)
        witness = private_files.read_witness(self._witness)
        kept = [row["digest"] for row in self._database.rows("SELECT digest FROM collections WHERE erased = 0")]
        missing = [digest for digest in kept if not self._path(digest).exists()]
        for digest in (one for one in kept if one not in missing):
            self._file(digest).require_sound()
        lost = settle_witness(
            self._database, witness, len(missing), accept=accept, reseal=lambda: self._seal(_COLLECTIONS)
        )
        for digest in missing:
            self._file(digest, new=True)
        with self._change("opened", {"lost": lost}):
            pass
        self._tidy()
        for (digest,) in self._database.rows("SELECT digest FROM collections WHERE erased = 1"):
            with suppress(NotYet):  # a reader must not keep the store from opening
                self.erase(digest)

    @override
    def close(self) -> None:
        """Close the store; what was acknowledged stays."""
        for file in self._files.values():
            file.close()
        self._files.clear()
        self._database.close()
        private_files.unlock(self._lock)

    @override
    def settle(self) -> None:
        self._witness_now()
        self._tidy()

    @property
    @override
    def identity(self) -> bytes:
        """16 random bytes, drawn when the store was made."""
        return bytes(self._database.row("SELECT identity FROM store")[0])

    @property
    @override
    def generation(self) -> int:
        """Grows with every opening and every change but submissions, counts and lines of the audit log."""
        return int(self._database.row("SELECT generation FROM store")[0])

    # Collections.

    @override
    def put_collection(
        self, digest: bytes, signed: bytes, roster: bytes, question: Question, state: State = State.DRAFT
    ) -> None:
        rules.require_first_state(state)
        known = self._database.row("SELECT signed, roster FROM collections WHERE digest = ?", digest)
        if known is not None:
            if tuple(known) != (signed, roster):
                raise Conflict(
                    "collection.differs", "this collection is kept here with other addresses or another signature"
                )
            self.settle()
            return
        before = self.delivered_before(question)
        if before is not None:
            raise rules.answered_before(before)
        self._file(digest, new=True)  # before the row that says that it is there
        with self._change("accepted", {"collection": digest.hex(), "state": state.value}):
            self._database.run(
                "INSERT INTO collections (digest, signed, roster, analyzer, question, epoch, state) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                *(digest, signed, roster, *_asked(question), state.value),
            )

    @override
    def collections(self) -> list[Collection]:
        return [self._collection(self._sound(row)) for row in self._database.rows(_COLLECTIONS)]

    @override
    def unfinished(self) -> list[Collection]:
        found = (row for row in self._database.rows(_COLLECTIONS) if not is_finished(row))
        return [self._collection(self._sound(row)) for row in found]

    @override
    def finished(self) -> list[Finished]:
        found = [(row["digest"], row) for row in self._database.rows(_COLLECTIONS) if is_finished(row)]
        return [Finished(one, row["signed"], row["roster"], self._listed(one).exists()) for one, row in found]

    @override
    def collection(self, digest: bytes) -> Collection:
        return self._collection(self._row(digest))

    @override
    def set_state(self, digest: bytes, state: State, reason: str = "") -> None:
        if rules.next_state(self.collection(digest), state) is None:
            self.settle()
            return
        with self._change("state", {"collection": digest.hex(), "state": state.value, "reason": reason}):
            self._database.run(
                "UPDATE collections SET state = ?, reason = ? WHERE digest = ?", state.value, reason, digest
            )

    @override
    def delivered_before(self, question: Question) -> bytes | None:
        for here in self._asking(question):
            if rules.is_answered(here):
                return here.digest
        return None

    @override
    def asked_since(self, analyzer: bytes, moment: float) -> list[str]:
        came = self._database.rows(
            "SELECT fields FROM audit WHERE event = 'accepted' AND at >= ?", round(moment * 1000)
        )
        found = [self.collection(bytes.fromhex(json.loads(fields)["collection"])) for (fields,) in came]
        return rules.asked_by(analyzer, found)

    @override
    def note_refused(self, digest: bytes, reasons: Mapping[str, int]) -> None:
        rules.require_reasons(reasons)
        with self._database.transaction():
            self._count_refused(self._row(digest)["number"], reasons)

    @override
    def refused(self, digest: bytes) -> dict[str, int]:
        number = self._row(digest)["number"]
        return dict(self._database.rows("SELECT reason, count FROM refused WHERE collection = ?", number))

    # Submissions.

    @override
    def submit_many(self, submissions: Sequence[Submission]) -> list[Judged]:
        judged: dict[int, Judged] = {}
        for digest in {one.collection for one in submissions}:
            places = [place for place, one in enumerate(submissions) if one.collection == digest]
            verdicts = self._submit(digest, [submissions[place] for place in places])
            judged.update(zip(places, verdicts, strict=True))
        return [judged[place] for place in range(len(submissions))]

    def _submit(self, digest: bytes, submissions: Sequence[Submission]) -> Sequence[Judged]:
        row = self._find(digest)
        if row is None:
            return [rules.unknown(digest)] * len(submissions)
        refusal = rules.closed(State(row["state"]), lost=bool(row["lost"]), erased=bool(row["erased"]))
        if row["erased"]:
            assert refusal is not None, "nothing is taken in after an erasure"
            return [refusal] * len(submissions)
        verdicts = self._file(digest).submit(submissions, refusal)
        conflicts = verdicts.count(Verdict.CONFLICT)
        if conflicts:
            with self._database.transaction():
                self._count_refused(row["number"], {Verdict.CONFLICT.value: conflicts})
        return verdicts

    @override
    def count(self, digest: bytes) -> int:
        return self._count(self._row(digest))

    @override
    def rows(self, digest: bytes) -> Iterator[bytes]:
        return iter(()) if self._row(digest)["erased"] else self._file(digest).rows()

    def _path(self, digest: bytes) -> Path:
        return self._submissions / f"{digest.hex()}.sqlite"

    def _count(self, row: Any) -> int:
        return int(row["count"]) if row["erased"] else self._file(row["digest"]).count()

    def _file(self, digest: bytes, *, new: bool = False) -> SubmissionFile:
        """A collection's submissions; the most recently used stay open."""
        file = self._files.pop(digest, None) or SubmissionFile(self._path(digest), new=new)
        self._files[digest] = file
        if len(self._files) > _OPEN_FILES:
            self._files.pop(next(iter(self._files))).close()
        return file

    # The freeze.

    @override
    def put_frozen(self, digest: bytes, frozen: bytes, announcements: bytes, rows: Iterable[bytes]) -> None:
        here = self.collection(digest)
        if not rules.require_freezable(here, frozen, self._asking(here.question)):
            self.settle()
            return
        count = self._file(digest).leave_out_all_but(rows)
        with self._change("frozen", {"collection": digest.hex(), "frozen": frozen.hex(), "count": count}):
            self._database.run(
                "UPDATE collections SET frozen = ?, frozen_count = ?, announcements = ?, state = ?, reason = '' "
                "WHERE digest = ?",
                *(frozen, count, announcements, State.FROZEN.value, digest),
            )

    @override
    def frozen_rows(self, digest: bytes) -> Iterator[bytes]:
        rules.require_frozen(self.collection(digest))
        return self._file(digest).counted_rows()

    @override
    def shares(self, digest: bytes) -> Iterator[bytes]:
        rules.require_frozen(self.collection(digest))
        return self._file(digest).counted_shares()

    @override
    def fake_seed(self, digest: bytes, rng: Randomness) -> bytes:
        row = self._database.row("SELECT fake_seed FROM collections WHERE digest = ?", digest)
        here = self.collection(digest)
        rules.require_frozen(here)
        if row["fake_seed"] is not None:
            self.settle()
            return bytes(row["fake_seed"])
        seed = rng.bytes(rules.SEED_BYTES)
        with self._change("fakes", {"collection": digest.hex()}):
            self._database.run("UPDATE collections SET fake_seed = ? WHERE digest = ?", seed, digest)
        return seed

    # Delivery.

    @override
    def put_delivery_state(self, digest: bytes, delivery_state: DeliveryState, vector: Rows | None = None) -> None:
        row = self._row(digest)
        here = self._collection(row)
        rules.require_standing(here, delivery_state, vector, has_vector=row["vector"] is not None)
        named = _named(row) if delivery_state.phase in rules.KEEPS_VECTOR else None
        if vector is not None:
            named = self._vectors.write(f"{digest.hex()}.{delivery_state.attempt}.{self.generation}", vector)
        if delivery_state == here.delivery_state:
            self.settle()  # and with it goes the file that was written again
            rules.require_same_vector(same=named is None or named.hash == row["vector_hash"])
            return
        with self._change("standing", rules.delivery_state_fields(digest, delivery_state)):
            self._database.run(
                "UPDATE collections SET place = ?, attempt = ?, left_ = ?, transcript = ?, "
                "vector = ?, vector_hash = ?, rows = ?, row_bytes = ? WHERE digest = ?",
                *(delivery_state.phase.value, delivery_state.attempt, delivery_state.left, delivery_state.transcript),
                *((named.name, named.hash, named.rows, named.row_bytes) if named else (None,) * 4),
                digest,
            )
        self._tidy()

    @override
    def delivery_state(self, digest: bytes) -> DeliveryState:
        return self.collection(digest).delivery_state

    @override
    def final_vector(self, digest: bytes) -> Vector:
        named = _named(self._row(digest))
        if named is None:
            raise LocalFault("store.no_vector", "no final vector is kept for this collection")
        return self._vectors.read(named)

    @override
    def erase(self, digest: bytes) -> None:
        """See the contract. The first change makes it irrevocable; an opening completes what comes after."""
        row = self._row(digest)
        if row["erased"] == ERASED:
            self.settle()
            return
        if not row["erased"]:
            count = self._count(row)
            with self._change("erasing", {"collection": digest.hex(), "count": count}):
                self._database.run(
                    "UPDATE collections SET count = ?, fake_seed = NULL, vector = NULL, vector_hash = NULL, "
                    "rows = NULL, row_bytes = NULL, erased = 1 WHERE digest = ?",
                    *(count, digest),
                )
        self._tidy()
        if row["frozen"] is not None and self._path(digest).exists():  # before it is wiped; made anew if cut off
            write_lists(self._listed(digest), self._file(digest))
        file = self._files.pop(digest, None)
        if file is not None:
            file.close()
        wipe(self._path(digest))
        if not self._database.empty_log():  # which still holds the seed of the fakes
            raise NotYet(
                "store.erasing",
                "what was erased is still in the log of the database, because another process reads it",
                hint="end what reads the shuffler's database; the erasure is repeated by itself",
            )
        with self._change("erased", {"collection": digest.hex()}):
            self._database.run("UPDATE collections SET erased = ? WHERE digest = ?", ERASED, digest)

    @override
    def lists(self, digest: bytes) -> Lists:
        here = self.collection(digest)
        rules.require_listed(here)
        if not here.erased:
            return Lists(list(self._file(digest).rows()), list(self._file(digest).counted_rows()))
        if not self._listed(digest).exists():
            raise rules.rows_are_gone()
        return read_lists(self._listed(digest))

    @override
    def forget_rows(self, digest: bytes) -> None:
        self._row(digest)
        private_files.wipe(self._listed(digest))

    def _listed(self, digest: bytes) -> Path:
        return self._submissions / f"{digest.hex()}.rows"

    def _tidy(self) -> None:
        named = self._database.rows("SELECT vector FROM collections WHERE vector IS NOT NULL")
        self._vectors.keep_only({row["vector"] for row in named})

    # The audit log.

    @override
    def audit(self, event: str, fields: Mapping[str, Plain]) -> None:
        with self._database.transaction():
            audit.append(self._database, self._clock(), event, fields)

    @override
    def audit_entries(self) -> Iterator[AuditEntry]:
        return audit.entries(self._database)

    @override
    def verify_audit(self) -> int:
        return audit.verify(audit.entries(self._database), private_files.read_witness(self._witness))

    # Within.

    @contextmanager
    def _change(self, event: str, fields: Mapping[str, Plain]) -> Iterator[None]:
        """One transaction with its line in the audit log and a new generation, then the witness.

        In this order: until a change returned nothing was said on its strength, so one that the witness does not know
        of may be forgotten, and one that the database does not know of must be noticed.
        """
        self._witnessed = False
        with self._database.transaction():
            yield
            audit.append(self._database, self._clock(), event, fields)
            if "collection" in fields:
                self._seal(_COLLECTION, bytes.fromhex(str(fields["collection"])))
            self._database.run("UPDATE store SET generation = generation + 1")
        self._witness_now()

    def _witness_now(self) -> None:
        """Let the witness know of the last change, if it does not: it may have failed behind a commit."""
        if not self._witnessed:
            private_files.write_witness(self._witness, witness_of(self._database))
            self._witnessed = True

    def _seal(self, sql: str, *values: object) -> None:
        for row in self._database.rows(sql, *values):
            self._database.run("UPDATE collections SET seal = ? WHERE number = ?", sealed(row), row["number"])

    def _sound(self, row: Any) -> Any:
        """A collection's row, if it is what was written: a delivery state that is not may send a second output."""
        if row["seal"] != sealed(row):
            raise self._database.damaged(f"collection {row['number']}")
        return row

    def _find(self, digest: bytes) -> Any:
        row = self._database.row(_COLLECTION, digest)
        return None if row is None else self._sound(row)

    def _row(self, digest: bytes) -> Any:
        row = self._find(digest)
        if row is None:
            raise rules.unknown(digest)
        return row

    def _collection(self, row: Any) -> Collection:
        return Collection(
            digest=row["digest"],
            signed=row["signed"],
            roster=row["roster"],
            question=Question(row["analyzer"], row["question"], row["epoch"]),
            state=State(row["state"]),
            reason=row["reason"],
            count=self._count(row),
            frozen=None if row["frozen"] is None else Frozen(row["frozen"], row["frozen_count"], row["announcements"]),
            delivery_state=DeliveryState(Phase(row["place"]), row["attempt"], row["left_"], row["transcript"]),
            erased=bool(row["erased"]),
            lost=bool(row["lost"]),
        )

    def _asking(self, question: Question) -> list[Collection]:
        return [self._collection(self._sound(row)) for row in self._database.rows(_ASKING, *_asked(question))]

    def _count_refused(self, number: int, reasons: Mapping[str, int]) -> None:
        for reason, count in reasons.items():
            self._database.run(
                "INSERT INTO refused VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
                *(number, reason, count),
            )


def _asked(question: Question) -> tuple[bytes, str, str]:
    return question.analyzer, question.question, question.epoch


def _named(row: Any) -> Named | None:
    if row["vector"] is None:
        return None
    return Named(row["vector"], row["vector_hash"], row["rows"], row["row_bytes"])
