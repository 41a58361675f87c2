"""`peos demo --mechanism M` passes its checks; those of RAPPOR are of bits, and ε_l is all that it claims."""

import json
from pathlib import Path

import pytest

from peos.registry import MECHANISMS
from tests.e2e.town import command

pytestmark = pytest.mark.full  # another whole collection by processes
FEW = ("--fakes", 10, "--eps-server", 4, "--eps-users", 4)  # users, for the demo's own targets


OTHERS = [pytest.param(name, marks=pytest.mark.long) for name in MECHANISMS if name != "rappor"]


@pytest.mark.parametrize("mechanism", ["rappor", *OTHERS])
def test_a_demo_passes_its_checks(mechanism: str, tmp_path: Path) -> None:
    asked = ["--mechanism", mechanism, "--users", 30, "--domain", 12, "--seed", 1, "--out", tmp_path, "--json"]
    ran = command("demo", *asked, *(FEW if mechanism != "rappor" else ()), folder=tmp_path)
    assert ran.code == 0, ran.err
    assert set(ran.json["checks"].values()) == {True}
    assert ran.json["parameters"]["mechanism"] == MECHANISMS[mechanism].name
    if mechanism == "rappor":
        claims = ran.json["guarantees"]
        assert [claims[who][how] for who in ("server", "users") for how in ("theorem", "exact")] == [None] * 4
        assert len(ran.json["bits"]["frequency"]) == 16
        refused = command("demo", *asked, "--eps-server", 1, folder=tmp_path)
        assert refused.code == 3
        said = json.loads(refused.err.splitlines()[-1])
        assert said["id"] == "plan.local_only"
        assert "rappor" in said["error"]
