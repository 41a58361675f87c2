"""Vectors of what is said until the freeze: documents, parts, acknowledgements, lists, frozen digests."""

import hashlib
import json
import math
import struct
from pathlib import Path
from typing import Any

from tests.vectors.make_onion_vectors import G, compressed, scalar, times
from tests.vectors.wire_by_hand import (
    COLLECTION,
    Case,
    V,
    bad,
    blob,
    double,
    good,
    hash_of,
    public,
    secret,
    signed,
    spoilt,
    uint,
)

KEY = bytes.fromhex(json.loads((Path(__file__).parent / "paillier.json").read_text())["keys"][0]["public"])
SHUFFLERS = ("Amt für Zählung", "統計局", "Ufficio")
THRESHOLD = 3 << 62
WORDS = struct.pack("<2Q", 0x0102030405060708, (1 << 64) - 2)
IDS = [hash_of(f"id {number}")[:16] for number in range(3)]
SALTS = [hash_of(f"salt {number}")[:16] for number in range(3)]
SHARES = [hash_of("a ciphertext") * 4, WORDS, WORDS[::-1]]
HASHES = [hashlib.sha256(salt + share).digest() for salt, share in zip(SALTS, SHARES, strict=True)]
TICKET = signed("enrolment", "ticket", COLLECTION, IDS[0], public("a user"))
SUBMISSION = hashlib.sha256(COLLECTION + IDS[0] + b"".join(HASHES)).digest()
ROW = IDS[0] + hashlib.sha256(b"row" + TICKET + public("a user") + SUBMISSION).digest()
ROWS = sorted([ROW, *(id_ + hash_of(f"commitment {number}") for number, id_ in enumerate(IDS[1:]))])


def root(rows: list[bytes]) -> bytes:
    """The root of the tree over these rows."""
    nodes = [hashlib.sha256(b"\0" + row).digest() for row in rows]
    while len(nodes) > 1:
        pairs = [nodes[at : at + 2] for at in range(0, len(nodes), 2)]
        nodes = [hashlib.sha256(b"\1" + b"".join(pair)).digest() if len(pair) == 2 else pair[0] for pair in pairs]
    return nodes[0] if nodes else hashlib.sha256(b"\1").digest()


def member(name: str) -> bytes:
    """An organisation."""
    return blob(1, name.encode()) + blob(2, public(name)) + blob(3, hash_of(f"certificate of {name}"))


def members(*names: str) -> bytes:
    """The shufflers."""
    return b"".join(blob(7, member(name)) for name in names)


def dummy(number: int) -> dict[str, Any]:
    """A dummy and its commitment."""
    salt, id_ = hash_of(f"dummy salt {number}"), hash_of(f"dummy id {number}")[:16]
    words = struct.unpack("<2Q", hash_of(f"dummy words {number}")[:16])
    committed = b"dummy" + struct.pack(">II", 32, 16) + salt + id_ + struct.pack("<2Q", *words)
    return {"salt": salt, "id": id_, "words": list(words), "commitment": hashlib.sha256(committed).digest()}


DUMMIES = [dummy(number) for number in range(32)]


def dummies(count: int) -> bytes:
    """The first commitments."""
    return b"".join(blob(13, one["commitment"]) for one in DUMMIES[:count])


def asked(*given: tuple[str, int], name: str = "solh", domain: int = 1000, more: bytes = b"") -> bytes:
    """A mechanism with these parameters."""
    inner = b"".join(blob(3, blob(1, key.encode()) + uint(2, value)) for key, value in given)
    return blob(4, blob(1, name.encode()) + uint(2, domain) + inner + more)


