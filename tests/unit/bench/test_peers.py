"""The comparison with other libraries measures ours on the values that theirs get, and errors as they are."""

import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks import peers, peers_worker
from benchmarks.bars import MOST_ERROR, MOST_OFF, bars
from benchmarks.measuring import kept
from benchmarks.page import NAMES
from peos.ldp import GRR, HadamardResponse
from peos.ldp.base import Mechanism


@pytest.mark.parametrize("mechanism", [HadamardResponse(1024, 2.0), GRR(1024, 2.0)])
def test_errors_are_n_times_the_variance_whatever_the_block(mechanism: Mechanism) -> None:
    found = peers.errors(mechanism, peers.zipf_values(10 * peers.BLOCK), 10)
    assert len(found) == 10
    mean, stderr = peers.mean(found)
    at_zero, at_one = (peers.BLOCK * mechanism.variance(peers.BLOCK, frequency=f) for f in (0.0, 1.0))
    expected = at_zero + (at_one - at_zero) / 1024
    assert abs(mean - expected) < 6 * max(stderr, expected * math.sqrt(2 / 10 / 1024)), f"{mean} ± {stderr}: {expected}"
    assert peers.mean([1.0]) == (1.0, math.sqrt(2 / 1024))


def test_a_block_of_theirs_is_timed_and_its_error_is_of_the_values_it_was_given() -> None:
    mechanism = GRR(peers_worker.DOMAIN, 2.0)

    def block(values: peers_worker.Values) -> peers_worker.Floats:
        return mechanism.estimate(mechanism.tally(mechanism.randomize(values)), users=len(values)).frequency

    values = peers.zipf_values(2000)
    row = peers_worker.measured(block, values, wide=True, seconds=0.01)
    assert row["reports"] >= 2000
    assert row["microseconds"] > 0
    mean, off = peers.mean(peers_worker.erring(block, values, seconds=60.0)["errors"])
    assert off <= peers_worker.SPREAD * mean
    assert mean == pytest.approx(2000 * mechanism.variance(2000), rel=0.1)


def test_the_other_libraries_are_pinned_and_are_no_dependency_of_ours() -> None:
    wanted = peers.REQUIREMENTS.read_text(encoding="utf-8")
    assert "multi-freq-ldpy==0.2.5" in wanted
    assert "pure-ldp==1.2.0" in wanted
    assert "ldp" not in (Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8").split("[tool")[
        0
    ].replace("peos.ldp", "")


def test_an_error_that_is_larger_than_theirs_is_no_bar_reached() -> None:
    found = kept("peers")
    assert found is not None
    worse, unknown = (
        {**found, "rows": [{**row, **change} for row in found["rows"]]}
        for change in ({"mse_ratio": MOST_ERROR + 0.001}, {"mse_ratio_stderr": 2 * MOST_OFF})
    )
    for rows, held in ((found, True), (worse, False), (unknown, False)):
        (bar,) = [bar for bar in bars({**dict.fromkeys(NAMES), "peers": rows}) if "squared errors" in bar.what]
        assert bar.held is held
    assert np.isfinite([row["times_the_faster"] for row in found["rows"]]).all()
