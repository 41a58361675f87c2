"""From reports to submissions of a sequential shuffle: one onion, and a word to each of the others (protocol.md §9)."""

from collections.abc import Sequence

import numpy as np

from peos.collection.submission import PRESENT, Part, bind
from peos.collection.ticket import Ticket
from peos.crypto.onion import OnionKeys
from peos.crypto.randomness import U64, Randomness


def prepare_onions(
    collection: bytes, keys: OnionKeys, reports: U64, tickets: Sequence[Ticket], rng: Randomness
) -> list[tuple[Part, ...]]:
    """The parts of each report, in the order of the shufflers; done once, and kept, as `prepare.prepare` says."""
    count, words = reports.shape
    rows = reports.astype("<u8").view(np.uint8).reshape(count, 8 * words)
    others = (PRESENT,) * (keys.layers - 2)
    return [
        bind(collection, ticket, (onion.tobytes(), *others), rng)
        for ticket, onion in zip(tickets, keys.wrap(collection, rows, rng), strict=True)
    ]
