"""What is said after the delivery, on the wire: where the dummies' rows went, what is shown of them, whose they are.

Paths and openings travel as vectors do, in chunks and under a hash: to the wire an opening is a vector of single bytes,
and an empty one says that the shuffler has nothing left to show.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.collection.document import MAX_ROWS
from peos.collection.reveal import Revealed
from peos.collection.submission import Part
from peos.crypto.kdf import DIGEST_BYTES
from peos.crypto.randomness import U64
from peos.errors import BadEncoding
from peos.shuffle.judging import MAX_INSPECTED
from peos.shuffle.merkle import SALT_BYTES, Proof
from peos.shuffle.messages import PUBLIC, WORD_BYTES, Kind, Step, VectorHeader
from peos.shuffle.opening import Opening, Place, Shown, What
from peos.shuffle.paths import Places
from peos.shuffle.schedule import MAX_SHUFFLERS
from peos.shuffle.transcript import Said
from peos.wire import shuffle_pb2 as pb
from peos.wire.shuffles import MAX_ROW_BYTES
from peos.wire.strict import VERSION, exactly, parse, serialize, within
from peos.wire.submissions import decode_part, encode_part

OPENING_LIMIT: Final = 1 << 27
_MAX_PROOF: Final = SALT_BYTES + DIGEST_BYTES * MAX_ROWS.bit_length()
_COMMITMENT_SALT: Final = 32
_PLACE: Final = np.dtype("<u4")


def encode_path(places: Places) -> NDArray[np.uint8]:
    """The rows of a vector that says where rows are."""
    return np.array(places, _PLACE).reshape(-1, 1).view(np.uint8)


def decode_path(rows: NDArray[np.uint8]) -> Places:
    """Where rows are."""
    if rows.shape[1] != _PLACE.itemsize or not 1 <= len(rows) <= MAX_INSPECTED:
        raise BadEncoding("a path does not name the places of dummies")
    return tuple(int(place) for place in np.ascontiguousarray(rows).view(_PLACE).reshape(-1))


def encode_opening(opening: Opening) -> NDArray[np.uint8]:
    """An opening as a vector of bytes."""
    if opening.lost:
        return np.empty((0, 1), np.uint8)
    message = pb.Opening(
        version=VERSION,
        paths=[encode_path(places).tobytes() for places in opening.paths],
        shown=[_encode_shown(place, shown) for place, shown in sorted(opening.shown.items())],
        said=[
            pb.Said(round=step.round, kind=step.kind, sender=sender, body=body)
            for (step, sender), body in sorted(opening.said.items())
        ],
    )
    return np.frombuffer(serialize(message), np.uint8).reshape(-1, 1)


def check_announced(header: VectorHeader) -> None:
    """BadEncoding if what is announced cannot be an opening, or a path."""
    if header.header.step.kind is Kind.PATH:
        fits = header.row_bytes == _PLACE.itemsize and header.rows <= MAX_INSPECTED
    else:
        fits = header.row_bytes == 1 and header.rows <= OPENING_LIMIT
    if not fits:
        raise BadEncoding(f"{header.rows} rows of {header.row_bytes} bytes are not what an inspection sends")


def decode_opening(sender: int, rows: NDArray[np.uint8]) -> Opening:
    """An opening, in the one encoding that it has; `judging` says what it is worth."""
    if not rows.size:
        return Opening(sender, lost=True)
    message = parse(pb.Opening, rows.tobytes(), limit=OPENING_LIMIT)
    shown = dict(map(_decode_shown, message.shown))
    said = dict(map(_decode_said, message.said))
    if len(shown) < len(message.shown) or len(said) < len(message.said):
        raise BadEncoding("an opening says something twice")
    return Opening(sender, tuple(map(_decode_places, message.paths)), shown, said)


def _encode_shown(place: Place, shown: Shown) -> pb.Shown:
    return pb.Shown(
        round=place.round,
        what=place.what,
        other=place.other,
        row_bytes=shown.rows.shape[1],
        rows=shown.rows.tobytes(),
        proofs=[proof.salt + b"".join(proof.beside) for proof in shown.proofs],
    )


def _decode_shown(message: pb.Shown) -> tuple[Place, Shown]:
    width = within(message.row_bytes, 1, MAX_ROW_BYTES, "an opened row")
    if len(message.rows) % width or not 1 <= len(message.rows) // width <= MAX_INSPECTED:
        raise BadEncoding("opened rows do not have the length that they claim")
    place = Place(
        message.round,
        What(within(message.what, min(What), max(What), "what is opened")),
        within(message.other, 0, MAX_SHUFFLERS, "the other shuffler of an opening"),
    )
    rows = np.frombuffer(message.rows, np.uint8).reshape(-1, width)
    return place, Shown(rows, tuple(map(_decode_proof, message.proofs)))


def _decode_proof(data: bytes) -> Proof:
    if not SALT_BYTES <= len(data) <= _MAX_PROOF or (len(data) - SALT_BYTES) % DIGEST_BYTES:
        raise BadEncoding("a proof of a row is not a salt and whole nodes")
    nodes = range(SALT_BYTES, len(data), DIGEST_BYTES)
    return Proof(data[:SALT_BYTES], tuple(data[at : at + DIGEST_BYTES] for at in nodes))


def _decode_said(message: pb.Said) -> tuple[Said, bytes]:
    kind = Kind(within(message.kind, min(Kind), max(Kind), "a message's kind"))
    if kind not in PUBLIC:
        raise BadEncoding(f"a {kind.name.lower()} is not said to all shufflers")
    sender = within(message.sender, 1, MAX_SHUFFLERS, "a message's sender")
    return (Step(message.round, kind), sender), exactly(message.body, WORD_BYTES, "a word")


def _decode_places(data: bytes) -> Places:
    if len(data) % _PLACE.itemsize:
        raise BadEncoding("a path does not name the places of dummies")
    return decode_path(np.frombuffer(data, np.uint8).reshape(-1, _PLACE.itemsize))


# The dummies. Their words come with the last part, which is short; the first is as long as a message may be.


@dataclass(frozen=True, repr=False)
class RevealedPart:
    """One part of a dummy; `salt` and `words` come with its last."""

    part: Part
    salt: bytes = b""
    words: U64 | None = None


def revealed_parts(revealed: Iterable[Revealed]) -> Iterator[RevealedPart]:
    """The dummies, one part a message."""
    for one in revealed:
        *others, last = one.parts
        yield from map(RevealedPart, others)
        yield RevealedPart(last, one.salt, one.words)


def gathered(parts: Sequence[RevealedPart]) -> list[Revealed]:
    """The dummies behind their parts."""
    found: list[Revealed] = []
    own: list[Part] = []
    for one in parts:
        own.append(one.part)
        if one.words is not None:
            found.append(Revealed(one.salt, one.words, tuple(own)))
            own = []
    if own or len(found) > MAX_INSPECTED:
        raise BadEncoding("the dummies that are revealed are not whole, or too many")
    return found


def encode_revealed(one: RevealedPart) -> bytes:
    """One part of a dummy."""
    words = b"" if one.words is None else one.words.astype("<u8").tobytes()
    return serialize(pb.RevealedPart(version=VERSION, salt=one.salt, words=words, part=encode_part(one.part)))


def decode_revealed(data: bytes) -> RevealedPart:
    """One part of a dummy; `collection.reveal` says whether it is one."""
    message = parse(pb.RevealedPart, data)
    part = decode_part(message.part)
    if not message.salt and not message.words:
        return RevealedPart(part)
    if not message.words or len(message.words) % 8:
        raise BadEncoding("a dummy's words are whole words")
    words = np.frombuffer(message.words, "<u8").astype(np.uint64)
    return RevealedPart(part, exactly(message.salt, _COMMITMENT_SALT, "a dummy's salt"), words)
