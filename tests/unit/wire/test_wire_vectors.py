"""The wire against bytes that were put together by hand: read and written as they are, the bad ones refused."""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from peos.collection.document import Document, Dummy, MechanismChoice, Member
from peos.collection.freeze import Announcement, Announcements, Freeze, Stretch
from peos.collection.receipts import Acknowledged, Acknowledgement, Receipt
from peos.collection.submission import Part
from peos.collection.ticket import StudyPart, mint
from peos.crypto.identity import Identity
from peos.crypto.kdf import Context
from peos.protocols.sequential import SEQUENTIAL
from peos.shuffle.messages import Header, Kind, Notice, NoticeKind, SignedNotice, SignedReceipt, Statement, Step
from peos.tasks.views import Catalogue, ViewChoice
from peos.wire import documents, freezes, shuffles, submissions
from tests.vectors import make_wire_vectors
from tests.vectors.refusals import not_refused

VECTORS = Path(__file__).parents[2] / "vectors"
FILES: dict[str, dict[str, Any]] = {path.stem: json.loads(path.read_text()) for path in VECTORS.glob("wire/*.json")}
WHY = {
    "choice",
    "cut",
    "deadlines",
    "dummies",
    "hash",
    "kind",
    "left over",
    "length",
    "long number",
    "members",
    "missing field",
    "order",
    "range",
    "repeated field",
    "signature",
    "text",
    "unknown field",
    "version",
    "wire type",
}
Fields = dict[str, Any]
unhex = bytes.fromhex
read_document = partial(documents.decode_signed_document, floor=512)


def single(decode: Callable[[bytes], Any]) -> Callable[[Iterable[bytes]], Any]:
    """A decoder of one message, as one of a list of messages."""

    def decoded(messages: Iterable[bytes]) -> Any:
        (data,) = messages
        return decode(data)

    return decoded


DECODE: dict[str, Callable[[Iterable[bytes]], Any]] = {
    "signed_document": single(read_document),
    "signed_question": single(read_document),
    "part": single(submissions.decode_part),
    "acknowledgement": single(submissions.decode_acknowledgement),
    "announcements": single(freezes.decode_announcements),
    "list_chunk": single(freezes.decode_stretch),
    "frozen_digest": single(freezes.decode_frozen_digest),
    "word": single(shuffles.decode_statement),
    "vector": shuffles.decode_vector,
    "notice": single(shuffles.decode_notice),
    "receipt": single(shuffles.decode_receipt),
}


def good_case(file: str, name: str = "") -> tuple[list[bytes], Fields]:
    case = next(case for case in FILES[file]["good"] if case["name"] == name or not name)
    return [unhex(data) for data in case["messages"]], case["fields"]


def rows_of(packed: list[str]) -> tuple[bytes, ...]:
    return tuple(map(unhex, packed))


def header_of(fields: Fields) -> Header:
    context = Context(unhex(fields["collection"]), unhex(fields["frozen"]), fields["attempt"])
    return Header(context, Step(fields["round"], Kind(fields["kind"])), fields["sender"], fields["receiver"])


def test_the_generator_still_writes_these_very_bytes() -> None:
    written = make_wire_vectors.rendered()
    assert {f"wire/{name}.json" for name in FILES} == set(written), "a file without its generator, or the reverse"
    for name, text in written.items():
        assert (VECTORS / name).read_text() == text, f"{name} is not what its generator writes"


def test_the_vectors_hold_nothing_but_what_is_tested_here() -> None:
    assert set(FILES) == set(DECODE)
    for content in FILES.values():
        assert set(content) == {"message", "good", "bad"}
        assert all(set(case) == {"name", "messages", "fields"} for case in content["good"])
        assert all(set(case) == {"name", "messages", "why", "sentence"} for case in content["bad"])
    assert {case["why"] for content in FILES.values() for case in content["bad"]} == WHY


@pytest.mark.parametrize("file", sorted(FILES))
def test_bad_vectors_are_refused_for_their_reasons(file: str) -> None:
    def read(case: Fields) -> object:
        return DECODE[file]([unhex(data) for data in case["messages"]])

    assert not_refused(FILES[file]["bad"], read, "sentence") == []


