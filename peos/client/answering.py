"""One report a user and question: randomised once, and only then given out to be kept and sent.

Randomising again, even for the same value, would let the answers be averaged; splitting the same report again would
give the shufflers two submissions under one ticket (protocol.md §6.3). So what was prepared under a ticket is what is
sent under it, whatever the value is by then.
"""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

import numpy as np

from peos.client.consent import Consent
from peos.client.ledger import Ledger, charge
from peos.collection.labels import expected, value_of
from peos.collection.membership import ask
from peos.collection.prepare import prepare
from peos.collection.submission import Part
from peos.collection.ticket import Ticket, admits
from peos.crypto.randomness import Randomness
from peos.protocols import Splitter
from peos.wire.submissions import encode_part


@dataclass(frozen=True, repr=False)
class Submission:
    """A report as it was prepared, once: to be kept with its cost before any of it is sent."""

    ticket: bytes  # its id
    cost: int  # millionths of ε_l
    parts: tuple[Part, ...]
    encoded: tuple[bytes, ...]  # the parts as they are kept, counted and sent
    asking: bytes  # the signature of a membership request

    def __repr__(self) -> str:
        return f"Submission({self.ticket.hex()[:8]}…)"


def answer(
    consent: Consent, value: int, ticket: Ticket, ledger: Ledger, rng: Randomness, splitter: Splitter | None = None
) -> Submission:
    """Her submission; Refused if she has answered before, or cannot afford it.

    `splitter` is one that was made for many users of this collection, since what it makes ahead costs seconds.
    """
    cost = charge(consent, ledger)
    report = consent.document.mechanism.randomize(np.array([value], dtype=np.int64), rng)
    split = splitter or consent.encryption.splitter(rng, 1)
    (parts,) = prepare(consent.digest, split, report, [ticket], rng)
    asking = ask(ticket.key, consent.digest, parts[0].row)  # now: the key is forgotten once all have acknowledged
    return Submission(ticket.id, cost, parts, tuple(map(encode_part, parts)), asking)


def is_ticket_of(consent: Consent, ticket: Ticket) -> bool:
    """Whether the ticket is one of this collection's, and the key the one that it names."""
    enrolment = consent.document.enrolment_key
    return admits(enrolment, ticket.signature, consent.digest, ticket.id, ticket.key.public)


def values_of(
    consent: Consent,
    answers: Sequence[tuple[int | str, Ticket]],
    known: Container[bytes],
    looked_at: Callable[[int], None] = lambda _: None,
) -> tuple[list[int], list[tuple[int, str]]]:
    """What was answered, as numbers; and all that is wrong with it, by position, before anything is randomised.

    `known` are tickets under which something was prepared, which were valid then. `looked_at` hears each position,
    since verifying tickets takes a while.
    """
    labels, domain = consent.document.labels, consent.document.mechanism.domain
    faults: list[tuple[int, str]] = []
    found: list[int] = []
    seen: set[bytes] = set()
    for position, (value, ticket) in enumerate(answers):
        looked_at(position)
        number = value_of(value, labels, domain) if isinstance(value, str) else value
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < domain:
            faults.append((position, f"the value is not {expected(labels, domain)}"))
        else:
            found.append(number)
        if ticket.id in seen:
            faults.append((position, "the ticket is there twice"))
        elif ticket.id not in known and not is_ticket_of(consent, ticket):
            faults.append((position, "the ticket is not valid for this collection and key"))
        seen.add(ticket.id)
    return found, faults
