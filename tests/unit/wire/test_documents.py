"""Signed documents: everything that a stranger may have got wrong is a sentence of its own."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from peos.collection.document import Document, MechanismChoice, Member
from peos.crypto.identity import Identity
from peos.crypto.randomness import Randomness
from peos.crypto.schemes import scheme
from peos.crypto.schemes.base import KEY_BITS_FLOOR
from peos.errors import BadEncoding
from peos.v1 import collection_pb2 as pb
from peos.wire.documents import decode_signed_document, encode_document, sign_document
from peos.wire.strict import serialize
from peos.wire.submissions import MAX_SHARE_BYTES
from tests.keys import small_key
from tests.raising import raises

FLOOR = 512
ANALYZER = Identity(b"\x05" * 32)


def digest_of(label: str) -> bytes:
    return hashlib.sha256(label.encode()).digest()


def member(number: int) -> Member:
    return Member(f"shuffler {number}", digest_of(f"identity {number}"), digest_of(f"certificate {number}"))


DOCUMENT = Document(
    question="Which?",
    epoch="",
    choice=MechanismChoice("solh", 1000, {"cells": 16, "threshold": 3 << 62}),
    scheme="paillier",
    public_key=small_key(FLOOR).public.encode(),
    shufflers=tuple(map(member, range(3))),
    analyzer=Member("analyzer", ANALYZER.public, digest_of("certificate")),
    fakes=0,
    minimum=1,
    delta=1e-9,
    enrolment_key=digest_of("enrolment"),
    dummies=tuple(digest_of(f"dummy {number}") for number in range(32)),
    closes_at=1,
    shuffle_by=2,
    erase_by=3,
)
Spoil = Callable[[pb.Document], object]


def spoilt(change: Spoil) -> bytes:
    """The document with a change that its own type would not allow, signed as it should be."""
    message = pb.Document.FromString(encode_document(DOCUMENT))
    change(message)
    encoded = serialize(message)
    signature = ANALYZER.sign("document", encoded)
    return serialize(pb.SignedDocument(version=1, document=encoded, signature=signature))


def decode(data: bytes) -> Document:
    return decode_signed_document(data, floor=FLOOR).document


def setting(**fields: Any) -> Spoil:
    def change(message: pb.Document) -> None:
        for name, value in fields.items():
            setattr(message, name, value)

    return change


def parameters(*given: tuple[str, int]) -> Spoil:
    def change(message: pb.Document) -> None:
        del message.mechanism.parameters[:]
        message.mechanism.parameters.extend(pb.Parameter(name=name, value=value) for name, value in given)

    return change


def of_member(at: int, **fields: Any) -> Spoil:
    def change(message: pb.Document) -> None:
        for name, value in fields.items():
            setattr(message.shufflers[at], name, value)

    return change


def shufflers(count: int) -> Spoil:
    def change(message: pb.Document) -> None:
        del message.shufflers[:]
        listed = (member(number) for number in range(count))
        message.shufflers.extend(pb.Member(name=m.name, identity=m.identity, certificate=m.certificate) for m in listed)

    return change


def mechanism(**fields: Any) -> Spoil:
    def change(message: pb.Document) -> None:
        for name, value in fields.items():
            setattr(message.mechanism, name, value)

    return change


def dummies(commitments: list[bytes]) -> Spoil:
    def change(message: pb.Document) -> None:
        message.dummies[:] = commitments

    return change


HALF = 1 << 63
KEY = DOCUMENT.public_key
TIMES = "a collection closes first, shuffles by a later time and erases by a still later one"
DELTA = "delta lies strictly between 0 and 1"
BAD: list[tuple[str, Spoil, str]] = [
    ("two shufflers", shufflers(2), "2 shufflers cannot run a collection"),
    ("ten shufflers", shufflers(10), "10 shufflers cannot run a collection"),
    ("no shufflers", shufflers(0), "0 shufflers cannot run a collection"),
    ("one identity twice", of_member(0, identity=member(2).identity), "have the same identity"),
    ("the analyzer's identity", of_member(1, identity=ANALYZER.public), "have the same identity"),
    ("one certificate twice", of_member(0, certificate=member(2).certificate), "have the same certificate"),
    ("the analyzer's certificate", of_member(2, certificate=digest_of("certificate")), "have the same certificate"),
    ("a short identity", of_member(0, identity=bytes(31)), "a member's identity has 31 bytes, not 32"),
    ("a short certificate", of_member(0, certificate=b""), "the identity and the certificate of shuffler 0"),
    ("no name", of_member(0, name=""), "a member's name has between 1 and 1024 characters, not 0"),
    ("a long name", of_member(0, name="x" * 1025), "a member's name has between 1 and 1024 characters, not 1025"),
    ("no question", setting(question=""), "a question has between 1 and 1024 characters, not 0"),
    ("a long question", setting(question="é" * 1025), "a question has between 1 and 1024 characters, not 1025"),
    ("a long epoch", setting(epoch="x" * 1025), "an epoch has between 0 and 1024 characters, not 1025"),
    ("31 dummies", dummies([bytes([n]) * 32 for n in range(31)]), "at least 32 distinct dummies, not 31"),
    ("a dummy twice", dummies([bytes([n // 2]) * 32 for n in range(64)]), "at least 32 distinct dummies, not 64"),
    ("a short dummy", dummies([bytes([n]) * 31 for n in range(32)]), "a dummy's commitment is 32 bytes"),
    ("delta 0", setting(delta=0.0), f"{DELTA}, not at 0.0"),
    ("delta -0", setting(delta=-0.0), f"{DELTA}, not at -0.0"),
    ("delta 1", setting(delta=1.0), f"{DELTA}, not at 1.0"),
    ("delta < 0", setting(delta=-1e-9), f"{DELTA}, not at -1e-09"),
    ("delta nan", setting(delta=float("nan")), f"{DELTA}, not at nan"),
    ("delta inf", setting(delta=float("inf")), f"{DELTA}, not at inf"),
    ("2^31 fakes", setting(fakes=1 << 31), "2147483648 fakes and a minimum of 1 reports cannot be shuffled"),
    ("no minimum", setting(minimum=0), "0 fakes and a minimum of 0 reports cannot be shuffled"),
    ("a huge minimum", setting(minimum=1 << 31), "a minimum of 2147483648 reports cannot be shuffled"),
    ("a short enrolment key", setting(enrolment_key=bytes(31)), "the enrolment key is 32 bytes"),
    ("closes at 0", setting(closes_at=0), TIMES),
    ("closes after it shuffles", setting(closes_at=3), TIMES),
    ("shuffles when it closes", setting(shuffle_by=1), TIMES),
    ("erases when it shuffles", setting(erase_by=2), TIMES),
    ("erases in 2^40 seconds", setting(erase_by=1 << 40), TIMES),
    ("an unknown scheme", setting(scheme="elgamal"), "the encryption scheme 'elgamal' cannot be used"),
    ("no scheme", setting(scheme=""), "the encryption scheme '' cannot be used"),
    ("an unknown mechanism", mechanism(name="oue"), "a mechanism is one of grr, solh, sue"),
    ("a domain of one", mechanism(domain=1), "the domain of local hashing is a whole number from 2 to 16777216"),
    ("a domain of 2^64 - 1", mechanism(domain=2**64 - 1), "the domain of local hashing is a whole number"),
    ("parameters unsorted", parameters(("threshold", HALF), ("cells", 16)), "are not sorted by distinct names"),
    ("a parameter twice", parameters(("cells", 16), ("cells", 16), ("threshold", HALF)), "not sorted by distinct"),
    ("a parameter missing", parameters(("cells", 16)), "solh is described by threshold and cells"),
    ("a parameter more", parameters(("cells", 16), ("tau", 1), ("threshold", HALF)), "and nothing else"),
    ("one cell", parameters(("cells", 1), ("threshold", HALF)), "the cells of solh is a whole number from 2"),
    ("threshold 0", parameters(("cells", 16), ("threshold", 0)), "the threshold of solh is a whole number from 1"),
    ("a threshold of ε 44", parameters(("cells", 2), ("threshold", 2**64 - 1)), "with this threshold epsilon"),
    ("a key of nothing", setting(public_key=b""), "the Paillier public key ends too early"),
    ("a key cut", setting(public_key=KEY[:-1]), "the Paillier public key ends too early"),
    ("a key with more", setting(public_key=KEY + b"\0"), "bytes are left over after the Paillier public key: 1"),
    ("an even modulus", setting(public_key=KEY[:-1] + b"\0"), "the modulus is even"),
]


@pytest.mark.parametrize(("change", "sentence"), [pytest.param(*row[1:], id=row[0]) for row in BAD])
def test_what_a_signed_document_must_not_say_is_refused_in_a_sentence(change: Spoil, sentence: str) -> None:
    with pytest.raises(BadEncoding) as caught:
        decode(spoilt(change))
    assert sentence in str(caught.value)


def test_without_a_change_the_same_document_is_read() -> None:
    assert decode(spoilt(lambda message: message)) == DOCUMENT
    signed = decode_signed_document(sign_document(DOCUMENT, ANALYZER), floor=FLOOR)
    assert signed.digest == hashlib.sha256(encode_document(DOCUMENT)).digest()
    assert signed.encoded == encode_document(DOCUMENT)


def test_a_document_is_signed_by_the_analyzer_that_it_names() -> None:
    other = Identity(b"\x06" * 32)
    with raises("document.signature"):
        decode(sign_document(DOCUMENT, other))
    usurped = replace(DOCUMENT, analyzer=replace(DOCUMENT.analyzer, identity=other.public))
    with raises("document.signature"):
        decode(sign_document(usurped, ANALYZER))


def test_a_document_altered_after_signing_is_refused() -> None:
    signed = pb.SignedDocument.FromString(sign_document(DOCUMENT, ANALYZER))
    for altered in (
        replace(DOCUMENT, epoch="2"),
        replace(DOCUMENT, fakes=1),
        replace(DOCUMENT, minimum=2),
        replace(DOCUMENT, delta=2e-9),
        replace(DOCUMENT, shufflers=DOCUMENT.shufflers[::-1]),
        replace(DOCUMENT, dummies=DOCUMENT.dummies[::-1]),
        replace(DOCUMENT, erase_by=4),
    ):
        signed.document = encode_document(altered)
        with raises("document.signature"):
            decode(serialize(signed))


def test_an_analyzer_with_a_key_that_fits_many_messages_signs_nothing() -> None:
    neutral = bytes([1]) + bytes(31)  # the curve's neutral point: R = neutral, S = 0 holds for every message
    document = replace(DOCUMENT, analyzer=replace(DOCUMENT.analyzer, identity=neutral))
    forged = pb.SignedDocument(version=1, document=encode_document(document), signature=neutral + bytes(32))
    with raises("document.signature"):
        decode(serialize(forged))


def test_production_keeps_its_floor_at_3072_bits() -> None:
    assert KEY_BITS_FLOOR == 3072
    with raises("key.too_short", "512", "3072"):
        decode_signed_document(sign_document(DOCUMENT, ANALYZER))
    just_below = bytes([1]) + (3008).to_bytes(2, "big") + bytes(376)
    with raises("key.too_short", "3008", "3072"):
        decode_signed_document(sign_document(replace(DOCUMENT, public_key=just_below), ANALYZER))


def test_a_key_of_3072_bits_is_let_in_by_default() -> None:
    key = scheme("paillier").generate(Randomness(b"\x01" * 32), bits=3072).public.encode()
    document = replace(DOCUMENT, public_key=key)
    assert decode_signed_document(sign_document(document, ANALYZER)).document == document


def test_reports_that_do_not_fit_into_a_part_are_refused_before_anybody_answers() -> None:
    size = small_key(FLOOR).public.ciphertext_bytes
    most = MAX_SHARE_BYTES // size
    fits, too_long = (
        replace(DOCUMENT, choice=MechanismChoice("sue", words * 8, {"field_bits": 8, "tau": 3}))
        for words in (most, most + 1)
    )
    assert (fits.mechanism.words, too_long.mechanism.words) == (most, most + 1)
    assert decode(sign_document(fits, ANALYZER)) == fits
    with raises("document.unusable", str(most + 1), str((most + 1) * size)):
        decode(sign_document(too_long, ANALYZER))


@pytest.mark.parametrize("field", ["question", "epoch"])
def test_text_that_cannot_be_sent_is_refused_before_it_is_signed(field: str) -> None:
    with raises("document.text_unicode"):
        replace(DOCUMENT, **{field: "caf\udce9"})  # type: ignore[arg-type]  # either of two strings
    with raises("document.text_unicode"):
        replace(DOCUMENT.analyzer, name="caf\udce9")


def test_a_refusal_shows_no_bytes_of_what_was_refused() -> None:
    for _, change, _ in BAD:
        with pytest.raises(BadEncoding) as caught:
            decode(spoilt(change))
        said = str(caught.value)
        assert DOCUMENT.public_key.hex()[:16] not in said
        assert ANALYZER.public.hex()[:16] not in said
        assert len(said) < 300, said
