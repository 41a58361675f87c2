"""From reports to submissions: split into shares, encrypt the first, bind the parts together (protocol.md §6.3).

A user does this once, and keeps the result: to do it again, even with the same report, would give the shufflers two
splittings under one id.
"""

from collections.abc import Sequence

from peos.collection.submission import Part, bind
from peos.collection.ticket import Ticket
from peos.crypto import sharing
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.base import PublicKey, ZeroSource


def prepare(
    collection: bytes,
    shufflers: int,
    public: PublicKey,
    zeros: ZeroSource,
    reports: U64,
    tickets: Sequence[Ticket],
    rng: Randomness,
) -> list[tuple[Part, ...]]:
    """The parts of each report, in the order of the shufflers; encryption of the whole batch at once."""
    count, words = reports.shape
    first, *others = sharing.split(reports, shufflers, rng)
    encrypted = public.encrypt(first.reshape(-1), zeros.zeros(first.size))
    rows = encrypted.reshape(count, words * public.ciphertext_bytes)
    made = []
    for row, ticket in enumerate(tickets):
        shares = (rows[row].tobytes(), *(share[row].astype("<u8").tobytes() for share in others))
        made.append(bind(collection, ticket, shares, rng))
    return made
