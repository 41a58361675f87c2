"""The analyzer's audit log: what was created, ordered, taken in, published, erased and read, each line chained by hash.

A line is written in the transaction of the change that it tells of, whichever process makes it; so there is no change
without its line. It holds names, digests, numbers and states, and never a share, a key or a value.
"""

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from typing import Final

from peos.store.audit import GENESIS, encode_fields, link
from peos.store.base import AuditEntry, Plain

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS audit (
    number INTEGER PRIMARY KEY, at INTEGER NOT NULL, event TEXT NOT NULL, fields TEXT NOT NULL, hash BLOB NOT NULL
) STRICT;
"""


def append(base: sqlite3.Connection, event: str, fields: Mapping[str, Plain]) -> None:
    """One more line, within the transaction that is under way."""
    text = encode_fields(fields)
    last = base.execute("SELECT number, hash FROM audit ORDER BY number DESC LIMIT 1").fetchone()
    number, head = (last[0] + 1, last[1]) if last is not None else (1, GENESIS)
    at = round(time.time() * 1000)
    line = (number, at, event, text, link(head, number, at, event, text))
    base.execute("INSERT INTO audit VALUES (?, ?, ?, ?, ?)", line)


def entries(base: sqlite3.Connection) -> Iterator[AuditEntry]:
    """All lines, the oldest first."""
    for row in base.execute("SELECT number, at, event, fields, hash FROM audit ORDER BY number").fetchall():
        yield AuditEntry(row[0], row[1] / 1000, row[2], json.loads(row[3]), row[4])
