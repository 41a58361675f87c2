"""Tickets: who may submit, and once. A ticket is the enrolment key's signature over (scope, id, user key).

The scope is the collection's digest. The id is drawn by the organisation that enrols, and the user's key signs her
submission: a shuffler that sees her ticket before the others cannot use it there (protocol.md §6.3).

The holder of the enrolment key can fill a collection with users of its own; against that there are the fakes (ε_s), not
the tickets.
"""

from dataclasses import dataclass

from peos.crypto.identity import Identity, verifies


@dataclass(frozen=True, repr=False)
class Ticket:
    """The right to submit once: an id, the signature that ties the user's key to it, and that key."""

    id: bytes
    signature: bytes
    key: Identity

    def __repr__(self) -> str:
        return f"Ticket({self.id.hex()[:8]}…)"


def mint(enrolment: Identity, scope: bytes, id_: bytes, user_key: bytes) -> bytes:
    """The signature of a ticket for one id and one user's public key."""
    return enrolment.sign("ticket", scope, id_, user_key)


def issue(enrolment: Identity, scope: bytes, id_: bytes, key: Identity) -> Ticket:
    """A ticket together with the user's key that it is for."""
    return Ticket(id_, mint(enrolment, scope, id_, key.public), key)


def admits(enrolment_key: bytes, signature: bytes, scope: bytes, id_: bytes, user_key: bytes) -> bool:
    """Whether the ticket is of this scope, for this id and this user's key."""
    return verifies(enrolment_key, signature, "ticket", scope, id_, user_key)
