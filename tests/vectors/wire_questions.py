"""Vectors of documents that ask by views, and of rounds of a study."""

import hashlib
from typing import Any

from tests.vectors.wire_by_hand import bad, blob, good, hash_of, uint
from tests.vectors.wire_collection import THRESHOLD, asked, document, envelope

STUDY = hash_of("a study")
WINDOW = (2, 1 << 62, 0)  # the second round, from a quarter of the places to the last
GROUPED = asked(
    ("cells", 16), ("threshold", THRESHOLD), ("weight_1", 1), ("weight_2", 3), name="grouped_hash", domain=2
)


def view(kind: str, *given: tuple[str, int], labels: tuple[str, ...] = (), listed: bytes = b"") -> bytes:
    """A view, as a field of the document."""
    inner = b"".join(blob(2, blob(1, key.encode()) + uint(2, value)) for key, value in given)
    named = b"".join(blob(3, label.encode()) for label in labels)
    return blob(20, blob(1, kind.encode()) + inner + named + listed)


def prefix(first: int, last: int, bits: int = 48) -> bytes:
    """A part of a text's bits; zero is not written, nor is a parameter of it."""
    return view("prefix", ("bits", bits), ("first", first), ("last", last))


def study(round_: int, first: int, end: int, id_: bytes = STUDY) -> bytes:
    """A round, as a field of the document."""
    return blob(21, blob(1, id_) + uint(2, round_) + uint(3, first) + uint(4, end))


def by_views(**changed: bytes) -> bytes:
    """A document of a round that asks the first eight bits of a text, or the eight that follow."""
    fields = {"mechanism": GROUPED, "views": prefix(0, 8) + prefix(8, 16), "study": study(*WINDOW)}
    return document(**(fields | changed))


def by_list(*, count: int = 0, sha256: bytes = hash_of("a list"), **changed: bytes) -> bytes:
    """A document that asks which of three foods a text is; with `count` of a catalogue of so many."""
    listed = blob(4, blob(1, sha256) + uint(2, count)) if count else b""
    fields = {
        "mechanism": asked(("threshold", THRESHOLD), name="grr", domain=(count or 3) + 1),
        "views": view("candidates", labels=() if count else ("bread", "tea", "salt"), listed=listed),
    }
    return document(**(fields | changed))


def bad_views() -> list[tuple[str, str, bytes]]:
    """(name, sentence, document)."""
    one, fits, described = prefix(0, 8), "answers as many questions", "a view of kind prefix is described by"
    window = "asks the places from one to before a later one"
    text = asked(("threshold", THRESHOLD), name="grr", domain=1000)
    many = b"".join(prefix(8, 16) for _ in range(65))
    labels = tuple(str(number) for number in range(4097))
    long = tuple(f"{number:0>100}" for number in range(656))  # 65,600 bytes
    return [
        ("a view not known", "a view is one of", by_views(views=view("guess") + one)),
        ("a parameter of a view too few", described, by_views(views=view("prefix", ("bits", 48)) + one)),
        ("a parameter of a view too many", described, by_views(views=one + view("prefix", ("a", 1), ("bits", 48)))),
        (
            "a view's parameters not sorted",
            "not sorted by distinct names",
            by_views(views=one + view("prefix", ("last", 16), ("first", 8), ("bits", 48))),
        ),
        ("labels where a view has none", described, by_views(views=one + view("prefix", labels=("a",)))),
        ("a segment of 21 bits", "cannot be asked of texts", by_views(views=prefix(0, 21) + one)),
        ("a segment beyond the text", "cannot be asked of texts", by_views(views=one + prefix(8, 16, 12))),
        ("a text of 65 bytes", "the bits of a text", by_views(views=one + prefix(8, 16, 520))),
        ("65 views", "at most 64 views", by_views(views=many)),
        ("one view for two groups", fits, by_views(views=one)),
        ("views of texts for a list of values", "answers one question", by_views(mechanism=text)),
        (
            "three labels for three answers",
            "answers one question",
            by_list(mechanism=asked(("threshold", THRESHOLD), name="grr", domain=3)),
        ),
        ("no labels and no catalogue", "needs labels", by_list(views=view("candidates"))),
        ("a label twice", "have the label", by_list(views=view("candidates", labels=("tea", "tea", "salt")))),
        (
            "a label that writes backwards",
            "cannot be a label",
            by_list(views=view("candidates", labels=("a\u202e", "b", "c"))),
        ),
        ("4,097 labels of views", "at most 4,096 labels", by_list(views=view("candidates", labels=labels))),
        ("too many bytes of labels", "bytes", by_list(views=view("candidates", labels=long))),
        ("a catalogue's digest of 31 bytes", "the 32 bytes of its SHA-256", by_list(count=9, sha256=bytes(31))),
        ("a catalogue of 2^21 lines", "the number of lines of a catalogue", by_list(count=1 << 21)),
        ("labels of values next to views", "labels are of the values of a list", by_list(labels=blob(19, b"a"))),
        ("a study's id of 31 bytes", "a study's id has 32 bytes", by_views(study=study(*WINDOW, id_=bytes(31)))),
        ("round 0", window, by_views(study=study(0, 0, 0))),
        ("a window of no place", window, by_views(study=study(1, 7, 7))),
        ("a window that ends before it begins", window, by_views(study=study(1, 7, 6))),
    ]


def signed_questions() -> dict[str, Any]:
    """Documents that ask by views, signed by the analyzer that they name."""
    return {
        "message": "SignedDocument",
        "good": [
            good(
                "a document of a study's round",
                b"".join(envelope(by_views())),
                mechanism={
                    "name": "grouped_hash",
                    "domain": 2,
                    "parameters": {"cells": 16, "threshold": THRESHOLD, "weight_1": 1, "weight_2": 3},
                },
                views=[{"kind": "prefix", "parameters": {"bits": 48, "first": at, "last": at + 8}} for at in (0, 8)],
                study={"id": STUDY, "round": 2, "first": 1 << 62, "end": 1 << 64},
                digest=hashlib.sha256(by_views()).digest(),
            ),
            good(
                "a document of a list of texts",
                b"".join(envelope(by_list())),
                mechanism={"name": "grr", "domain": 4, "parameters": {"threshold": THRESHOLD}},
                views=[{"kind": "candidates", "parameters": {}, "labels": ["bread", "tea", "salt"]}],
                digest=hashlib.sha256(by_list()).digest(),
            ),
            good(
                "a document of a catalogue",
                b"".join(envelope(by_list(count=9))),
                mechanism={"name": "grr", "domain": 10, "parameters": {"threshold": THRESHOLD}},
                views=[{"kind": "candidates", "parameters": {}, "catalogue": [hash_of("a list"), 9]}],
                digest=hashlib.sha256(by_list(count=9)).digest(),
            ),
        ],
        "bad": [bad("choice", name, said, b"".join(envelope(whole))) for name, said, whole in bad_views()],
    }
