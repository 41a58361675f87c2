"""What is said after the delivery, on the wire: where the dummies' rows went, what is shown of them, whose they are.

Paths and openings travel as vectors do, in chunks and under a hash: to the wire they are vectors of single bytes.
Each says what dummies its sender was shown, so that no shuffler is judged by other dummies.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.collection.document import MAX_ROWS, Dummy
from peos.collection.reveal import Revealed
from peos.collection.submission import Part
from peos.collection.ticket import ID_BYTES
from peos.crypto.identity import SIGNATURE_BYTES
from peos.crypto.kdf import DIGEST_BYTES
from peos.crypto.randomness import U64
from peos.errors import BadEncoding
from peos.shuffle.inspect.evidence import Nothing, Opening, Shown, Slot, What
from peos.shuffle.inspect.paths import Places
from peos.shuffle.inspect.verdict import MAX_INSPECTED
from peos.shuffle.merkle import SALT_BYTES, Proof
from peos.shuffle.messages import PUBLIC, STATEMENT_BYTES, Kind, SignedReveal, Step, VectorHeader
from peos.shuffle.schedule import MAX_SHUFFLERS
from peos.shuffle.transcript import Said
from peos.v1 import shuffle_pb2 as pb
from peos.wire.shuffles import MAX_ROW_BYTES
from peos.wire.strict import VERSION, exactly, parse, serialize, within
from peos.wire.submissions import decode_part, encode_part

OPENING_LIMIT: Final = 1 << 27
_MAX_PROOF: Final = SALT_BYTES + DIGEST_BYTES * MAX_ROWS.bit_length()
_COMMITMENT_SALT: Final = 32
_PLACE: Final = np.dtype("<u4")
_PATH_LIMIT: Final = _PLACE.itemsize * MAX_INSPECTED + DIGEST_BYTES + SIGNATURE_BYTES + 16


def encode_path(places: Places, revealed: SignedReveal) -> NDArray[np.uint8]:
    """Where rows are after a round, as a vector of bytes."""
    return _rows_of(pb.Path(version=VERSION, places=_encode_places(places), revealed=_encode_signed(revealed)))


def decode_path(rows: NDArray[np.uint8]) -> tuple[Places, SignedReveal]:
    """Where rows are, and what its sender was shown of the dummies."""
    message = parse(pb.Path, rows.tobytes(), limit=_PATH_LIMIT)
    return _decode_places(message.places), _decode_signed(message.revealed)


def encode_opening(opening: Opening) -> NDArray[np.uint8]:
    """An opening as a vector of bytes."""
    message = pb.Opening(
        version=VERSION,
        nothing=opening.nothing or 0,
        revealed=_encode_signed(opening.revealed) if opening.revealed else b"",
        claim=_encode_places(opening.claim) if opening.claim else b"",
        dummies=_encode_places(opening.dummies),
        paths=list(map(_encode_places, opening.paths)),
        shown=[_encode_shown(place, shown) for place, shown in sorted(opening.shown.items())],
        said=[
            pb.Said(round=step.round, kind=step.kind, sender=sender, body=body)
            for (step, sender), body in sorted(opening.said.items())
        ],
    )
    return _rows_of(message)


def check_announced(header: VectorHeader) -> None:
    """BadEncoding if what is announced cannot be an opening, or a path."""
    limit = _PATH_LIMIT if header.header.step.kind is Kind.PATH else OPENING_LIMIT
    if header.row_bytes != 1 or header.rows > limit:
        raise BadEncoding(
            "inspection.rows", f"{header.rows} rows of {header.row_bytes} bytes are not what an inspection sends"
        )


def decode_opening(sender: int, rows: NDArray[np.uint8]) -> Opening:
    """An opening, in the one encoding that it has; `judging` says what it is worth."""
    message = parse(pb.Opening, rows.tobytes(), limit=OPENING_LIMIT)
    revealed = _decode_signed(message.revealed) if message.revealed or not message.nothing else None
    if message.nothing:
        if message.paths or message.shown or message.said or message.claim or message.dummies:
            raise BadEncoding("inspection.opening_nothing", "an opening shows something and says that it shows nothing")
        why = Nothing(within(message.nothing, min(Nothing), max(Nothing), "the reason why nothing is shown"))
        return Opening(sender, revealed=revealed, nothing=why)
    shown = dict(map(_decode_shown, message.shown))
    said = dict(map(_decode_said, message.said))
    if len(shown) < len(message.shown) or len(said) < len(message.said):
        raise BadEncoding("inspection.opening_repeats", "an opening says something twice")
    claim = _decode_places(message.claim) if message.claim else None
    paths, dummies = tuple(map(_decode_places, message.paths)), _decode_places(message.dummies)
    if (
        len(set(dummies)) < len(dummies)
        or max(dummies) >= MAX_INSPECTED
        or any(len(dummies) != len(one) for one in paths)
    ):
        raise BadEncoding("inspection.opening_owner", "an opening does not say whose rows it shows")
    return Opening(sender, paths, shown, said, claim, revealed, dummies)


def _encode_shown(place: Slot, shown: Shown) -> pb.Shown:
    return pb.Shown(
        round=place.round,
        what=place.what,
        other=place.other,
        row_bytes=shown.rows.shape[1],
        rows=shown.rows.tobytes(),
        proofs=[proof.salt + b"".join(proof.beside) for proof in shown.proofs],
    )


def _decode_shown(message: pb.Shown) -> tuple[Slot, Shown]:
    width = within(message.row_bytes, 1, MAX_ROW_BYTES, "an opened row")
    if len(message.rows) % width or not 1 <= len(message.rows) // width <= MAX_INSPECTED:
        raise BadEncoding("inspection.opening_length", "opened rows do not have the length that they claim")
    place = Slot(
        message.round,
        What(within(message.what, min(What), max(What), "what is opened")),
        within(message.other, 0, MAX_SHUFFLERS, "the other shuffler of an opening"),
    )
    rows = np.frombuffer(message.rows, np.uint8).reshape(-1, width)
    return place, Shown(rows, tuple(map(_decode_proof, message.proofs)))


def _decode_proof(data: bytes) -> Proof:
    if not SALT_BYTES <= len(data) <= _MAX_PROOF or (len(data) - SALT_BYTES) % DIGEST_BYTES:
        raise BadEncoding("inspection.row_proof", "a proof of a row is not a salt and whole nodes")
    nodes = range(SALT_BYTES, len(data), DIGEST_BYTES)
    return Proof(data[:SALT_BYTES], tuple(data[at : at + DIGEST_BYTES] for at in nodes))


def _decode_said(message: pb.Said) -> tuple[Said, bytes]:
    kind = Kind(within(message.kind, min(Kind), max(Kind), "a message's kind"))
    if kind not in PUBLIC:
        raise BadEncoding("inspection.receivers", f"a {kind.name.lower()} is not said to all shufflers")
    sender = within(message.sender, 1, MAX_SHUFFLERS, "a message's sender")
    return (Step(message.round, kind), sender), exactly(message.body, STATEMENT_BYTES, "a word")


def _encode_places(places: Places) -> bytes:
    return np.array(places, _PLACE).tobytes()


def _decode_places(data: bytes) -> Places:
    if len(data) % _PLACE.itemsize or not 1 <= len(data) // _PLACE.itemsize <= MAX_INSPECTED:
        raise BadEncoding("inspection.path", "a path does not name the places of dummies")
    return tuple(int(place) for place in np.frombuffer(data, _PLACE))


def _encode_signed(revealed: SignedReveal) -> bytes:
    return revealed.hash + revealed.signature


def _decode_signed(data: bytes) -> SignedReveal:
    exactly(data, DIGEST_BYTES + SIGNATURE_BYTES, "the signed hash of the dummies")
    return SignedReveal(data[:DIGEST_BYTES], data[DIGEST_BYTES:])


def _rows_of(message: pb.Path | pb.Opening) -> NDArray[np.uint8]:
    return np.frombuffer(serialize(message), np.uint8).reshape(-1, 1)


# The dummies. Their words come with the last part, which is short; the first is as long as a message may be.


@dataclass(frozen=True, repr=False)
class RevealedPart:
    """One part of a dummy; `salt` and `words` come with its last."""

    part: Part
    salt: bytes = b""
    words: U64 | None = None


def revealed_parts(revealed: Iterable[Revealed], signed: SignedReveal) -> Iterator[RevealedPart | SignedReveal]:
    """The dummies, one part a message, and the analyzer's signature."""
    for one in revealed:
        *others, last = one.parts
        yield from map(RevealedPart, others)
        yield RevealedPart(last, one.salt, one.words)
    yield signed


