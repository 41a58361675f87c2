"""Vectors of what is said after the freeze: words, vectors, notices, receipts."""

import hashlib
import struct
from typing import Any

from tests.vectors.wire_by_hand import (
    COLLECTION,
    FROZEN,
    TRANSCRIPT,
    Case,
    V,
    bad,
    blob,
    good,
    hash_of,
    secret,
    signed,
    spoilt,
    uint,
)

Place = tuple[int, int, int, int, int]  # attempt, round, kind, sender, receiver


def header(place: Place, frozen: bytes = FROZEN) -> bytes:
    """Where a message belongs."""
    numbers = [uint(at, number) for at, number in enumerate(place, start=3)]
    return blob(1, COLLECTION) + blob(2, frozen) + b"".join(numbers)


def placed(place: Place) -> dict[str, Any]:
    """The values of a header."""
    names = ("attempt", "round", "kind", "sender", "receiver")
    return {"collection": COLLECTION, "frozen": FROZEN, **dict(zip(names, place, strict=True))}


HEADERS: list[tuple[str, str, str, bytes]] = [
    ("range", "attempt 0", "a message's attempt is 0", header((0, 1, 1, 2, 3))),
    ("range", "round 0", "a message's round is 0", header((1, 0, 1, 2, 3))),
    ("range", "round 2^16", "a message's round is 65536", header((1, 1 << 16, 1, 2, 3))),
    ("kind", "kind 0", "a message's kind is 0", header((1, 1, 0, 2, 3))),
    ("kind", "kind 12", "a message's kind is 12", header((1, 1, 12, 2, 3))),
    ("range", "from 0", "a message's sender is 0", header((1, 1, 1, 0, 3))),
    ("range", "from 10", "a message's sender is 10", header((1, 1, 1, 10, 3))),
    ("range", "to 10", "a message's receiver is 10", header((1, 1, 1, 2, 10))),
    ("range", "to the analyzer", "a message's receiver is 0", header((1, 1, 1, 2, 0))),
    ("range", "to itself", "sender is its receiver", header((1, 1, 1, 2, 2))),
    ("length", "a frozen digest of 31 bytes", "frozen digest has 31 bytes", header((1, 1, 1, 2, 3), bytes(31))),
    ("missing field", "an empty header", "a message's kind is 0", b""),
]


def words() -> dict[str, Any]:
    """Messages of 32 bytes, of each kind that is one."""
    body, usual = hash_of("a word"), header((1, 1, 1, 2, 3))

    def fields(where: bytes, body: bytes = body) -> list[bytes]:
        return [V, blob(2, where, shown=True), blob(3, body)]

    def case(kind: int, attempt: int = 1, round_: int = 3) -> Case:
        place = (attempt, round_, kind, 9, 1)
        return good(f"kind {kind}, attempt {attempt}", b"".join(fields(header(place))), **placed(place), body=body)

    def refused(why: str, name: str, sentence: str, where: bytes, body: bytes = body) -> Case:
        return bad(why, name, sentence, b"".join(fields(where, body)))

    belongs, more = "a statement came where a vector belongs", "a Word has something left over"
    return {
        "message": "Word",
        "good": [*(case(kind) for kind in (1, 2, 3, 4, 6, 8)), case(1, (1 << 32) - 1, (1 << 16) - 1)],
        "bad": [
            *spoilt("Word", fields(usual), (3, body)),
            *(refused(*row) for row in HEADERS),
            *(refused("kind", f"kind {kind}, a vector's", belongs, header((1, 1, kind, 2, 3))) for kind in (5, 7)),
            refused("kind", "kind 9, a vector's", belongs, header((1, 1, 9, 2, 0))),
            bad("missing field", "no header", "a message's kind is 0", V + blob(3, body)),
            bad("missing field", "no body", "a statement has 0 bytes", V + blob(2, usual)),
            refused("length", "a body of 33 bytes", "a statement has 33 bytes", usual, bytes(33)),
            refused("unknown field", "in the header", more, usual + uint(8, 1)),
            refused("order", "in the header", more, usual[34:68] + usual[:34] + usual[68:]),
            bad("repeated field", "two headers", more, V + blob(2, usual) * 2 + blob(3, body)),
        ],
    }


DATA = b"".join(hash_of(f"row {number}")[:24] for number in range(5))
PART: Place = (2, 6, 5, 3, 1)
DELIVERY: Place = (2, 6, 9, 3, 0)


