"""Paths, openings and revealed dummies on the wire: what goes in comes out, and nothing else gets in."""

from dataclasses import replace

import numpy as np
import pytest

from peos.collection.document import Dummy
from peos.collection.reveal import Revealed
from peos.collection.submission import Part
from peos.crypto.kdf import Context
from peos.crypto.randomness import Randomness
from peos.shuffle.inspect.evidence import Nothing, Opening, Shown, Slot, What
from peos.shuffle.merkle import Proof
from peos.shuffle.messages import Header, Kind, SignedReveal, Step, VectorHeader
from peos.v1 import shuffle_pb2 as pb
from peos.wire.inspections import (
    OPENING_LIMIT,
    RevealedPart,
    check_announced,
    decode_opening,
    decode_path,
    decode_revealed,
    decode_unsent,
    encode_opening,
    encode_path,
    encode_revealed,
    encode_unsent,
    gathered,
    revealed_parts,
)
from tests.raising import raises

ROWS = np.arange(24, dtype=np.uint8).reshape(3, 8)
SIGNED = SignedReveal(b"h" * 32, b"g" * 64)
PROOF = Proof(b"s" * 16, (b"n" * 32, b"m" * 32))
OPENING = Opening(
    2,
    ((0, 1, 2), (5, 6, 7)),
    {Slot(1, What.MIXED): Shown(ROWS, (PROOF, PROOF, PROOF)), Slot(1, What.TAKEN, 3): Shown(ROWS)},
    {(Step(1, Kind.ROOT), 1): b"r" * 32},
    (3, 4, 5),
    SIGNED,
    (0, 2, 31),
)


def part(number: int, of: int = 3) -> Part:
    hashes = tuple(bytes([one]) * 32 for one in range(of))
    return Part(b"c" * 32, number, b"i" * 16, b"t" * 64, b"k" * 32, b"u" * 64, b"s" * 16, hashes, bytes(8 * number))


def same(one: Opening, other: Opening) -> bool:
    rows = {place: (shown.rows.tolist(), shown.proofs) for place, shown in one.shown.items()}
    others = {place: (shown.rows.tolist(), shown.proofs) for place, shown in other.shown.items()}
    return replace(one, shown={}) == replace(other, shown={}) and rows == others


def rows_of(message: pb.Opening | pb.Path) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    return np.frombuffer(message.SerializeToString(deterministic=True), np.uint8).reshape(-1, 1)


def test_an_opening_comes_out_as_it_went_in() -> None:
    assert same(decode_opening(2, encode_opening(OPENING)), OPENING)


@pytest.mark.parametrize("why", list(Nothing))
@pytest.mark.parametrize("revealed", [None, SIGNED])
def test_who_shows_nothing_says_why(why: Nothing, revealed: SignedReveal | None) -> None:
    empty = Opening(1, revealed=revealed, nothing=why)
    assert decode_opening(1, encode_opening(empty)) == empty


@pytest.mark.parametrize(
    ("change", "mistake"),
    [
        ({"paths": [b"\x00" * 5]}, ("inspection.path",)),
        ({"paths": [b""]}, ("inspection.path",)),
        ({"shown": [pb.Shown(round=1, what=9, row_bytes=8, rows=bytes(8))]}, ("encoding.range", "what", "opened is 9")),
        (
            {"shown": [pb.Shown(round=1, what=1, other=10, row_bytes=8, rows=bytes(8))]},
            ("encoding.range", "other shuffler of an opening", "10"),
        ),
        ({"shown": [pb.Shown(round=1, what=1, row_bytes=8, rows=bytes(9))]}, ("inspection.opening_length",)),
        ({"shown": [pb.Shown(round=1, what=1, row_bytes=8)]}, ("inspection.opening_length",)),
        ({"shown": [pb.Shown(round=1, what=1, row_bytes=1, rows=bytes(65))]}, ("inspection.opening_length",)),
        ({"shown": [pb.Shown(round=1, what=1, row_bytes=0, rows=bytes(8))]}, ("encoding.range", "opened row", "0")),
        ({"shown": [pb.Shown(round=1, what=1, row_bytes=8, rows=bytes(8))] * 2}, ("inspection.opening_repeats",)),
        (
            {"shown": [pb.Shown(round=1, what=4, row_bytes=8, rows=bytes(8), proofs=[bytes(17)])]},
            ("inspection.row_proof",),
        ),
        (
            {"shown": [pb.Shown(round=1, what=4, row_bytes=8, rows=bytes(8), proofs=[bytes(16 + 32 * 33)])]},
            ("inspection.row_proof",),
        ),
        ({"said": [pb.Said(round=1, kind=1, sender=1, body=bytes(32))]}, ("inspection.receivers",)),
        ({"said": [pb.Said(round=1, kind=6, sender=10, body=bytes(32))]}, ("encoding.range", "sender", "10")),
        ({"said": [pb.Said(round=1, kind=6, sender=1, body=bytes(31))]}, ("encoding.length", "a word", "31")),
        ({"version": 2}, ("encoding.version",)),
        ({"revealed": b""}, ("encoding.length", "the dummies", "0")),
        ({"revealed": bytes(95), "nothing": 1}, ("encoding.length", "the dummies", "95")),
        ({"nothing": 3}, ("encoding.range", "why nothing is shown", "3")),
        ({"nothing": 1, "claim": bytes(4)}, ("inspection.opening_nothing",)),
        ({"nothing": 2, "paths": [bytes(4)]}, ("inspection.opening_nothing",)),
        ({"claim": bytes(3)}, ("inspection.path",)),
        ({"nothing": 1, "dummies": bytes(4)}, ("inspection.opening_nothing",)),
        ({"dummies": b""}, ("inspection.path",)),
        ({"dummies": bytes(8)}, ("inspection.opening_owner",)),
        ({"dummies": (64).to_bytes(4, "little")}, ("inspection.opening_owner",)),
        ({"paths": [bytes(8)]}, ("inspection.opening_owner",)),
    ],
)
def test_an_opening_that_is_none_is_refused_for_its_reason(change: dict[str, object], mistake: tuple[str, ...]) -> None:
    whole = {"version": 1, "revealed": bytes(96)} | ({} if "nothing" in change else {"dummies": bytes(4)})
    message = pb.Opening(**{**whole, **change})  # type: ignore[arg-type]  # fields by name
    with raises(*mistake):
        decode_opening(1, rows_of(message))