def gathered(parts: Sequence[RevealedPart | SignedReveal]) -> tuple[list[Revealed], SignedReveal]:
    """The dummies behind their parts, and what the analyzer signed."""
    found: list[Revealed] = []
    own: list[Part] = []
    *others, signed = parts if parts else [None]
    for one in others:
        if not isinstance(one, RevealedPart):
            raise BadEncoding("inspection.after_signature", "the dummies go on behind the analyzer's signature")
        own.append(one.part)
        if one.words is not None:
            found.append(Revealed(one.salt, one.words, tuple(own)))
            own = []
    if own or len(found) > MAX_INSPECTED or not isinstance(signed, SignedReveal):
        raise BadEncoding("inspection.revealed", "the dummies that are revealed are not whole, too many, or not signed")
    return found, signed


def encode_revealed(one: RevealedPart | SignedReveal) -> bytes:
    """One part of a dummy, or what ends them."""
    if isinstance(one, SignedReveal):
        return serialize(pb.RevealedPart(version=VERSION, signature=_encode_signed(one)))
    words = b"" if one.words is None else one.words.astype("<u8").tobytes()
    return serialize(pb.RevealedPart(version=VERSION, salt=one.salt, words=words, part=encode_part(one.part)))


def encode_unsent(dummy: Dummy) -> bytes:
    """A dummy that was not sent."""
    words = dummy.words.astype("<u8").tobytes()
    return serialize(pb.UnsentDummy(version=VERSION, salt=dummy.salt, id=dummy.id, words=words))


def decode_unsent(data: bytes) -> Dummy:
    """A dummy that was not sent, if the document commits to it."""
    message = parse(pb.UnsentDummy, data)
    salt = exactly(message.salt, _COMMITMENT_SALT, "a dummy's salt")
    return Dummy(salt, exactly(message.id, ID_BYTES, "a dummy's id"), _decode_words(message.words))


def decode_revealed(data: bytes) -> RevealedPart | SignedReveal:
    """One part of a dummy, or what ends them; `collection.reveal` says what they are worth."""
    message = parse(pb.RevealedPart, data)
    if message.signature:
        if message.part or message.salt or message.words:
            raise BadEncoding("inspection.mixed_end", "a part of a dummy and the end of the dummies came in one")
        return _decode_signed(message.signature)
    part = decode_part(message.part)
    if not message.salt and not message.words:
        return RevealedPart(part)
    words = _decode_words(message.words)
    return RevealedPart(part, exactly(message.salt, _COMMITMENT_SALT, "a dummy's salt"), words)


def _decode_words(data: bytes) -> U64:
    if not data or len(data) % 8:
        raise BadEncoding("inspection.dummy_words", "a dummy's words are whole words")
    return np.frombuffer(data, "<u8").astype(np.uint64)
