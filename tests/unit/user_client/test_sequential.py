"""A sequential shuffle is answered by a user who says so, under keys that are the shufflers' own, and not otherwise."""

from dataclasses import replace

import numpy as np
import pytest

from peos.collection.document import Document
from peos.crypto.onion import ONION, Layer, OnionPrivateKey
from peos.crypto.randomness import Randomness
from peos.protocols.peos import PEOS
from peos.protocols.sequential import SEQUENTIAL
from peos.shuffle.relay import peeled
from tests.raising import raises
from tests.unit.user_client.conftest import Open
from tests.unit.user_client.town import FakeShufflers

BOTH = (PEOS.name, SEQUENTIAL.name)
ANALYZERS = OnionPrivateKey.generate(Randomness(b"\x31" * 32))


def sequential(town: FakeShufflers) -> Document:
    """The town's collection as a sequential shuffle."""
    keys = tuple(one.card.onion_key for one in town.shufflers)
    return town.document(scheme=ONION, public_key=ANALYZERS.point, protocol=SEQUENTIAL, onion_keys=keys)


def test_who_does_not_allow_it_does_not_answer(town: FakeShufflers, client: Open) -> None:
    town.publish(sequential(town))
    with raises("consent.protocol", "ss", "peos") as caught:
        client().open(town.invitation)
    assert "`protocols`" in caught.value.hint


def test_who_allows_only_it_does_not_answer_by_another(town: FakeShufflers, client: Open) -> None:
    town.publish()
    with raises("consent.protocol", "peos", "ss"):
        client(protocols=(SEQUENTIAL.name,)).open(town.invitation)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_layer_that_is_not_its_shufflers_is_refused(town: FakeShufflers, client: Open, number: int) -> None:
    """An analyzer that had the keys of all layers would read, with shuffler 1, who says what."""
    keys = list(sequential(town).onion_keys)
    keys[number - 1] = OnionPrivateKey.generate(Randomness(b"\x32" * 32)).point
    town.publish(replace(sequential(town), onion_keys=tuple(keys)))
    with raises("proposal.onion_key", f"org-{number}"):
        client(protocols=BOTH).open(town.invitation)


def test_her_report_is_under_a_layer_for_each_and_sent_again_with_the_same_bytes(
    town: FakeShufflers, client: Open
) -> None:
    town.publish(sequential(town))
    ticket = town.ticket(1)
    for _ in range(2):
        result = client(protocols=BOTH).open(town.invitation).submit(5, ticket)
        assert result.accepted
    parts = [{part.share for part in one.taken.values()} for one in town.shufflers]
    assert parts[1:] == [{b"\x00"}, {b"\x00"}]
    (onion,) = parts[0]
    rows = np.frombuffer(onion, np.uint8).reshape(1, -1)
    for layer, private in enumerate([*(OnionPrivateKey.of(one.identity) for one in town.shufflers), ANALYZERS], 1):
        rows, lost = peeled(rows, Layer(private, town.digest, layer).under)
        assert not lost
    assert rows.shape == (1, 8)
