"""`peos plan --task`: what is found, claimed and tested, before anybody is asked; and what it refuses."""

import json
from pathlib import Path

import pytest

from peos.cli import main
from peos.tasks import heavy_hitters
from tests.raising import require_shown

SMALL = ["plan", "--task", "heavy-hitters", "--users", "6000", "--delta", "1e-6"]
ASKED = [*SMALL, "--bytes", "3", "--top", "8", "--eps-local", "4", "--d-prime", "64", "--fakes", "0"]


def test_json_is_the_task_s_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ASKED, "--json"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    found = json.loads(shown.out)
    task = heavy_hitters(3, 8, users=6_000, delta=1e-6, eps_local=4.0, d_prime=64, fakes=0)
    assert found["task"] == {"name": "heavy-hitters", "parameters": {"bytes": 3, "top": 8, "algorithm": "default"}}
    assert found["detection"] == task.detection()
    assert found["tested"] == [256, 32 * 256, 32 * 256]
    assert found["seconds"] == pytest.approx(6_000 * (256 + 3 * 8192) / 4 / 2e9)
    assert found["guarantees"] == task.plan.guarantees.to_json()
    (only,) = found["rounds"]
    assert (only["users"], only["fakes"], only["groups"]) == (6_000, 0, 3)
    assert only["parameters"] == {"d_prime": 64, "groups": 3}
    assert only["eps_local"] == task.plan.mechanism.epsilon_local


def test_the_table_says_what_is_found_and_what_is_claimed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(ASKED) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for part in ("6,000 users", "d' = 64, groups = 3", "0.0547 of the users", "16,640 candidates", "the analyzer"):
        assert part in shown, f"{part} is not in {shown}"


@pytest.mark.parametrize(
    ("arguments", "id_"),
    [
        ([*SMALL], "task.option_missing"),
        ([*SMALL, "--bytes"], "task.option"),
        ([*SMALL, "--bytes", "three"], "task.option"),
        ([*SMALL, "--bytes", "3", "--wide", "1"], "task.unknown_option"),
        ([*SMALL, "--bytes", "3", "left"], "task.unknown_option"),
        ([*SMALL, "--bytes", "3"], "plan.no_target"),
        ([*ASKED, "--top", "0"], "mechanism.range"),
        ([*ASKED, "--bytes", "65"], "mechanism.range"),
        ([*ASKED, "--domain", "64"], "plan.not_of_a_task"),
        ([*ASKED, "--mechanism", "grr"], "plan.not_of_a_task"),
        ([*ASKED, "--algorithm", "best"], "task.algorithm"),
        ([*ASKED, "--algorithm", "privtrie"], "task.in_memory"),
        ([*ASKED, "--algorithm", "linked-spm"], "task.in_memory"),
        (["plan", "--task", "no-such", "--users", "60", "--delta", "1e-6"], "task.unknown"),
        (["plan", "--users", "60", "--delta", "1e-6"], "input.command"),
        (["plan", "--users", "60", "--delta", "1e-6", "--doman", "4"], "input.command"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(
    arguments: list[str], id_: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    require_shown(shown.err, id_)


def test_targets_that_cannot_be_met_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--bytes", "3", "--eps-users", "0.1", "--fakes", "0"]) == 3
    require_shown(capsys.readouterr().err, "plan.useless")


def test_tables_of_attributes_say_why_these_are_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = tmp_path / "schema.toml"
    lines = (
        'smokes = ["no", "yes"]',
        "age = {from = 0, to = 99, parts = 5}",
        "spends = {from = 0.0, to = 9.0, real = true, parts = 4}",
    )
    schema.write_text("\n".join(lines))
    asked = ["plan", "--task", "marginals", "--schema", str(schema), "--users", "20000", "--delta", "1e-6"]
    assert main([*asked, "--eps-server", "1", "--eps-local", "4", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "expected error per cell" in found["why"][0]
    assert found["why"][-1].startswith("eps_local = 4 binds")
    assert found["guarantees"]["local"] <= 4
    assert main([*asked, "--eps-server", "1"]) == 0
    assert "expected error per cell" in capsys.readouterr().out
