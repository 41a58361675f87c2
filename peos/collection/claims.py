"""What a document guarantees, once it is known how many users it is for: by its own protocol's rule."""

from peos.collection.document import Document
from peos.privacy.guarantees import Guarantees


def claims_of(document: Document, users: int) -> Guarantees:
    """What is claimed if so many honest users are counted."""
    shufflers = len(document.shufflers)
    return document.protocol.claims(document.mechanism, users, document.fakes, document.delta, shufflers)


def hiding_fakes(document: Document) -> int:
    """The fakes that hide a user although as many shufflers collude as PEOS allows for."""
    return document.protocol.hiding_fakes(document.fakes, len(document.shufflers))
