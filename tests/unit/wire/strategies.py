"""Every message as hypothesis draws it, with its encoder and decoder. Lengths and ranges are spelt out anew."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from peos.collection.document import MAX_ROWS, Document, MechanismChoice, Member
from peos.collection.freeze import Announcement, Announcements, FrozenDigest, Stretch
from peos.collection.membership import FrozenLists, MembershipProof, MembershipRequest
from peos.collection.receipts import Acknowledgement
from peos.collection.rows import ListProof
from peos.collection.submission import Part
from peos.crypto.identity import Identity
from peos.crypto.kdf import Context
from peos.crypto.onion import OnionPrivateKey
from peos.crypto.randomness import Randomness
from peos.protocols.sequential import SEQUENTIAL
from peos.shuffle.messages import (
    Header,
    Kind,
    Notice,
    NoticeKind,
    SignedNotice,
    SignedReceipt,
    Statement,
    Step,
    VectorHeader,
)
from peos.v1 import shuffle_pb2 as pb
from peos.wire import consoles, documents, freezes, parties, shuffles, submissions
from peos.wire.strict import serialize
from tests.keys import small_key
from tests.unit.wire import party_strategies as party

FLOOR = 512
KEY = small_key(FLOOR).public
ANALYZER = Identity(b"\x05" * 32)
POINTS = [OnionPrivateKey.generate(Randomness(bytes([number]) * 32)).point for number in range(1, 11)]
THRESHOLDS = st.integers(2**48, 2**63)  # for any number of cells below, ε lies where mechanisms let it

digests = st.binary(min_size=32, max_size=32)
ids = st.binary(min_size=16, max_size=16)
signatures = st.binary(min_size=64, max_size=64)
attempts = st.integers(1, 2**32 - 1)
names = st.text(min_size=1, max_size=40)
choices = st.one_of(
    st.builds(lambda d, t: MechanismChoice("grr", d, {"threshold": t}), st.integers(2, 2**24), THRESHOLDS),
    st.builds(
        lambda d, k, t: MechanismChoice("solh", d, {"cells": k, "threshold": t}),
        st.integers(2, 4096),
        st.integers(2, 2**16),
        THRESHOLDS,
    ),
    st.builds(
        lambda d, t: MechanismChoice("sue", d, {"field_bits": 5, "tau": t}), st.integers(2, 200), st.integers(1, 15)
    ),
)


@st.composite
def _documents(draw: st.DrawFn) -> Document:
    shufflers = draw(st.integers(3, 9))
    keys = draw(st.lists(digests, min_size=shufflers, max_size=shufflers, unique=True))
    identities = [identity for identity in keys if identity != ANALYZER.public]
    certificates = draw(st.lists(digests, min_size=len(keys) + 1, max_size=len(keys) + 1, unique=True))
    members = [Member(draw(names), *pair) for pair in zip(identities, certificates[1:], strict=True)]
    times = sorted(draw(st.sets(st.integers(1, 2**40 - 1), min_size=3, max_size=3)))
    first = draw(st.integers(0, 2**16))
    encryption: dict[str, Any] = {"scheme": "paillier", "public_key": KEY.encode()}
    if draw(st.booleans()):
        encryption = {"scheme": "onion", "public_key": POINTS[-1], "protocol": SEQUENTIAL}
        encryption["onion_keys"] = tuple(draw(st.permutations(POINTS[:-1]))[: len(members)])
    return Document(
        question=draw(st.text(min_size=1, max_size=1024)),
        epoch=draw(st.text(max_size=20)),
        choice=draw(choices),
        **encryption,
        shufflers=tuple(members),
        analyzer=Member(draw(names), ANALYZER.public, certificates[0]),
        fakes=draw(st.integers(0, 2**31 - 1)),
        minimum=draw(st.integers(1, 2**31 - 1)),
        delta=draw(st.floats(0, 1, exclude_min=True, exclude_max=True)),
        enrolment_key=draw(digests),
        dummies=tuple(hashlib.sha256(b"%d" % n).digest() for n in range(first, first + draw(st.integers(32, 40)))),
        closes_at=times[0],
        shuffle_by=times[1],
        erase_by=times[2],
    )


@st.composite
def _parts(draw: st.DrawFn) -> Part:
    hashes = draw(st.lists(digests, min_size=3, max_size=9))
    shuffler = draw(st.integers(1, len(hashes)))
    share = draw(st.binary(min_size=1, max_size=300))
    signed = draw(signatures), draw(digests), draw(signatures)
    return Part(draw(digests), shuffler, draw(ids), *signed, draw(ids), tuple(hashes), share)


@st.composite
def _stretches(draw: st.DrawFn) -> Stretch:
    chosen = sorted(draw(st.sets(ids, max_size=4)))
    rows = tuple(id_ + draw(digests) for id_ in chosen)
    first = draw(st.integers(0, 2**31 - len(rows))) if rows else 0
    total = draw(st.integers(first + len(rows), 2**31)) if rows else 0
    return Stretch(draw(digests), total, first, rows)


@st.composite
def _announcements(draw: st.DrawFn) -> Announcements:
    lists = st.tuples(st.integers(1, 9), st.tuples(st.integers(0, 2**31), digests))
    held = sorted(draw(st.sets(lists, min_size=1, max_size=6)))
    made = (Announcement(who, *listed, draw(signatures)) for who, listed in held)
    return Announcements(draw(digests), tuple(made))


@st.composite
def headers(draw: st.DrawFn, *, vector: bool) -> Header:
    """Where a message belongs."""
    kind = Kind(draw(st.sampled_from([5, 7, 9] if vector else [1, 2, 3, 4, 6, 8])))
    sender = draw(st.integers(1, 9))
    receiver = 0 if kind is Kind.DELIVERY else draw(st.integers(1, 9).filter(lambda who: who != sender))
    context = Context(draw(digests), draw(digests), draw(attempts))
    return Header(context, Step(draw(st.integers(1, 2**16 - 1)), kind), sender, receiver)


@st.composite
def _vector_headers(draw: st.DrawFn) -> VectorHeader:
    header = draw(headers(vector=True))
    transcript = draw(digests) if header.step.kind is Kind.DELIVERY else b""
    rows, row_bytes = draw(st.integers(0, 2**31)), draw(st.integers(1, 2**26))
    return VectorHeader(header, rows, row_bytes, draw(digests), transcript)


@st.composite
def _notices(draw: st.DrawFn) -> SignedNotice:
    kind = draw(st.sampled_from(NoticeKind))
    transcript = draw(digests) if kind is NoticeKind.STORED else b""
    notice = Notice(kind, draw(st.integers(1, 9)), draw(st.integers(0, 2**32 - 1)), transcript)
    return SignedNotice(Context(draw(digests), draw(digests)), notice, draw(signatures))


def _encode_vector_header(header: VectorHeader) -> bytes:
    """The header of an empty vector, given this shape and hash: so no rows have to be made for it."""
    none = np.empty((0, header.row_bytes), np.uint8)
    message = pb.VectorHeader.FromString(
        next(shuffles.encode_vector(header.header, none, transcript=header.transcript))
    )
    message.rows, message.sha256 = header.rows, header.sha256
    return serialize(message)


def _encode_chunk(data: bytes) -> bytes:
    rows = np.frombuffer(data, np.uint8).reshape(1, -1)
    return list(shuffles.encode_vector(_A_HEADER, rows))[1]


def _decode_chunk(encoded: bytes) -> bytes:
    """The first chunk of a vector that has room for any of them."""
    return shuffles.ChunkReader(VectorHeader(_A_HEADER, 1, 2**26, bytes(32))).take(encoded)


_A_HEADER = Header(Context(bytes(32), bytes(32), 1), Step(1, Kind.PIECE), 2, 1)


@dataclass(frozen=True)
class Shape:
    """Which fields of a message are messages themselves, and which may occur more than once."""

    nested: Mapping[int, "Shape"] = field(default_factory=dict)
    repeated: frozenset[int] = frozenset()


FLAT = Shape()
HEADED = Shape({2: FLAT})
CARDS = Shape({}, frozenset({3}))
STATUS = Shape({}, frozenset({7, 11}))
DOCUMENT = Shape({4: Shape({3: FLAT}, frozenset({3})), 7: FLAT, 8: FLAT}, frozenset({7, 13, 18}))


@dataclass(frozen=True)
class Codec:
    """A message: what it may say, and how it is written and read."""

    values: st.SearchStrategy[Any]
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]
    shape: Shape = FLAT
    open_ended: bool = False  # its last fields may be absent, so that a prefix can be a message too

    @property
    def encodings(self) -> st.SearchStrategy[bytes]:
        """Encoded messages."""
        return self.values.map(self.encode)


def _frozen_lists() -> st.SearchStrategy[FrozenLists]:
    return st.builds(FrozenLists, _announcements(), _frozen, st.integers(0, MAX_ROWS), digests)


def _membership_proofs() -> st.SearchStrategy[MembershipProof]:
    paths = st.lists(digests, max_size=3).map(tuple)
    shown = st.lists(st.builds(ListProof, st.integers(0, MAX_ROWS - 1), _rows, paths), max_size=2).map(tuple)
    return st.builds(MembershipProof, _frozen_lists(), shown, shown)


def _signed(document: Document) -> bytes:
    return documents.sign_document(document, ANALYZER)


def _read_signed(data: bytes) -> Document:
    return documents.decode_signed_document(data, floor=FLOOR).document


_read_document = partial(documents.decode_document, floor=FLOOR)
_rows = st.binary(min_size=48, max_size=48)
_acknowledgements = st.builds(Acknowledgement, digests, _rows, party.receipts)
_membership_requests = st.builds(MembershipRequest, digests, _rows, digests, party.receipts, signatures)
_frozen = st.builds(FrozenDigest, digests, digests, signatures)
_words = st.builds(Statement, headers(vector=False), digests)
_receipts = st.builds(SignedReceipt, st.builds(Context, digests, digests, attempts), digests, signatures)
_chunks = st.binary(min_size=1, max_size=64)

_terms = st.one_of(st.text(max_size=20), st.lists(st.text(max_size=10), max_size=3))
_console_questions = st.builds(
    consoles.ConsoleQuestion, st.text(min_size=1, max_size=40), st.dictionaries(names, _terms, max_size=3)
)
_console_pieces = st.binary(min_size=1, max_size=200)

CODECS = {
    "Document": Codec(_documents(), documents.encode_document, _read_document, DOCUMENT),
    "SignedDocument": Codec(_documents(), _signed, _read_signed),
    "Part": Codec(_parts(), submissions.encode_part, submissions.decode_part, Shape({}, frozenset({7}))),
    "Acknowledgement": Codec(
        _acknowledgements, submissions.encode_acknowledgement, submissions.decode_acknowledgement, Shape({4: FLAT})
    ),
    "MembershipRequest": Codec(
        _membership_requests,
        submissions.encode_membership_request,
        submissions.decode_membership_request,
        Shape({5: FLAT}),
    ),
    "FrozenLists": Codec(_frozen_lists(), submissions.encode_frozen_lists, submissions.decode_frozen_lists),
    "MembershipProof": Codec(
        _membership_proofs(),
        submissions.encode_membership_proof,
        submissions.decode_membership_proof,
        Shape({3: FLAT, 4: FLAT}, frozenset({3, 4})),
        open_ended=True,
    ),
    "Announcements": Codec(
        _announcements(),
        freezes.encode_announcements,
        freezes.decode_announcements,
        Shape({3: FLAT}, frozenset({3})),
        open_ended=True,
    ),
    "ListChunk": Codec(_stretches(), freezes.encode_stretch, freezes.decode_stretch),
    "FrozenDigest": Codec(_frozen, freezes.encode_frozen_digest, freezes.decode_frozen_digest),
    "Word": Codec(_words, shuffles.encode_statement, shuffles.decode_statement, HEADED),
    "VectorHeader": Codec(_vector_headers(), _encode_vector_header, shuffles.decode_vector_header, HEADED),
    "VectorChunk": Codec(_chunks, _encode_chunk, _decode_chunk),
    "Notice": Codec(_notices(), shuffles.encode_notice, shuffles.decode_notice),
    "Receipt": Codec(_receipts, shuffles.encode_receipt, shuffles.decode_receipt),
    "ConsoleQuestion": Codec(
        _console_questions, consoles.encode_console_question, consoles.decode_console_question, open_ended=True
    ),
    "ConsolePiece": Codec(_console_pieces, consoles.encode_console_piece, consoles.decode_console_piece),
    "Inquiry": Codec(digests, parties.encode_inquiry, parties.decode_inquiry),
    "Reply": Codec(st.none(), parties.encode_reply, parties.decode_reply),
    "SignedCard": Codec(party.cards(for_users=False), party.sign_card, parties.decode_card),
    "Proposal": Codec(party.proposals(), party.encode_proposal, parties.decode_proposal, CARDS, open_ended=True),
    "Invitation": Codec(party.invitations, party.encode_invitation, parties.decode_invitation, CARDS, open_ended=True),
    "Order": Codec(party.orders(), party.encode_order, parties.decode_order),
    "Answer": Codec(party.answers, parties.encode_answer, parties.decode_answer, open_ended=True),
    "StatusReply": Codec(party.statuses, parties.encode_status, parties.decode_status, STATUS, open_ended=True),
}
