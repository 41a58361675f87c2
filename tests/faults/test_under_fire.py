"""`kill -9` of shufflers during one load of submissions: nothing acknowledged is lost, and nothing is invented."""

from pathlib import Path

import pytest

from tests.faults.fire import under_fire
from tests.faults.ground import ground


@pytest.mark.parametrize(
    ("users", "kills", "seed"),
    [
        (600, 4, 20310401),
        pytest.param(
            4000, 20, 20310402, marks=pytest.mark.long
        ),  # python -m pytest -s -m long tests/faults/test_under_fire.py
    ],
)
def test_shufflers_killed_under_load_lose_nothing_and_invent_nothing(
    tmp_path: Path, users: int, kills: int, seed: int
) -> None:
    with ground(tmp_path / "ground", users) as here:
        done = under_fire(here, kills, seed)
    told = f"seed {seed}: " + "; ".join(f"{kill.party} at {kill.rows} rows" for kill in done)
    print(told)  # noqa: T201 - where the kills fell, shown by -s
    assert len(done) == kills
    assert sum(kill.acknowledged for kill in done) > 0, f"nothing was acknowledged before a kill: {told}"
