"""Real processes whose vectors all lie in files, and which work them on a cluster: the result is the same as ever."""

import json
from pathlib import Path

import pytest

from peos.localcluster import LocalCluster
from tests.e2e.in_files import TOLD
from tests.e2e.town import PATIENCE, Town
from tests.unit.compute.cluster import Cluster, met

VALUES = [value % 4 for value in range(24)]


@pytest.mark.long
def test_a_collection_in_files_and_on_a_cluster_is_published_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`pytest -m long tests/e2e/test_long_and_far.py`: a minute or two."""
    told = tmp_path / "told"
    monkeypatch.setenv(TOLD, str(told))
    (tmp_path / "dask").mkdir()
    with LocalCluster(tmp_path / "cluster") as cluster, Cluster(tmp_path / "dask") as machines:
        machines.work()
        met(machines, 1).close()
        cluster.init(most_eps_local=24.0, least_reports=1)
        assert cluster.analyzer is not None
        for party in (cluster.analyzer, cluster.shufflers[1]):
            with party.config.open("a", encoding="utf-8") as config:
                config.write(f'\n[compute]\nengine = "dask"\nscheduler = "{machines.address}"\n')
        for shuffler in cluster.shufflers:
            shuffler.module = "tests.e2e.in_files"
        cluster.start()
        town = Town(cluster)
        town.open("question", VALUES, domain=4)
        town.freeze("question")
        ran = town.analyst("result", "question", "--wait", PATIENCE, "--json")
        assert ran.code == 0, ran.err
        result = json.loads(ran.out)
        assert result["users"] == len(VALUES)
        holders = {line.split()[1] for line in told.read_text(encoding="utf-8").splitlines()}
        assert len(holders) == 2, "shuffler 1 held the ciphertexts, and then shuffler 2"
        for folder in holders:
            assert not [path.name for path in Path(folder).iterdir() if path.name.startswith("tmp")]
        said = machines.logs()
        assert b"'admit'" in said, "the workers were given sessions"
        assert b"Traceback" not in said
