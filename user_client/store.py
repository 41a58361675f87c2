"""A user's memory: what is on its way, for which collection, who has acknowledged it, and what it has cost.

In SQLite with a write-ahead log and synchronous FULL: a commit that returned survives a crash. A submission's parts and
its charge are one transaction, and it is over before the first byte is sent. True values and reports are never stored.

Once every shuffler has acknowledged a submission, its parts (shares, salts, ticket, key) are overwritten: together with
the output they would tell her answer to who takes her device. What stays says that she took part, and lets her ask
whether she was counted: her row, the shufflers' receipts, and a signature that is good for asking alone.

A user is the folder's owner (`OWNER`), or in `submit-file` who the file says (`named`), else a ticket's holder, by the
ticket's id. Of a study she answers one round.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from peos.client.answering import Submission
from peos.client.ledger import Charge, Ledger
from peos.collection.receipts import Acknowledged, Receipt
from peos.collection.submission import Part
from peos.collection.ticket import StudyPart
from peos.errors import PeosError
from peos.store.database import Database, Layout
from peos.store.private_files import private_folder
from peos.wire.submissions import decode_part, decode_receipt
from user_client.results import CollectionStatus

OWNER: Final = b"owner"
_NAMED: Final = b"name:"
NAME: Final = "memory.sqlite"
_ONE_ROUND: Final = "CREATE UNIQUE INDEX one_round ON submissions (user, study)"  # of a study; without one, no matter
LAYOUT: Final = Layout(
    what="the memory",
    version=4,
    application=0x70656F63,
    tables=(
        """
        CREATE TABLE collections (
            digest BLOB PRIMARY KEY, question TEXT NOT NULL, shufflers TEXT NOT NULL, closes_at INTEGER NOT NULL,
            study BLOB, round INTEGER NOT NULL DEFAULT 0  -- where it is a round of one
        ) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE submissions (
            collection BLOB NOT NULL REFERENCES collections, ticket BLOB NOT NULL, user BLOB NOT NULL,
            mechanism BLOB NOT NULL, cost INTEGER NOT NULL,
            row BLOB NOT NULL, user_key BLOB NOT NULL, asking BLOB NOT NULL,  -- the signature of a membership request
            study BLOB,  -- the collection's
            PRIMARY KEY (collection, ticket),
            UNIQUE (user, mechanism)  -- one report a user and question, whatever else goes wrong
        ) STRICT
        """,
        """
        CREATE TABLE parts (
            collection BLOB NOT NULL, ticket BLOB NOT NULL, shuffler INTEGER NOT NULL, encoded BLOB NOT NULL,
            PRIMARY KEY (collection, ticket, shuffler), FOREIGN KEY (collection, ticket) REFERENCES submissions
        ) STRICT
        """,
        """
        CREATE TABLE answers (
            collection BLOB NOT NULL, ticket BLOB NOT NULL, shuffler INTEGER NOT NULL, refusal TEXT NOT NULL,
            receipt BLOB,  -- of an acknowledgement
            PRIMARY KEY (collection, ticket, shuffler)
        ) STRICT, WITHOUT ROWID
        """,
        _ONE_ROUND,
    ),
    steps={
        2: (),  # it bears the application from 3 on
        3: (
            "ALTER TABLE collections ADD COLUMN study BLOB",
            "ALTER TABLE collections ADD COLUMN round INTEGER NOT NULL DEFAULT 0",
            "ALTER TABLE submissions ADD COLUMN study BLOB",
            _ONE_ROUND,
        ),
    },
    unmarked=frozenset({"collections", "submissions", "parts", "answers"}),
)


def named(name: str) -> bytes:
    """The user of that name, as she is remembered: her name is not kept."""
    return _NAMED + hashlib.sha256(name.encode()).digest()


@dataclass(frozen=True, repr=False)
class StoredSubmission:
    """A submission as it was prepared, and which shufflers have acknowledged it; without parts once all have."""

    ticket: bytes
    parts: tuple[Part, ...]
    encoded: tuple[bytes, ...]  # the parts as they are kept, counted and sent
    acknowledged: frozenset[int]

    def __repr__(self) -> str:
        return f"StoredSubmission({self.ticket.hex()[:8]}…)"

    @property
    def missing(self) -> dict[Part, bytes]:
        """The parts that are still to be sent, as they were the first time."""
        pairs = zip(self.parts, self.encoded, strict=True)
        return {part: encoded for part, encoded in pairs if part.shuffler not in self.acknowledged}


@dataclass(frozen=True)
class Submitted:
    """What is stored of a submission for `verify`: its list row and the acknowledgements, by shuffler."""

    row: bytes
    user_key: bytes
    asking: bytes
    receipts: Mapping[int, Receipt]

    def acknowledged(self, collection: bytes, number: int) -> tuple[Acknowledged, Receipt]:
        """A receipt of this shuffler's, and what it is about."""
        return Acknowledged(collection, self.row, self.user_key), self.receipts[number]


