"""A small collection to test the rules on: its organisations, its document, and a user's parts."""

import hashlib
from functools import cache

import numpy as np

from peos.collection.document import MIN_DUMMIES, Document, Dummy, MechanismChoice, Member, digest
from peos.collection.receipts import Acknowledged, Receipt, receipts
from peos.collection.submission import Part, bind
from peos.collection.ticket import Ticket, issue
from peos.crypto.identity import Identity
from peos.crypto.randomness import Randomness
from peos.ldp import GRR
from peos.wire.documents import encode_document
from tests.keys import small_key

ENROLMENT = Identity(b"\x0e" * 32)
ANALYZER = Identity(b"\x0a" * 32)
SHUFFLERS = tuple(Identity(bytes([number]) * 32) for number in (1, 2, 3))
PUBLIC = small_key(512).public


def digest_of(label: str) -> bytes:
    """32 bytes that are determined by their label."""
    return hashlib.sha256(label.encode()).digest()


def member(name: str, identity: Identity) -> Member:
    """An organisation."""
    return Member(name, identity.public, digest_of(f"certificate of {name}"))


def id_of(label: str) -> bytes:
    """A user's id."""
    return digest_of(label)[:16]


DUMMIES = tuple(
    Dummy(digest_of(f"salt {number}"), id_of(f"dummy {number}"), np.array([number], np.uint64))
    for number in range(MIN_DUMMIES)
)
DOCUMENT = Document(
    question="Which?",
    epoch="2031-07",
    choice=MechanismChoice.of(GRR(16, 2.0)),
    scheme="paillier",
    public_key=PUBLIC.encode(),
    shufflers=tuple(member(f"shuffler {number}", one) for number, one in enumerate(SHUFFLERS, start=1)),
    analyzer=member("analyzer", ANALYZER),
    fakes=10,
    minimum=5,
    delta=1e-6,
    enrolment_key=ENROLMENT.public,
    dummies=tuple(one.commitment for one in DUMMIES),
    closes_at=1,
    shuffle_by=2,
    erase_by=3,
)
COLLECTION = digest(encode_document(DOCUMENT))
ENCRYPTION = DOCUMENT.encryption(floor=512)


def ticket(label: str) -> Ticket:
    """A user's ticket, with her key."""
    return issue(ENROLMENT, COLLECTION, id_of(label), Identity(digest_of(f"key of {label}")))


@cache
def shares() -> tuple[bytes, ...]:
    """The shares of one report: a ciphertext, and a word for each of the others."""
    rng = Randomness(b"\x02" * 32)
    plain = rng.uint64(1)
    ciphertext = PUBLIC.encrypt(plain, PUBLIC.zero_source(rng).zeros(1))
    return (ciphertext.tobytes(), rng.bytes(8), rng.bytes(8))


def parts(label: str = "a user", *, rng: Randomness | None = None) -> tuple[Part, ...]:
    """One user's parts."""
    return bind(COLLECTION, ticket(label), shares(), rng or Randomness(b"\x03" * 32))


def row(label: str, version: int = 0) -> bytes:
    """What a shuffler keeps of a user's submission; another `version` is another splitting under one ticket."""
    return id_of(label) + digest_of(f"{label}, splitting {version}")


def receipt_of(shuffler: Identity, part: Part) -> Receipt:
    """A shuffler's receipt for one part."""
    (receipt,) = receipts(shuffler, [Acknowledged(part.collection, part.row, part.user_key)])
    return receipt
