"""The SQLite file behind a store: opened, brought to the present version, synchronous, its failures in one sentence.

Every store of every party is one: a shuffler's, a collection's submissions, the analyzer's, a user's memory.
"""

import hashlib
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from peos.errors import Full, LocalFault, PeosError
from peos.store.private_files import has_descriptors, is_full, private_file, sync_folder

SEAL_BYTES: Final = 16
_MOMENT_MS: Final = 200  # that a checkpoint waits for a reader; it is repeated later
_SECONDS: Final = 30.0  # for which another process may write
_PATIENCE: Final = f"PRAGMA busy_timeout = {int(1000 * _SECONDS)}"
_OVERWRITES: Final = "PRAGMA secure_delete = ON"  # what is deleted
_SETTINGS: Final = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",  # in WAL mode only this makes a commit wait for the disk
    "PRAGMA foreign_keys = ON",
    _OVERWRITES,
    "PRAGMA trusted_schema = OFF",
    "PRAGMA temp_store = MEMORY",  # no shares in temporary files
    "PRAGMA wal_autocheckpoint = 4000",
)


@dataclass(frozen=True)
class Layout:
    """What a database file is made of, and how one of an older version becomes one of this."""

    what: str  # in sentences
    version: int
    application: int  # in the file's header: what it is for
    tables: tuple[str, ...]  # with their triggers, as this version makes them
    steps: Mapping[int, tuple[str, ...]] = field(default_factory=dict)  # by the version that they lead away from
    unmarked: frozenset[str] = frozenset()  # the tables of files from before they bore the application
    cache_kib: int = 2 << 10