def document(**changed: bytes) -> bytes:
    """A document, some of its fields `changed` by name."""
    fields = {
        "version": V,
        "question": blob(2, b"How often?"),
        "epoch": blob(3, b"2031-07"),
        "mechanism": asked(("cells", 16), ("threshold", THRESHOLD)),
        "scheme": blob(5, b"paillier"),
        "public_key": blob(6, KEY),
        "shufflers": members(*SHUFFLERS),
        "analyzer": blob(8, member("analyst")),
        "fakes": uint(9, 300),
        "minimum": uint(10, 1000),
        "delta": double(11, 1e-6),
        "enrolment_key": blob(12, public("enrolment")),
        "dummies": dummies(32),
        "closes_at": uint(14, 1_900_000_000),
        "shuffle_by": uint(15, 1_900_086_400),
        "erase_by": uint(16, 1_900_172_800),
        "protocol": b"",
        "onion_keys": b"",
        "labels": b"",
        "views": b"",
        "study": b"",
    }
    assert set(changed) <= set(fields), changed
    return b"".join((fields | changed).values())


def onion_keys(*names: str) -> bytes:
    """The points of the shufflers."""
    return b"".join(blob(18, point(name)) for name in names)


def sequential(**changed: bytes) -> bytes:
    """A document of a sequential shuffle."""
    onions = {"scheme": blob(5, b"onion"), "public_key": blob(6, point("analyst"))}
    named = {"protocol": blob(17, b"ss"), "onion_keys": onion_keys(*SHUFFLERS)}
    return document(**(onions | named | changed))


def bad_sequential_documents() -> list[tuple[str, str, bytes]]:
    """(name, sentence, document)."""
    off = b"\x02" + b"\xff" * 32
    alone, points = "the sequential shuffle, and it alone, has onions", "not a compressed point of P-256"
    return [
        ("a protocol not known", "the protocol 'tor' is not known", sequential(protocol=blob(17, b"tor"))),
        ("the protocol peos by name", "does not name the protocol peos", document(protocol=blob(17, b"peos"))),
        ("a sequential shuffle of ciphertexts", alone, document(protocol=blob(17, b"ss"))),
        ("onions without a sequential shuffle", alone, sequential(protocol=b"")),
        ("onion keys beside ciphertexts", alone, document(onion_keys=onion_keys(*SHUFFLERS))),
        ("an onion key too few", alone, sequential(onion_keys=onion_keys(*SHUFFLERS[:2]))),
        ("an onion key that is no point", points, sequential(onion_keys=onion_keys(*SHUFFLERS[:2]) + blob(18, off))),
        ("an analyzer's point cut", points, sequential(public_key=blob(6, point("analyst")[:32]))),
        ("two equal onion keys", "have the same onion key", sequential(onion_keys=onion_keys("a", "b", "a"))),
        (
            "the analyzer's key a shuffler's",
            "have the same onion key",
            sequential(public_key=blob(6, point("Ufficio"))),
        ),
    ]


def point(name: str) -> bytes:
    """A party's onion key, as a compressed point."""
    return compressed(times(scalar(f"onion key of {name}"), G))


def envelope(encoded: bytes, by: str = "analyst", label: str = "document") -> list[bytes]:
    """The fields of a signed document."""
    return [V, blob(2, encoded), blob(3, signed(by, label, encoded))]


