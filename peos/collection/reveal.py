"""The dummies revealed: the analyzer proves that these reports are its own, and they alone are opened.

The document committed to each dummy's id and words. That is not enough: an analyzer that also hands out tickets could
give a user the id of a dummy, and have her rows opened. So it shows all parts of each dummy as well, which must be
those that were frozen: the parts of a user's submission, each under a salt of its own, are known to no r − 1 shufflers
and to no analyzer (protocol.md §7.2).

What is opened is a function of the document and the frozen list alone: the analyzer has no choice of dummies and none
of their order. Otherwise it could show each shuffler another one, and have honest ones accuse one another.
"""

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from peos.collection.document import Document, Dummy
from peos.collection.submission import Part, check_part, plain_share
from peos.collection.ticket import ID_BYTES
from peos.crypto.identity import Identity, labelled
from peos.crypto.kdf import Context
from peos.crypto.randomness import U64
from peos.crypto.schemes.base import PublicKey
from peos.errors import RemoteFault
from peos.protocols import Encryption
from peos.shuffle.attempt import ENCRYPTED_SHARE
from peos.shuffle.inspect.paths import Places
from peos.shuffle.inspect.verdict import Case, inspected_dummies
from peos.shuffle.messages import SignedReveal


@dataclass(frozen=True, repr=False)
class Revealed:
    """One dummy: what the document committed to, and the parts under which it was submitted, in their order."""

    salt: bytes
    words: U64
    parts: tuple[Part, ...]

    @property
    def id(self) -> bytes:
        """Under which it was submitted."""
        return self.parts[0].id


def reveal(dummies: Sequence[Dummy], parts: Sequence[tuple[Part, ...]], ciphertext_row: int) -> list[Revealed]:
    """The first of the document's dummies, as many as are opened, ready to be shown to the shufflers."""
    count = inspected_dummies(len(dummies), ciphertext_row)
    return [Revealed(dummy.salt, dummy.words, own) for dummy, own in zip(dummies[:count], parts[:count], strict=True)]


def unsent_decide(document: Document, counted: int) -> bool:
    """Whether the minimum is reached or not by how many of the document's dummies are among so many rows."""
    return counted < document.minimum + len(document.dummies)


def unsent(document: Document, rows: Sequence[bytes], shown: Iterable[Dummy]) -> int:
    """How many of the document's dummies, of those that the analyzer shows, are in no row of the sorted list.

    Each of them proves itself, by the document and by the list here. RemoteFault for one that the document does not
    commit to.
    """
    left = set(document.dummies)
    found = 0
    for one in shown:
        if one.commitment not in left:
            raise RemoteFault(
                "freeze.not_a_dummy",
                "shows a dummy that the document does not commit to, or one twice",
                party="analyzer",
                step="freeze",
            )
        left.remove(one.commitment)
        at = bisect_left(rows, one.id)
        found += at == len(rows) or rows[at][:ID_BYTES] != one.id
    return found


def sign_reveal(identity: Identity, context: Context, revealed: Sequence[Revealed]) -> SignedReveal:
    """The analyzer answers for what it shows."""
    return SignedReveal.sign(identity, context, _hash(context, revealed))


def is_signed(document: Document, context: Context, revealed: Sequence[Revealed], signed: SignedReveal) -> bool:
    """Whether the document's analyzer answers for just this, in this order."""
    return signed.hash == _hash(context, revealed) and signed.verifies(document.analyzer.identity, context)


