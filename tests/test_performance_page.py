"""docs/performance.md is what the kept figures say, and says so where a bar is missed or nothing was measured."""

import importlib.util
import json
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest
import typer

from benchmarks import all as everything
from benchmarks import page, tables
from benchmarks.bars import Data, bars, operations
from benchmarks.measuring import RESULTS
from peos.bench.overhead import THESIS
from peos.cli.bench import app
from peos.crypto.schemes import SCHEMES, scheme

NOTHING: Data = dict.fromkeys(page.NAMES)
MACHINE = {"processor": "one", "cores": 2, "python": "3.11"}


def overhead(**cost: float) -> dict[str, Any]:
    """Figures of one row with round costs."""
    whole: dict[str, float] = dict.fromkeys(
        (
            "intake_s",
            "agree_s",
            "agree_mb",
            "pass_s",
            "shuffler_s",
            "analyzer_s",
            "count_s",
            "shuffler_mb",
            "analyzer_mb",
        ),
        1.0,
    )
    row = {"protocol": "peos", "scheme": "jl", "shufflers": 7, "user_ms": 1.0, "user_bytes": 9, "counts": {"passes": 4}}
    return {"machine": MACHINE, "users": 10, "rows": [row | {"at_a_million": whole | cost}], "thesis": THESIS}


def test_the_page_and_its_drawing_are_what_the_figures_say() -> None:
    for path, text in page.files(page.data()).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run `python -m benchmarks.page --write`"


def test_every_file_of_figures_is_on_the_page() -> None:
    assert {path.stem for path in RESULTS.glob("*.json")} <= set(page.NAMES)
    assert set(page.COMMANDS) == set(page.NAMES)


@pytest.mark.parametrize("command", page.COMMANDS.values())
def test_every_command_of_the_page_exists(command: str) -> None:
    words = shlex.split(command)
    if words[0] == "peos":
        known: Any = typer.main.get_command(app)
        assert words[1] == "bench"
        assert words[2] in known.commands
        options = {name for one in known.commands[words[2]].params for name in one.opts}
        assert {word for word in words if word.startswith("--")} <= options
    else:
        assert words[:2] == ["python", "-m"]
        assert importlib.util.find_spec(words[2]) is not None


@pytest.mark.parametrize("name", list(SCHEMES))
def test_the_planner_counts_with_the_prices_that_were_measured(name: str) -> None:
    cost, price = operations(page.data()), scheme(name).costs
    decrypt = "decrypt-2-passes" if name == "paillier" else "decrypt"
    expected = {
        "encrypt-cold": price.encrypt_ms,
        "rerandomise": price.pass_ms,
        decrypt: price.decrypt_ms,
    }
    if name == "paillier":
        expected["decrypt-4-passes"] = price.decrypt_ms + 2 * price.decrypt_ms_more
    for operation, milliseconds in expected.items():
        measured = cost[name, operation] / 1e3
        said = f"{name} {operation}: the plan counts {milliseconds} ms, {measured:.3f} ms were measured"
        assert milliseconds == pytest.approx(measured, rel=0.2), said


def test_where_nothing_was_measured_the_page_says_so_and_claims_nothing() -> None:
    made = page.files(NOTHING)
    assert set(made) == {page.PAGE}
    text = made[page.PAGE]
    assert text.count("(not measured yet)") >= len(page.NAMES)
    assert " 0 are reached, 0 are not" in text
    assert "| reached |" not in text


@pytest.mark.parametrize(("megabytes", "held"), [(299.0, True), (300.0, False)])
def test_a_bar_is_reached_or_not_by_its_figure(megabytes: float, held: bool) -> None:
    found = {**NOTHING, "overhead": overhead(shuffler_mb=megabytes)}
    (bar,) = [bar for bar in bars(found) if "r = 7, jl" in bar.what]
    assert bar.held is held
    assert f"{megabytes:.0f} MB" in bar.measured
    assert ("**not reached**" in page.page(found)) is not held


def test_a_bar_that_is_missed_says_why() -> None:
    schemes = {
        "machine": MACHINE,
        "bits": 3072,
        "rows": [],
        "tables": [],
        "times_faster_than_phe": {"encrypt": 40.0},
        "multiplications": [{"bits": 6144, "factor_bits": 3072, "microseconds": 3.9}],
    }
    text = page.page({**NOTHING, "schemes": schemes})
    assert "| 40.0 times | **not reached**: one product modulo 6144 bits takes 3.90 µs, and" in text


