"""The audit log's chain: each entry's hash covers the entry and the hash before it.

To change, remove or insert an entry, every later one has to be recomputed; the last hash is kept outside the
database too, so that a log cut short is noticed. It is one for every store: a line is written in the transaction of the
change that it records, so there is no change without its line.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Final

from peos.crypto.identity import labelled
from peos.errors import LocalFault
from peos.store.base import AuditEntry, Plain
from peos.store.database import Database
from peos.store.private_files import Witness

TRIGGERS: Final = (
    "CREATE TRIGGER audit_fixed BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'fixed'); END",
    "CREATE TRIGGER audit_stay BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'fixed'); END",
)
TABLES: Final = (
    """
    CREATE TABLE audit (                        -- all fixed; rows only come
        number      INTEGER PRIMARY KEY,
        at          INTEGER NOT NULL,           -- milliseconds since 1970, UTC
        event       TEXT NOT NULL,
        fields      TEXT NOT NULL,              -- JSON, in its one form
        hash        BLOB NOT NULL
    ) STRICT
    """,
    *TRIGGERS,
)
START: Final = (0, bytes(32))  # the number and hash before the first entry
_STRETCH: Final = 4096  # lines in memory at a time


def encode_fields(fields: Mapping[str, Plain]) -> str:
    """The one text of an entry's fields; nothing but text and numbers, so that no share or key gets in unnoticed."""
    for name, value in fields.items():
        if not isinstance(value, str | int | float):
            raise LocalFault("store.audit_field", f"the audit log holds text and numbers, and {name} is neither")
    return json.dumps(dict(fields), sort_keys=True, separators=(",", ":"), allow_nan=False)


def link(previous: bytes, number: int, milliseconds: int, event: str, fields: str) -> bytes:
    """An entry's hash."""
    place = number.to_bytes(8, "big") + milliseconds.to_bytes(8, "big")
    return sha256(labelled("audit", previous, place, event.encode(), fields.encode())).digest()


def following(last: tuple[int, bytes], now: float, event: str, fields: Mapping[str, Plain]) -> AuditEntry:
    """The entry after the one of this number and hash."""
    number, head = last
    milliseconds, text = round(now * 1000), encode_fields(fields)
    hash_ = link(head, number + 1, milliseconds, event, text)
    return AuditEntry(number + 1, milliseconds / 1000, event, dict(fields), hash_)


def last(database: Database) -> tuple[int, bytes]:
    """The number and hash of the last entry."""
    found = database.row("SELECT number, hash FROM audit ORDER BY number DESC LIMIT 1")
    return START if found is None else (found["number"], found["hash"])


def append(database: Database, now: float, event: str, fields: Mapping[str, Plain]) -> None:
    """One more entry, within the transaction that is under way."""
    entry = following(last(database), now, event, fields)
    row = (entry.number, round(entry.time * 1000), event, encode_fields(fields), entry.hash)
    database.run("INSERT INTO audit VALUES (?, ?, ?, ?, ?)", *row)


def entries(database: Database) -> Iterator[AuditEntry]:
    """All of them, the oldest first."""
    number = 0
    sql = "SELECT number, at, event, fields, hash FROM audit WHERE number > ? ORDER BY number LIMIT ?"
    while stretch := database.rows(sql, number, _STRETCH):
        yield from (AuditEntry(row[0], row[1] / 1000, row[2], json.loads(row[3]), row[4]) for row in stretch)
        number = stretch[-1]["number"]


def verify(entries: Iterable[AuditEntry], witness: Witness | None) -> int:
    """How many entries there are, if the chain holds and goes at least as far as the witness says."""
    count, head = START
    reached = witness is None or witness.entries == 0
    for entry in entries:
        count += 1
        fields = encode_fields(entry.fields)
        if entry.number != count or entry.hash != link(head, count, round(entry.time * 1000), entry.event, fields):
            raise _broken(
                "store.audit_chain", f"entry {count} of the audit log was changed, or one before it is missing"
            )
        head = entry.hash
        if witness is not None and count == witness.entries:
            reached = head == witness.head
    if not reached:
        raise _broken("store.audit_witness", f"the audit log does not agree with its witness: it has {count} entries")
    return count


def _broken(id_: str, sentence: str) -> LocalFault:
    return LocalFault(id_, sentence, hint="keep a copy of the store, and ask who had access to it")