def test_a_document_is_the_vectors() -> None:
    (data,), fields = good_case("signed_document")
    mechanism = fields["mechanism"]
    dummies = [
        Dummy(unhex(one["salt"]), unhex(one["id"]), np.array(one["words"], dtype=np.uint64))
        for one in fields["dummies"]
    ]
    closes_at, shuffle_by, erase_by = fields["times"]
    document = Document(
        question=fields["question"],
        epoch=fields["epoch"],
        choice=MechanismChoice(mechanism["name"], mechanism["domain"], mechanism["parameters"]),
        scheme=fields["scheme"],
        public_key=unhex(fields["public_key"]),
        shufflers=tuple(Member(name, unhex(identity), unhex(c)) for name, identity, c in fields["shufflers"]),
        analyzer=Member(fields["analyzer"][0], *map(unhex, fields["analyzer"][1:])),
        fakes=fields["fakes"],
        minimum=fields["minimum"],
        delta=fields["delta"],
        enrolment_key=unhex(fields["enrolment_key"]),
        dummies=tuple(dummy.commitment for dummy in dummies),
        closes_at=closes_at,
        shuffle_by=shuffle_by,
        erase_by=erase_by,
    )
    assert [dummy.commitment.hex() for dummy in dummies] == [one["commitment"] for one in fields["dummies"]]
    assert documents.sign_document(document, Identity(unhex(fields["secret"]))) == data
    signed = read_document(data)
    assert signed.document == document
    assert signed.digest.hex() == fields["digest"]
    assert (signed.encoded, signed.signature) == (documents.encode_document(document), data[-64:])


def test_a_document_of_a_sequential_shuffle_is_the_vectors() -> None:
    (data,), fields = good_case("signed_document", "a document of a sequential shuffle")
    (peos,), _ = good_case("signed_document")
    other = {"scheme": fields["scheme"], "public_key": unhex(fields["public_key"]), "protocol": SEQUENTIAL}
    document = replace(read_document(peos).document, **other, onion_keys=tuple(map(unhex, fields["onion_keys"])))
    signed = read_document(data)
    assert signed.document == document
    assert signed.digest.hex() == fields["digest"]
    assert signed.encoded == documents.encode_document(document)


@pytest.mark.parametrize("name", ["of a study's round", "of a list of texts", "of a catalogue"])
def test_a_document_that_asks_by_views_is_the_vectors(name: str) -> None:
    (data,), fields = good_case("signed_question", f"a document {name}")
    (flat,), _ = good_case("signed_document")
    given, choice = fields.get("study"), fields["mechanism"]
    document = replace(
        read_document(flat).document,
        choice=MechanismChoice(choice["name"], choice["domain"], choice["parameters"]),
        views=tuple(map(_view, fields["views"])),
        study=StudyPart(unhex(given["id"]), given["round"], given["first"], given["end"]) if given else None,
    )
    signed = read_document(data)
    assert signed.document == document
    assert signed.digest.hex() == fields["digest"]
    assert signed.encoded == documents.encode_document(document)
    assert [view.describe() for view in document.asked] == list(document.views)


def _view(fields: Fields) -> ViewChoice:
    listed = fields.get("catalogue")
    catalogue = Catalogue(unhex(listed[0]), listed[1]) if listed else None
    return ViewChoice(fields["kind"], fields["parameters"], tuple(fields.get("labels", ())), catalogue)


@pytest.mark.parametrize("shuffler", [1, 2])
def test_a_part_is_the_vectors(shuffler: int) -> None:
    (data,), fields = good_case("part", f"for shuffler {shuffler}")
    collection, id_, salt, share = (unhex(fields[key]) for key in ("collection", "id", "salt", "share"))
    user, hashes = Identity(unhex(fields["user"])), tuple(map(unhex, fields["hashes"]))
    ticket = mint(Identity(unhex(fields["enrolment"])), collection, id_, user.public)
    part = Part(collection, shuffler, id_, ticket, user.public, bytes(64), salt, hashes, share)
    part = replace(part, signature=user.sign("submission", part.digest))
    assert part.row.hex() == fields["row"]
    assert submissions.encode_part(part) == data
    assert submissions.decode_part(data) == part
    assert hashlib.sha256(salt + share).digest() == part.hashes[shuffler - 1]


def test_an_acknowledgement_is_the_vectors() -> None:
    (data,), fields = good_case("acknowledgement")
    path = tuple(map(unhex, fields["path"]))
    receipt = Receipt(fields["place"], fields["count"], path, unhex(fields["signature"]))
    said = Acknowledgement(unhex(fields["collection"]), unhex(fields["row"]), receipt)
    assert submissions.encode_acknowledgement(said) == data
    assert submissions.decode_acknowledgement(data) == said
    about = Acknowledged(said.collection, said.row, unhex(fields["user_key"]))
    assert receipt.holds(unhex(fields["shuffler"]), about)