def bad_documents() -> list[Case]:
    """Documents that are signed as they should be, and must be refused for what they say."""
    more, sort, delta = "a Document has something left over", "not sorted by distinct names", "delta lies strictly"
    cells, threshold = ("cells", 2), ("threshold", 9)
    rows: list[tuple[str, str, str, dict[str, bytes]]] = [
        ("version", "a document of version 2", "a Document is of wire version 2", {"version": uint(1, 2)}),
        ("version", "a document of no version", "a Document names no wire version", {"version": b""}),
        ("unknown field", "in a member", more, {"analyzer": blob(8, member("analyst") + uint(4, 1))}),
        ("unknown field", "in the mechanism", more, {"mechanism": asked(cells, threshold, more=uint(9, 1))}),
        ("order", "a mechanism's name at its end", more, {"mechanism": blob(4, uint(2, 9) + blob(1, b"grr"))}),
        ("order", "parameters not sorted", sort, {"mechanism": asked(threshold, cells)}),
        ("repeated field", "a parameter twice", sort, {"mechanism": asked(cells, cells)}),
        ("text", "a question that is not UTF-8", "not a Document", {"question": blob(2, b"\xff")}),
        ("text", "half a surrogate pair", "not a Document", {"epoch": blob(3, b"\xed\xa0\x80")}),
        ("range", "no question", "a question has between 1 and 1024", {"question": b""}),
        ("range", "an epoch of 1025", "an epoch has between 0 and 1024", {"epoch": blob(3, b"e" * 1025)}),
        ("choice", "a mechanism not known", "a mechanism is one of", {"mechanism": asked(name="olh")}),
        ("choice", "a parameter too few", "described by threshold and cells", {"mechanism": asked(cells)}),
        ("choice", "a scheme not known", "the encryption scheme 'rsa'", {"scheme": blob(5, b"rsa")}),
        ("range", "one cell", "the cells of solh", {"mechanism": asked(("cells", 1), threshold)}),
        ("length", "a byte after the key", "bytes are left over after", {"public_key": blob(6, KEY + b"\0")}),
        ("range", "an even modulus", "the modulus is even", {"public_key": blob(6, KEY[:-1] + b"\0")}),
        ("members", "two shufflers", "2 shufflers cannot run", {"shufflers": members(*SHUFFLERS[:2])}),
        ("members", "the analyzer shuffles", "the same identity", {"shufflers": members(*SHUFFLERS, "analyst")}),
        ("length", "an identity of 31 bytes", "identity has 31 bytes", {"analyzer": blob(8, blob(2, bytes(31)))}),
        ("range", "delta 0", delta, {"delta": b""}),
        ("range", "delta -0", delta, {"delta": double(11, -0.0)}),
        ("range", "delta 1", delta, {"delta": double(11, 1.0)}),
        ("range", "delta not a number", delta, {"delta": double(11, math.nan)}),
        ("range", "2^31 fakes", "cannot be shuffled", {"fakes": uint(9, 1 << 31)}),
        ("range", "no minimum", "cannot be shuffled", {"minimum": b""}),
        ("dummies", "31 dummies", "at least 32 distinct dummies", {"dummies": dummies(31)}),
        ("dummies", "a dummy twice", "at least 32 distinct dummies", {"dummies": dummies(32) + dummies(1)}),
        ("deadlines", "shuffled before it closes", "a collection closes first", {"shuffle_by": uint(15, 1)}),
    ]
    return [bad(why, name, said, b"".join(envelope(document(**changed)))) for why, name, said, changed in rows]


def signed_documents() -> dict[str, Any]:
    """Documents, signed by the analyzer that they name."""
    encoded = document()
    fields = envelope(encoded)
    stranger = "not signed by the analyzer"
    altered = document(epoch=blob(3, b"2031-08"))
    return {
        "message": "SignedDocument",
        "good": [
            good(
                "a document",
                b"".join(fields),
                question="How often?",
                epoch="2031-07",
                mechanism={"name": "solh", "domain": 1000, "parameters": {"cells": 16, "threshold": THRESHOLD}},
                scheme="paillier",
                public_key=KEY,
                shufflers=[[name, public(name), hash_of(f"certificate of {name}")] for name in SHUFFLERS],
                analyzer=["analyst", public("analyst"), hash_of("certificate of analyst")],
                fakes=300,
                minimum=1000,
                delta=1e-6,
                enrolment_key=public("enrolment"),
                dummies=DUMMIES,
                times=[1_900_000_000, 1_900_086_400, 1_900_172_800],
                secret=secret("analyst"),
                digest=hashlib.sha256(encoded).digest(),
            ),
            good(
                "a document of a sequential shuffle",
                b"".join(envelope(sequential())),
                scheme="onion",
                public_key=point("analyst"),
                onion_keys=[point(name) for name in SHUFFLERS],
                digest=hashlib.sha256(sequential()).digest(),
            ),
        ],
        "bad": [
            *spoilt("SignedDocument", fields, (3, signed("analyst", "document", encoded))),
            bad("signature", "by another key", stranger, b"".join(envelope(encoded, by="enrolment"))),
            bad("signature", "under another label", stranger, b"".join(envelope(encoded, label="notice"))),
            bad("signature", "of another document", stranger, V + blob(2, altered) + fields[2]),
            bad("length", "a signature of 63 bytes", "signature has 63 bytes", V + fields[1] + blob(3, bytes(63))),
            bad("missing field", "no signature", "a document's signature has 0 bytes", V + fields[1]),
            bad("missing field", "nothing signed", "where a Document should be, there are 0 bytes", V + fields[2]),
            *bad_documents(),
            *(bad("choice", name, said, b"".join(envelope(whole))) for name, said, whole in bad_sequential_documents()),
        ],
    }


