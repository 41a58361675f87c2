"""The store's contract, on every store there is: fakes, delivery states and vectors, erasure, the audit log."""

import numpy as np
import pytest

from peos.collection.lifecycle import State
from peos.crypto.randomness import Randomness
from peos.errors import Closed, LocalFault
from peos.ldp.base import Question
from peos.shuffle.delivery_state import DeliveryState, Phase
from peos.store import audit
from peos.store.base import ShufflerStore
from tests.raising import raises
from tests.unit.store.made import (
    ANNOUNCED,
    ASKED,
    DIGEST,
    OTHER,
    TRANSCRIPT,
    frozen,
    opened,
    stored,
    submission,
    vector,
)


def test_the_seed_of_the_fakes_is_drawn_once(store: ShufflerStore, rng: Randomness) -> None:
    frozen(store)
    seed = store.fake_seed(DIGEST, rng)
    assert len(seed) == 32
    assert store.fake_seed(DIGEST, rng) == seed
    assert store.fake_seed(DIGEST, Randomness(bytes(32))) == seed


def test_there_are_no_fakes_before_the_freeze_nor_after_the_erasure(store: ShufflerStore, rng: Randomness) -> None:
    opened(store)
    with raises("store.shares_state"):
        store.fake_seed(DIGEST, rng)
    store.set_state(DIGEST, State.CLOSED)
    store.put_frozen(DIGEST, bytes(32), ANNOUNCED, [])
    store.fake_seed(DIGEST, rng)
    store.erase(DIGEST)
    with raises("store.shares_state"):
        store.fake_seed(DIGEST, rng)


def test_standings_follow_one_another_with_their_vector(store: ShufflerStore) -> None:
    frozen(store)
    assert store.delivery_state(DIGEST) == DeliveryState()
    with raises("store.no_vector"):
        store.final_vector(DIGEST)
    store.put_delivery_state(DIGEST, DeliveryState(attempt=1))
    store.put_delivery_state(DIGEST, stored(1), vector(1))
    assert np.array_equal(store.final_vector(DIGEST), vector(1))
    store.put_delivery_state(DIGEST, DeliveryState(Phase.FREE, 1, 1))
    with raises("store.no_vector"):
        store.final_vector(DIGEST)
    store.put_delivery_state(DIGEST, DeliveryState(attempt=2, left=1))
    store.put_delivery_state(DIGEST, DeliveryState(Phase.STORED, 2, 1, TRANSCRIPT), vector(2))
    store.put_delivery_state(DIGEST, DeliveryState(Phase.SENDING, 2, 1, TRANSCRIPT))
    assert store.delivery_state(DIGEST) == DeliveryState(Phase.SENDING, 2, 1, TRANSCRIPT)
    kept = store.final_vector(DIGEST)
    assert np.array_equal(kept, vector(2))
    with pytest.raises(ValueError, match="read-only"):
        kept[0, 0] = 1
    store.put_delivery_state(DIGEST, DeliveryState(Phase.DONE, 2, 1, TRANSCRIPT))
    with raises("store.no_vector"):
        store.final_vector(DIGEST)


def test_a_vector_without_rows_and_one_whose_rows_are_not_contiguous_are_kept(store: ShufflerStore) -> None:
    frozen(store)
    store.put_delivery_state(DIGEST, stored(1), np.zeros((0, 24), np.uint8))
    assert store.final_vector(DIGEST).shape == (0, 24)
    store.put_delivery_state(DIGEST, stored(2), vector(2)[::2])
    assert np.array_equal(store.final_vector(DIGEST), vector(2)[::2])


def test_attempts_never_fall(store: ShufflerStore) -> None:
    frozen(store)
    store.put_delivery_state(DIGEST, DeliveryState(attempt=5, left=4))
    for delivery_state in (DeliveryState(attempt=4, left=4), DeliveryState(attempt=5, left=3)):
        with raises("store.attempt"):
            store.put_delivery_state(DIGEST, delivery_state)
    assert store.delivery_state(DIGEST) == DeliveryState(attempt=5, left=4)


