"""A disk that fills up: nothing that was acknowledged is lost, and once there is room everything goes on by itself."""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from peos.collection.replies import Answer
from peos.crypto.randomness import Randomness
from peos.localcluster import Party
from peos.net.submit import send_parts
from peos.store.bell import NAME as BELL
from tests.disks import fill, small_disk
from tests.integration.played import PlayedTown, played

pytestmark = pytest.mark.full  # a town of its own

KIB = 6 << 10
DELIVERED = ("delivered", "published")


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the second shuffler keeps everything."""
    with small_disk(tmp_path_factory.mktemp("small") / "disk", KIB) as folder:
        yield folder


@pytest.fixture(scope="module")
def town(disk: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlayedTown]:
    """Three shufflers, one of them on the small disk."""
    made = PlayedTown(tmp_path_factory.mktemp("full"))
    with made.cluster:
        moved(made, made.shufflers[1], disk)
        yield made


def moved(town: PlayedTown, party: Party, disk: Path) -> None:
    """Its folder is on this disk from now on."""
    party.stop()
    shutil.copytree(party.folder / "state", disk / "state", ignore=shutil.ignore_patterns(BELL))
    text = party.config.read_text(encoding="utf-8").replace('folder = "state"', f'folder = "{disk / "state"}"')
    party.config.write_text(text, encoding="utf-8")
    town.cluster.restart(party)


def test_a_shuffler_without_room_acknowledges_nothing_and_takes_the_same_parts_later(
    town: PlayedTown, disk: Path
) -> None:
    async def test() -> None:
        async with played(town, "full", listening=False) as play:
            acknowledged: set[tuple[int, bytes]] = set()
            waited: list[str] = []

            def note(number: int, answer: Answer) -> None:
                assert not answer.refusal, answer
                acknowledged.add((number, answer.id))

            def sent(count: int) -> bool:
                outcomes = send_parts(
                    town.cards,
                    play.prepared(count),
                    rng=Randomness(b"\x01" * 32),
                    on_answer=note,
                    on_wait=waited.append,
                    deadline=60.0,
                )
                return len(outcomes) == count and all(outcome.accepted for outcome in outcomes)

            assert await asyncio.to_thread(sent, 30)
            ballast = fill(disk)
            sending = asyncio.ensure_future(asyncio.to_thread(sent, 200))
            while not any("no room left" in one for one in waited):
                assert not sending.done(), "it was to be without room"
                await asyncio.sleep(0.1)
            assert any("shuffler 2" in one for one in waited), waited
            by_second = sum(number == 2 for number, _ in acknowledged)
            (_, here, _) = await play.status()
            assert by_second <= here.reports < 230, "acknowledged is kept, and not all was"
            assert "submissions cannot be kept at the moment: there is no room left" in here.reason
            ballast.unlink()
            assert await sending, "the same call went on by itself"
            assert [status.reason for status in await play.status()] == [""] * 3
            assert len(acknowledged) == 3 * 230
            assert [status.reports for status in await play.status()] == [230] * 3
            town.shufflers[1].stop(kill=True)
            town.cluster.restart(town.shufflers[1])
            assert [status.reports for status in await play.status()] == [230] * 3, "and it is there after a crash"
            await play.order(abort=True)

    asyncio.run(test())


def test_a_start_without_room_is_one_sentence_and_the_next_start_has_everything(town: PlayedTown, disk: Path) -> None:
    async def test() -> None:
        party = town.shufflers[1]
        async with played(town, "start", listening=False) as play:
            await play.submit(5)
            party.stop()
            ballast = fill(disk)
            try:
                party.start()
                assert party.process is not None
                code = await asyncio.to_thread(party.process.wait, 20)
                said = party.log.read_text(encoding="utf-8").splitlines()
                assert code in (0, 1), said[-1]
                assert "no room left" in said[-1], said[-3:]
                assert not any("Traceback" in line for line in said)
            finally:
                party.stop()
                ballast.unlink()
            town.cluster.restart(party)
            assert [status.reports for status in await play.status()] == [37] * 3
            await play.order(abort=True)

    asyncio.run(test())


@pytest.mark.long
def test_a_collection_that_meets_a_full_disk_comes_through_once_there_is_room(town: PlayedTown, disk: Path) -> None:
    """`pytest -m long tests/integration/test_full_disk.py`: half a minute."""

    async def test() -> None:
        party = town.shufflers[1]
        assert party.process is not None
        async with played(town, "freeze") as play:
            await play.submit(60)
            ballast = fill(disk)
            closing = asyncio.ensure_future(play.order())
            await asyncio.sleep(3.0)
            assert not closing.done(), "an order that cannot be kept is not acknowledged"
            ballast.unlink()
            await closing  # by itself
            ballast = fill(disk)  # and once more, wherever the freeze or the shuffle is by now
            await asyncio.sleep(8.0)
            assert party.process.poll() is None, "it runs on"
            (_, here, _) = await play.status()
            assert here.state not in ("aborted", "published"), here
            ballast.unlink()
            await play.until(lambda all_: all(one.state in DELIVERED for one in all_), "the output")
            play.check_conservation()
            log = party.log.read_text(encoding="utf-8")
            assert "no room left" in log, "it says why it had to wait"
            assert "Traceback" not in log

    asyncio.run(test())