class ClientStore:
    """The memory in a folder; used by the thread that opened it."""

    def __init__(self, folder: Path) -> None:
        private_folder(folder)
        self._base = Database(folder / NAME, LAYOUT)
        try:
            self._base.require_sound()
            self._base.empty_log()  # as a reader or a crash may have kept the last client from it
        except BaseException:
            self._base.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database, and leave nothing deleted in its log if no other process reads it."""
        with suppress(PeosError):  # the next client does it again; what is kept is kept
            self._base.empty_log()
        self._base.close()

    def transaction(self) -> AbstractContextManager[None]:
        """All of it or nothing, durable at the end; no other process writes in between."""
        return self._base.transaction()

    # What she was asked, and what she answered.

    def note_collection(
        self, digest: bytes, question: str, shufflers: Sequence[str], closes_at: int, study: StudyPart | None = None
    ) -> None:
        """A collection that something is kept for."""
        part = (None, 0) if study is None else (study.id, study.round)
        row = (digest, question, json.dumps(list(shufflers)), closes_at, *part)
        self._base.run("INSERT OR IGNORE INTO collections VALUES (?, ?, ?, ?, ?, ?)", *row)

    def find(self, collection: bytes, ticket: bytes) -> StoredSubmission | None:
        """The submission stored under a ticket."""
        key = (collection, ticket)
        if not self._base.rows("SELECT 1 FROM submissions WHERE collection = ? AND ticket = ?", *key):
            return None
        encoded = self._base.rows(
            "SELECT encoded FROM parts WHERE collection = ? AND ticket = ? ORDER BY shuffler", *key
        )
        taken = self._base.rows(
            "SELECT shuffler FROM answers WHERE collection = ? AND ticket = ? AND refusal = ''", *key
        )
        kept = tuple(bytes(data) for (data,) in encoded)
        return StoredSubmission(ticket, tuple(map(decode_part, kept)), kept, frozenset(number for (number,) in taken))

    def accepted(self, collection: bytes) -> set[bytes]:
        """The tickets whose submissions every shuffler has acknowledged."""
        rows = self._base.rows(
            "SELECT ticket FROM answers WHERE collection = ? AND refusal = '' GROUP BY ticket HAVING count(*) = "
            "(SELECT json_array_length(shufflers) FROM collections WHERE digest = ?)",
            collection,
            collection,
        )
        return {ticket for (ticket,) in rows}

    def tickets(self, collection: bytes) -> set[bytes]:
        """The tickets under which something was prepared."""
        return {
            ticket for (ticket,) in self._base.rows("SELECT ticket FROM submissions WHERE collection = ?", collection)
        }

    def answered(self, user: bytes, mechanism: bytes) -> tuple[bytes, bytes] | None:
        """The collection and ticket for which a user's report under a mechanism was made."""
        rows = self._base.rows(
            "SELECT collection, ticket FROM submissions WHERE user = ? AND mechanism = ?", user, mechanism
        )
        return (rows[0][0], rows[0][1]) if rows else None

    def round_of(self, user: bytes, study: bytes) -> tuple[bytes, int] | None:
        """The collection and round of a study that a user has answered."""
        row = self._base.row(
            "SELECT collection, round FROM submissions JOIN collections ON digest = collection "
            "WHERE user = ? AND submissions.study = ?",
            user,
            study,
        )
        return None if row is None else (row[0], row[1])

    def keep(
        self, collection: bytes, mechanism: bytes, user: bytes, one: Submission, study: StudyPart | None = None
    ) -> None:
        """A user's new submission with what it cost; inside a transaction."""
        self._base.run(
            "INSERT INTO submissions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(collection, one.ticket, user, mechanism, one.cost),
            *(one.parts[0].row, one.parts[0].user_key, one.asking, None if study is None else study.id),
        )
        self._base.run_many(
            "INSERT INTO parts VALUES (?, ?, ?, ?)",
            [
                (collection, one.ticket, part.shuffler, encoded)
                for part, encoded in zip(one.parts, one.encoded, strict=True)
            ],
        )

    def ledger(self, user: bytes, mechanism: bytes, budget: int, study: StudyPart | None = None) -> Ledger:
        """A user's charges and answers, which decide whether she may answer a question."""
        spent = self.spent(user)
        in_study = None if study is None else self.round_of(user, study.id)
        return Ledger(budget, spent, self.answered(user, mechanism), self.charges(user) if spent else (), in_study)

    def note_answers(self, collection: bytes, answers: Sequence[tuple[bytes, int, str, bytes | None]]) -> None:
        """Final answers: ticket, shuffler, the refusal, which is empty for an acknowledgement, and its receipt.

        What every shuffler has acknowledged is forgotten with them, but for what it takes to ask about it.
        """
        with self.transaction():
            self._base.run_many(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)", [(collection, *answer) for answer in answers]
            )
            done = self.accepted(collection) & {answer[0] for answer in answers}
            self._base.run_many(
                "DELETE FROM parts WHERE collection = ? AND ticket = ?", [(collection, ticket) for ticket in done]
            )

    def submitted(self, collection: bytes) -> list[Submitted]:
        """All that was submitted to a collection, for asking whether it was counted."""
        kept = self._base.rows("SELECT ticket, row, user_key, asking FROM submissions WHERE collection = ?", collection)
        receipts: dict[bytes, dict[int, Receipt]] = {}
        for ticket, shuffler, receipt in self._base.rows(
            "SELECT ticket, shuffler, receipt FROM answers WHERE collection = ? AND receipt IS NOT NULL", collection
        ):
            receipts.setdefault(ticket, {})[shuffler] = decode_receipt(receipt)
        return [Submitted(row, key, asking, receipts.get(ticket, {})) for ticket, row, key, asking in kept]

    # What it has cost.

    def spent(self, user: bytes) -> int:
        """Millionths of ε_l that a user was charged."""
        return int(self._base.rows("SELECT coalesce(sum(cost), 0) FROM submissions WHERE user = ?", user)[0][0])

    def most_spent(self) -> int:
        """The most that any user but the owner was charged."""
        rows = self._base.rows("SELECT sum(cost) AS spent FROM submissions WHERE user <> ? GROUP BY user", OWNER)
        return max((spent for (spent,) in rows), default=0)

    def charges(self, user: bytes) -> tuple[Charge, ...]:
        """A user's charges."""
        return self._charges("user = ?2", user)

    def charges_of_others(self) -> tuple[Charge, ...]:
        """The charges of all users but the owner, by collection and by how the users are known."""
        return self._charges("user <> ?2", OWNER)

    def standings(self) -> tuple[CollectionStatus, ...]:
        """Where every collection stands."""
        found = []
        for digest, question, names, closes_at in self._base.rows(
            "SELECT digest, question, shufflers, closes_at FROM collections ORDER BY closes_at, digest"
        ):
            prepared = len(self.tickets(digest))
            counted = dict(
                self._base.rows(
                    "SELECT shuffler, count(*) FROM answers WHERE collection = ? AND refusal = '' GROUP BY 1", digest
                )
            )
            refused = self._base.rows(
                "SELECT shuffler, refusal, count(*) FROM answers WHERE collection = ? AND refusal <> '' GROUP BY 1, 2",
                digest,
            )
            who = {number: f"shuffler {number} ({name})" for number, name in enumerate(json.loads(names), start=1)}
            by_name = {name: counted.get(number, 0) for number, name in who.items()}
            lines = tuple(f"{count} by {who[number]}: {sentence}" for number, sentence, count in refused)
            accepted = len(self.accepted(digest))
            found.append(CollectionStatus(digest, question, closes_at, prepared, accepted, by_name, lines))
        return tuple(found)

    def _charges(self, condition: str, user: bytes) -> tuple[Charge, ...]:
        rows = self._base.rows(
            "SELECT collection, question, count(*) AS users, max(cost) AS cost, collections.study, round, "  # noqa: S608 - two fixed texts
            "substr(user, 1, length(?1)) = ?1 AS is_named FROM submissions JOIN collections ON digest = collection "
            f"WHERE {condition} GROUP BY collection, is_named ORDER BY min(submissions.rowid)",
            _NAMED,
            user,
        )
        return tuple(Charge(**{**dict(row), "is_named": bool(row["is_named"])}) for row in rows)
