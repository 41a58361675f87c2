"""The SQLite file behind a store: opened for one process, synchronous, and its failures in one sentence."""

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from peos.errors import Full, LocalFault, PeosError
from peos.store.folder import has_descriptors, is_full, private_file, sync_folder

SEAL_BYTES: Final = 16
_BUSY_MS: Final = 5_000
_MOMENT_MS: Final = 200  # that a checkpoint waits for a reader; it is repeated later
_SETTINGS: Final = (
    f"PRAGMA busy_timeout = {_BUSY_MS}",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",  # in WAL mode only this makes a commit wait for the disk
    "PRAGMA foreign_keys = ON",
    "PRAGMA secure_delete = ON",  # what is deleted is overwritten
    "PRAGMA trusted_schema = OFF",
    "PRAGMA temp_store = MEMORY",  # no shares in temporary files
    "PRAGMA wal_autocheckpoint = 4000",
)


@dataclass(frozen=True)
class Layout:
    """What a database file is made of."""

    version: int
    application: int  # in the file's header: what it is for
    cache_kib: int
    tables: tuple[str, ...]  # with their triggers


class Database:
    """One connection, of one thread."""

    def __init__(self, path: Path, layout: Layout) -> None:
        private_file(path)
        self._path = path
        with self._sentences():
            self._connection = sqlite3.connect(path, isolation_level=None, cached_statements=64)
            self._connection.row_factory = sqlite3.Row
            try:
                for setting in (*_SETTINGS, f"PRAGMA cache_size = -{layout.cache_kib}"):
                    self._connection.execute(setting)
                self._settle(path, layout)
            except BaseException:
                self._connection.close()
                raise

    def close(self) -> None:
        """Let go of the file."""
        with self._sentences():
            self._connection.close()

    def run(self, sql: str, *values: object) -> sqlite3.Cursor:
        """One statement."""
        with self._sentences():
            return self._connection.execute(sql, values)

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
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                commit(self._connection)
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def require_sound(self) -> None:
        """LocalFault if the file's pages do not fit together; what stands in their cells, seals say."""
        with self._sentences():
            require_sound(self._connection, self._path)

    def damaged(self, what: str) -> LocalFault:
        """For a cell that is not what was written."""
        return damaged(self._path, what)

    def empty_log(self) -> bool:
        """See `empty_log`."""
        with self._sentences():
            return empty_log(self._connection)

    def _settle(self, path: Path, layout: Layout) -> None:
        """Make the tables of a new file; check those of another."""
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        tables = self._connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if version == 0 and tables == 0:
            with self.transaction():
                for statement in layout.tables:
                    self._connection.execute(statement)
                self._connection.execute(f"PRAGMA application_id = {layout.application}")
                self._connection.execute(f"PRAGMA user_version = {layout.version}")
            sync_folder(path.parent)
            return
        application = self._connection.execute("PRAGMA application_id").fetchone()[0]
        if application != layout.application:
            raise LocalFault("store.not_ours", f"{path} is not a store of this program", hint="name another folder")
        if version != layout.version:
            raise LocalFault(
                "store.version",
                f"{path} is of version {version}, and this program reads version {layout.version}",
                hint="run the program of that version until its collections have ended",
            )

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        """SQLite's errors as ours. Their texts name tables and values; those are not passed on."""
        try:
            yield
        except PeosError:
            raise
        except sqlite3.ProgrammingError:
            raise LocalFault(
                "store.misused", "the store was used after its end or from another thread than its own"
            ) from None
        except sqlite3.Error as error:
            raise failure(error, "the store", self._path) from None


def seal(*cells: bytes) -> bytes:
    """What is kept beside cells, to tell that they are still what was written; no secret, and no proof of an author."""
    whole = hashlib.sha256()
    for cell in cells:
        whole.update(len(cell).to_bytes(8, "big") + cell)
    return whole.digest()[:SEAL_BYTES]


def require_sound(connection: sqlite3.Connection, path: Path) -> None:
    """LocalFault if the pages of the file do not fit together."""
    found = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    if found != "ok":
        raise damaged(path, " ".join(found.replace("*** in database main ***", "").split()))


def damaged(path: Path, what: str) -> LocalFault:
    """For a file that is not what was written to it."""
    return LocalFault(
        "store.damaged",
        f"the store {path.parent.name}/{path.name} is damaged ({what})",
        hint=f"stop, check the disk, and restore the folder of {path} from a backup",
    )


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


def failure(error: sqlite3.Error, what: str, path: Path) -> PeosError:
    """What SQLite met, in a sentence: a disk without room shows in several ways, and is not a broken one."""
    name, folder = getattr(error, "sqlite_errorname", "") or type(error).__name__, path.parent
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return damaged(path, name)
    if name.startswith("SQLITE_FULL") or (name.startswith("SQLITE_IOERR") and is_full(folder)):
        return Full(
            "store.no_room", f"there is no room left where {what} is", hint="make room; nothing acknowledged is lost"
        )
    if name.startswith(("SQLITE_CANTOPEN", "SQLITE_IOERR")) and not has_descriptors():
        return Full(
            "store.open_files",
            f"{what} cannot be opened: this process has as many files open as it may have",
            hint="raise the limit of open files (`ulimit -n`); servers go on by themselves",
        )
    return LocalFault("store.failed", f"{what} failed ({name})", hint=f"check the disk, then {folder}")
