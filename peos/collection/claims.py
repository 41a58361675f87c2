"""What a document guarantees, once it is known how many users it is for: by its own protocol's rule."""

from peos.collection.document import SEQUENTIAL, Document
from peos.privacy.guarantees import Guarantees, guarantees
from peos.privacy.sequential import sequential_guarantees


def claims_of(document: Document, users: int) -> Guarantees:
    """What is claimed if so many honest users are counted."""
    claims = sequential_guarantees if document.protocol == SEQUENTIAL else guarantees
    return claims(document.mechanism, users, document.fakes, document.delta, len(document.shufflers))
