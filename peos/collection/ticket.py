"""Tickets: who may submit, and once. A ticket is the enrolment key's signature over (collection digest, id).

Whoever can mint tickets can fill a collection with users of its own; the fakes answer that (ε_s), not the tickets.
"""

from peos.crypto.identity import Identity, verifies


def mint(enrolment: Identity, collection: bytes, id_: bytes) -> bytes:
    """The ticket of one id for one collection."""
    return enrolment.sign("ticket", collection, id_)


def admits(enrolment_key: bytes, ticket: bytes, collection: bytes, id_: bytes) -> bool:
    """Whether the ticket is this collection's, for this id."""
    return verifies(enrolment_key, ticket, "ticket", collection, id_)
