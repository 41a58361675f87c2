"""`kill -9` of shufflers during one load of submissions: nothing acknowledged is lost, and nothing is invented."""

from pathlib import Path

import pytest

from tests.faults.fire import Kill, under_fire
from tests.faults.ground import Ground, ground

pytestmark = pytest.mark.full  # a ground of processes, which are killed

SEED = 20310401


def show(seed: int, done: list[Kill]) -> str:
    """Where the kills fell; -s prints it."""
    told = f"seed {seed}: " + "; ".join(f"{kill.party} at {kill.rows}, {kill.acknowledged} noted" for kill in done)
    print(told)  # noqa: T201 - the seed with which this can be done again
    return told


def test_shufflers_killed_under_load_lose_nothing_and_invent_nothing(here: Ground) -> None:
    done = under_fire(here, 3, SEED)
    assert len(done) == 3, show(SEED, done)


@pytest.mark.long  # python -m pytest -s -m long tests/faults/test_under_fire.py
def test_twenty_kills_in_one_load_lose_nothing_and_invent_nothing(tmp_path: Path) -> None:
    with ground(tmp_path / "ground", 4000) as wide:
        done = under_fire(wide, 20, SEED)
    told = show(SEED, done)
    assert len(done) == 20, told
    assert all(kill.acknowledged for kill in done[-5:]), f"late kills must meet what the client had noted: {told}"
