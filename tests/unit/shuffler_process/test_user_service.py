"""The port for users: answers in the order of the parts, and a stream that breaks ends with its reason."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from peos.collection.lifecycle import State
from peos.collection.replies import Answer
from peos.collection.submission import Part
from peos.errors import BadEncoding, NotYet, Refused, Unknown
from peos.net.guard import Context
from shuffler import user_service as users_
from shuffler.user_service import UserService
from tests.raising import raises
from tests.unit.collection.made import DOCUMENT, ENCRYPTION, parts
from tests.unit.shuffler_process.played import run

NOBODY = cast(Context, None)  # nothing here asks who calls
PARTS = [parts(f"user {number}")[1] for number in range(20)]


SIGNED = b"a signed document"


class Registry:
    """A registry with one collection, or with none."""

    def __init__(self, state: State | None) -> None:
        session = type("Session", (), {"state": state, "document": DOCUMENT, "encryption": ENCRYPTION, "number": 2})
        self.live = {PARTS[0].collection: session} if state is not None else {}

    def refusal(self, _: bytes) -> Refused:
        """It is not known."""
        return Unknown("collection.unknown_here", "this shuffler knows no such collection")

    async def signed_bytes(self, _: bytes) -> bytes:
        """Its document."""
        return SIGNED


class Late:
    """An intake that answers some at once and the others later, the last of them first."""

    def __init__(self) -> None:
        self.open: list[tuple[asyncio.Future[Answer], Answer]] = []
        self.offered = 0

    def offer(self, part: Part, *_: object) -> Answer | asyncio.Future[Answer]:
        """Every third part is refused at once."""
        self.offered += 1
        answer = Answer(part.collection, part.id, b"\x01" * 32)
        if self.offered % 3 == 0:
            return Answer(part.collection, part.id, b"", "refused", error_id="submit.closed")
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.open.append((future, answer))
        return future

    def settle(self) -> None:
        """Answer what is open."""
        while self.open:
            future, answer = self.open.pop()
            future.set_result(answer)


def port(state: State | None = State.OPEN) -> tuple[UserService, Late]:
    """A port for users on such an intake."""
    intake = Late()
    return UserService(cast(Any, Registry(state)), cast(Any, intake), cast(Any, None)), intake


async def stream(given: list[Part], error: Exception | None = None) -> AsyncIterator[Part]:
    """Parts, and then an error if there is one."""
    for part in given:
        yield part
    if error is not None:
        raise error


def test_answers_come_in_the_order_of_the_parts() -> None:
    async def test() -> None:
        users, intake = port()
        settling = asyncio.get_running_loop().call_later(0.05, intake.settle)
        answers = [answer async for answer in users.submit_many(stream(PARTS), NOBODY)]
        settling.cancel()
        assert [answer.id for answer in answers] == [part.id for part in PARTS]
        assert sum(bool(answer.refusal) for answer in answers) == len(PARTS) // 3

    run(test())


def test_no_more_is_read_than_may_be_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(users_, "IN_FLIGHT", 4)

    async def test() -> None:
        users, intake = port()
        answers = users.submit_many(stream(PARTS), NOBODY)
        first = asyncio.ensure_future(anext(answers))
        await asyncio.sleep(0.05)
        assert intake.offered <= 6, "a user who does not wait for answers would fill the memory"
        while not first.done():
            intake.settle()
            await asyncio.sleep(0)
        rest = asyncio.ensure_future(_all(answers))
        while not rest.done():
            intake.settle()
            await asyncio.sleep(0)
        assert len(rest.result()) == len(PARTS) - 1

    run(test())


async def _all(answers: AsyncIterator[Answer]) -> list[Answer]:
    return [answer async for answer in answers]


def test_a_part_that_cannot_be_read_ends_the_stream_after_the_answers_before_it() -> None:
    async def test() -> None:
        users, intake = port()
        asyncio.get_running_loop().call_later(0.05, intake.settle)
        answers = users.submit_many(stream(PARTS[:5], BadEncoding("submit.no_share", "a part has no share")), NOBODY)
        got = [await anext(answers) for _ in range(5)]
        assert [answer.id for answer in got] == [part.id for part in PARTS[:5]]
        with raises("submit.no_share"):
            await anext(answers)

    run(test())


def test_a_stream_that_brings_no_part_for_a_while_ends_after_its_answers() -> None:
    async def silent() -> AsyncIterator[Part]:
        for part in PARTS[:5]:
            yield part
        await asyncio.Event().wait()

    async def test() -> None:
        before = len(asyncio.all_tasks())
        _, intake = port()
        users = UserService(cast(Any, Registry(State.OPEN)), cast(Any, intake), cast(Any, None), 0.05)
        asyncio.get_running_loop().call_later(0.2, intake.settle)  # what it brought is answered all the same
        got = [answer.id async for answer in users.submit_many(silent(), NOBODY)]
        assert got == [part.id for part in PARTS[:5]]
        assert len(asyncio.all_tasks()) == before

    run(test())


def test_a_user_who_leaves_in_the_middle_leaves_no_task_behind() -> None:
    async def test() -> None:
        users, intake = port()
        before = len(asyncio.all_tasks())
        asyncio.get_running_loop().call_later(0.05, intake.settle)
        answers = users.submit_many(stream(PARTS), NOBODY)
        async for _ in answers:
            break
        await answers.aclose()  # type: ignore[attr-defined]  # it is a generator
        await asyncio.sleep(0.05)
        assert len(asyncio.all_tasks()) == before

    run(test())


@pytest.mark.parametrize(("state", "retry"), [(None, False), (State.DRAFT, True)])
def test_a_collection_that_is_unknown_is_refused_and_a_draft_is_for_later(state: State | None, retry: bool) -> None:
    async def test() -> None:
        users, _ = port(state)
        answer = await users.submit(PARTS[0], NOBODY)
        assert answer.refusal
        assert answer.retry is retry
        if state is State.DRAFT:
            with pytest.raises(NotYet):
                await users.describe(PARTS[0].collection, NOBODY)

    run(test())


@pytest.mark.parametrize(("state", "id_"), [(State.PUBLISHED, "submit.closed"), (None, "collection.unknown_here")])
def test_what_is_over_is_not_described(state: State | None, id_: str) -> None:
    """A user is charged before she sends, and who asks is about to."""

    async def test() -> None:
        users, _ = port(state)
        with raises(id_):
            await users.described(PARTS[0].collection)

    run(test())


@pytest.mark.parametrize("state", [State.OPEN, State.CLOSED, State.FROZEN, State.DELIVERED])
def test_what_has_closed_is_described_to_those_who_lack_an_acknowledgement_and_said_to_have(state: State) -> None:
    async def test() -> None:
        users, _ = port(state)
        assert await users.described(PARTS[0].collection) == (SIGNED, state is not State.OPEN)

    run(test())
