"""`peos plan`: what a person reads, and what a program reads."""

import json

import pytest

from peos.cli import main
from peos.ldp import SUE
from peos.privacy import plan
from peos.privacy.guarantees import rounded_up

SMALL = ["plan", "--users", "2000", "--domain", "64", "--delta", "1e-6"]


def test_json_is_the_plan_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--eps-server", "1", "--eps-users", "1", "--eps-local", "4", "--shufflers", "5", "--json"]
    assert main([*SMALL, *asked]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    expected = plan(2000, 64, 1e-6, eps_server=1.0, eps_users=1.0, eps_local=4.0, shufflers=5)
    assert json.loads(shown.out) == expected.to_json()


def test_every_option_reaches_the_planner(capsys: pytest.CaptureFixture[str]) -> None:
    asked = [
        "--eps-server",
        "0.9",
        "--fakes",
        "900",
        "--mechanism",
        "solh",
        "--d-prime",
        "6",
        "--accounting",
        "theorem",
    ]
    assert main([*SMALL, *asked, "--json"]) == 0
    expected = plan(2000, 64, 1e-6, eps_server=0.9, fakes=900, mechanism="solh", d_prime=6)
    assert json.loads(capsys.readouterr().out) == expected.to_json()


@pytest.mark.parametrize(
    ("asked", "epsilons"),
    [
        (["--eps-server", "1", "--eps-users", "1", "--eps-local", "4"], ["0.9368", "0.9999", "4.0000"]),
        (["--eps-local", "4", "--mechanism", "sue"], [rounded_up(SUE(64, 4.0).epsilon_local)] * 3),
    ],
    ids=["shuffled", "local"],
)
def test_a_person_always_sees_the_three_epsilons_together(
    asked: list[str], epsilons: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert main([*SMALL, *asked]) == 0
    table = capsys.readouterr().out.split("what holds against")[1]
    rows = [line for line in table.splitlines()[1:] if any(epsilon in line for epsilon in epsilons)]
    assert [next(e for e in epsilons if e in row) for row in rows] == epsilons, table
    assert rows[0].startswith("the analyzer, alone or with 1 of the")
    assert rows[1].startswith("the analyzer with all other users")
    assert rows[2].startswith("the analyzer with 2 or more")


def test_a_person_is_told_what_was_decided_for_her(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--eps-users", "1"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Note: no limit on ε_l was asked, and 4.0000 was taken" in text
    assert "runner-up" in text
