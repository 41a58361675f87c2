"""The document's own ranges, its digest, and the dummies that it commits to."""

import hashlib
import math
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peos.collection.document import MAX_ROWS, MIN_DUMMIES, Document, Dummy, MechanismChoice, Member, digest
from peos.crypto.randomness import U64
from peos.ldp import GRR, SUE, LocalHash, Question
from tests.raising import raises
from tests.unit.collection.made import ANALYZER, DOCUMENT, PUBLIC, digest_of

COMMITMENTS = tuple(digest_of(f"dummy {number}") for number in range(64))
EDGES: list[dict[str, Any]] = [
    {"fakes": 0},
    {"fakes": MAX_ROWS - 1},
    {"minimum": 1},
    {"minimum": MAX_ROWS - 1},
    {"delta": 5e-324},
    {"delta": math.nextafter(1, 0)},
    {"question": "x"},
    {"question": "é" * 1024},
    {"epoch": ""},
    {"epoch": "x" * 1024},
    {"dummies": COMMITMENTS[:32]},
    {"dummies": COMMITMENTS},
    {"closes_at": 1, "shuffle_by": 2, "erase_by": 3},
    {"erase_by": 2**40 - 1},
]
BEYOND: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"fakes": -1}, ("document.rows", "-1")),
    ({"fakes": MAX_ROWS}, ("document.rows",)),
    ({"minimum": 0}, ("document.rows", "0")),
    ({"minimum": MAX_ROWS}, ("document.rows",)),
    ({"delta": 0.0}, ("document.delta",)),
    ({"delta": 1.0}, ("document.delta",)),
    ({"delta": math.nan}, ("document.delta",)),
    ({"delta": math.inf}, ("document.delta",)),
    ({"delta": -math.inf}, ("document.delta",)),
    ({"question": ""}, ("document.text_length", "a question", "1", "1024", "0")),
    ({"question": "x" * 1025}, ("document.text_length", "a question", "1", "1024", "1025")),
    ({"epoch": "x" * 1025}, ("document.text_length", "an epoch", "0", "1024", "1025")),
    ({"dummies": COMMITMENTS[:31]}, ("document.dummies", "32", "31")),
    ({"dummies": COMMITMENTS[:32] + COMMITMENTS[:1]}, ("document.dummies", "32", "33")),
    ({"dummies": (*COMMITMENTS[:32], bytes(33))}, ("document.dummy",)),
    ({"enrolment_key": bytes(33)}, ("document.enrolment_key",)),
    ({"closes_at": 0}, ("document.times",)),
    ({"closes_at": 2}, ("document.times",)),
    ({"shuffle_by": 3}, ("document.times",)),
    ({"erase_by": 2**40}, ("document.times",)),
    ({"shufflers": DOCUMENT.shufflers[:2]}, ("plan.shufflers", "2")),
    ({"shufflers": ()}, ("plan.shufflers", "0")),
    ({"shufflers": (*DOCUMENT.shufflers, DOCUMENT.shufflers[0])}, ("document.same_party", "identity")),
    ({"shufflers": (*DOCUMENT.shufflers, DOCUMENT.analyzer)}, ("document.same_party", "identity")),
    (
        {"analyzer": replace(DOCUMENT.analyzer, certificate=DOCUMENT.shufflers[1].certificate)},
        ("document.same_party", "certificate"),
    ),
]


def test_at_least_32_dummies_are_a_rule_and_not_a_setting() -> None:
    assert MIN_DUMMIES == 32
    assert "MIN_DUMMIES" not in Document.__dataclass_fields__


@pytest.mark.parametrize("fields", EDGES, ids=lambda fields: ",".join(fields))
def test_the_edges_of_every_range_can_be_asked_for(fields: dict[str, Any]) -> None:
    assert replace(DOCUMENT, **fields) == replace(DOCUMENT, **fields)


@pytest.mark.parametrize(
    ("fields", "mistake"), BEYOND, ids=lambda given: ",".join(given) if isinstance(given, dict) else ""
)
def test_beyond_them_is_wrong_input_with_its_sentence(fields: dict[str, Any], mistake: tuple[str, ...]) -> None:
    with raises(*mistake):
        replace(DOCUMENT, **fields)


@pytest.mark.parametrize("lengths", [(31, 32), (33, 32), (32, 31), (32, 0), (0, 32)])
def test_a_member_has_a_name_and_two_times_32_bytes(lengths: tuple[int, int]) -> None:
    with raises("document.party", "Ufficio"):
        Member("Ufficio", bytes(lengths[0]), bytes(lengths[1]))
    with raises("document.text_length", "a member's name", "1", "1024"):
        Member("", bytes(32), bytes(32))


