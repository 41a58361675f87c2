"""Derived streams: as the vectors have them, and no two labels alike."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peos.crypto.kdf import Context, StreamKey, derive
from tests.raising import raises

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parents[2] / "vectors" / "kdf.json").read_text())
SECRET = b"\x07" * 32
digests = st.sampled_from([bytes(32), b"\x01" * 32, b"a" * 32])
labels = st.tuples(
    st.text(alphabet="ab\x00é", max_size=4),
    digests,
    digests,
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**16 - 1),
    st.integers(0, 255),
    st.integers(0, 255),
)
Label = tuple[str, bytes, bytes, int, int, int, int]


def key_of(label: Label) -> bytes:
    purpose, collection, frozen, attempt, round_, sender, receiver = label
    context = Context(collection, frozen, attempt)
    return derive(SECRET, purpose, context, round_=round_, sender=sender, receiver=receiver).secret


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['purpose']}-{case['attempt']}-{case['sender']}")
def test_a_derived_stream_is_the_vectors(case: dict[str, Any]) -> None:
    context = Context(bytes.fromhex(case["collection"]), bytes.fromhex(case["frozen"]), case["attempt"])
    key = derive(
        bytes.fromhex(case["secret"]),
        case["purpose"],
        context,
        round_=case["round"],
        sender=case["sender"],
        receiver=case["receiver"],
    )
    assert key.secret.hex() == case["key"]
    assert key.stream().bytes(64).hex() == case["stream"]
    assert key.stream().uint64(8).tolist() == case["words"]


@given(labels, labels)
def test_different_labels_give_different_keys_and_equal_ones_equal_keys(one: Label, other: Label) -> None:
    assert (key_of(one) == key_of(other)) == (one == other)


def test_every_single_field_changes_the_key() -> None:
    base: Label = ("mask", b"\x01" * 32, b"\x02" * 32, 1, 2, 3, 4)
    changed: list[Label] = [
        ("masl", *base[1:]),
        ("mask\x01", *base[1:]),
        (base[0], base[2], base[1], *base[3:]),
        (*base[:3], 2, 1, 3, 4),
        (*base[:3], 1, 2, 4, 3),
        (*base[:3], 1, 2, 3, 0),
        (*base[:3], 0, 2, 3, 4),
    ]
    assert len({key_of(label) for label in [base, *changed]}) == len(changed) + 1


def test_another_secret_gives_another_key() -> None:
    context = Context(b"\x01" * 32)
    assert derive(SECRET, "mask", context) != derive(b"\x08" * 32, "mask", context)


@pytest.mark.parametrize("lengths", [(31, 32), (33, 32), (32, 0), (32, 64)])
def test_digests_of_another_length_are_refused(lengths: tuple[int, int]) -> None:
    with raises("key.context"):
        Context(bytes(lengths[0]), bytes(lengths[1]))


def test_the_key_of_a_stream_shows_nowhere() -> None:
    key = StreamKey(SECRET)
    assert {repr(key), str(key), f"{key}", f"{[key]}"} == {"StreamKey(...)", "[StreamKey(...)]"}
    with pytest.raises(dataclasses.FrozenInstanceError) as caught:
        key.secret = b""  # type: ignore[misc]  # the point of the test
    assert SECRET.hex() not in str(caught.value)
