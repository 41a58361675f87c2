"""Every field of fixed length and every number with a range, field by field: refused in a sentence that names it."""

from typing import Any

import pytest
from google.protobuf.message import Message

from peos.errors import BadEncoding
from peos.v1 import collection_pb2, freeze_pb2, services_pb2, shuffle_pb2, submission_pb2
from peos.wire.strict import serialize
from tests.raising import raises
from tests.unit.wire.strategies import CODECS

DIGEST = b"\x01" * 32
USUAL: dict[str, Message] = {
    "SignedDocument": collection_pb2.SignedDocument(version=1, document=b"", signature=bytes(64)),
    "Part": submission_pb2.Part(
        version=1,
        collection=DIGEST,
        shuffler=2,
        id=bytes(16),
        ticket=bytes(64),
        salt=bytes(16),
        hashes=[DIGEST] * 3,
        share=bytes(8),
        user_key=bytes(32),
        signature=bytes(64),
    ),
    "Acknowledgement": submission_pb2.Acknowledgement(
        version=1,
        collection=DIGEST,
        row=bytes(48),
        receipt=submission_pb2.SubmissionReceipt(count=1, signature=bytes(64)),
    ),
    "Announcements": freeze_pb2.Announcements(
        version=1,
        collection=DIGEST,
        held=[freeze_pb2.Announcement(shuffler=1, root=DIGEST, signature=bytes(64))],
    ),
    "ListChunk": freeze_pb2.ListChunk(version=1, collection=DIGEST, total=9, first=8, rows=bytes(48)),
    "FrozenDigest": freeze_pb2.FrozenDigest(version=1, collection=DIGEST, digest=DIGEST, signature=bytes(64)),
    "Word": shuffle_pb2.Word(
        version=1,
        header=shuffle_pb2.Header(collection=DIGEST, frozen=DIGEST, attempt=1, round=1, kind=1, sender=2, receiver=3),
        body=DIGEST,
    ),
    "VectorHeader": shuffle_pb2.VectorHeader(
        version=1,
        header=shuffle_pb2.Header(collection=DIGEST, frozen=DIGEST, attempt=1, round=1, kind=9, sender=2),
        rows=1,
        row_bytes=8,
        sha256=DIGEST,
        transcript=DIGEST,
    ),
    "Notice": shuffle_pb2.Notice(
        version=1,
        collection=DIGEST,
        frozen=DIGEST,
        kind=3,
        sender=1,
        attempt=1,
        transcript=DIGEST,
        signature=bytes(64),
    ),
    "Receipt": shuffle_pb2.Receipt(
        version=1, collection=DIGEST, frozen=DIGEST, attempt=1, transcript=DIGEST, signature=bytes(64)
    ),
    "Inquiry": services_pb2.Inquiry(version=1, collection=DIGEST),
    "Order": services_pb2.Order(version=1, collection=DIGEST, signature=bytes(64)),
    "Answer": services_pb2.Answer(version=1, id=bytes(16), refusal="no", error="submit.closed"),
    "StatusReply": services_pb2.StatusReply(version=1, collection=DIGEST),
}
LENGTHS = {
    "SignedDocument": {"signature": 64},
    "Part": {"collection": 32, "id": 16, "ticket": 64, "salt": 16, "user_key": 32, "signature": 64},
    "Acknowledgement": {"collection": 32, "row": 48},
    "Announcements": {"collection": 32},
    "ListChunk": {"collection": 32},
    "FrozenDigest": {"collection": 32, "digest": 32, "signature": 64},
    "Word": {"header.collection": 32, "header.frozen": 32, "body": 32},
    "VectorHeader": {"header.collection": 32, "header.frozen": 32, "sha256": 32, "transcript": 32},
    "Notice": {"collection": 32, "frozen": 32, "transcript": 32, "signature": 64},
    "Receipt": {"collection": 32, "frozen": 32, "transcript": 32, "signature": 64},
    "Inquiry": {"collection": 32},
    "Order": {"collection": 32, "signature": 64},
    "Answer": {"id": 16},
    "StatusReply": {"collection": 32},
}
MANY = 2**32 - 1
RANGES: dict[str, dict[str, tuple[int, int, str]]] = {  # least, most, what the sentence calls it
    "Part": {"shuffler": (1, 3, "a part's shuffler")},
    "ListChunk": {"total": (9, 2**31, "the end of a stretch|a list's total"), "first": (0, 8, "the end of a stretch")},
    "Word": {
        "header.attempt": (1, MANY, "a message's attempt"),
        "header.round": (1, 2**16 - 1, "a message's round"),
        "header.sender": (1, 9, "a message's sender"),
        "header.receiver": (1, 9, "a message's receiver"),
    },
    "VectorHeader": {
        "header.kind": (9, 9, "a message's kind|a message's receiver|a vector came where a statement belongs"),
        "header.receiver": (0, 0, "a message's receiver"),
        "rows": (0, 2**31, "a vector's rows"),
        "row_bytes": (1, 2**26, "a vector's row"),
    },
    "Notice": {
        "kind": (3, 3, "a notice's kind|a transcript digest"),
        "sender": (1, 9, "a notice's sender"),
        "attempt": (0, MANY, ""),
    },
    "Receipt": {"attempt": (1, MANY, "a receipt's attempt")},
}
OF_LENGTH = [(name, field, due) for name, fields in LENGTHS.items() for field, due in fields.items()]
OF_RANGE = [(name, field, *limits) for name, fields in RANGES.items() for field, limits in fields.items()]


