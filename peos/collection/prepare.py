"""From reports to submissions: split into shares by the protocol, and the parts bound together (protocol.md §6.3).

A user does this once, and keeps the result: to do it again, even with the same report, would give the shufflers two
splittings under one id.
"""

from collections.abc import Sequence

from peos.collection.submission import Part, bind
from peos.collection.ticket import Ticket
from peos.crypto.randomness import U64, Randomness
from peos.protocols import Splitter


def prepare(
    collection: bytes, splitter: Splitter, reports: U64, tickets: Sequence[Ticket], rng: Randomness
) -> list[tuple[Part, ...]]:
    """The parts of each report, in the order of the shufflers; the whole batch is split at once."""
    split = splitter.split(collection, reports, rng)
    return [bind(collection, ticket, shares, rng) for ticket, shares in zip(tickets, split, strict=True)]