def part(number: int = 2, **changed: bytes) -> list[bytes]:
    """The fields of a part, some of them `changed` by name."""
    fields = {
        "version": V,
        "collection": blob(2, COLLECTION),
        "shuffler": uint(3, number),
        "id": blob(4, IDS[0]),
        "ticket": blob(5, TICKET),
        "salt": blob(6, SALTS[number - 1]),
        "hashes": b"".join(blob(7, hash_) for hash_ in HASHES),
        "share": blob(8, SHARES[number - 1]),
        "user_key": blob(9, public("a user")),
        "signature": blob(10, signed("a user", "submission", SUBMISSION)),
    }
    return list((fields | changed).values())


def parts() -> dict[str, Any]:
    """A user's parts: that of ciphertexts and one of words."""

    def case(shuffler: int) -> Case:
        fields = {"collection": COLLECTION, "shuffler": shuffler, "id": IDS[0], "ticket": TICKET, "hashes": HASHES}
        own = {"salt": SALTS[shuffler - 1], "share": SHARES[shuffler - 1], "enrolment": secret("enrolment")}
        own |= {"user": secret("a user"), "row": ROW}
        return good(f"for shuffler {shuffler}", b"".join(part(shuffler)), **fields, **own)

    def refused(why: str, name: str, sentence: str, **changed: bytes) -> Case:
        return bad(why, name, sentence, b"".join(part(2, **changed)))

    two = blob(7, HASHES[0]) + blob(7, HASHES[1])
    torn = b"".join(part(hashes=two)) + blob(7, HASHES[2])
    short = [
        refused(
            "length",
            f"{what} of {found} bytes",
            f"part's {what.replace('_', ' ')} has {found} bytes",
            **{what: blob(at, bytes(found))},
        )
        for what, at, due in (
            ("collection", 2, 32),
            ("id", 4, 16),
            ("ticket", 5, 64),
            ("salt", 6, 16),
            ("user_key", 9, 32),
            ("signature", 10, 64),
        )
        for found in (0, due - 1, due + 1)
    ]
    return {
        "message": "Part",
        "good": [case(1), case(2)],
        "bad": [
            *spoilt("Part", part(), (10, signed("a user", "submission", SUBMISSION))),
            *short,
            refused("length", "hash of 31 bytes", "part's hash has 31 bytes", hashes=two + blob(7, bytes(31))),
            refused("length", "empty hash", "part's hash has 0 bytes", hashes=two + blob(7, b"", shown=True)),
            refused("missing field", "no share", "a part has no share", share=b""),
            refused("range", "two hashes", "the number of a part's hashes is 2", hashes=two),
            refused("range", "ten hashes", "the number of a part's hashes is 10", hashes=two * 5),
            refused("range", "shuffler 0", "a part's shuffler is 0", shuffler=b""),
            refused("range", "shuffler 4 of 3", "a part's shuffler is 4", shuffler=uint(3, 4)),
            bad("order", "a hash after the share", "a Part has something left over", torn),
        ],
    }


