"""What a document guarantees, once it is known how many users it is for: by its own protocol's rule."""

from peos.collection.document import SEQUENTIAL, Document
from peos.privacy.guarantees import Guarantees, guarantees
from peos.privacy.sequential import remaining, sequential_guarantees
from peos.shuffle.schedule import Schedule


def claims_of(document: Document, users: int) -> Guarantees:
    """What is claimed if so many honest users are counted."""
    claims = sequential_guarantees if document.protocol == SEQUENTIAL else guarantees
    return claims(document.mechanism, users, document.fakes, document.delta, len(document.shufflers))


def hiding_fakes(document: Document) -> int:
    """The fakes that hide a user although as many shufflers collude as PEOS allows for."""
    shufflers = len(document.shufflers)
    if document.protocol == SEQUENTIAL:
        return remaining(document.fakes, shufflers, Schedule(shufflers).colluders)
    return document.fakes
