"""What a shuffler shows of its users: nothing of ninety-nine, whatever they do, and of the hundredth that it came."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from prometheus_client.parser import text_string_to_metric_families

from peos.collection.lifecycle import State
from peos.collection.replies import Answer
from peos.collection.submission import Part, bind
from peos.collection.ticket import issue
from peos.crypto.identity import Identity
from peos.crypto.randomness import Randomness
from peos.net.calls import Caller
from peos.net.client import channel
from peos.net.logs import Log
from peos.net.metrics import STEP
from peos.net.observer import Event, Observer
from peos.net.server import serve
from peos.net.tls import user_port
from peos.wire.methods import DESCRIBE, SUBMIT
from shuffler.intake import Intake
from shuffler.metrics import ShufflerMetrics
from shuffler.proving import Proving
from shuffler.user_service import UserService
from tests.unit.collection.made import ENROLMENT, shares
from tests.unit.shuffler_process.played import run
from tests.unit.shuffler_process.test_registry import World
from tests.unit.shuffler_process.test_session import ABORT

RNG: Final = Randomness(b"\x33" * 32)
LABELS: Final = frozenset(
    {"role", "version", "port", "event", "state", "work", "outcome", "stage", "le", "direction", "step", "party"}
)


class Shuffler:
    """One whose port for users is open, with one collection."""

    def __init__(self, world: World, metrics: ShufflerMetrics, collection: bytes, callers: list[Caller]) -> None:
        self.world, self.metrics, self.collection, self.callers = world, metrics, collection, callers
        self.made: list[Part] = []

    def part(self, *, ticket_of: bytes | None = None) -> Part:
        """Another user's."""
        ticket = issue(ENROLMENT, ticket_of or self.collection, RNG.bytes(16), Identity(RNG.bytes(32)))
        return bind(self.collection, ticket, shares(), RNG)[0]

    async def submit(self, parts: list[Part]) -> list[Answer]:
        """Send them, each over another of the connections."""
        turns = zip(parts, itertools.cycle(self.callers), strict=False)
        return list(await asyncio.gather(*(caller.ask(SUBMIT, part, timeout=60) for part, caller in turns)))


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[World, ShufflerMetrics, Observer]]:
    metrics = ShufflerMetrics({})
    observer = Observer(Log("test"), {Event: (metrics.follow,)})
    world = World(tmp_path, monkeypatch, observer)
    yield world, metrics, observer
    world.close()


@asynccontextmanager
async def shuffler(world: World, metrics: ShufflerMetrics, observer: Observer) -> AsyncIterator[Shuffler]:
    """With the real port, the real checks and the real intake."""
    registry, collection = world.registry, world.end(0, state=State.OPEN)
    await registry.resume()
    intake = Intake(world.stored, observer, world.keys.identity)
    metrics.watch(registry, intake)
    running = asyncio.ensure_future(intake.run())
    service = UserService(registry, intake, Proving(world.stored, world.keys.identity), 30.0).service()
    port = await serve("127.0.0.1:0", user_port(world.keys.users), [service], observer=observer)
    reached = (channel(f"127.0.0.1:{port.port}", world.keys.users.pem) for _ in range(4))
    callers = [Caller(one, "the shuffler", RNG) for one in reached]
    try:
        yield Shuffler(world, metrics, collection, callers)
    finally:
        for caller in callers:
            await caller.close()
        await port.stop(0.1)
        running.cancel()
        await registry.close()


def values(text: bytes) -> dict[tuple[str, ...], float]:
    """The samples by name and values of labels."""
    families = text_string_to_metric_families(text.decode())
    return {(one.name, *one.labels.values()): one.value for family in families for one in family.samples}


def test_ninety_nine_submissions_leave_every_byte_as_it_was(made: Any) -> None:
    async def test() -> None:
        async with shuffler(*made) as here:
            before = await here.metrics.exposition()
            parts = [here.part() for _ in range(STEP)]
            answers = await here.submit(parts[:-1])
            assert all(answer.row for answer in answers), "they are kept"
            assert here.world.memory.count(here.collection) == STEP - 1
            assert await here.metrics.exposition() == before
            assert all(answer.row for answer in await here.submit(parts[:-1])), "and known when they come again"
            refused = await here.submit([here.part(ticket_of=bytes(32)) for _ in range(STEP - 1)])
            assert {answer.error_id for answer in refused} == {"submit.ticket"}
            for caller in here.callers:
                await caller.ask(DESCRIBE, here.collection)
            assert await here.metrics.exposition() == before
            await here.submit(parts[-1:])
            after = await here.metrics.exposition()
            found = values(after)
            assert found["peos_submissions_total", "stored"] == STEP
            for stage in ("queue", "store", "commit"):
                assert found["peos_submission_seconds_bucket", "+Inf", stage] == STEP
            changed = {name for name, value in found.items() if value != values(before)[name]}
            assert {name for name, *_ in changed} == {"peos_submissions_total", "peos_submission_seconds_bucket"}
            for outcome in ("repeated", "refused"):
                assert found["peos_submissions_total", outcome] == 0
            await here.submit([here.part(ticket_of=bytes(32))])
            assert values(await here.metrics.exposition())["peos_submissions_total", "refused"] == STEP

    run(test())


def test_no_label_names_a_user_a_ticket_a_value_a_collection_or_a_question(made: Any) -> None:
    async def test() -> None:
        async with shuffler(*made) as here:
            parts = [here.part() for _ in range(STEP)]
            await here.submit(parts)
            text = (await here.metrics.exposition()).decode()
            families = list(text_string_to_metric_families(text))
            assert {label for family in families for one in family.samples for label in one.labels} <= LABELS
            secret = [here.collection, *(part.id for part in parts), *(part.user_key for part in parts)]
            assert not [one for one in secret if one.hex()[:12] in text]
            assert here.world.document.question.strip("?") not in text
            found = values(text.encode())
            assert found["peos_collections", "open"] == 1
            assert ("peos_step_started_timestamp_seconds", "users", "submissions") in found

    run(test())


def test_bytes_are_those_of_collections_that_take_no_submissions_any_more(made: Any) -> None:
    async def test() -> None:
        async with shuffler(*made) as here:
            session = here.world.registry.live[here.collection]
            session.meter.count(5 << 20, (3 << 20) + 1)
            assert values(await here.metrics.exposition())["peos_bytes_total", "sent"] == 0
            await session.order(type(ABORT)(here.collection, ABORT.abort, ABORT.signature))
            while here.world.registry.live:
                await asyncio.sleep(0.01)
            found = values(await here.metrics.exposition())
            moved = found["peos_bytes_total", "sent"], found["peos_bytes_total", "received"]
            assert moved == (5 << 20, 3 << 20)
            assert found["peos_collections", "open"] == 0
            assert found["peos_state_changes_total", "aborted"] == 1

    run(test())