def acknowledgements() -> dict[str, Any]:
    """A shuffler's word that a part is durable."""
    own = hashlib.sha256(b"\x00" + COLLECTION + ROW + public("a user")).digest()
    beside = hash_of("another submission of the group")
    group = hashlib.sha256(b"\x01" + beside + own).digest()  # of two, this one the second
    signature = signed("shuffler 2", "receipt", struct.pack(">I", 2), group)

    def receipt(place: int = 1, count: int = 2, path: bytes = beside, by: bytes = signature) -> bytes:
        return blob(4, uint(1, place) + uint(2, count) + blob(3, path) + blob(4, by))

    fields = [V, blob(2, COLLECTION), blob(3, ROW), receipt()]
    known: dict[str, Any] = {"collection": COLLECTION, "row": ROW}
    known |= {"user_key": public("a user"), "shuffler": public("shuffler 2")}
    known |= {"place": 1, "count": 2, "path": [beside], "signature": signature}

    def refused(why: str, name: str, sentence: str, *changed: bytes) -> Case:
        return bad(why, name, sentence, b"".join([*fields[: 4 - len(changed)], *changed]))

    return {
        "message": "Acknowledgement",
        "good": [good("of a submission", b"".join(fields), **known)],
        "bad": [
            *spoilt("Acknowledgement", fields, (3, ROW)),
            bad("missing field", "no row", "acknowledgement's row has 0 bytes", b"".join([*fields[:2], fields[3]])),
            bad("missing field", "no receipt", "a receipt's count is 0", b"".join(fields[:3])),
            refused("length", "a row of 49 bytes", "acknowledgement's row has 49 bytes", blob(3, bytes(49)), receipt()),
            refused("length", "half a node", "a receipt's path of 16 bytes", receipt(path=beside[:16])),
            refused(
                "length", "signature of 63 bytes", "a receipt's signature has 63 bytes", receipt(by=signature[:63])
            ),
            refused("range", "a group of 4,097", "a receipt's count is 4097", receipt(count=4097)),
            refused("range", "place 4,096", "a receipt's place is 4096", receipt(place=4096)),
        ],
    }


def announcement(by: int, rows: list[bytes], **changed: bytes) -> bytes:
    """What shuffler `by` signs of its list, some fields `changed` by name."""
    packed = struct.pack(">Q", len(rows))
    fields = {
        "shuffler": uint(1, by),
        "count": uint(2, len(rows)),
        "root": blob(3, root(rows)),
        "signature": blob(4, signed(SHUFFLERS[by - 1], "list", COLLECTION, packed, root(rows))),
    }
    return b"".join((fields | changed).values())


def announcements() -> dict[str, Any]:
    """What a shuffler holds of all signed lists."""

    def fields(*held: bytes) -> list[bytes]:
        return [V, blob(2, COLLECTION), *(blob(3, one) for one in held)]

    def case(name: str, *lists: tuple[int, list[bytes]]) -> Case:
        held = [announcement(*one) for one in lists]
        known = [{"shuffler": who, "rows": rows, "root": root(rows)} for who, rows in lists]
        secrets = [secret(name) for name in SHUFFLERS]
        return good(name, b"".join(fields(*held)), collection=COLLECTION, lists=known, secrets=secrets)

    def refused(why: str, name: str, sentence: str, *held: bytes) -> Case:
        return bad(why, name, sentence, b"".join(fields(*held)))

    one, two, empty = announcement(1, ROWS), announcement(2, ROWS), announcement(1, [])
    return {
        "message": "Announcements",
        "good": [
            case("of one list", (2, ROWS)),
            case("of three lists", (1, ROWS), (2, ROWS), (3, ROWS[:1])),
            case("of two lists of one shuffler", (1, []), (1, ROWS), (2, ROWS[1:])),
        ],
        "bad": [
            *spoilt_announcements(fields(one)),
            refused("missing field", "no announcement", "the number of announcements is 0"),
            refused("order", "not sorted", "are not sorted by distinct lists", two, one),
            refused("order", "two lists not sorted", "are not sorted by distinct lists", one, empty),
            refused("order", "one list twice", "are not sorted by distinct lists", one, one),
            refused("range", "shuffler 0", "an announcement's shuffler is 0", announcement(1, ROWS, shuffler=b"")),
            refused(
                "range", "shuffler 10", "announcement's shuffler is 10", announcement(1, ROWS, shuffler=uint(1, 10))
            ),
            refused(
                "range",
                "a count over 2^31",
                "an announcement's count is 2147483649",
                announcement(1, ROWS, count=uint(2, (1 << 31) + 1)),
            ),
            refused(
                "length", "a root of 31 bytes", "root has 31 bytes", announcement(1, ROWS, root=blob(3, bytes(31)))
            ),
            refused("missing field", "no signature", "signature has 0 bytes", announcement(1, ROWS, signature=b"")),
            refused("unknown field", "in an announcement", "has something left over", one + uint(5, 1)),
            bad("length", "a collection of 16 bytes", "collection has 16 bytes", V + blob(2, bytes(16)) + blob(3, one)),
        ],
    }


