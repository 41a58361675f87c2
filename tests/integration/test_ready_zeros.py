"""Real shufflers make zeros while a collection is open, use them in its passes, and keep none afterwards.

Its workers have the lowest priority, and on a machine that has other things to do they may wait for minutes:

    make test-long, or: pytest -m long tests/integration/test_ready_zeros.py
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.played import DUMMIES, Played, PlayedTown, key, played, run

pytestmark = pytest.mark.long

USERS = 20
FAKES = 220
PATIENCE = 300.0
MADE = "zeros made ahead: done of total were used"


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlayedTown]:
    """Shufflers that assume nothing about the key, so that a few hundred zeros are worth making ahead."""
    made = PlayedTown(tmp_path_factory.mktemp("town"))
    with made.cluster:
        for party in made.shufflers:
            party.stop()
            with party.config.open("a") as config:
                config.write("\n[encryption]\nstatistical = true\n")
            made.cluster.restart(party)
        yield made


def lines(town: PlayedTown, play: Played, number: int) -> list[dict[str, Any]]:
    """What a shuffler logged about a collection."""
    text = town.shufflers[number - 1].log.read_text().splitlines()
    logged = [json.loads(line) for line in text if line.startswith("{")]
    return [line for line in logged if line.get("collection") == play.digest.hex()[:16]]


def workers(town: PlayedTown, number: int) -> list[int]:
    """The processes of a shuffler with the lowest priority."""
    process = town.shufflers[number - 1].process
    assert process is not None
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        parent, niceness = int(fields[1]), int(fields[16])
        if parent == process.pid and niceness == 19:
            found.append(int(stat.parent.name))
    return found


async def until(holds: Callable[[], bool], what: str) -> None:
    give_up = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < give_up, f"{what} did not come"
        await asyncio.sleep(0.1)


def test_passes_use_the_zeros_that_were_made_while_reports_came_in(town: PlayedTown) -> None:
    async def test() -> None:
        key()
        async with played(town, "zeros", fakes=FAKES, minimum=USERS) as play:
            await until(lambda: bool(workers(town, 1) and workers(town, 2)), "workers of low priority")
            await play.submit(USERS)
            await until(lambda: not workers(town, 1) + workers(town, 2), "full stocks, whose workers leave")
            assert workers(town, 3) == [], "a shuffler that never holds ciphertexts makes zeros"
            await play.order()
            await play.until_all("published")
            play.check_conservation()
            rows = USERS + DUMMIES + FAKES
            for number, needed in ((1, FAKES + rows), (2, rows)):
                (line,) = [one for one in lines(town, play, number) if one["event"] == MADE]
                assert line["done"] == needed, line
                assert line["total"] >= needed, line
            assert not [one for one in lines(town, play, 3) if one["event"] == MADE]

    run(test())


def test_a_collection_that_is_aborted_while_zeros_are_made_keeps_none_and_its_workers_leave(town: PlayedTown) -> None:
    async def test() -> None:
        async with played(town, "aborted", fakes=20 * FAKES) as play:
            await until(lambda: bool(workers(town, 1)), "workers of low priority")
            await play.order(abort=True)
            await play.until_all("aborted")
            await until(lambda: not workers(town, 1), "workers that leave though nothing is full")
            for one in lines(town, play, 1):
                assert one["event"] != MADE or one["done"] == 0

    run(test())
