"""Onions: against layers made by hand, and what must hold of all of them."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from peos.crypto.identity import Identity
from peos.crypto.onion import LAYER_BYTES, POINT_BYTES, OnionKeys, OnionPrivateKey, read_point, without_copies
from peos.crypto.randomness import Randomness
from tests.raising import raises
from tests.vectors import make_onion_vectors

VECTORS = Path(__file__).parents[2] / "vectors"
FOUND: dict[str, list[dict[str, Any]]] = json.loads((VECTORS / "onion.json").read_text())
COLLECTION = b"\x0c" * 32
PRIVATE = [OnionPrivateKey.generate(Randomness(bytes([number]) * 32)) for number in range(1, 5)]
KEYS = OnionKeys(tuple(one.point for one in PRIVATE))
unhex = bytes.fromhex


def test_the_generator_still_writes_these_very_bytes() -> None:
    for name, text in make_onion_vectors.rendered().items():
        assert (VECTORS / name).read_text() == text, f"{name} is not what its generator writes"


@pytest.mark.parametrize("case", FOUND["layers"], ids=lambda case: str(case["name"]))
def test_a_layer_opens_to_what_the_vectors_say_or_not_at_all(case: dict[str, Any]) -> None:
    private = OnionPrivateKey(unhex(case["secret"]))
    assert private.point.hex() == case["point"]
    opened = private.open(unhex(case["collection"]), case["layer"], unhex(case["row"]))
    assert opened == (None if case["why"] else unhex(case["message"]))


@pytest.mark.parametrize("case", FOUND["identities"], ids=lambda case: case["point"][:8])
def test_a_shufflers_onion_key_follows_from_its_identity(case: dict[str, str]) -> None:
    assert OnionPrivateKey.of(Identity(unhex(case["identity"]))).point.hex() == case["point"]


def test_each_layer_takes_its_bytes_and_the_last_shows_the_message(rng: Randomness) -> None:
    messages = rng.uint64((5, 2)).view(np.uint8)
    rows = KEYS.wrap(COLLECTION, messages, rng)
    for layer, private in enumerate(PRIVATE, start=1):
        assert rows.shape == (5, KEYS.row_bytes(16, layer))
        opened = [private.open(COLLECTION, layer, row.tobytes()) for row in rows]
        assert all(opened)
        rows = np.stack([np.frombuffer(message or b"", np.uint8) for message in opened])
    assert np.array_equal(rows, messages)
    lengths = [KEYS.row_bytes(16, layer) for layer in range(1, 6)]
    assert {one - other for one, other in pairwise(lengths)} == {LAYER_BYTES} == {49}


def test_onions_that_begin_further_in_are_those_that_the_next_parties_get(rng: Randomness) -> None:
    rows = KEYS.wrap(COLLECTION, np.zeros((2, 8), np.uint8), rng, first=3)
    assert rows.shape[1] == KEYS.row_bytes(8, 3)
    inner = PRIVATE[2].open(COLLECTION, 3, rows[0].tobytes())
    assert inner is not None
    assert PRIVATE[3].open(COLLECTION, 4, inner) == bytes(8)


def test_equal_messages_look_different_and_only_the_same_randomness_makes_the_same_onion(rng: Randomness) -> None:
    messages = np.zeros((20, 8), np.uint8)
    rows = KEYS.wrap(COLLECTION, messages, rng)
    assert len({row.tobytes() for row in rows}) == len({row[:POINT_BYTES].tobytes() for row in rows}) == 20
    first, again = (KEYS.wrap(COLLECTION, messages, Randomness(b"\x09" * 32)) for _ in range(2))
    assert np.array_equal(first, again)


@pytest.mark.parametrize("position", [0, 1, 20, POINT_BYTES, -1])
def test_no_onion_can_be_changed_into_another_that_opens(position: int, rng: Randomness) -> None:
    row = bytearray(KEYS.wrap(COLLECTION, np.zeros((1, 8), np.uint8), rng)[0].tobytes())
    for bit in range(8):
        row[position] ^= 1 << bit
        assert PRIVATE[0].open(COLLECTION, 1, bytes(row)) is None
        row[position] ^= 1 << bit
    assert PRIVATE[0].open(COLLECTION, 1, bytes(row)) is not None


def test_copies_are_found_wherever_they_stand(rng: Randomness) -> None:
    rows = rng.uint64((6, 3)).view(np.uint8)
    with_copies = rows[[3, 0, 3, 1, 1, 5, 0]]
    assert np.array_equal(without_copies(with_copies), rows[[3, 0, 1, 5]])
    assert np.array_equal(without_copies(rows), rows)
    assert len(without_copies(rows[:0])) == 0


@pytest.mark.parametrize(
    "point",
    [b"", bytes(33), b"\x04" + bytes(64), PRIVATE[0].point + b"\0", PRIVATE[0].point[:-1], b"\x02" + b"\xff" * 32],
)
def test_what_is_no_compressed_point_is_refused(point: bytes) -> None:
    with raises("key.onion_public"):
        read_point(point)


def test_one_key_in_two_places_is_refused() -> None:
    with raises("key.same_onion_key"):
        OnionKeys((*KEYS.points, PRIVATE[1].point))


@pytest.mark.parametrize("secret", [bytes(32), b"\xff" * 32, b"\x01" * 31])
def test_what_is_no_private_key_is_refused(secret: bytes) -> None:
    with raises("key.onion_private"):
        OnionPrivateKey(secret)


def test_representations_show_no_secret() -> None:
    for shown in (repr(PRIVATE[0]), repr(KEYS)):
        assert PRIVATE[0].secret.hex()[:8] not in shown
    assert PRIVATE[0].secret not in repr(PRIVATE[0]).encode()
