"""`peos plan`: what a person reads, and what a program reads."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from peos.cli import main
from peos.privacy import plan
from peos.privacy.guarantees import rounded_up
from peos.registry import MECHANISMS
from tests.raising import require_shown


def _epsilons(**asked: Any) -> list[str]:
    """What the planner promises against the three coalitions, from the weakest."""
    claims = plan(2000, 64, 1e-6, eps_local=4.0, **asked).guarantees
    assert claims.server.epsilon < claims.users.epsilon <= claims.local
    return [rounded_up(epsilon) for epsilon in (claims.server.epsilon, claims.users.epsilon, claims.local)]


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
    expected = plan(2000, 64, 1e-6, eps_server=0.9, fakes=900, mechanism="solh", d_prime=6, accounting="theorem")
    assert json.loads(capsys.readouterr().out) == expected.to_json()


@pytest.mark.parametrize(
    ("asked", "epsilons"),
    [
        (["--eps-server", "1", "--eps-users", "1", "--eps-local", "4"], _epsilons(eps_server=1, eps_users=1)),
        (["--eps-local", "4", "--mechanism", "sue"], _epsilons(mechanism="sue")),
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
    assert re.search(r"Note: no limit on ε_l was asked, and \d\.\d{4} was taken", text)
    assert "runner-up" in text


def test_exact_accounting_is_the_default_and_the_theorem_can_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    asked = [*SMALL, "--eps-server", "0.5", "--eps-local", "4", "--json"]
    assert main(asked) == 0
    exact = json.loads(capsys.readouterr().out)
    assert main([*asked, "--accounting", "theorem"]) == 0
    theorem = json.loads(capsys.readouterr().out)
    assert (exact["accounting"], theorem["accounting"]) == ("exact", "theorem")
    assert exact["mse"] < theorem["mse"] / 2
    assert exact["guarantees"]["server"]["theorem"] is None
    assert 0.49 < exact["guarantees"]["server"]["exact"] <= 0.5
    assert theorem["guarantees"]["server"]["exact"] < theorem["guarantees"]["server"]["theorem"] <= 0.5


def test_the_drawing_has_the_four_curves_and_standard_output_stays_pure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("peos.privacy.curves.POINTS", 3)
    picture = tmp_path / "error.svg"
    assert main([*SMALL, "--eps-server", "0.3", "--fakes", "900", "--plot", str(picture), "--json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["mechanism"] == "grr"
    assert "the drawing is" in shown.err
    drawn = ET.fromstring(picture.read_text(encoding="utf-8"))  # noqa: S314 # our own file
    lines = [node for node in drawn.iter() if node.tag.endswith("polyline")]
    assert len(lines) == 4
    words = " ".join(node.text or "" for node in drawn.iter() if node.tag.endswith("text"))
    for name in ("by the theorem", "by exact accounting", "each user alone", "a trusted curator"):
        assert name in words
    heights = [[float(pair.split(",")[1]) for pair in line.get("points", "").split()] for line in lines]
    theorem, exact, alone, curator = heights
    assert len(exact) == len(alone) == len(curator) == 3
    # Down the page errors fall: below the theorem, and between what is trusted nobody and what is trusted wholly.
    assert all(a < e < c for a, e, c in zip(alone, exact, curator, strict=True))
    assert all(t < e for t, e in zip(theorem, exact[-len(theorem) :], strict=True))


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (["--eps-server", "1", "--plot", "error.png"], "error.png"),
        (["--eps-server", "1", "--plot", "no-such-folder/error.svg"], "no-such-folder"),
        (["--eps-local", "1", "--plot", "error.svg"], "analyzer's ε"),
    ],
)
def test_a_drawing_that_cannot_be_made_is_refused_in_one_sentence(
    asked: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SMALL, *asked]) == 2
    require_shown(capsys.readouterr().err, "plan.drawing", says)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_mechanism_may_be_asked_for_and_shows_the_name_of_its_documents(
    mechanism: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SMALL, "--eps-local", "4", "--mechanism", mechanism, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["mechanism"] == MECHANISMS[mechanism].name
    assert 0 < found["eps_local"] <= 4


@pytest.mark.parametrize(
    ("asked", "id_", "says"),
    [
        (["hadamard", "--signs", "7"], "mechanism.range", ("signs", "6", "7")),
        (["hadamard", "--signs", "0"], "mechanism.range", ("signs", "1", "0")),
        (["hadamard", "--size", "3"], "plan.size", ("size", "subset", "hadamard")),
        (["subset", "--size", "33"], "mechanism.range", ("size", "32", "33")),
        (["subset", "--field-bits", "3"], "plan.size", ("field_bits", "ue", "subset")),
        (["ue", "--field-bits", "17"], "mechanism.range", ("field_bits", "16", "17")),
        (["rmp", "--signs", "1"], "plan.size", ("signs", "hadamard", "rmp")),
        (["rappor", "--field-bits", "8"], "plan.size", ("field_bits", "ue", "rappor")),
        (["olh", "--d-prime", "8"], "plan.size", ("d_prime", "solh", "olh")),
        (["haddamard"], "plan.mechanism", ("hadamard", "rmp", "rappor", "'haddamard'")),
        (["she"], "mechanism.local_only", ("she", "sue")),
    ],
)
def test_a_wrong_mechanism_or_size_is_one_line(
    asked: list[str], id_: str, says: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SMALL, "--eps-local", "4", "--mechanism", *asked]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    require_shown(line, id_, *says)


def test_rappor_claims_its_local_epsilon_only_and_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    for accounting in ("exact", "theorem"):
        asked = ["--eps-server", "1", "--eps-local", "4", "--mechanism", "rappor", "--accounting", accounting]
        assert main([*SMALL, *asked]) == 3
        (line,) = capsys.readouterr().err.splitlines()
        require_shown(line, "plan.local_only", "rappor")
    assert main([*SMALL, "--eps-local", "4", "--mechanism", "rappor", "--json"]) == 0
    claims = json.loads(capsys.readouterr().out)["guarantees"]
    assert [claims[who][how] for who in ("server", "users") for how in ("theorem", "exact")] == [None] * 4