def head(place: Place = PART, **changed: Any) -> list[bytes]:
    """The fields of a vector's header."""
    given: dict[str, Any] = {"rows": 5, "row_bytes": 24, "sha256": hashlib.sha256(DATA).digest(), "transcript": b""}
    given |= changed
    shape = [uint(3, given["rows"]), uint(4, given["row_bytes"])]
    return [V, blob(2, header(place)), *shape, blob(5, given["sha256"]), blob(6, given["transcript"])]


def chunk(offset: int, end: int) -> bytes:
    """A stretch of the data."""
    return V + uint(2, offset) + blob(3, DATA[offset:end])


def refused_vector(why: str, name: str, sentence: str, *chunks: bytes, **changed: Any) -> Case:
    """A vector with a header that is `changed`."""
    return bad(why, name, sentence, b"".join(head(**changed)), *chunks)


def bad_headers() -> list[Case]:
    """Headers of vectors that must be refused."""
    refused, usual = refused_vector, [field for field in head() if field]
    word, needless = "a vector came where a statement belongs", "a transcript digest has 32 bytes, not 0"
    placed_wrongly = [(row[:3], V + blob(2, row[3], shown=True) + b"".join(head()[2:])) for row in HEADERS]
    return [
        *spoilt("VectorHeader", usual, (5, hashlib.sha256(DATA).digest())),
        *(bad(*row, data) for row, data in placed_wrongly),
        *(refused("kind", f"kind {kind}, a word's", word, place=(1, 1, kind, 3, 1)) for kind in (1, 2, 3, 4, 6, 8)),
        refused("range", "delivered to a shuffler", "a message's receiver is 1", place=(2, 6, 9, 3, 1)),
        refused("range", "rows of 0 bytes", "a vector's row is 0", row_bytes=0),
        refused("range", "rows over 64 MiB", "a vector's row is 67108865", row_bytes=(1 << 26) + 1),
        refused("range", "over 2^31 rows", "a vector's rows is 2147483649", rows=(1 << 31) + 1),
        refused("length", "a hash of 31 bytes", "a vector's hash has 31 bytes", sha256=bytes(31)),
        refused("length", "a needless transcript", needless, transcript=TRANSCRIPT),
        refused("missing field", "no transcript", "a transcript digest has 0 bytes, not 32", place=DELIVERY),
        bad("missing field", "no message at all", "a vector has no header"),
    ]


def bad_chunks() -> list[Case]:
    """Sequences of chunks that must be refused."""
    refused, torn, hashed = refused_vector, "does not follow the", "the hash that was announced"
    first, nothing, beyond = b"".join(head()), hashlib.sha256(b"").digest(), V + uint(2, 120) + blob(3, b"\0")
    return [
        *(
            bad(case["why"], f"chunk: {case['name']}", case["sentence"], first, *map(bytes.fromhex, case["messages"]))
            for case in spoilt("VectorChunk", [V, blob(3, DATA)], (3, DATA))
        ),
        refused("order", "chunks exchanged", torn, chunk(50, 100), chunk(0, 50), chunk(100, 120)),
        refused("order", "a chunk twice", torn, chunk(0, 50), chunk(0, 50), chunk(50, 120)),
        refused("order", "a gap", torn, chunk(0, 50), chunk(51, 120)),
        refused("order", "an overlap", torn, chunk(0, 50), chunk(49, 120)),
        refused("order", "an offset of 2^64 - 1", torn, V + uint(2, (1 << 64) - 1) + blob(3, b"x")),
        refused("missing field", "an empty chunk", torn, V),
        refused("missing field", "the last chunk", "a vector ended after 50 of 120", chunk(0, 50)),
        refused("missing field", "all chunks", "a vector ended after 0 of 120"),
        refused("left over", "a byte too many", "goes on beyond its 120 bytes", chunk(0, 120), beyond),
        refused("left over", "rows of none", "goes on beyond its 0 bytes", chunk(0, 24), rows=0, sha256=nothing),
        refused("hash", "another hash", hashed, chunk(0, 120), sha256=hash_of("another")),
        refused("hash", "another byte", hashed, V + blob(3, DATA[:-1] + b"\0")),
        refused("hash", "another hash of nothing", hashed, rows=0, sha256=bytes(32)),
        refused("length", "a wider row", "a vector ended after 120 of 125", chunk(0, 120), row_bytes=25),
        refused("length", "a row more", "a vector ended after 120 of 144", chunk(0, 120), rows=6),
        refused("unknown field", "a second header", "a VectorChunk has something left over", first),
    ]


