"""`peos demo` passes its checks: of a mechanism, of which RAPPOR's are of bits and claim ε_l alone; and of a task."""

import json
from pathlib import Path
from typing import Any

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


ASKED = ("--users", 120, "--fakes", 20, "--eps-server", 6, "--eps-users", 6, "--eps-local", 6, "--scheme", "jl")


def demo_of(task: str, folder: Path, *asked: object) -> dict[str, Any]:
    """The result of a task's demo, which its report shows too."""
    ran = command("demo", "--task", task, *ASKED, *asked, "--seed", 1, "--out", folder, "--json", folder=folder)
    assert ran.code == 0, ran.err
    found: dict[str, Any] = ran.json
    assert set(found["checks"].values()) == {True}
    assert (found["schema"], found["users"], found["task"]["name"]) == (2, 120, task)
    assert json.loads((folder / "result.json").read_text(encoding="utf-8")) == found
    return found


def test_a_demo_of_texts_in_a_file_finds_them_and_says_how_well(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("ox\n" * 80 + "hi\n" * 40, encoding="utf-8")
    found = demo_of("heavy-hitters", tmp_path, "--records", file, "--bytes", 2, "--top", 2)
    assert found["checks"]["found"]
    assert found["checks"]["groups"]
    assert (found["labels"][0], found["truth"][0]) == ("ox", pytest.approx(2 / 3))
    assert 0.5 <= found["f1"] <= 1.0 >= found["ncr"] > 0.5
    assert "ox" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_demo_of_tables_shows_every_pair_of_attributes(tmp_path: Path) -> None:
    schema = tmp_path / "schema.toml"
    schema.write_text('smokes = ["no", "yes"]\nage = {from = 18, to = 97, parts = 4}\n', encoding="utf-8")
    found = demo_of("marginals", tmp_path, "--schema", schema)
    assert [one["attributes"] for one in found["tables"]] == [["smokes"], ["age"], ["smokes", "age"]]
    assert "age" in (tmp_path / "report.html").read_text(encoding="utf-8")
