"""The other end of the shuffle: vectors of one output combined, the dummies looked for and taken out.

Nothing is published unless every dummy came out exactly. If a fraction ρ of the rows was replaced, k dummies miss it
with probability (1 − ρ)^k.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from peos.crypto.kdf import Context
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.base import Packed, PrivateKey
from peos.errors import RemoteFault
from peos.shuffle.inspect.verdict import Finding
from peos.shuffle.schedule import Schedule
from peos.shuffle.vectors import as_rows

_NOT_USED: Final = "the output is not used; ask the shufflers that are named, and begin a new collection"


@dataclass(frozen=True)
class FinalVector:
    """One last hider's delivery: the attempt and transcript it belongs to, and its vector."""

    context: Context
    transcript: bytes
    vector: U64 | Packed


def combine(schedule: Schedule, parts: Mapping[int, FinalVector], key: PrivateKey, rng: Randomness) -> U64:
    """(rows, words): the shuffled reports, fakes and dummies among them.

    Only parts of one collection, frozen list, attempt and transcript belong together; others are refused.
    """
    holder = schedule.last[0]
    _require_one_output(schedule, parts)
    ciphertexts = parts[holder].vector.view(np.uint8)
    rows = len(ciphertexts)
    flat = ciphertexts.reshape(-1, key.public.ciphertext_bytes)
    words = key.decrypt_shuffled(flat, passes=len(schedule.passes), rng=rng)
    return add_up(schedule, parts, words.reshape(rows, -1))


def add_up(schedule: Schedule, parts: Mapping[int, FinalVector], decrypted: U64) -> U64:
    """`combine` for a caller that has decrypted the last holder's ciphertexts itself, into (rows, words)."""
    _require_one_output(schedule, parts)
    total = decrypted.copy()
    for who in schedule.last[1:]:
        if parts[who].vector.shape != total.shape:
            raise RemoteFault(
                "delivery.vector_shape", "delivered a vector of another shape", party=f"shuffler {who}", step="delivery"
            )
        total += parts[who].vector.view(np.uint64)
    return total


def _require_one_output(schedule: Schedule, parts: Mapping[int, FinalVector]) -> None:
    missing = [who for who in schedule.last if who not in parts]
    if missing:
        raise RemoteFault("delivery.missing", "has not delivered", party=f"shuffler {missing[0]}", step="delivery")
    holder, *others = schedule.last
    first = parts[holder]
    for who in others:
        if (parts[who].context, parts[who].transcript) != (first.context, first.transcript):
            raise RemoteFault(
                "delivery.other_shuffle",
                "delivered another shuffle than the rest",
                party=f"shuffler {who}",
                step="delivery",
            )


def without_dummies(
    reports: U64, dummies: U64, findings: Sequence[Finding] = (), *, expected: Container[int] | None = None
) -> U64:
    """The reports less one row for each dummy that came out.

    RemoteFault if one of the `expected` dummies, by number (None: all), did not come out exactly, or if the inspection
    found anything: nothing is published then. One that not every shuffler acknowledged may be missing.
    """
    width = as_rows(reports[:1]).shape[1] if len(reports) else 8 * dummies.shape[1]
    packed = as_rows(reports).view(f"V{width}").reshape(-1)
    wanted: dict[bytes, list[int]] = {}
    for number, row in enumerate(as_rows(dummies)):
        wanted.setdefault(row.tobytes(), []).append(number)
    kept = np.ones(len(reports), dtype=bool)
    # Void rows compare by their bytes; only rows that equal some dummy are looked at one by one.
    for position in np.flatnonzero(np.isin(packed, as_rows(dummies).view(f"V{width}").reshape(-1))):
        row = packed[position].tobytes()
        if wanted.get(row):
            wanted[row].pop()
            kept[position] = False
    lost = sum(expected is None or number in expected for left in wanted.values() for number in left)
    found = "; ".join(map(str, findings))
    if lost:
        raise RemoteFault(
            "result.dummies_lost",
            f"{lost} of {len(dummies)} dummies did not come out of the shuffle; "
            f"{found or 'nothing that was opened shows where they were lost'}",
            step="check of the dummies",
            hint=_NOT_USED,
        )
    if found:
        raise RemoteFault(
            "result.shuffle_wrong",
            f"the shuffle was done incorrectly; {found}",
            step="inspection",
            hint=_NOT_USED,
        )
    return reports[kept]