def spoilt_announcements(fields: list[bytes]) -> list[Case]:
    """What every message must refuse; but its last field may well be there twice."""
    made = spoilt("Announcements", fields, (3, announcement(1, ROWS)))
    return [case for case in made if case["name"] != "last field twice"]


def stretches() -> dict[str, Any]:
    """Lists, a stretch at a time."""

    def fields(total: int, first: int, packed: bytes) -> list[bytes]:
        return [V, blob(2, COLLECTION), uint(3, total), uint(4, first), blob(5, packed)]

    def case(name: str, total: int, first: int, rows: list[bytes]) -> Case:
        encoded = b"".join(fields(total, first, b"".join(rows)))
        return good(name, encoded, collection=COLLECTION, total=total, first=first, rows=rows)

    def refused(why: str, name: str, sentence: str, total: int, first: int, packed: bytes) -> Case:
        return bad(why, name, sentence, b"".join(fields(total, first, packed)))

    two, disorder = b"".join(ROWS[:2]), ROWS[1] + ROWS[0]
    return {
        "message": "ListChunk",
        "good": [
            case("a whole list", 3, 0, ROWS),
            case("the end of a list", 500, 497, ROWS),
            case("an empty list", 0, 0, []),
        ],
        "bad": [
            *spoilt("ListChunk", fields(500, 3, two), (5, two)),
            refused("missing field", "no rows", "brings nothing", 500, 3, b""),
            refused("length", "a byte missing", "is not made of rows of 48", 500, 3, two[:-1]),
            refused("order", "not sorted", "is not sorted by distinct ids", 500, 3, disorder),
            refused("order", "an id twice", "is not sorted by distinct ids", 500, 3, ROWS[0] * 2),
            refused("range", "beyond the end", "the end of a stretch is 501", 500, 499, two),
            refused("range", "rows of an empty list", "the end of a stretch is 2", 0, 0, two),
            refused("range", "a total over 2^31", "a list's total is 2147483649", (1 << 31) + 1, 0, two),
        ],
    }


def frozen_digests() -> dict[str, Any]:
    """A shuffler's signature under what it froze."""
    frozen = hashlib.sha256(b"frozen" + COLLECTION + struct.pack(">Q", 3) + root(ROWS)).digest()
    signature = signed("Ufficio", "frozen", COLLECTION, frozen)
    fields = [V, blob(2, COLLECTION), blob(3, frozen), blob(4, signature)]
    known = {"collection": COLLECTION, "digest": frozen, "rows": ROWS, "secret": secret("Ufficio")}
    long = V + fields[1] + blob(3, bytes(33)) + fields[3]
    return {
        "message": "FrozenDigest",
        "good": [good("of three rows", b"".join(fields), **known)],
        "bad": [
            *spoilt("FrozenDigest", fields, (4, signature)),
            bad("missing field", "no signature", "frozen digest's signature has 0 bytes", b"".join(fields[:3])),
            bad("length", "a digest of 33 bytes", "a frozen digest has 33 bytes", long),
        ],
    }
