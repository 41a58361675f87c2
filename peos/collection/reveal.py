"""The dummies revealed: the analyzer proves that these reports are its own, and they alone are opened.

The document committed to each dummy's id and words. That is not enough: an analyzer that also hands out tickets could
give a user the id of a dummy, and have her rows opened. So it shows all parts of each dummy as well, which must be
those that were frozen: the parts of a user's submission, each under a salt of its own, are known to no r − 1 shufflers
and to no analyzer (protocol.md §7.2).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from peos.collection.document import Document, Dummy
from peos.collection.submission import Part, check_part, plain_share
from peos.crypto.kdf import Context
from peos.crypto.randomness import U64
from peos.crypto.schemes.base import PublicKey
from peos.errors import RemoteFault
from peos.shuffle.attempt import ENCRYPTED_SHARE
from peos.shuffle.judging import Case, inspected_dummies
from peos.shuffle.paths import Places


@dataclass(frozen=True, repr=False)
class Revealed:
    """One dummy: what the document committed to, and the parts under which it was submitted, in their order."""

    salt: bytes
    words: U64
    parts: tuple[Part, ...]


def reveal(dummies: Sequence[Dummy], parts: Sequence[tuple[Part, ...]], ciphertext_row: int) -> list[Revealed]:
    """As many of the dummies as are opened, ready to be shown to the shufflers."""
    count = inspected_dummies(len(dummies), ciphertext_row)
    return [Revealed(dummy.salt, dummy.words, own) for dummy, own in zip(dummies[:count], parts[:count], strict=True)]


def proved_case(
    document: Document,
    public: PublicKey,
    context: Context,
    transcript: bytes,
    rows: Sequence[bytes],
    revealed: Sequence[Revealed],
) -> Case:
    """What a shuffler may open of one output; RemoteFault if a revealed report is not proved to be the analyzer's own.

    A dummy that is not among the frozen reports was not counted, and is left out.
    """
    places = {row: place for place, row in enumerate(rows)}
    committed = set(document.dummies)
    counted = {_proved(one, document, public, context.collection, committed): one for one in revealed}
    start = {places[row]: one for row, one in counted.items() if row in places}
    if not start or len(counted) < len(revealed):
        raise _refused("reveals no dummies that were counted, or one twice")
    total = len(rows) + document.fakes
    return known_case(document, public, context, transcript, total, tuple(start), tuple(start.values()))


def known_case(
    document: Document,
    public: PublicKey,
    context: Context,
    transcript: bytes,
    rows: int,
    start: Places,
    revealed: Sequence[Revealed],
) -> Case:
    """The same for reports that need no proof, which stand at the places `start` of the frozen list."""
    parts = {who: [one.parts[who - 1].share for one in revealed] for who in range(1, len(document.shufflers) + 1)}
    encrypted = parts.pop(ENCRYPTED_SHARE)
    return Case(
        schedule=document.schedule,
        context=context,
        rows=rows,
        transcript=transcript,
        start=start,
        shares={who: np.stack([plain_share(share) for share in shares]) for who, shares in parts.items()},
        ciphertexts=np.stack([np.frombuffer(row, np.uint8) for row in encrypted]),
        public=public,
    )


def _proved(one: Revealed, document: Document, public: PublicKey, collection: bytes, committed: set[bytes]) -> bytes:
    shufflers = len(document.shufflers)
    if [part.shuffler for part in one.parts] != list(range(1, shufflers + 1)):
        raise _refused("does not reveal every part of a dummy")
    if Dummy(one.salt, one.parts[0].id, one.words).commitment not in committed:
        raise _refused("reveals a report that the document does not commit to as a dummy")
    found = {check_part(part, document, collection, public, part.shuffler) for part in one.parts}
    if len(found) > 1:
        raise _refused("reveals parts that are not of one submission")
    return found.pop()


def _refused(what: str) -> RemoteFault:
    return RemoteFault(what, party="analyzer", step="inspection", hint="no row is opened to it")