@pytest.mark.parametrize("name", [case["name"] for case in FILES["announcements"]["good"]])
def test_announcements_are_the_vectors(name: str) -> None:
    (data,), fields = good_case("announcements", name)
    collection, identities = unhex(fields["collection"]), [Identity(unhex(secret)) for secret in fields["secrets"]]
    held = []
    for one in fields["lists"]:
        held.append(
            Announcement.sign(identities[one["shuffler"] - 1], one["shuffler"], collection, rows_of(one["rows"]))
        )
        assert held[-1].root.hex() == one["root"]
    said = Announcements(collection, tuple(held))
    assert freezes.encode_announcements(said) == data
    assert freezes.decode_announcements(data) == said


@pytest.mark.parametrize("name", ["a whole list", "the end of a list", "an empty list"])
def test_a_stretch_is_the_vectors(name: str) -> None:
    (data,), fields = good_case("list_chunk", name)
    stretch = Stretch(unhex(fields["collection"]), fields["total"], fields["first"], rows_of(fields["rows"]))
    assert freezes.encode_stretch(stretch) == data
    assert freezes.decode_stretch(data) == stretch


def test_a_frozen_digest_is_the_vectors() -> None:
    (data,), fields = good_case("frozen_digest")
    collection, signer = unhex(fields["collection"]), Identity(unhex(fields["secret"]))
    parties, rows = (signer, *(Identity(bytes([n]) * 32) for n in range(2))), rows_of(fields["rows"])
    freeze = Freeze(1, tuple(one.public for one in parties), collection, rows, signer)
    held = [Announcement.sign(one, who, collection, rows) for who, one in enumerate(parties, start=1)]
    for who in (2, 3):
        freeze.heard(who, held)
    for who in (2, 3):
        listing = freeze.listing(who)
        listing.feed(rows)
        listing.finish()
    said = freeze.sign()
    assert said.digest.hex() == fields["digest"]
    assert freezes.encode_frozen_digest(said) == data
    assert freezes.decode_frozen_digest(data) == said


@pytest.mark.parametrize("case", FILES["word"]["good"], ids=lambda case: case["name"])
def test_a_word_is_the_vectors(case: Fields) -> None:
    (data,), word = map(unhex, case["messages"]), Statement(header_of(case["fields"]), unhex(case["fields"]["body"]))
    assert shuffles.encode_statement(word) == data
    assert shuffles.decode_statement(data) == word


@pytest.mark.parametrize("case", FILES["vector"]["good"], ids=lambda case: case["name"])
def test_a_vector_is_the_vectors(case: Fields) -> None:
    fields, messages = case["fields"], [unhex(data) for data in case["messages"]]
    rows = np.frombuffer(unhex(fields["data"]), np.uint8).reshape(fields["rows"], fields["row_bytes"])
    transcript = unhex(fields["transcript"])
    header = header_of(fields)
    assert list(shuffles.encode_vector(header, rows, transcript=transcript, chunk=fields["chunk"])) == messages
    read, came = shuffles.decode_vector(messages)
    assert (read.header, read.transcript) == (header, transcript)
    assert np.array_equal(came, rows)


@pytest.mark.parametrize("case", FILES["notice"]["good"], ids=lambda case: case["name"])
def test_a_notice_is_the_vectors(case: Fields) -> None:
    (data,), fields = map(unhex, case["messages"]), case["fields"]
    signer, transcript = Identity(unhex(fields["secret"])), unhex(fields["transcript"])
    notice = Notice(NoticeKind(fields["kind"]), fields["sender"], fields["attempt"], transcript)
    signed = SignedNotice.sign(signer, Context(unhex(fields["collection"]), unhex(fields["frozen"])), notice)
    assert shuffles.encode_notice(signed) == data
    assert shuffles.decode_notice(data) == signed


@pytest.mark.parametrize("case", FILES["receipt"]["good"], ids=lambda case: case["name"])
def test_a_receipt_is_the_vectors(case: Fields) -> None:
    (data,), fields = map(unhex, case["messages"]), case["fields"]
    context = Context(unhex(fields["collection"]), unhex(fields["frozen"]), fields["attempt"])
    signed = SignedReceipt.sign(Identity(unhex(fields["secret"])), context, unhex(fields["transcript"]))
    assert shuffles.encode_receipt(signed) == data
    assert shuffles.decode_receipt(data) == signed
