"""The SQL of the store where it is put together from pieces; values are always bound, never joined in."""
# ruff: noqa: S608 (only this file's own constants are joined)

from typing import Final

COLUMNS: Final = (
    "number, digest, signed, roster, analyzer, question, epoch, state, reason, count, frozen, frozen_count, "
    "place, attempt, left_, transcript, vector, vector_hash, rows, row_bytes, erased, lost"
)  # all but the seed of the fakes, which is read where it is needed
COLLECTIONS: Final = f"SELECT {COLUMNS} FROM collections ORDER BY number"
COLLECTION: Final = f"SELECT {COLUMNS} FROM collections WHERE digest = ?"
ASKING: Final = f"SELECT {COLUMNS} FROM collections WHERE analyzer = ? AND question = ? AND epoch = ? ORDER BY number"
_KEPT: Final = "FROM submissions AS s WHERE collection = ? AND id > ?"
_COUNTED: Final = (
    f"{_KEPT} AND NOT EXISTS (SELECT 1 FROM uncounted AS u WHERE u.collection = s.collection AND u.id = s.id)"
)
TRIPLES: Final = f"SELECT id, ticket, digest {_KEPT} ORDER BY id LIMIT ?"
FROZEN_TRIPLES: Final = f"SELECT id, ticket, digest {_COUNTED} ORDER BY id LIMIT ?"
SHARES: Final = f"SELECT id, share {_COUNTED} ORDER BY id LIMIT ?"
FORGET: Final = tuple(
    f"DELETE FROM {table} WHERE collection = ? AND {key} IN (SELECT {key} FROM {table} WHERE collection = ? LIMIT ?)"
    for table, key in (("submissions", "number"), ("uncounted", "id"))
)
