"""The audit log's chain: each entry's hash covers the entry and the hash before it.

Whoever changes, removes or inserts an entry has to recompute every later one; the last hash is kept beside the
database too, so that a log cut short is noticed.
"""

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Final

from peos.crypto.identity import labelled
from peos.errors import LocalFault
from peos.store.base import AuditEntry, Plain
from peos.store.folder import Mark

GENESIS: Final = bytes(32)


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


def verify(entries: Iterable[AuditEntry], mark: Mark | None) -> int:
    """How many entries there are, if the chain holds and goes at least as far as the witness says."""
    count, head = 0, GENESIS
    reached = mark is None or mark.entries == 0
    for entry in entries:
        count += 1
        fields = encode_fields(entry.fields)
        if entry.number != count or entry.hash != link(head, count, round(entry.time * 1000), entry.event, fields):
            raise _broken(
                "store.audit_chain", f"entry {count} of the audit log was changed, or one before it is missing"
            )
        head = entry.hash
        if mark is not None and count == mark.entries:
            reached = head == mark.head
    if not reached:
        raise _broken("store.audit_witness", f"the audit log does not agree with its witness: it has {count} entries")
    return count


def _broken(id_: str, sentence: str) -> LocalFault:
    return LocalFault(id_, sentence, hint="keep a copy of the store, and ask who had access to it")
