"""An analyzer whose disk is full when the output comes: it is delivered again and again until there is room."""

import shutil
from pathlib import Path

import pytest

from peos.localcluster import LocalCluster
from peos.store.bell import NAME as BELL
from tests.disks import fill, small_disk
from tests.e2e.town import Town, says, until

USERS = 12
DOMAIN = 16


@pytest.mark.long
def test_an_output_that_finds_no_room_is_published_once_there_is_some(tmp_path: Path) -> None:
    """`pytest -m long tests/e2e/test_full_analyzer.py`: a minute."""
    with (
        small_disk(tmp_path / "disk", 4 << 10) as disk,
        LocalCluster(tmp_path / "cluster", shufflers=3) as cluster,
    ):
        cluster.init(most_eps_local=48.0, least_reports=2)
        analyzer = cluster.analyzer
        assert analyzer is not None
        shutil.copytree(analyzer.folder / "state", disk / "state", ignore=shutil.ignore_patterns(BELL))
        text = analyzer.config.read_text(encoding="utf-8").replace('"state"', f'"{disk / "state"}"')
        analyzer.config.write_text(text, encoding="utf-8")
        cluster.start()
        town = Town(cluster)
        town.open("full", list(range(USERS)), "--mechanism", "grr", domain=DOMAIN)
        town.freeze("full")
        ballast = fill(disk)
        until(
            lambda: (
                any(says(shuffler, "not delivered yet") for shuffler in cluster.shufflers)
                or says(analyzer, "a collection could not be moved on")
            ),
            "trouble with the disk",
        )
        assert analyzer.process is not None
        assert analyzer.process.poll() is None, "it runs on"
        assert not list(disk.rglob("*.coming")), "what could not be written does not take the room that is left"
        ballast.unlink()
        result = town.result("full")
        assert result["users"] == USERS
        assert [round(value * USERS) for value in result["frequency"]] == [1] * USERS + [0] * (DOMAIN - USERS)
        assert "Traceback" not in analyzer.log.read_text(encoding="utf-8")
