"""The tables of the SQLite store. Columns marked "fixed" never change: triggers refuse it."""

from typing import Any, Final

from peos.collection.lifecycle import State
from peos.store import audit, rules
from peos.store.database import Layout, seal

ERASED: Final = 2  # of the column: wholly; 1 is begun

_TABLES: Final = (
    """
    CREATE TABLE store (
        one         INTEGER PRIMARY KEY CHECK (one = 1),
        identity    BLOB NOT NULL,              -- fixed
        generation  INTEGER NOT NULL            -- only grows
    ) STRICT
    """,
    """
    CREATE TABLE collections (
        number      INTEGER PRIMARY KEY,        -- fixed; in the order of arrival
        digest      BLOB NOT NULL UNIQUE,       -- fixed
        signed      BLOB NOT NULL,              -- fixed: the signed document as it came
        roster      BLOB NOT NULL,              -- fixed
        analyzer    BLOB NOT NULL,              -- fixed, with question and epoch: what must be answered at most once
        question    TEXT NOT NULL,              -- fixed
        epoch       TEXT NOT NULL,              -- fixed
        state       TEXT NOT NULL,              -- peos.collection.lifecycle
        reason      TEXT NOT NULL DEFAULT '',
        count       INTEGER NOT NULL DEFAULT 0, -- of submissions, once they are erased
        frozen      BLOB,                       -- fixed once set, with its count and announcements
        frozen_count INTEGER,
        announcements BLOB,                     -- likewise: all shufflers' signed lists, as they were compared
        fake_seed   BLOB,                       -- once set, only ever erased
        place       TEXT NOT NULL DEFAULT 'free',  -- the standing (peos.shuffle.delivery_state), four columns
        attempt     INTEGER NOT NULL DEFAULT 0, -- only grows
        left_       INTEGER NOT NULL DEFAULT 0, -- only grows
        transcript  BLOB NOT NULL DEFAULT x'',
        vector      TEXT,                       -- the file of the final vector, with its hash and shape
        vector_hash BLOB,
        rows        INTEGER,
        row_bytes   INTEGER,
        erased      INTEGER NOT NULL DEFAULT 0, -- 0 no, 1 begun, 2 done: the tombstone; only grows
        lost        INTEGER NOT NULL DEFAULT 0, -- restored from a backup; only grows
        seal        BLOB NOT NULL DEFAULT x''   -- of all the others but the seed, whose bits may be any
    ) STRICT
    """,
    "CREATE INDEX questions ON collections (analyzer, question, epoch)",
    """
    CREATE TABLE refused (
        collection  INTEGER NOT NULL REFERENCES collections (number),
        reason      TEXT NOT NULL,
        count       INTEGER NOT NULL,           -- only grows
        PRIMARY KEY (collection, reason)
    ) STRICT, WITHOUT ROWID
    """,
)

_TRIGGERS: Final = (
    """
    CREATE TRIGGER store_fixed BEFORE UPDATE ON store
    WHEN new.identity IS NOT old.identity OR new.generation < old.generation
    BEGIN SELECT RAISE(ABORT, 'fixed'); END
    """,
    """
    CREATE TRIGGER collections_fixed
    BEFORE UPDATE OF number, digest, signed, roster, analyzer, question, epoch ON collections
    BEGIN SELECT RAISE(ABORT, 'fixed'); END
    """,
    """
    CREATE TRIGGER collections_grow BEFORE UPDATE ON collections
    WHEN (old.frozen IS NOT NULL AND (new.frozen IS NOT old.frozen OR new.frozen_count IS NOT old.frozen_count
            OR new.announcements IS NOT old.announcements))
        OR (old.fake_seed IS NOT NULL AND new.fake_seed IS NOT old.fake_seed AND new.fake_seed IS NOT NULL)
        OR (new.fake_seed IS NOT old.fake_seed AND old.erased > 0)
        OR new.attempt < old.attempt OR new.left_ < old.left_
        OR new.erased < old.erased OR new.lost < old.lost OR new.count < old.count
    BEGIN SELECT RAISE(ABORT, 'only grows'); END
    """,
    "CREATE TRIGGER collections_stay BEFORE DELETE ON collections BEGIN SELECT RAISE(ABORT, 'fixed'); END",
)

LAYOUT: Final = Layout(
    what="the store",
    version=2,
    application=0x70656F73,
    tables=(*_TABLES, *_TRIGGERS, *audit.TABLES),
    cache_kib=8 << 10,
)


def sealed(row: Any) -> bytes:
    """The seal of a collection's row."""
    return seal(*(repr(row[name]).encode() for name in row.keys() if name != "seal"))  # noqa: SIM118 - a row is no mapping


def is_finished(row: Any) -> bool:
    """Whether a collection is over and wholly erased."""
    return rules.is_finished(State(row["state"]), erased=row["erased"] == ERASED)