def with_field(name: str, path: str, value: object) -> bytes:
    message: Any = type(USUAL[name])()
    message.CopyFrom(USUAL[name])
    *above, last = path.split(".")
    inner = getattr(message, above[0]) if above else message
    setattr(inner, last, value)
    return serialize(message)


@pytest.mark.parametrize(("name", "field", "due"), OF_LENGTH, ids=lambda given: str(given))
def test_a_field_of_fixed_length_has_no_other(name: str, field: str, due: int) -> None:
    for found in {0, 1, due - 1, due + 1, 2 * due, 1000}:
        with raises("encoding.length", f"{found}", f"{due}"):
            CODECS[name].decode(with_field(name, field, bytes(found)))


@pytest.mark.parametrize(("name", "field", "least", "most", "what"), OF_RANGE, ids=lambda given: str(given)[:30])
def test_a_number_is_read_within_its_range_and_nowhere_else(
    name: str, field: str, least: int, most: int, what: str
) -> None:
    own = {"header.sender": 3, "header.receiver": 2}.get(field)  # no party sends to itself
    for number in {least, most} - {own}:
        CODECS[name].decode(with_field(name, field, number))
    for number in {0, least - 1, most + 1, MANY}:
        if 0 <= number <= MANY and not least <= number <= most:
            with pytest.raises(BadEncoding, match=what):
                CODECS[name].decode(with_field(name, field, number))


def test_the_table_of_lengths_misses_no_field_of_bytes() -> None:
    free = {"document", "hashes", "share", "rows", "acknowledgement", "header"}
    for name, message in USUAL.items():
        there = {field.name for field in message.DESCRIPTOR.fields if field.type == field.TYPE_BYTES} - free
        assert there <= {path.split(".")[-1] for path in LENGTHS[name]}, f"a field of {name} without its length"


@pytest.mark.parametrize("number", range(2, 11))
def test_a_part_has_a_hash_for_each_of_three_to_nine_shufflers(number: int) -> None:
    part = submission_pb2.Part.FromString(serialize(USUAL["Part"]))
    del part.hashes[:]
    part.hashes.extend([DIGEST] * number)
    if 3 <= number <= 9:
        assert len(CODECS["Part"].decode(serialize(part)).hashes) == number
    else:
        with raises("encoding.range", "a part's hashes", f"{number}", "3 … 9"):
            CODECS["Part"].decode(serialize(part))