@pytest.mark.parametrize("mechanism", [GRR(100, 2.0), LocalHash(915, 4.5, 45), SUE(64, 3.0)], ids=lambda m: m.name)
def test_the_choice_in_a_document_is_the_mechanism_salted_with_who_asks_what(mechanism: Any) -> None:
    document = replace(DOCUMENT, choice=MechanismChoice.of(mechanism))
    asked = document.mechanism
    assert (asked.name, asked.domain, asked.parameters) == (mechanism.name, mechanism.domain, mechanism.parameters)
    assert asked.epsilon_local == mechanism.epsilon_local
    assert asked.question == Question(ANALYZER.public, "Which?", "2031-07")
    digests = {
        mechanism.digest,
        asked.digest,
        replace(document, epoch="2031-08").mechanism.digest,
        replace(document, question="What?").mechanism.digest,
        replace(document, analyzer=replace(DOCUMENT.analyzer, identity=bytes(32))).mechanism.digest,
    }
    assert len(digests) == 5, "two collections share their hash functions"
    assert replace(document, fakes=99).mechanism == asked


def test_a_document_gives_its_key_and_its_schedule() -> None:
    assert DOCUMENT.encryption_key(floor=512) == PUBLIC
    assert DOCUMENT.schedule.shufflers == 3
    with raises("input.scheme", "'rsa'"):
        replace(DOCUMENT, scheme="rsa").encryption_key(floor=512)


def test_a_collections_digest_is_the_hash_of_the_bytes_that_were_signed() -> None:
    assert digest(b"some bytes") == hashlib.sha256(b"some bytes").digest()


def test_a_document_does_not_change_under_its_readers() -> None:
    with pytest.raises(FrozenInstanceError):
        DOCUMENT.fakes = 1  # type: ignore[misc]  # the point of the test


def words(*numbers: int) -> U64:
    return np.array(numbers, dtype=np.uint64)


dummies = st.builds(
    Dummy,
    st.binary(max_size=6),
    st.binary(max_size=6),
    st.lists(st.sampled_from([0, 1, 2**64 - 1]), min_size=1, max_size=2).map(lambda drawn: words(*drawn)),
)


def content(dummy: Dummy) -> tuple[bytes, bytes, tuple[int, ...]]:
    return dummy.salt, dummy.id, tuple(dummy.words.tolist())


@settings(max_examples=400)
@given(dummies, dummies)
def test_a_commitment_binds_to_salt_id_and_words(one: Dummy, other: Dummy) -> None:
    assert (one.commitment == other.commitment) == (content(one) == content(other))


@settings(max_examples=200)
@given(st.binary(max_size=12), st.binary(max_size=12), st.integers(0, 24))
def test_moving_a_byte_between_salt_and_id_opens_another_commitment(salt: bytes, id_: bytes, cut: int) -> None:
    whole = salt + id_
    moved = Dummy(whole[:cut], whole[cut:], words(7))
    assert (moved.commitment == Dummy(salt, id_, words(7)).commitment) == (whole[:cut] == salt)


def test_no_word_can_pass_for_the_end_of_an_id() -> None:
    word = (7).to_bytes(8, "little")
    assert Dummy(b"s", b"id", words(7, 7)).commitment != Dummy(b"s", b"id" + word, words(7)).commitment


def test_a_commitment_shows_nothing_without_its_salt() -> None:
    salted = {Dummy(bytes([number]) * 32, b"id", words(7)).commitment for number in range(100)}
    assert len(salted) == 100, "one dummy under two salts has two commitments"
    assert hashlib.sha256(b"id" + words(7).tobytes()).digest() not in salted


def test_a_dummy_keeps_its_secrets_to_itself() -> None:
    dummy = Dummy(b"\xab" * 32, b"\xcd" * 16, words(0xEF))
    assert {repr(dummy), str(dummy), f"{dummy}", f"{[dummy]}"} == {"Dummy(...)", "[Dummy(...)]"}
    assert dummy != replace(dummy), "equality by content would have to compare arrays, and raise"


def test_when_it_closes_is_told_beside_what_the_clock_says_however_far_that_is() -> None:
    document = replace(DOCUMENT, closes_at=2**40 - 3, shuffle_by=2**40 - 2, erase_by=2**40 - 1)
    assert document.closing(0.0) == "at 9999-12-31 23:59 UTC, and the clock here says 1970-01-01 00:00 UTC"
