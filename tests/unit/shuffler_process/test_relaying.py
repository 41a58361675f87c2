"""A sequential shuffle in a shuffler process: its bench, what ends it, and the key on its card."""

import asyncio
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from peos.compute import Inline
from peos.crypto.identity import Identity
from peos.crypto.kdf import Context, StreamKey
from peos.crypto.onion import Layer, OnionKeys, OnionPrivateKey
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.base import Packed
from peos.protocols import Assignment
from peos.protocols.sequential import OnionEncryption
from peos.shuffle.delivery_state import Phase
from peos.shuffle.effects import CIPHERTEXTS, Heard, Peel
from peos.shuffle.messages import Header, Kind, Notice, NoticeKind, Step, VectorHeader
from peos.shuffle.relay import Line, peeled
from peos.shuffle.sequential import SequentialSchedule, SequentialShuffler
from shuffler import keys
from shuffler.background import in_background
from shuffler.config import read
from shuffler.shuffle_runner import ShuffleRunner
from shuffler.store_thread import StoreThread
from shuffler.workbench import RelayBench
from tests.raising import raises
from tests.unit.collection.made import COLLECTION, SHUFFLERS
from tests.unit.collection.test_sequential import ONIONS
from tests.unit.shuffler_process.played import HERE, OBSERVER, Other, Told, memory, run
from tests.unit.shuffler_process.test_config import MINIMAL, written

ANALYZERS = OnionPrivateKey(b"\x07" * 32)
KEYS = OnionKeys((*ONIONS.onion_keys, ANALYZERS.point))
REPORTS = 12
SEEDS = [bytes([number]) * 32 for number in (1, 2, 3)]
SALT = StreamKey(b"\x05" * 32)


def line(context: Context = HERE, *, frozen: int = REPORTS, least: int = 1) -> Line:
    return Line(KEYS, context, 8, frozen, 7, least)


def bench(number: int, onions: Packed | None = None, *, least: int = 1) -> RelayBench:
    """One shuffler's bench, laid out as its process does it."""
    made = RelayBench(number, line(least=least), SHUFFLERS[number - 1], Inline())
    frozen = made.frozen_room(number)
    frozen[:] = 0 if onions is None else onions
    seed = SEEDS[number - 1]
    encryption = OnionEncryption(KEYS, 1)
    made.begin(number, frozen, encryption.own_fakes(Assignment(number, HERE, REPORTS, 7, least), seed), seed)
    return made


def wrapped(words: U64, rng: Randomness) -> Packed:
    return KEYS.wrap(HERE.collection, words.astype("<u8").view(np.uint8).reshape(-1, 8), rng)


def peel(source: str, attempt: int = 1) -> Peel:
    return Peel(1, source, StreamKey(b"\x03" * 32), SALT, f"{attempt}/pass/1")


def handed(number: int, rows: Packed) -> VectorHeader:
    """Shuffler `number` announces what it hands over."""
    place = Header(replace(HERE, attempt=1), Step(number, Kind.HANDOVER), number, number + 1)
    return VectorHeader(place, len(rows), rows.shape[1], b"h" * 32)


def test_three_processes_hand_all_words_and_all_fakes_on(rng: Randomness) -> None:
    words = rng.uint64((REPORTS, 1))
    first = bench(1, wrapped(words, rng))
    first.work(peel(CIPHERTEXTS))
    rows = first.vectors["1/pass/1"]
    for number in (2, 3):
        here, header = bench(number), handed(number - 1, rows)
        handle = here.expect(header)
        assert handle is not None
        here.take_in(handle, header, rows)
        here.work(peel(handle))
        rows = here.vectors["1/pass/1"]
        assert (len(rows), here.lost, here.done) == (here.rows, 0, 0)
    read_, lost = peeled(rows, Layer(ANALYZERS, HERE.collection, 4).under)
    assert lost == 0
    assert len(read_) == REPORTS + 7
    assert set(words[:, 0].tolist()) <= set(read_.copy().view("<u8")[:, 0].tolist())


def test_the_others_have_a_byte_of_each_user_and_no_onion() -> None:
    assert bench(1).frozen_room(1).shape == (REPORTS, 8 + 4 * 49)
    assert bench(2).frozen_room(2).shape == (REPORTS, 1)
    assert CIPHERTEXTS not in bench(2).vectors


def test_work_on_an_attempt_that_is_left_meanwhile_leaves_nothing_behind(
    rng: Randomness, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test() -> None:
        here = bench(1, wrapped(rng.uint64((REPORTS, 1)), rng))
        begun, go_on = threading.Event(), threading.Event()

        def slow(rows: Packed) -> Packed:
            begun.set()
            go_on.wait(60)
            return rows

        monkeypatch.setattr("peos.shuffle.relay.without_copies", slow)
        work = asyncio.ensure_future(in_background(lambda: here.work(peel(CIPHERTEXTS, attempt=2))))
        await asyncio.to_thread(begun.wait, 10)
        here.discard(2)
        go_on.set()
        with raises("shuffle.attempt_left"):
            await work
        assert set(here.vectors) == {CIPHERTEXTS}, "the frozen onions outlive every attempt"

    run(test())


def runner_of(stored: StoreThread, made: RelayBench) -> ShuffleRunner:
    """Shuffler 1's machine."""
    document = replace(ONIONS, closes_at=1, shuffle_by=1 << 39, erase_by=(1 << 39) + 1)
    return ShuffleRunner(
        machine=SequentialShuffler(1, SequentialSchedule(3), HERE, Randomness(b"\x02" * 32)),
        number=1,
        document=document,
        context=HERE,
        identity=SHUFFLERS[0],
        bench=made,
        store=stored,
        post=Told(),
        analyzer=Other("the analyzer", {}),
        step_seconds=60.0,
        observer=OBSERVER,
        tick=0.02,
    )


def test_too_few_onions_that_open_end_the_collection_with_a_tombstone() -> None:
    """Another attempt would leave no more of them; twelve rows of zeros do not open."""

    async def test() -> None:
        store = memory(None)
        stored = StoreThread(lambda: store)
        here = runner_of(stored, bench(1, least=1))
        here.take(Heard(Notice(NoticeKind.LOST, 2, 0)))
        here.take(Heard(Notice(NoticeKind.LOST, 3, 0)))
        delivery_state = await asyncio.wait_for(here.run(resumed=False), 20)
        assert delivery_state.phase is Phase.DEAD
        assert store.delivery_state(COLLECTION).phase is Phase.DEAD
        assert here.reason == "0 reports are left of 12, too few to be handed on"
        assert here.bench.vectors == {}
        stored.close()

    run(test())


def test_a_card_shows_the_onion_key_that_follows_from_the_identity(tmp_path: Path) -> None:
    made = keys.make(read(written(tmp_path, MINIMAL)))
    assert made.card.onion_key == OnionPrivateKey.of(made.identity).point
    assert made.card.onion_key != OnionPrivateKey.of(Identity(b"\x01" * 32)).point
    assert made.identity.secret.hex() not in repr(made)


def test_a_refusal_is_what_a_bench_says_of_too_few(rng: Randomness) -> None:
    here = bench(1, wrapped(rng.uint64((REPORTS, 1)), rng), least=REPORTS + 1)
    with raises("shuffle.too_few", "12", "12"):
        here.work(peel(CIPHERTEXTS))
