"""Intake: acknowledged means kept; troubles of the store's are answered, counted, and never end the committing."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from peos.collection.lifecycle import State
from peos.collection.replies import Answer
from peos.collection.submission import Part, Verdict
from peos.crypto.randomness import Randomness
from peos.errors import Full, LocalFault
from peos.net.logs import Log
from peos.net.observer import Observer
from peos.store.base import Judged, Submission
from peos.store.memory import MemoryStore
from shuffler import intake as intake_
from shuffler.events import SUBMISSIONS
from shuffler.intake import Intake
from shuffler.store_thread import StoreThread
from tests.unit.collection.made import COLLECTION, DOCUMENT, ENCRYPTION, SHUFFLERS, parts
from tests.unit.store.made import ASKED

ME = 2


class Troubled(MemoryStore):
    """A store that fails on demand, and remembers the groups that it was given."""

    def __init__(self) -> None:
        super().__init__(Randomness(b"\x01" * 32))
        self.observer = Observer(Log("test"))
        self.groups: list[int] = []
        self.notes: list[dict[str, int]] = []
        self.fails: list[Exception] = []

    def submit_many(self, submissions: Sequence[Submission]) -> list[Judged]:
        """Fail first, if that is due."""
        self.groups.append(len(submissions))
        if self.fails:
            raise self.fails.pop()
        return super().submit_many(submissions)

    def note_refused(self, digest: bytes, reasons: Any) -> None:
        """Remember what is noted."""
        self.notes.append(dict(reasons))
        super().note_refused(digest, reasons)


def with_intake(test: Callable[[Intake, Troubled], Awaitable[None]]) -> None:
    """Run a test on an intake whose committing runs in the background, and must still run at the end."""
    store = Troubled()
    store.put_collection(COLLECTION, b"signed", b"roster", ASKED, State.OPEN)
    stored = StoreThread(lambda: store)

    async def whole() -> None:
        intake = Intake(stored, store.observer, SHUFFLERS[ME - 1])
        committing = asyncio.ensure_future(intake.run())
        await test(intake, store)
        assert not committing.done(), "committing has ended"
        committing.cancel()

    asyncio.run(whole())
    stored.close()


async def taken(intake: Intake, part: Part) -> Answer:
    """The answer to a part, which comes soon."""
    answer = intake.offer(part, DOCUMENT, COLLECTION, ENCRYPTION, ME)
    return answer if isinstance(answer, Answer) else await asyncio.wait_for(answer, 60)


def part(label: str) -> Part:
    """A user's part for this shuffler."""
    return parts(label)[ME - 1]


def test_an_acknowledged_part_is_in_the_store_and_a_repeat_is_acknowledged_again() -> None:
    async def test(intake: Intake, store: Troubled) -> None:
        first, again = await taken(intake, part("a")), await taken(intake, part("a"))
        assert first.row
        assert first == again
        assert store.count(COLLECTION) == 1

    with_intake(test)


def test_what_gathers_while_one_group_is_kept_is_the_next_group() -> None:
    async def test(intake: Intake, store: Troubled) -> None:
        answers = await asyncio.gather(*(taken(intake, part(f"user {number}")) for number in range(50)))
        assert all(answer.row for answer in answers)
        assert sum(store.groups) == 50
        assert len(store.groups) < 10, f"groups of {store.groups}: one fsync each is too many"

    with_intake(test)


def test_another_submission_under_a_used_ticket_is_refused_for_good() -> None:
    async def test(intake: Intake, store: Troubled) -> None:
        await taken(intake, part("a"))
        other = parts("a", rng=Randomness(b"\x09" * 32))[ME - 1]
        answer = await taken(intake, other)
        assert answer.error_id == "submit.ticket_used"
        assert not answer.retry
        assert store.refused(COLLECTION) == {Verdict.CONFLICT.value: 1}

    with_intake(test)