class Database:
    """One connection; of one thread, unless `threads` may share it."""

    def __init__(self, path: Path, layout: Layout, *, threads: bool = False) -> None:
        private_file(path)
        self._path, self._layout = path, layout
        self._lock = threading.RLock()
        with self._sentences():
            # Autocommit: transactions are begun and ended here, and nowhere by the library.
            self._connection = sqlite3.connect(
                path, isolation_level=None, cached_statements=64, check_same_thread=not threads
            )
            self._connection.row_factory = sqlite3.Row
            try:
                self._connection.execute(_PATIENCE)
                self._version()  # another program's file is refused before a setting of ours is written to it
                for setting in (*_SETTINGS, f"PRAGMA cache_size = -{layout.cache_kib}"):
                    self._set(setting)
                self._settle()
            except BaseException:
                self._connection.close()
                raise

    def close(self) -> None:
        """Close the file."""
        with self._sentences():
            self._connection.close()

    def run(self, sql: str, *values: object) -> sqlite3.Cursor:
        """One statement."""
        with self._sentences():
            return self._connection.execute(sql, values)

    def run_many(self, sql: str, rows: Iterable[tuple[object, ...]]) -> None:
        """One statement for each row of values."""
        with self._sentences():
            self._connection.executemany(sql, rows)

    def rows(self, sql: str, *values: object) -> list[Any]:
        """All rows of one query."""
        with self._sentences():
            return self._connection.execute(sql, values).fetchall()

    def row(self, sql: str, *values: object) -> Any:
        """The first row of one query, or None."""
        with self._sentences():
            return self._connection.execute(sql, values).fetchone()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing; durable at its end."""
        with self._sentences():
            try:
                self._connection.execute("BEGIN IMMEDIATE")  # in here: an interrupt may come as soon as it has begun
                yield
                commit(self._connection)
            except BaseException:
                if self._connection.in_transaction:  # a full disk has rolled back already
                    self._connection.execute("ROLLBACK")
                raise

    def require_sound(self) -> None:
        """LocalFault if the file's pages do not fit together; what stands in their cells, seals say."""
        with self._sentences():
            found = str(self._connection.execute("PRAGMA quick_check(1)").fetchone()[0])
            if found != "ok":
                raise self.damaged(" ".join(found.replace("*** in database main ***", "").split()))

    def damaged(self, what: str) -> LocalFault:
        """For a file, or a cell in it, that is not what was written."""
        return LocalFault(
            "store.damaged",
            f"{self._layout.what} {self._path.parent.name}/{self._path.name} is damaged ({what})",
            hint=f"stop, check the disk, and restore the folder of {self._path} from a backup",
        )

    def copied(self, without: Iterable[str] = ()) -> bytes:
        """The file as it is at this moment, while others write to it; `without` what these statements take out.

        That is done in memory: what is taken out is nowhere in the bytes, and on no disk.
        """
        with self._sentences(), closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
            self._connection.backup(copy)
            return _changed(copy, without)

    def copy_to(self, path: Path) -> None:
        """The same, whole, as a file."""
        with self._sentences(), closing(sqlite3.connect(path, isolation_level=None)) as copy:
            self._connection.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing next to it

    def empty_log(self) -> bool:
        """See `empty_log`."""
        with self._sentences():
            return empty_log(self._connection)

    def _set(self, setting: str) -> None:
        """Make a setting, as soon as no other process writes.

        To turn the log on, SQLite reads first, and then does not wait for a writer: two readers who did would wait for
        each other. Here neither has anything to lose by reading again.
        """
        give_up_at = time.monotonic() + _SECONDS
        while True:  # no retry policy: what is waited for is another process's transaction
            try:
                self._connection.execute(setting)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > give_up_at:
                    raise
                time.sleep(_MOMENT_MS / 1e4)
            else:
                return

    def _settle(self) -> None:
        """Make the tables of a new file; bring an older one to this version, whole or not at all."""
        layout = self._layout
        if self._version() == layout.version:
            return
        sync_folder(self._path.parent)  # its name is durable before anything is kept in it
        with self.transaction():
            version = self._version()  # again: another process may have been first
            steps = layout.tables if version is None else self._way_from(version)
            for statement in steps:
                self._connection.execute(statement)
            self._connection.execute(f"PRAGMA application_id = {layout.application}")
            self._connection.execute(f"PRAGMA user_version = {layout.version}")

    def _version(self) -> int | None:
        """The version of the file; None of one that is new."""
        version, application = (
            int(self._connection.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("user_version", "application_id")
        )
        tables = {name for (name,) in self._connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        if not (version or application or tables):
            return None
        is_unmarked = application == 0 and bool(self._layout.unmarked) and self._layout.unmarked <= tables
        if application != self._layout.application and not is_unmarked:
            raise LocalFault(
                "store.not_ours", f"{self._path} is not {self._layout.what} of this program", hint="name another folder"
            )
        return version

    def _way_from(self, version: int) -> list[str]:
        layout = self._layout
        if version > layout.version:
            raise LocalFault(
                "store.version",
                f"{layout.what} {self._path} is of version {version}, and this program reads up to {layout.version}",
                hint="install the version of this program that wrote it, or a newer one",
            )
        if not all(number in layout.steps for number in range(version, layout.version)):
            raise LocalFault(
                "store.version_old",
                f"{layout.what} {self._path} is of version {version}, older than any that this program can bring up "
                f"to its own, {layout.version}",
                hint="run the program of that version until its collections have ended, then name another folder",
            )
        return [statement for number in range(version, layout.version) for statement in layout.steps[number]]

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        """SQLite's errors as ours. Their texts name tables and values; those are not passed on."""
        try:
            with self._lock:
                yield
        except sqlite3.ProgrammingError:
            raise LocalFault(
                "store.misused", f"{self._layout.what} was used after its end or from another thread"
            ) from None
        except sqlite3.Error as error:
            raise self._failure(error) from None

    def _failure(self, error: sqlite3.Error) -> PeosError:
        """What SQLite met, in a sentence: a disk without room shows in several ways, and is not a broken one."""
        name = getattr(error, "sqlite_errorname", "") or type(error).__name__
        what, folder = self._layout.what, self._path.parent
        if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            return self.damaged(name)
        if name.startswith("SQLITE_FULL") or (name.startswith("SQLITE_IOERR") and is_full(folder)):
            return Full(
                "store.no_room",
                f"there is no room left where {what} is",
                hint="make room; nothing acknowledged is lost",
            )
        if name.startswith(("SQLITE_CANTOPEN", "SQLITE_IOERR")) and not has_descriptors():
            return Full(
                "store.open_files",
                f"{what} cannot be opened: this process has as many files open as it may have",
                hint="raise the limit of open files (`ulimit -n`); servers go on by themselves",
            )
        return LocalFault("store.failed", f"{what} failed ({name})", hint=f"check the disk, then {folder}")


def seal(*cells: bytes) -> bytes:
    """What is kept with cells, to tell that they are still what was written; no secret, and no proof of an author."""
    whole = hashlib.sha256()
    for cell in cells:
        whole.update(len(cell).to_bytes(8, "big") + cell)
    return whole.digest()[:SEAL_BYTES]


def without(content: bytes, statements: Iterable[str]) -> bytes:
    """A database's bytes, as `Database.copied` gives them, without what these statements take out."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
        copy.deserialize(content)
        return _changed(copy, statements)


def _changed(copy: sqlite3.Connection, statements: Iterable[str]) -> bytes:
    """What is in memory after these statements; nothing of what they took out is left in the bytes."""
    copy.execute(_OVERWRITES)
    for statement in statements:
        copy.execute(statement)
    copy.execute("VACUUM")
    return copy.serialize()


def commit(connection: sqlite3.Connection) -> None:
    """End a transaction: what it changed is durable when this returns, and may be when it raises."""
    connection.execute("COMMIT")


def empty_log(connection: sqlite3.Connection) -> bool:
    """Move everything from the write-ahead log into the file, and cut the log off: it holds deleted pages too.

    False if another connection still reads from the log, so that nothing was cut off: to be repeated.
    """
    (patience,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute(f"PRAGMA busy_timeout = {_MOMENT_MS}")
    try:
        (is_busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not is_busy
    finally:
        connection.execute(f"PRAGMA busy_timeout = {patience}")
