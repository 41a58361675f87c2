"""One collection's submissions, in an SQLite file of their own.

A file of its own makes erasure quick and whole: a million rows are wiped in seconds, where deleting them one by one,
each page overwritten, takes a minute. Writing is sequential: rows are numbered in the order of arrival.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from peos.collection.rows import ROW_BYTES
from peos.collection.submission import Verdict, judge
from peos.collection.ticket import ID_BYTES
from peos.errors import Closed, LocalFault
from peos.store import private_files, rules
from peos.store.base import Judged, Lists, Submission
from peos.store.database import SEAL_BYTES, Database, Layout, seal

_RECORD: Final = ROW_BYTES + 1
_STRETCH: Final = 4096  # rows in memory at a time
_STRETCH_BYTES: Final = 16 << 20
_SIDES: Final = ("-wal", "-shm")  # files that SQLite keeps next to its own
_KEPT: Final = "FROM submissions AS s WHERE id > ?"
_COUNTED: Final = f"{_KEPT} AND NOT EXISTS (SELECT 1 FROM uncounted AS u WHERE u.id = s.id)"  # noqa: S608 (joins constants)
_ALL_ROWS: Final = f"SELECT id, commitment, seal, number {_KEPT} ORDER BY id LIMIT ?"
_COUNTED_ROWS: Final = f"SELECT id, commitment, seal, number {_COUNTED} ORDER BY id LIMIT ?"
_COUNTED_SHARES: Final = f"SELECT id, share, seal, number {_COUNTED} ORDER BY id LIMIT ?"
_ALL_SHARES: Final = f"SELECT id, share, seal, number {_KEPT} ORDER BY id LIMIT ?"

LAYOUT: Final = Layout(
    what="the store",
    version=2,
    application=0x70656F74,
    cache_kib=64 << 10,  # the indices of a million submissions stay in memory
    tables=(
        """
        CREATE TABLE submissions (              -- all fixed; rows only come
            number      INTEGER PRIMARY KEY,    -- from 1, without gaps
            id          BLOB NOT NULL UNIQUE,   -- so one a ticket, which names its id
            commitment  BLOB NOT NULL,
            share       BLOB NOT NULL,
            seal        BLOB NOT NULL           -- of id and commitment, then of id and share
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
            raise LocalFault(
                "store.submissions_gone",
                f"the submissions {path.name} are gone",
                hint="look for the file before anything else",
            )
        self._database = Database(path, LAYOUT)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def submit(self, submissions: Sequence[Submission], refusal: Closed | None) -> list[Judged]:
        """Judge and keep these in one transaction; with a `refusal` nothing new is kept, and it is the answer."""
        with self._database.transaction():
            return [self._take(one, refusal) for one in submissions]

    def _take(self, one: Submission, refusal: Closed | None) -> Judged:
        id_, commitment = one.row[:ID_BYTES], one.row[ID_BYTES:]
        if refusal is None:
            inserted = self._database.run(
                "INSERT INTO submissions (id, commitment, share, seal) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                *(id_, commitment, one.share, seal(id_, commitment) + seal(id_, one.share)),
            )
            if inserted.rowcount:
                return Verdict.STORE
        stored = self._database.row("SELECT id, commitment FROM submissions WHERE id = ?", id_)
        if stored is None:
            assert refusal is not None, "what was not inserted is stored"
            return refusal
        return judge(stored[0] + stored[1], one.row)

    def count(self) -> int:
        """How many there are: rows never go, so the last one's number."""
        return int(self._database.row("SELECT coalesce(max(number), 0) FROM submissions")[0])

    def rows(self) -> Iterator[bytes]:
        """All of them, by id."""
        return self._rows(_ALL_ROWS)

    def counted_rows(self) -> Iterator[bytes]:
        """Those that the freeze counted, by id."""
        return self._rows(_COUNTED_ROWS)

    def counted_shares(self) -> Iterator[bytes]:
        """Their shares, in the same order."""
        return self._shares(_COUNTED_SHARES)

    def require_sound(self) -> None:
        """LocalFault unless every page and every submission is what was written."""
        self._database.require_sound()
        for _ in self.rows():
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

    def leave_out_all_but(self, counted: Iterable[bytes]) -> int:
        """Note what counts, and how many; in place of anything noted by a freeze that did not come to its end."""
        with self._database.transaction():
            left_out, count = rules.uncounted(self.rows(), counted)
            self._database.run("DELETE FROM uncounted")
            for id_ in left_out:
                self._database.run("INSERT INTO uncounted VALUES (?)", id_)
        return count

    def _rows(self, sql: str) -> Iterator[bytes]:
        # Each stretch is a query of its own, so that writes in between disturb nothing.
        last = b""
        while stretch := self._database.rows(sql, last, _STRETCH):
            for id_, commitment, sealed, number in stretch:
                if seal(id_, commitment) != sealed[:SEAL_BYTES]:
                    raise self._database.damaged(f"submission {number}")
                yield id_ + commitment
            last = stretch[-1]["id"]


def write_lists(path: Path, file: SubmissionFile) -> None:
    """The rows alone, each with a byte that says whether it counts: what stays after an erasure."""

    def records() -> Iterator[bytes]:
        counted = file.counted_rows()
        following = next(counted, None)
        for row in file.rows():
            counts = row == following
            if counts:
                following = next(counted, None)
            yield row + bytes([counts])

    private_files.write_durably(path, records())


def read_lists(path: Path) -> Lists:
    """What `write_lists` wrote."""
    data = path.read_bytes()
    if len(data) % _RECORD:
        raise LocalFault(
            "store.lists_damaged", f"the lists {path.name} are damaged", hint="restore the file, or remove it"
        )
    records = [(data[at : at + ROW_BYTES], data[at + ROW_BYTES]) for at in range(0, len(data), _RECORD)]
    return Lists([row for row, _ in records], [row for row, counts in records if counts])


def wipe(path: Path) -> None:
    """Overwrite and remove a collection's file, and what SQLite keeps next to it."""
    for side in (*(path.with_name(path.name + end) for end in _SIDES), path):
        private_files.wipe(side)
