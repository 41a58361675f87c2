"""The table of calls over gRPC: each of the four kinds there and back, and errors in the middle of a stream."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from peos.collection.freeze import Stretch
from peos.collection.receipts import Receipt
from peos.collection.replies import Answer
from peos.collection.submission import Part
from peos.errors import Full, Refused
from peos.net import calls, server
from peos.net.client import channel
from peos.net.guard import Context
from peos.net.logs import Log
from peos.net.observer import Observer
from peos.net.retry import ONCE, Retry
from peos.net.tls import user_port
from peos.wire.methods import CARRY, GET_FROZEN_DIGEST, GET_LIST, SUBMIT, SUBMIT_MANY, VECTOR_HEADER, Method
from tests.raising import raises
from tests.unit.net.ports import DIGEST, RNG, SERVER, run
from tests.vectors.wire_by_hand import blob, uint

Behaviours = Mapping[Method, Callable[[Any, Context], Any]]

RECEIPT = Receipt(0, 1, (), bytes(64))


@asynccontextmanager
async def offered(behaviours: Behaviours, *, policy: Retry = ONCE) -> AsyncIterator[calls.Caller]:
    """A caller of a service that answers so."""
    services = [calls.service(behaviours)]
    running = await server.serve("127.0.0.1:0", user_port(SERVER), services, observer=Observer(Log("test")))
    caller = calls.Caller(channel(f"127.0.0.1:{running.port}", SERVER.pem), "shuffler 2", RNG, policy=policy)
    try:
        yield caller
    finally:
        await caller.close()
        await running.stop(0)


def stretch(first: int, count: int = 2) -> Stretch:
    rows = tuple(bytes([first + row]) * 48 for row in range(count))
    return Stretch(DIGEST, 6, first, rows)


def part(number: int) -> Part:
    return Part(DIGEST, 1, bytes([number]) * 16, bytes(64), bytes(32), bytes(64), bytes(16), (bytes(32),) * 3, b"share")


def test_a_list_streams_back() -> None:
    async def listed(collection: bytes, _: Context) -> AsyncIterator[Stretch]:
        assert collection == DIGEST
        for first in (0, 2, 4):
            yield stretch(first)

    async def whole() -> list[Stretch]:
        async with offered({GET_LIST: listed}) as caller:
            return [one async for one in caller.stream(GET_LIST, DIGEST)]

    assert run(whole()) == [stretch(0), stretch(2), stretch(4)]


def test_an_error_in_the_middle_of_a_stream_is_the_same_sentence() -> None:
    async def listed(_: bytes, __: Context) -> AsyncIterator[Stretch]:
        yield stretch(0)
        raise Refused("test.refused", "the rest is not for you")

    async def whole() -> None:
        async with offered({GET_LIST: listed}) as caller:
            streaming = caller.stream(GET_LIST, DIGEST, step="freeze")
            assert await anext(streaming) == stretch(0)
            with raises("test.refused", "shuffler 2, freeze", "the rest is not for you", kind=Refused):
                await anext(streaming)

    run(whole())


def test_chunks_stream_in_with_metadata_and_are_sent_again_whole_after_a_failure() -> None:
    arrived: list[list[bytes]] = []
    headers: list[object] = []

    async def carried(chunks: AsyncIterator[bytes], context: Context) -> None:
        headers.append(dict(context.invocation_metadata() or ())[VECTOR_HEADER])
        arrived.append([chunk async for chunk in chunks])
        if len(arrived) == 1:
            raise Full("test.full", "no room at the moment")

    async def whole() -> None:
        async with offered({CARRY: carried}, policy=Retry(attempts=2, base=0.001)) as caller:
            sent = [bytes([number]) * 100_000 for number in range(30)]
            await caller.send(CARRY, lambda: sent, metadata=((VECTOR_HEADER, b"\x00header"),))
            assert arrived == [sent, sent]

    run(whole())
    assert headers == [b"\x00header"] * 2


def test_answers_stream_back_while_parts_stream_in() -> None:
    async def taken(parts: AsyncIterator[Part], _: Context) -> AsyncIterator[Answer]:
        async for one in parts:
            yield Answer(DIGEST, one.id, one.row, receipt=RECEIPT)

    async def whole() -> list[bytes]:
        answered: list[bytes] = []

        async def one_by_one() -> AsyncIterator[Part]:
            for number in range(5):
                assert len(answered) == number, "each part is sent once the one before was answered"
                yield part(number)
                while len(answered) <= number:
                    await asyncio_turn()

        async with offered({SUBMIT_MANY: taken}) as caller:
            async for answer in caller.exchange(SUBMIT_MANY, one_by_one()):
                answered.append(answer.id)
        return answered

    assert run(whole()) == [part(number).id for number in range(5)]


async def asyncio_turn() -> None:
    """Let the other side have its turn."""
    await asyncio.sleep(0.001)


def test_a_bad_message_within_a_stream_is_answered_with_its_reason() -> None:
    async def taken(parts: AsyncIterator[Part], _: Context) -> AsyncIterator[Answer]:
        async for one in parts:
            yield Answer(DIGEST, one.id, one.row, receipt=RECEIPT)

    async def parts() -> AsyncIterator[Part]:
        yield part(1)
        yield Part(DIGEST, 1, b"short", bytes(64), bytes(32), bytes(64), bytes(16), (bytes(32),) * 3, b"share")

    async def whole() -> None:
        async with offered({SUBMIT_MANY: taken}) as caller:
            with raises("encoding.length", "a part's id", "5", "16", kind=Refused):
                assert [one async for one in caller.exchange(SUBMIT_MANY, parts())]

    run(whole())


def test_a_call_that_is_not_offered_says_so() -> None:
    async def listed(_: bytes, __: Context) -> AsyncIterator[Stretch]:
        yield stretch(0)

    async def whole() -> None:
        async with offered({GET_LIST: listed}) as caller:
            with raises("network.not_offered", "shuffler 2, GetFrozenDigest"):
                await caller.ask(GET_FROZEN_DIGEST, DIGEST)

    run(whole())


def test_a_message_of_a_later_version_is_refused_to_the_caller_by_both_numbers_and_so_is_an_answer() -> None:
    later = uint(1, 2) + blob(2, b"\xff is no text") + uint(40, 7)

    async def answered(_: bytes, __: Context) -> Answer:
        return Answer(DIGEST, bytes(16), bytes(32))

    async def whole() -> None:
        async with offered({SUBMIT: answered}) as caller:
            asking = replace(SUBMIT, encode=lambda _: later)
            with raises("encoding.version", "shuffler 2", "version 2", "speaks 1", kind=Refused):
                await caller.ask(asking, part(1))

    run(whole())

    async def old() -> None:
        async with offered({replace(SUBMIT, decode=bytes, encode_response=lambda _: later): answered}) as caller:
            with raises("encoding.version", "version 2", "speaks 1"):
                await caller.ask(SUBMIT, part(1))

    run(old())
