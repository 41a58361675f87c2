"""Five organisations: ten rounds and hand-overs instead of three, through the same ports."""

from pathlib import Path

import numpy as np
import pytest

from peos.localcluster import LocalCluster
from tests.e2e.town import Town

pytestmark = pytest.mark.full  # another whole collection by processes

USERS = 20
DOMAIN = 24
CHOSEN = 5


@pytest.mark.parametrize(
    "mechanism", ["grr", pytest.param("solh", marks=pytest.mark.long), pytest.param("sue", marks=pytest.mark.long)]
)
def test_five_shufflers_bring_every_report_through(mechanism: str, tmp_path: Path) -> None:
    values = list(range(USERS)) if mechanism == "grr" else [CHOSEN] * USERS
    with LocalCluster(tmp_path / "cluster", shufflers=5) as cluster:
        cluster.init(most_eps_local=48.0)
        cluster.start()
        town = Town(cluster)
        town.open(mechanism, values, "--mechanism", mechanism, domain=DOMAIN)
        town.freeze(mechanism)
        result = town.result(mechanism)
    assert result["ok"] is True
    assert set(result["checks"].values()) == {True}
    assert result["parameters"]["shufflers"] == 5
    assert len(result["guarantees"]["coalitions"]) == 3
    frequency = np.array(result["frequency"])
    if mechanism == "grr":  # conservation: no report is lost, doubled or mixed with another
        counted = frequency * USERS
        expected = [1] * USERS + [0] * (DOMAIN - USERS)
        assert np.abs(counted - expected).max() < 0.01, counted
    else:  # at this ε_l an own value is kept all but surely; others are supported by hashes or flipped bits
        assert int(frequency.argmax()) == CHOSEN, frequency
        assert abs(frequency[CHOSEN] - 1.0) < 0.1, frequency