def proved_case(
    document: Document,
    encryption: Encryption,
    context: Context,
    transcript: bytes,
    rows: Sequence[bytes],
    revealed: Sequence[Revealed],
    signed: SignedReveal,
) -> Case:
    """What a shuffler may open of one output; RemoteFault if not just the dummies that are due are shown and proved.

    A dummy whose id is not in the frozen list was not counted, and is left out.
    """
    public = encryption.public
    assert public is not None, "rows are followed where they are re-randomised under a key"
    if not is_signed(document, context, revealed, signed):
        raise _refused("inspection.signature", "did not sign the dummies that it shows")
    due = document.dummies[
        : inspected_dummies(len(document.dummies), document.mechanism.words * public.ciphertext_bytes)
    ]
    if len(set(due)) < len(due):
        raise _refused("inspection.repeated", "committed to one dummy twice")
    if tuple(Dummy(one.salt, one.id, one.words).commitment for one in revealed) != due:
        raise _refused(
            "inspection.dummies", f"does not reveal the first {len(due)} dummies of the document in their order"
        )
    frozen = {row[:ID_BYTES]: (place, row) for place, row in enumerate(rows)}
    start: dict[int, int] = {}  # which of the dummies, by their places
    for number, one in enumerate(revealed):
        if one.id in frozen:
            place, row = frozen[one.id]
            if _proved(one, document, encryption, context.collection) != row:
                raise _refused("inspection.not_frozen", "reveals parts of a dummy that are not those which were frozen")
            start[place] = number
    if len(start) < sum(one.id in frozen for one in revealed):
        raise _refused("inspection.same_id", "committed to two dummies under one id")
    if not start:
        raise RemoteFault(
            "inspection.none_frozen", "none of the dummies was frozen", step="inspection", hint="no row can be followed"
        )
    total, order = len(rows) + document.fakes, tuple(sorted(start))
    numbers = tuple(start[place] for place in order)
    return known_case(document, public, context, transcript, total, (numbers, order), revealed, signed)


def known_case(
    document: Document,
    public: PublicKey,
    context: Context,
    transcript: bytes,
    rows: int,
    start: tuple[tuple[int, ...], Places],
    revealed: Sequence[Revealed],
    signed: SignedReveal,
) -> Case:
    """The same for dummies that need no proof: `start` says which of them were frozen, and where they stand."""
    dummies, places = start
    counted = [revealed[number] for number in dummies]
    parts = {who: [one.parts[who - 1].share for one in counted] for who in range(1, len(document.shufflers) + 1)}
    encrypted = parts.pop(ENCRYPTED_SHARE)
    return Case(
        schedule=document.schedule,
        context=context,
        rows=rows,
        transcript=transcript,
        start=places,
        shares={who: np.stack([plain_share(share) for share in shares]) for who, shares in parts.items()},
        ciphertexts=np.stack([np.frombuffer(row, np.uint8) for row in encrypted]),
        public=public,
        analyzer=document.analyzer.identity,
        revealed=signed,
        dummies=dummies,
    )


def _proved(one: Revealed, document: Document, encryption: Encryption, collection: bytes) -> bytes:
    shufflers = len(document.shufflers)
    if [part.shuffler for part in one.parts] != list(range(1, shufflers + 1)):
        raise _refused("inspection.parts", "does not reveal every part of a dummy")
    try:
        found = {check_part(part, document, collection, encryption, part.shuffler) for part in one.parts}
    except RemoteFault as fault:
        raise _refused("inspection.part", f"reveals a part of a dummy that none can be ({fault})") from None
    if len(found) > 1:
        raise _refused("inspection.mixed_parts", "reveals parts that are not of one submission")
    return found.pop()


def _hash(context: Context, revealed: Sequence[Revealed]) -> bytes:
    dummies = (
        labelled("dummy", one.salt, one.words.astype("<u8").tobytes(), *map(_encoded, one.parts)) for one in revealed
    )
    return hashlib.sha256(labelled("revealed", context.collection, context.frozen, *dummies)).digest()


def _encoded(part: Part) -> bytes:
    number = part.shuffler.to_bytes(4, "big")
    fields = (part.collection, number, part.id, part.ticket, part.user_key, part.signature, part.salt, part.share)
    return labelled("part", *fields, *part.hashes)


def _refused(id_: str, what: str) -> RemoteFault:
    return RemoteFault(id_, what, party="analyzer", step="inspection", hint="no row is opened to it")