def test_a_vector_belongs_to_a_standing_that_keeps_one(store: ShufflerStore) -> None:
    frozen(store)
    with raises("store.vector_state"):
        store.put_delivery_state(DIGEST, DeliveryState(attempt=1), vector(1))
    with raises("store.vector_missing"):
        store.put_delivery_state(DIGEST, stored(1))
    store.put_delivery_state(DIGEST, stored(1), vector(1))
    with raises("store.vector_missing"):
        store.put_delivery_state(DIGEST, stored(2, Phase.SENDING))
    with raises("store.vector_type"):
        store.put_delivery_state(DIGEST, stored(2), vector(2).reshape(-1))
    assert store.delivery_state(DIGEST) == stored(1)
    assert np.array_equal(store.final_vector(DIGEST), vector(1))


def test_what_is_erased_is_gone_and_what_must_stay_stays(store: ShufflerStore, rng: Randomness) -> None:
    made = frozen(store, 5_000)
    store.note_refused(DIGEST, {"late": 3})
    store.fake_seed(DIGEST, rng)
    store.set_state(DIGEST, State.SHUFFLING)
    store.put_delivery_state(DIGEST, stored(1), vector(1))
    store.put_delivery_state(DIGEST, stored(1, Phase.SENDING))
    store.put_delivery_state(DIGEST, DeliveryState(Phase.DONE, 1, 0, TRANSCRIPT))
    before = store.collection(DIGEST)
    store.erase(DIGEST)
    store.erase(DIGEST)
    here = store.collection(DIGEST)
    assert here.erased
    assert (here.signed, here.roster, here.state, here.count) == (b"signed", b"roster", State.SHUFFLING, 5_000)
    assert (here.frozen, here.delivery_state, here.question) == (before.frozen, before.delivery_state, ASKED)
    assert store.refused(DIGEST) == {"late": 3}
    assert list(store.rows(DIGEST)) == []
    for call in (store.shares, store.frozen_rows, store.final_vector):
        with pytest.raises(LocalFault):
            list(call(DIGEST))
    with pytest.raises(Closed):
        store.submit(DIGEST, made[0].row, made[0].share)
    assert store.delivered_before(ASKED) == DIGEST


def test_an_open_collection_that_was_erased_takes_nothing_more(store: ShufflerStore) -> None:
    opened(store)
    store.erase(DIGEST)
    one = submission(1)
    with raises("submit.erased"):
        store.submit(DIGEST, one.row, one.share)


def test_an_erasure_leaves_other_collections_alone(store: ShufflerStore) -> None:
    frozen(store)
    made = frozen(store, digest=OTHER, question=Question(b"another"))
    store.put_delivery_state(OTHER, stored(1), vector(1))
    store.erase(DIGEST)
    assert list(store.shares(OTHER)) == [one.share for one in made]
    assert np.array_equal(store.final_vector(OTHER), vector(1))


def test_the_audit_log_tells_the_story_and_chains(store: ShufflerStore) -> None:
    frozen(store)
    store.audit("operator", {"name": "alice", "count": 3, "ratio": 0.5})
    entries = list(store.audit_entries())
    assert [entry.event for entry in entries] == ["opened", "accepted", "state", "frozen", "operator"]
    assert [entry.number for entry in entries] == [1, 2, 3, 4, 5]
    assert entries[-1].fields == {"name": "alice", "count": 3, "ratio": 0.5}
    assert len({entry.hash for entry in entries}) == 5
    assert store.verify_audit() == 5


def test_an_entry_that_is_changed_with_its_hash_has_every_later_one_against_it() -> None:
    entries, last = [], audit.START
    for number in range(4):
        entries.append(audit.following(last, float(number), "counted", {"count": number}))
        last = (entries[-1].number, entries[-1].hash)
    assert audit.verify(entries, None) == 4
    entries[1] = audit.following((1, entries[0].hash), 1.0, "counted", {"count": 99})
    with raises("store.audit_chain", "3"):
        audit.verify(entries, None)


@pytest.mark.parametrize("secret", [b"bytes", np.zeros(3), None, [1]])
def test_the_audit_log_holds_text_and_numbers_only(store: ShufflerStore, secret: object) -> None:
    with raises("store.audit_field"):
        store.audit("operator", {"share": secret})  # type: ignore[dict-item]  # what the test is about
    assert store.verify_audit() == 1


def test_no_share_shows_in_a_repr(store: ShufflerStore) -> None:
    one = submission(1, share=b"\xab\xcd" * 12)
    frozen(store)
    shown = repr(one) + repr(store.collection(DIGEST)) + repr(store)
    assert "abcd" not in shown
    assert "\\xab" not in shown
    assert "signed" not in shown