def test_an_opening_with_something_left_over_is_refused() -> None:
    rows = encode_opening(OPENING)
    with raises("encoding.not_canonical"):
        decode_opening(2, np.concatenate((rows, np.array([[0x28], [1]], np.uint8))))


def test_a_path_comes_out_as_it_went_in_and_names_some_rows() -> None:
    assert decode_path(encode_path((3, 1, 4_000_000_000), SIGNED)) == ((3, 1, 4_000_000_000), SIGNED)
    for places in (b"", bytes(4 * 65), bytes(7)):
        with raises("inspection.path"):
            decode_path(rows_of(pb.Path(version=1, places=places, revealed=bytes(96))))
    with raises("encoding.length", "the dummies", "95"):
        decode_path(rows_of(pb.Path(version=1, places=bytes(4), revealed=bytes(95))))


@pytest.mark.parametrize(
    ("kind", "rows", "row_bytes", "fits"),
    [
        (Kind.PATH, len(encode_path((9,) * 64, SIGNED)), 1, True),
        (Kind.PATH, len(encode_path((9,) * 64, SIGNED)) + 20, 1, False),
        (Kind.PATH, 3, 4, False),
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
        with raises("inspection.rows"):
            check_announced(announced)


def test_revealed_dummies_come_out_as_they_went_in(rng: Randomness) -> None:
    sent = [Revealed(b"x" * 32, rng.uint64(3), tuple(part(number) for number in (1, 2, 3))) for _ in range(2)]
    came, signed = gathered([decode_revealed(encode_revealed(one)) for one in revealed_parts(sent, SIGNED)])
    assert signed == SIGNED
    assert [(one.salt, one.words.tolist(), one.parts) for one in came] == [
        (one.salt, one.words.tolist(), one.parts) for one in sent
    ]


def test_a_dummy_that_was_not_sent_comes_out_as_it_went_in_and_whole(rng: Randomness) -> None:
    dummy = Dummy(b"x" * 32, b"i" * 16, rng.uint64(3))
    assert decode_unsent(encode_unsent(dummy)).commitment == dummy.commitment
    for wrong in (replace(dummy, salt=b"x" * 31), replace(dummy, id=b"i" * 17)):
        with raises("encoding.length"):
            decode_unsent(encode_unsent(wrong))
    with raises("inspection.dummy_words"):
        decode_unsent(encode_unsent(replace(dummy, words=rng.uint64(0))))


def test_dummies_that_are_not_whole_or_not_words_are_refused(rng: Randomness) -> None:
    whole = Revealed(b"x" * 32, rng.uint64(1), tuple(part(number) for number in (1, 2, 3)))
    *parts, _ = revealed_parts([whole], SIGNED)
    for wrong in (parts, [*parts[:-1], SIGNED], [*parts * 65, SIGNED], []):
        with raises("inspection.revealed"):
            gathered(wrong)
    with raises("inspection.after_signature"):
        gathered([SIGNED, *parts, SIGNED])
    last = parts[-1]
    assert isinstance(last, RevealedPart)
    with raises("encoding.length", "salt", "31"):
        decode_revealed(encode_revealed(replace(last, salt=b"x" * 31)))
    both = pb.RevealedPart(version=1, salt=b"x" * 32, signature=bytes(96))
    with raises("inspection.mixed_end"):
        decode_revealed(both.SerializeToString(deterministic=True))
    with raises("encoding.length", "the dummies", "64"):
        decode_revealed(pb.RevealedPart(version=1, signature=bytes(64)).SerializeToString(deterministic=True))
    with raises("inspection.dummy_words"):
        decode_revealed(encode_revealed(RevealedPart(part(3), b"x" * 32)))
