"""One report a user and question: randomised once, and only then given out to be kept and sent.

Randomising again, even for the same value, would let the answers be averaged; splitting the same report again would
give the shufflers two submissions under one ticket (protocol.md §6.3). So what was prepared under a ticket is what is
sent under it, whatever the value is by then.
"""

import json
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from dataclasses import dataclass

from peos.client.consent import Consent
from peos.client.ledger import Ledger, charge
from peos.collection.membership import ask
from peos.collection.prepare import prepare
from peos.collection.submission import Part
from peos.collection.ticket import Ticket, admits
from peos.crypto.randomness import Randomness
from peos.protocols import Splitter
from peos.tasks.views import Record, answers_of, problems
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
    consent: Consent, record: Record, ticket: Ticket, ledger: Ledger, rng: Randomness, splitter: Splitter | None = None
) -> Submission:
    """Her submission; Refused if she has answered before, or cannot afford it.

    `splitter` is one that was made for many users of this collection, since what it makes ahead costs seconds.
    """
    cost = charge(consent, ledger)
    mechanism = consent.document.mechanism
    report = mechanism.randomize(mechanism.gathered(answers_of(consent.views, [record], rng)), rng)
    split = splitter or consent.encryption.splitter(rng, 1)
    (parts,) = prepare(consent.digest, split, report, [ticket], rng)
    asking = ask(ticket.key, consent.digest, parts[0].row)  # now: the key is forgotten once all have acknowledged
    return Submission(ticket.id, cost, parts, tuple(map(encode_part, parts)), asking)


def is_ticket_of(consent: Consent, ticket: Ticket) -> bool:
    """Whether the ticket is one of this collection's or its study's, and the key the one that it names."""
    document = consent.document
    scope = document.scope(consent.digest)
    return admits(document.enrolment_key, ticket.signature, scope, ticket.id, ticket.key.public)


def is_asked(consent: Consent, ticket: Ticket) -> bool:
    """Whether the ticket's place is one that this round of a study asks; where there are no rounds, all are."""
    study = consent.document.study
    return study is None or study.asks(ticket.id)


def record_of(consent: Consent, words: str) -> Record:
    """The record that a user's words stand for: the text that they are, or if that does not fit a list or an object."""
    if problems(consent.views, [words]):
        with suppress(ValueError, RecursionError):
            found = json.loads(words)
            if isinstance(found, list | dict):
                return found
    return words


def faults_of(
    consent: Consent,
    answers: Sequence[tuple[Record, Ticket]],
    known: Container[bytes],
    looked_at: Callable[[int], None] = lambda _: None,
) -> list[tuple[int, str]]:
    """All that is wrong with answers, by position, before anything is randomised; of no record more than its reason.

    `known` are tickets under which something was prepared, which were valid then. `looked_at` hears each position,
    since verifying tickets takes a while. The record of a ticket that this round does not ask is not looked at.
    """
    asked = [position for position, (_, ticket) in enumerate(answers) if is_asked(consent, ticket)]
    unfit = problems(consent.views, [answers[position][0] for position in asked])
    reasons = {asked[at]: reason for at, reason in unfit}
    faults: list[tuple[int, str]] = []
    seen: set[bytes] = set()
    for position, (_, ticket) in enumerate(answers):
        looked_at(position)
        if position in reasons:
            faults.append((position, reasons[position]))
        if ticket.id in seen:
            faults.append((position, "the ticket is there twice"))
        elif ticket.id not in known and not is_ticket_of(consent, ticket):
            faults.append((position, "the ticket is not valid for this collection and key"))
        seen.add(ticket.id)
    return faults
