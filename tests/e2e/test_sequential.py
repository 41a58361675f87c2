"""The sequential shuffle with real processes: a demo, and a shuffler killed in between."""

from pathlib import Path

import numpy as np
import pytest

from peos.localcluster import LocalCluster
from tests.e2e.town import Town, command


@pytest.mark.full
def test_a_demo_of_200_users_holds_and_says_what_it_was(tmp_path: Path) -> None:
    asked = ["--protocol", "ss", "--users", 200, "--domain", 16, "--seed", 1, "--out", tmp_path, "--json"]
    ran = command("demo", *asked, folder=tmp_path)
    assert ran.code == 0, ran.err
    result = ran.json
    assert result["ok"]
    assert set(result["checks"]) == {"conservation", "digests", "everybody_counted", "estimates"}
    assert all(result["checks"].values()), result["checks"]
    parameters = result["parameters"]
    assert (parameters["protocol"], parameters["scheme"], parameters["shufflers"]) == ("ss", "onion", 3)
    assert (result["users"], result["dropped"], result["inspection"]) == (200, 0, None)
    rows = result["guarantees"]["colluding"]
    shares = [result["fakes"] // 3 + (number < result["fakes"] % 3) for number in range(3)]
    assert [row["fakes"] for row in rows] == [sum(shares[colluding:]) for colluding in range(3)]
    (sent,) = (row["sent"] for row in result["cost"] if row["party"] == "users")
    assert 200 * (8 + 4 * 49) < sent < 200 * (8 + 4 * 49 + 3 * 350), "an onion, and what binds the parts"
    assert "a baseline that protects less than PEOS" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.long
def test_a_shuffler_that_is_killed_takes_nothing_with_it(tmp_path: Path) -> None:
    """`pytest -m long tests/e2e/test_sequential.py`: each answer is counted, since no local noise changes any."""
    values = [number % 4 for number in range(40)]
    with LocalCluster(tmp_path / "cluster", protocols=("peos", "ss")) as cluster:
        cluster.init(most_eps_local=48)
        cluster.start()
        town = Town(cluster)
        town.open("killed", values, "--protocol", "ss", "--mechanism", "grr", domain=4)
        second = cluster.shufflers[1]
        town.freeze("killed")
        second.stop(kill=True)  # between the close and the delivery, wherever it is just now
        cluster.restart(second)
        found = town.result("killed")
    assert (found["users"], found["fakes"]) == (40, 0)
    assert np.allclose(found["frequency"], 0.25, atol=1e-6), found["frequency"]
