"""Vectors that arrive: judged by their header before memory is taken, one at a time, forgotten with their attempt."""

import asyncio
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pytest

from peos.compute import Inline
from peos.crypto.kdf import StreamKey, derive
from peos.crypto.randomness import Randomness
from peos.errors import BadEncoding, Closed, LocalFault, NotYet, PeosError, RemoteFault
from peos.shuffle.delivery_state import DeliveryState, Phase
from peos.shuffle.effects import CIPHERTEXTS, SHARES, Pass, Split
from peos.shuffle.messages import Header, Kind, Step, VectorHeader
from peos.wire import shuffles
from shuffler.background import in_background
from shuffler.inbox import Inbox
from shuffler.workbench import Bench
from tests.raising import raises
from tests.unit.collection.made import DOCUMENT, PUBLIC
from tests.unit.shuffler_process.played import HERE, run

ROWS: Final = 64
RUNNING: Final = DeliveryState(Phase.FREE, 2, 1)
RECEIVER: Final = 2  # shuffler 3 leaves before round 1, and its remainder goes to shuffler 2


def vector(attempt: int = 2, *, fill: int = 1, rows: int = ROWS) -> tuple[VectorHeader, list[bytes]]:
    """Shuffler 3's remainder, as it travels."""
    header = Header(replace(HERE, attempt=attempt), Step(1, Kind.PIECE), 3, RECEIVER)
    messages = list(shuffles.encode_vector(header, np.full((rows, 8), fill, np.uint8), chunk=64))
    return shuffles.decode_vector_header(messages[0]), messages[1:]


def made(engine: Inline | None = None) -> tuple[Inbox, Bench]:
    """Arrivals on an empty bench."""
    bench = Bench(ROWS, 1, PUBLIC, engine or Inline(Randomness(b"\x01" * 32)))
    return Inbox(bench, DOCUMENT.schedule, RECEIVER), bench


async def sent(chunks: list[bytes], gate: asyncio.Event | None = None) -> AsyncIterator[bytes]:
    """Chunks one after another; with a gate, the last ones wait."""
    for number, chunk in enumerate(chunks):
        if gate is not None and number == len(chunks) // 2:
            await gate.wait()
        yield chunk


def test_a_vector_is_named_once_and_its_repeat_is_known() -> None:
    async def test() -> None:
        arrivals, bench = made()
        header, chunks = vector()
        handle = await arrivals.take(header, sent(chunks), RUNNING)
        assert handle is not None
        assert bench.vectors[handle].shape == (ROWS, 1)
        assert await arrivals.take(header, sent(chunks), RUNNING) is None
        with raises("shuffle.two_vectors"):
            await arrivals.take(vector(fill=2)[0], sent([]), RUNNING)

    run(test())


@pytest.mark.parametrize(
    ("header", "error"),
    [
        (vector(1)[0], Closed),
        (vector(4)[0], NotYet),
        (vector(rows=ROWS + 1)[0], RemoteFault),
        (replace(vector()[0], row_bytes=1 << 20), RemoteFault),
        (replace(vector()[0], header=replace(vector()[0].header, step=Step(2, Kind.PIECE))), RemoteFault),
        (replace(vector()[0], header=replace(vector()[0].header, sender=1)), RemoteFault),
    ],
    ids=["left", "two ahead", "more rows", "longer rows", "another step", "another sender"],
)
def test_what_no_step_has_is_refused_before_a_chunk_is_read(header: VectorHeader, error: type[PeosError]) -> None:
    async def never() -> AsyncIterator[bytes]:
        pytest.fail("a chunk was read")
        yield b""

    async def test() -> None:
        arrivals, bench = made()
        with pytest.raises(error):
            await arrivals.take(header, never(), RUNNING)
        assert bench.vectors == {}

    run(test())


def test_the_next_attempts_vector_may_come_before_its_opening() -> None:
    async def test() -> None:
        arrivals, bench = made()
        header, chunks = vector(3)
        assert await arrivals.take(header, sent(chunks), RUNNING)
        bench.discard(3)  # the attempt was passed over
        assert bench.vectors == {}

    run(test())


def test_one_vector_arrives_on_one_connection_and_is_counted_as_it_comes() -> None:
    async def test() -> None:
        arrivals, _ = made()
        header, chunks = vector()
        gate = asyncio.Event()
        first = asyncio.ensure_future(arrivals.take(header, sent(chunks, gate), RUNNING))
        await asyncio.sleep(0.05)
        assert 0 < arrivals.rows(2, header.header.step, 3) < ROWS
        with raises("shuffle.arriving"):
            await arrivals.take(header, sent(chunks), RUNNING)
        gate.set()
        assert await first
        assert arrivals.progress == 0

    run(test())


def test_an_attempt_that_is_left_stops_what_is_arriving_for_it() -> None:
    async def test() -> None:
        arrivals, bench = made()
        header, chunks = vector()
        gate = asyncio.Event()
        first = asyncio.ensure_future(arrivals.take(header, sent(chunks, gate), RUNNING))
        await asyncio.sleep(0.05)
        bench.discard(2)
        gate.set()
        with raises("shuffle.attempt_over", "2"):
            await first
        assert bench.vectors == {}

    run(test())


def test_chunks_beyond_the_header_end_the_stream() -> None:
    async def test() -> None:
        arrivals, bench = made()
        header, chunks = vector()
        with pytest.raises(BadEncoding):
            await arrivals.take(header, sent([*chunks, chunks[-1]]), RUNNING)
        with pytest.raises(BadEncoding):
            await arrivals.take(header, sent(chunks[:-1]), RUNNING)
        assert bench.vectors == {}
        assert arrivals.progress == 0, "a broken stream leaves nothing that would refuse the next"

    run(test())


def key(purpose: str) -> StreamKey:
    """A stream."""
    return derive(bytes(32), purpose, replace(HERE, attempt=2), round_=1)


def test_work_on_an_attempt_that_is_left_meanwhile_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        _, bench = made()
        bench.vectors[SHARES] = np.zeros((ROWS, 1), np.uint64)
        begun, go_on = threading.Event(), threading.Event()

        def slow(*_: object) -> None:
            begun.set()
            go_on.wait(60)

        monkeypatch.setattr("peos.shuffle.vectors.subtract", slow)
        work = asyncio.ensure_future(in_background(lambda: bench.work(Split(1, SHARES, (), "2/part/1"))))
        await asyncio.to_thread(begun.wait, 10)
        bench.discard(2)
        go_on.set()
        await work
        assert set(bench.vectors) == {SHARES}, "the frozen shares outlive every attempt"

    run(test())


def test_a_pass_of_an_attempt_that_is_left_stops_at_the_next_chunk() -> None:
    async def test() -> None:
        passes = 0

        class Slow(Inline):
            def remask(self, *given: Any, progress: Any = None, **_: Any) -> Any:
                nonlocal passes
                for done in range(1, 5):
                    passes += 1
                    bench.discard(2 if done == 2 else 0)
                    progress(done, 4)
                return given[1]

        _, bench = made(Slow(Randomness(b"\x01" * 32)))
        bench.vectors[CIPHERTEXTS] = np.zeros((ROWS, PUBLIC.ciphertext_bytes), np.uint8)
        bench.vectors["2/round/1"] = np.zeros((ROWS, 1), np.uint64)
        task = Pass(1, CIPHERTEXTS, (), "2/round/1", 1, key("salt"), "2/pass/1")
        with pytest.raises((LocalFault, KeyError)):
            await in_background(lambda: bench.work(task))
        assert passes == 2
        assert set(bench.vectors) == {CIPHERTEXTS}

    run(test())
