"""One collection's submissions, in an SQLite file of their own.

A file of its own makes erasure quick and whole: a million rows are wiped in seconds, where deleting them one by one,
each page overwritten, takes a minute. Writing is sequential: rows are numbered in the order of arrival.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from peos.collection.submission import Triple, Verdict, judge
from peos.errors import Closed, LocalFault
from peos.store import folder, rules
from peos.store.base import Judged, Submission
from peos.store.database import SEAL_BYTES, Database, Layout, seal

_STRETCH: Final = 4096  # rows in memory at a time
_STRETCH_BYTES: Final = 16 << 20
_SIDES: Final = ("-wal", "-shm")  # files that SQLite keeps beside its own
_KEPT: Final = "FROM submissions AS s WHERE id > ?"
_COUNTED: Final = f"{_KEPT} AND NOT EXISTS (SELECT 1 FROM uncounted AS u WHERE u.id = s.id)"  # noqa: S608 (joins constants)
_ALL_TRIPLES: Final = f"SELECT id, ticket, digest, seal, number {_KEPT} ORDER BY id LIMIT ?"
_COUNTED_TRIPLES: Final = f"SELECT id, ticket, digest, seal, number {_COUNTED} ORDER BY id LIMIT ?"
_COUNTED_SHARES: Final = f"SELECT id, share, seal, number {_COUNTED} ORDER BY id LIMIT ?"
_ALL_SHARES: Final = f"SELECT id, share, seal, number {_KEPT} ORDER BY id LIMIT ?"

LAYOUT: Final = Layout(
    version=2,
    application=0x70656F74,
    cache_kib=64 << 10,  # the indices of a million submissions stay in memory
    tables=(
        """
        CREATE TABLE submissions (              -- all fixed; rows only come
            number      INTEGER PRIMARY KEY,    -- from 1, without gaps
            id          BLOB NOT NULL UNIQUE,
            ticket      BLOB NOT NULL UNIQUE,
            digest      BLOB NOT NULL,
            share       BLOB NOT NULL,
            seal        BLOB NOT NULL           -- of id, ticket and digest, then of id and share
        ) STRICT
        """,
        """
        CREATE TABLE uncounted (                -- kept here, but not by every shuffler: the freeze left them out
            id          BLOB PRIMARY KEY
        ) STRICT, WITHOUT ROWID
        """,
        "CREATE TRIGGER submissions_fixed BEFORE UPDATE ON submissions BEGIN SELECT RAISE(ABORT, 'fixed'); END",
        "CREATE TRIGGER submissions_stay BEFORE DELETE ON submissions BEGIN SELECT RAISE(ABORT, 'fixed'); END",
    ),
)


class SubmissionFile:
    """The submissions of one collection."""

    def __init__(self, path: Path, *, new: bool = False) -> None:
        if not new and not path.exists():
            raise LocalFault(f"the submissions {path.name} are gone", hint="look for the file before anything else")
        self._database = Database(path, LAYOUT)

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def submit(self, submissions: Sequence[Submission], refusal: Closed | None) -> list[Judged]:
        """Judge and keep these in one transaction; with a `refusal` nothing new is kept, and it is the answer."""
        with self._database.transaction():
            return [self._take(one, refusal) for one in submissions]

    def _take(self, one: Submission, refusal: Closed | None) -> Judged:
        triple = one.triple
        if refusal is None:
            inserted = self._database.run(
                "INSERT INTO submissions (id, ticket, digest, share, seal) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT DO NOTHING",
                *(triple.id, triple.ticket, triple.digest, one.share),
                seal(triple.id, triple.ticket, triple.digest) + seal(triple.id, one.share),
            )
            if inserted.rowcount:
                return Verdict.STORE
        stored = self._database.row(
            "SELECT id, ticket, digest FROM submissions WHERE id = ? OR ticket = ?", triple.id, triple.ticket
        )
        if stored is None:
            assert refusal is not None, "what was not inserted is stored"
            return refusal
        return judge(Triple(*stored), triple)  # if there are two, neither is the new one

    def count(self) -> int:
        """How many there are: rows never go, so the last one's number."""
        return int(self._database.row("SELECT coalesce(max(number), 0) FROM submissions")[0])

    def triples(self) -> Iterator[Triple]:
        """All of them, by id."""
        return self._triples(_ALL_TRIPLES)

    def counted_triples(self) -> Iterator[Triple]:
        """Those that the freeze counted, by id."""
        return self._triples(_COUNTED_TRIPLES)

    def counted_shares(self) -> Iterator[bytes]:
        """Their shares, in the same order."""
        return self._shares(_COUNTED_SHARES)

    def require_sound(self) -> None:
        """LocalFault unless every page and every submission is what was written."""
        self._database.require_sound()
        for _ in self.triples():
            pass
        for _ in self._shares(_ALL_SHARES):
            pass

    def _shares(self, sql: str) -> Iterator[bytes]:
        last, length = b"", _STRETCH_BYTES
        while stretch := self._database.rows(sql, last, min(_STRETCH, max(1, _STRETCH_BYTES // length))):
            for row in stretch:
                if seal(row["id"], row["share"]) != row["seal"][SEAL_BYTES:]:
                    raise self._database.damaged(f"the share of submission {row['number']}")
                yield row["share"]
            last, length = stretch[-1]["id"], max(1, len(stretch[-1]["share"]))

    def leave_out_all_but(self, counted: Iterable[Triple]) -> int:
        """Note what counts, and how many; in place of anything noted by a freeze that did not come to its end."""
        with self._database.transaction():
            left_out, count = rules.uncounted(self.triples(), counted)
            self._database.run("DELETE FROM uncounted")
            for id_ in left_out:
                self._database.run("INSERT INTO uncounted VALUES (?)", id_)
        return count

    def _triples(self, sql: str) -> Iterator[Triple]:
        # Each stretch is a query of its own, so that writes in between disturb nothing.
        last = b""
        while stretch := self._database.rows(sql, last, _STRETCH):
            for id_, ticket, digest, sealed, number in stretch:
                if seal(id_, ticket, digest) != sealed[:SEAL_BYTES]:
                    raise self._database.damaged(f"submission {number}")
                yield Triple(id_, ticket, digest)
            last = stretch[-1]["id"]


def wipe(path: Path) -> None:
    """Overwrite and remove a collection's file, and what SQLite keeps beside it."""
    for side in (*(path.with_name(path.name + end) for end in _SIDES), path):
        folder.wipe(side)