def vectors() -> dict[str, Any]:
    """Vectors: a header, then chunks."""

    def case(name: str, place: Place, size: int, **changed: Any) -> Case:
        held = DATA if changed.get("rows", 5) else b""
        chunks = [chunk(at, at + size) for at in range(0, len(held), size)]
        known = placed(place) | {"rows": 5, "row_bytes": 24, "transcript": b"", "data": held, "chunk": size} | changed
        return good(name, b"".join(head(place, **changed)), *chunks, **known)

    return {
        "message": "Vector",
        "good": [
            case("a part in one chunk", PART, 120),
            case("a part in chunks across rows", PART, 50),
            case("ciphertexts, byte by byte", (2, 6, 7, 3, 1), 1),
            case("a delivery", DELIVERY, 64, transcript=TRANSCRIPT),
            case("no rows", PART, 120, rows=0, sha256=hashlib.sha256(b"").digest()),
        ],
        "bad": [*bad_headers(), *bad_chunks()],
    }


def notice(kind: int, sender: int, attempt: int, transcript: bytes = b"", *, length: int = 64) -> list[bytes]:
    """The fields of a notice."""
    numbers = bytes([kind, sender]) + struct.pack(">I", attempt)
    signature = signed("Ufficio", "notice", COLLECTION, FROZEN, numbers, transcript)[:length]
    said = [uint(4, kind), uint(5, sender), uint(6, attempt), blob(7, transcript)]
    return [V, blob(2, COLLECTION), blob(3, FROZEN), *said, blob(8, signature)]


def notices() -> dict[str, Any]:
    """What shufflers say about attempts."""

    def case(kind: int, sender: int, attempt: int, transcript: bytes = b"") -> Case:
        encoded = b"".join(notice(kind, sender, attempt, transcript))
        place = {"collection": COLLECTION, "frozen": FROZEN, "kind": kind, "sender": sender, "attempt": attempt}
        known = {"transcript": transcript, "secret": secret("Ufficio")}
        return good(f"kind {kind}, attempt {attempt}", encoded, **place, **known)

    def refused(why: str, name: str, sentence: str, fields: list[bytes]) -> Case:
        return bad(why, name, sentence, b"".join(fields))

    usual, digest = notice(3, 2, 7, TRANSCRIPT), "a transcript digest has"
    return {
        "message": "Notice",
        "good": [case(1, 1, 0), case(2, 1, 1), case(3, 9, 2, TRANSCRIPT), case(4, 3, (1 << 32) - 1), case(5, 2, 0)],
        "bad": [
            *spoilt("Notice", usual, (8, usual[-1][2:])),
            refused("kind", "kind 0", "a notice's kind is 0", notice(0, 2, 7)),
            refused("kind", "kind 6", "a notice's kind is 6", notice(6, 2, 7)),
            refused("range", "from 0", "a notice's sender is 0", notice(1, 0, 7)),
            refused("range", "from 10", "a notice's sender is 10", notice(1, 10, 7)),
            refused("missing field", "stored, no transcript", f"{digest} 0 bytes, not 32", notice(3, 2, 7)),
            refused("length", "a needless transcript", f"{digest} 32 bytes, not 0", notice(4, 2, 7, TRANSCRIPT)),
            refused("length", "a short signature", "a notice's signature has 63 bytes", notice(1, 2, 7, length=63)),
            refused("missing field", "no collection", "a message's collection has 0 bytes", [V, *usual[2:]]),
        ],
    }


def receipts() -> dict[str, Any]:
    """The analyzer's word that it has an output."""

    def fields(attempt: int, transcript: bytes = TRANSCRIPT) -> list[bytes]:
        signature = signed("analyst", "receipt", COLLECTION, FROZEN, struct.pack(">I", attempt), transcript)
        return [V, blob(2, COLLECTION), blob(3, FROZEN), uint(4, attempt), blob(5, transcript), blob(6, signature)]

    def case(attempt: int) -> Case:
        known = {"collection": COLLECTION, "frozen": FROZEN, "transcript": TRANSCRIPT, "secret": secret("analyst")}
        return good(f"attempt {attempt}", b"".join(fields(attempt)), **known, attempt=attempt)

    usual = fields(3)
    long = b"".join(usual[:5]) + blob(6, bytes(65))
    return {
        "message": "Receipt",
        "good": [case(1), case(1 << 31)],
        "bad": [
            *spoilt("Receipt", usual, (6, usual[-1][2:])),
            bad("range", "attempt 0", "a receipt's attempt is 0", b"".join(fields(0))),
            bad("missing field", "no transcript", "transcript digest has 0 bytes", b"".join(fields(3, b""))),
            bad("length", "a signature of 65 bytes", "a receipt's signature has 65 bytes", long),
        ],
    }
