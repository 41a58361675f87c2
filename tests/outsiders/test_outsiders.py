"""No caller without ticket or certificate ends or holds up a collection; all combinations: python -m tests.outsiders.

Each test runs a collection of real processes under an attack, asks for health throughout, and counts what comes out.
"""

import asyncio
import resource
from collections.abc import Iterator

import pytest

from tests.integration.played import PlayedTown
from tests.outsiders.ground import Trial, count_for, descriptors, restart, run

pytestmark = pytest.mark.full  # a town of its own

FEW = 256


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlayedTown]:
    """Three shufflers that may open 256 descriptors each, whatever this machine would allow."""
    with descriptors(FEW):
        made = PlayedTown(tmp_path_factory.mktemp("outsiders"))
    with made.cluster:
        yield made


def holds(town: PlayedTown, attack: str, phase: str, *, most: int = FEW, addresses: int = 1) -> Trial:
    """Run the trial; it must hold."""
    trial = Trial(attack, phase, most, addresses, count_for(attack, most))
    asyncio.run(run(town, trial))
    assert trial.holds, trial
    assert trial.most_open < most, trial
    assert trial.done["tried"] > 0, trial
    return trial


# Two of each kind, of which one begins before "frozen" and one with it.
@pytest.mark.parametrize(
    ("attack", "phase", "addresses", "least"),
    [
        ("idle", "open", 1, 400 * 7),  # against two ports of three shufflers, and the analyzer's
        ("idle", "frozen", 50, 400 * 7),
        ("half", "closed", 1, 400 * 7),
        ("half", "frozen", 50, 400 * 7),
        ("silent", "open", 1, 6 * 3),
        ("silent", "frozen", 1, 6 * 3),  # fifty addresses are more than a port has room for here: docs/decisions/0016
        ("slow", "open", 1, 60 * 3),
        ("slow", "frozen", 50, 60 * 3),
        ("metadata", "open", 1, 12 * 3),
        ("metadata", "frozen", 50, 12 * 3),
    ],
)
def test_a_collection_completes_under_an_attack(
    town: PlayedTown, attack: str, phase: str, addresses: int, least: int
) -> None:
    trial = holds(town, attack, phase, addresses=addresses)
    assert trial.done["tried"] >= least
    assert trial.done.get("streams", 0) >= (520 * 3 if attack == "silent" else 0)


@pytest.mark.long
@pytest.mark.parametrize("addresses", [1, 50])
@pytest.mark.parametrize("attack", ["idle", "half"])
def test_more_connections_than_a_thousand_descriptors(town: PlayedTown, attack: str, addresses: int) -> None:
    restart(town, 1024)
    try:
        holds(town, attack, "frozen", most=1024, addresses=addresses)
    finally:
        restart(town, FEW)


def test_a_soft_limit_is_raised_to_the_hard_one_and_core_dumps_are_off(town: PlayedTown) -> None:
    for party in town.shufflers:
        assert party.process is not None, "it runs"
        assert resource.prlimit(party.process.pid, resource.RLIMIT_NOFILE) == (FEW, FEW)
        assert resource.prlimit(party.process.pid, resource.RLIMIT_CORE) == (0, 0)