def test_a_bent_line_is_not_linear() -> None:
    line = {"shufflers": 3, "microseconds_a_row": 1e6, "fixed_s": 0.0, "largest_relative_error": 0.5}
    line |= {"passes": 2, "holders": 2}
    point = {"shufflers": 3, "users": 10_000, "rows": 10_000, "total_s": 10_000.0, "passes": 2}
    straight = {"points": [point], "lines": [line]}
    bent = {"points": [point | {"total_s": 12_000.0}], "lines": [line | {"passes": 3}]}
    assert [bar.held for bar in bars({**NOTHING, "scaling": straight})[-2:]] == [True, True]
    assert [bar.held for bar in bars({**NOTHING, "scaling": bent})[-2:]] == [False, False]


def test_how_many_users_are_carried_follows_from_the_seconds() -> None:
    row = overhead(pass_s=180.0, analyzer_s=360.0, agree_s=10.0, shuffler_s=(180.0 + 400.0) / 7, count_s=2.0)["rows"][0]
    # Two cores halve the passes and, here, thirds the decryption; four hiders share 400 seconds of mixing.
    each = tables.seconds_a_user(row, {("jl", "rerandomise"): 2.0, ("jl", "decrypt"): 3.0})
    assert each * 1e6 == pytest.approx(10 + 90 + 120 + 100 + 2)
    assert tables.carried(each, tables.HOUR) == 11_000_000
    assert tables.carried(1.0, 3599) == 3500
    assert tables.carried(1.0, 7) == 7
    onions = row | {"protocol": "ss", "scheme": "onion"}
    assert tables.seconds_a_user(onions, {("onion", "peel"): 1.5}) * 1e6 == pytest.approx(10 + 120 + 240 + 400 + 2)


def test_what_limits_the_users_is_named_where_it_was_measured() -> None:
    million = {"part": "analyzer", "scheme": "jl", "megabytes_at_a_million": 812.4}
    found: Data = {
        **NOTHING,
        "overhead": overhead(),
        "ingest": {"machine": MACHINE, "submissions": 9, "streams": 4, "rows": [{"submissions_per_second": 4000}]},
        "memory": {"machine": MACHINE, "rows": [{"part": "analyzer", "megabytes": 9.5}], "at_a_million": [million]},
    }
    text = page.page(found)
    assert "4,000 a second (section 9), a million in 4 minutes" in text
    assert "analyzer (jl) 812 MB" in text


def test_the_drawing_has_a_curve_for_each_r_and_the_points_beside_are_those_drawn() -> None:
    points = [
        {"shufflers": r, "users": n, "passes": 2, "total_s": n / 1e3 * r, "pass_s": 1.0, "analyzer_s": 1.0}
        | {"shuffler_mb": 1.0, "analyzer_mb": 1.0}
        for r in (3, 5)
        for n in (1000, 10_000)
    ]
    drawn, beside = page.curves({**NOTHING, "scaling": {"points": points, "scheme": "jl"}})
    root = ElementTree.fromstring(drawn)  # noqa: S314 - our own
    names = {"svg": "http://www.w3.org/2000/svg"}
    assert len(root.findall("svg:polyline", names)) == 2
    assert len(root.findall("svg:circle", names)) == 4
    assert {"r = 3", "r = 5"} <= {text.text for text in root.findall("svg:text", names)}
    header, *rows = [line.split(",") for line in beside.splitlines()]
    assert [(int(row[0]), int(row[1])) for row in rows] == [(point["shufflers"], point["users"]) for point in points]
    assert header[3] == "total_s"


def test_a_step_that_fails_keeps_the_older_figures_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[list[str]] = []
    kept: dict[str, Any] = {}

    def runs(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        ran.append(command)
        failed = "count" in command
        return subprocess.CompletedProcess(command, int(failed), "" if failed else json.dumps({"rows": []}))

    monkeypatch.setattr(subprocess, "run", runs)
    monkeypatch.setattr(everything, "keep", kept.__setitem__)
    assert everything.run(["schemes", "count", "scaling"]) == ["count"]
    assert kept == {"schemes": {"rows": []}, "scaling": {"rows": []}}
    assert ran[0][:5] == [sys.executable, "-m", "peos.cli", "bench", "schemes"]
    assert ran[2][:3] == [sys.executable, "-m", "benchmarks.scaling"]
    assert "count: exit code 1" in capsys.readouterr().err