@pytest.mark.parametrize(
    "error",
    [
        LocalFault("test.localfault", "the store failed (SQLITE_IOERR)"),
        RuntimeError("secret"),
        Full("test.full", "no room is left", hint="later"),
    ],
    ids=["fault", "unforeseen", "full disk"],
)
def test_a_store_in_trouble_asks_for_the_same_part_later_and_tells_no_secret(error: Exception) -> None:
    async def test(intake: Intake, store: Troubled) -> None:
        store.fails = [error]
        answer = await taken(intake, part("a"))
        assert answer.retry
        for shown in (answer.refusal, store.observer.of(COLLECTION).trouble(SUBMISSIONS)):
            assert shown
            assert "SQLITE" not in shown
            assert "secret" not in shown
        assert (await taken(intake, part("a"))).row, "the next group is kept"
        assert store.observer.of(COLLECTION).trouble(SUBMISSIONS) == ""

    with_intake(test)


def test_what_is_kept_but_cannot_be_acknowledged_is_acknowledged_when_it_comes_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test(intake: Intake, store: Troubled) -> None:
        with monkeypatch.context() as patched:
            patched.delattr(intake_, "receipts")  # no signature is to be had
            answer = await taken(intake, part("a"))
        assert answer.retry
        assert store.count(COLLECTION) == 1
        assert (await taken(intake, part("a"))).row

    with_intake(test)


def test_a_user_who_goes_away_holds_up_nobody() -> None:
    async def test(intake: Intake, store: Troubled) -> None:
        gone = intake.offer(part("gone"), DOCUMENT, COLLECTION, ENCRYPTION, ME)
        assert isinstance(gone, asyncio.Future)
        gone.cancel()
        assert (await taken(intake, part("a"))).row
        store.fails = [LocalFault("test.localfault", "the store failed")]
        gone = intake.offer(part("gone too"), DOCUMENT, COLLECTION, ENCRYPTION, ME)
        assert isinstance(gone, asyncio.Future)
        gone.cancel()
        await asyncio.sleep(0.05)
        assert (await taken(intake, part("b"))).row

    with_intake(test)


def test_beyond_what_can_wait_users_are_asked_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake_, "WAITING", 3)

    async def test(intake: Intake, store: Troubled) -> None:
        offered = [intake.offer(part(f"user {number}"), DOCUMENT, COLLECTION, ENCRYPTION, ME) for number in range(5)]
        refused = [answer for answer in offered if isinstance(answer, Answer)]
        assert len(refused) == 2
        assert all(answer.retry and answer.hint for answer in refused)
        await asyncio.gather(*(answer for answer in offered if isinstance(answer, asyncio.Future)))
        assert store.count(COLLECTION) == 3

    with_intake(test)


def test_a_flood_of_bad_parts_is_counted_by_reason_in_few_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake_, "NOTE_EVERY", 0.2)
    bad = parts("a")[0]  # the part for shuffler 1

    async def test(intake: Intake, store: Troubled) -> None:
        for _ in range(200):
            answer = await taken(intake, bad)
            assert answer.error_id == "submit.shuffler"
            await asyncio.sleep(0)
        await asyncio.sleep(0.5)
        assert store.refused(COLLECTION) == {"the part is not the one for this shuffler": 200}
        assert len(store.notes) <= 3, store.notes

    with_intake(test)


def test_a_part_after_the_closing_is_refused_with_the_state() -> None:
    async def test(intake: Intake, store: Troubled) -> None:
        store.set_state(COLLECTION, State.CLOSED)
        answer = await taken(intake, part("late"))
        assert answer.error_id == "submit.closed"
        assert not answer.retry

    with_intake(test)


def test_refusals_of_a_collection_that_the_store_does_not_know_end_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake_, "NOTE_EVERY", 0.01)

    async def test(intake: Intake, store: Troubled) -> None:
        assert (await taken(intake, replace(part("b"), collection=bytes(32)))).refusal
        async with asyncio.timeout(60):
            while not store.notes:
                await asyncio.sleep(0.01)
        assert (await taken(intake, part("a"))).row

    with_intake(test)
