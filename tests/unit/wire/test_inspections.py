"""Paths, openings and revealed dummies on the wire: what goes in comes out, and nothing else gets in."""

from dataclasses import replace

import numpy as np
import pytest

from peos.collection.reveal import Revealed
from peos.collection.submission import Part
from peos.crypto.kdf import Context
from peos.crypto.randomness import Randomness
from peos.errors import BadEncoding
from peos.shuffle.merkle import Proof
from peos.shuffle.messages import Header, Kind, Step, VectorHeader
from peos.shuffle.opening import Opening, Place, Shown, What
from peos.wire import shuffle_pb2 as pb
from peos.wire.inspections import (
    OPENING_LIMIT,
    RevealedPart,
    check_announced,
    decode_opening,
    decode_path,
    decode_revealed,
    encode_opening,
    encode_path,
    encode_revealed,
    gathered,
    revealed_parts,
)

ROWS = np.arange(24, dtype=np.uint8).reshape(3, 8)
PROOF = Proof(b"s" * 16, (b"n" * 32, b"m" * 32))
OPENING = Opening(
    2,
    ((0, 1, 2), (5, 6, 7)),
    {Place(1, What.MIXED): Shown(ROWS, (PROOF, PROOF, PROOF)), Place(1, What.TAKEN, 3): Shown(ROWS)},
    {(Step(1, Kind.ROOT), 1): b"r" * 32},
)


def part(number: int, of: int = 3) -> Part:
    hashes = tuple(bytes([one]) * 32 for one in range(of))
    return Part(b"c" * 32, number, b"i" * 16, b"t" * 64, b"k" * 32, b"u" * 64, b"s" * 16, hashes, bytes(8 * number))


def same(one: Opening, other: Opening) -> bool:
    rows = {place: (shown.rows.tolist(), shown.proofs) for place, shown in one.shown.items()}
    others = {place: (shown.rows.tolist(), shown.proofs) for place, shown in other.shown.items()}
    return (one.sender, one.paths, one.said, one.lost, rows) == (
        *(other.sender, other.paths, other.said, other.lost),
        others,
    )


def rows_of(message: pb.Opening) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    return np.frombuffer(message.SerializeToString(deterministic=True), np.uint8).reshape(-1, 1)


def test_an_opening_comes_out_as_it_went_in() -> None:
    assert same(decode_opening(2, encode_opening(OPENING)), OPENING)


def test_who_has_nothing_to_show_sends_nothing() -> None:
    rows = encode_opening(Opening(1, lost=True))
    assert rows.shape == (0, 1)
    assert decode_opening(1, rows).lost


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"paths": [b"\x00" * 5]}, "does not name the places"),
        ({"paths": [b""]}, "does not name the places"),
        ({"shown": [pb.Shown(round=1, what=9, row_bytes=8, rows=bytes(8))]}, "what is opened is 9"),
        (
            {"shown": [pb.Shown(round=1, what=1, other=10, row_bytes=8, rows=bytes(8))]},
            "other shuffler of an opening is 10",
        ),
        ({"shown": [pb.Shown(round=1, what=1, row_bytes=8, rows=bytes(9))]}, "length that they claim"),
        ({"shown": [pb.Shown(round=1, what=1, row_bytes=8)]}, "length that they claim"),
        ({"shown": [pb.Shown(round=1, what=1, row_bytes=1, rows=bytes(65))]}, "length that they claim"),
        ({"shown": [pb.Shown(round=1, what=1, row_bytes=0, rows=bytes(8))]}, "opened row is 0"),
        ({"shown": [pb.Shown(round=1, what=1, row_bytes=8, rows=bytes(8))] * 2}, "says something twice"),
        ({"shown": [pb.Shown(round=1, what=4, row_bytes=8, rows=bytes(8), proofs=[bytes(17)])]}, "proof of a row"),
        (
            {"shown": [pb.Shown(round=1, what=4, row_bytes=8, rows=bytes(8), proofs=[bytes(16 + 32 * 33)])]},
            "proof of a row",
        ),
        ({"said": [pb.Said(round=1, kind=1, sender=1, body=bytes(32))]}, "not said to all"),
        ({"said": [pb.Said(round=1, kind=6, sender=10, body=bytes(32))]}, "sender is 10"),
        ({"said": [pb.Said(round=1, kind=6, sender=1, body=bytes(31))]}, "a word has 31 bytes"),
        ({"version": 2}, "another version"),
    ],
)
def test_an_opening_that_is_none_is_refused_for_its_reason(change: dict[str, object], sentence: str) -> None:
    message = pb.Opening(**{"version": 1, **change})  # type: ignore[arg-type]  # fields by name
    with pytest.raises(BadEncoding, match=sentence):
        decode_opening(1, rows_of(message))


def test_an_opening_with_something_left_over_is_refused() -> None:
    rows = encode_opening(OPENING)
    with pytest.raises(BadEncoding, match="left over"):
        decode_opening(2, np.concatenate((rows, np.array([[0x28], [1]], np.uint8))))


def test_a_path_comes_out_as_it_went_in_and_names_some_rows() -> None:
    assert decode_path(encode_path((3, 1, 4_000_000_000))) == (3, 1, 4_000_000_000)
    for rows in (np.empty((0, 4), np.uint8), np.zeros((65, 4), np.uint8), np.zeros((2, 8), np.uint8)):
        with pytest.raises(BadEncoding, match="does not name the places"):
            decode_path(rows)


@pytest.mark.parametrize(
    ("kind", "rows", "row_bytes", "fits"),
    [
        (Kind.PATH, 64, 4, True),
        (Kind.PATH, 65, 4, False),
        (Kind.PATH, 3, 8, False),
        (Kind.OPENING, 0, 1, True),
        (Kind.OPENING, OPENING_LIMIT, 1, True),
        (Kind.OPENING, OPENING_LIMIT + 1, 1, False),
        (Kind.OPENING, 3, 2, False),
    ],
)
def test_what_is_announced_is_judged_before_it_is_read(kind: Kind, rows: int, row_bytes: int, fits: bool) -> None:
    place = Header(Context(b"c" * 32, b"f" * 32, 1), Step(3, kind), 1, 2)
    announced = VectorHeader(place, rows, row_bytes, bytes(32))
    if fits:
        check_announced(announced)
    else:
        with pytest.raises(BadEncoding, match="not what an inspection sends"):
            check_announced(announced)


def test_revealed_dummies_come_out_as_they_went_in(rng: Randomness) -> None:
    sent = [Revealed(b"x" * 32, rng.uint64(3), tuple(part(number) for number in (1, 2, 3))) for _ in range(2)]
    came = gathered([decode_revealed(encode_revealed(one)) for one in revealed_parts(sent)])
    assert [(one.salt, one.words.tolist(), one.parts) for one in came] == [
        (one.salt, one.words.tolist(), one.parts) for one in sent
    ]


def test_dummies_that_are_not_whole_or_not_words_are_refused(rng: Randomness) -> None:
    whole = Revealed(b"x" * 32, rng.uint64(1), tuple(part(number) for number in (1, 2, 3)))
    parts = list(revealed_parts([whole]))
    with pytest.raises(BadEncoding, match="not whole"):
        gathered(parts[:-1])
    with pytest.raises(BadEncoding, match="too many"):
        gathered(parts * 65)
    with pytest.raises(BadEncoding, match="salt has 31 bytes"):
        decode_revealed(encode_revealed(replace(parts[-1], salt=b"x" * 31)))
    with pytest.raises(BadEncoding, match="whole words"):
        decode_revealed(encode_revealed(RevealedPart(part(3), b"x" * 32)))
