"""`peos bench` as a command: JSON alone on standard output, tables for people, and one sentence for what is refused."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from peos.bench import count, overhead, schemes
from peos.cli import main
from tests.raising import require_shown

ROW = {"scheme": "paillier", "operation": "encrypt", "microseconds": 253.0126, "bytes": 768}
SCHEMES: dict[str, Any] = {
    "machine": {"cores": 2},
    "rows": [ROW],
    "beside": {"phe": "1.5.0", "heu": "not installed"},
    "tables": [{"scheme": "paillier", "of": "zeros", "width": 12, "seconds": 2.5, "megabytes": 202.0}],
    "times_faster_than_phe": {"encrypt": 96.3},
    "against_bars": [{"scheme": "jl", "operation": "decrypt", "milliseconds": 0.917, "bar": 1.0}],
    "keys": [{"scheme": "jl", "seconds": 3.1, "longest": 4.9, "made": 5}],
    "multiplications": [{"bits": 6144, "factor_bits": 3072, "microseconds": 3.9}],
}


def measured(counts: list[int]) -> Any:
    def measure(count: int) -> dict[str, Any]:
        counts.append(count)
        return SCHEMES

    return measure


@pytest.mark.parametrize(("given", "count"), [([], 1500), (["--count", "64"], 64)])
def test_schemes_as_json_is_one_object_with_the_machine_and_the_rows(
    given: list[str], count: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    counts: list[int] = []
    monkeypatch.setattr(schemes, "measure", measured(counts))
    assert main(["bench", "schemes", "--json", *given]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert found["bench"] == "schemes"
    assert found["machine"] == {"cores": 2}
    assert found["rows"] == [ROW]
    assert counts == [count]
    assert "measuring" in said.err


def test_schemes_for_people_is_a_table_and_what_was_measured_beside(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(schemes, "measure", measured([]))
    assert main(["bench", "schemes"]) == 0
    said = capsys.readouterr().out
    for part in (
        "253",
        "phe: 1.5.0",
        "heu: not installed",
        "96.3 times phe's speed",
        "modulo 6144: 3.90 µs",
        "bar 1.0 ms",
    ):
        assert part in said


def test_overhead_gives_what_was_asked_for_to_the_measurement_and_the_thesis_beside(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Any] = []

    def measure_all(users: int, shufflers: Any, schemes: Any, *, progress: Any) -> dict[str, Any]:
        asked.append((users, tuple(shufflers), tuple(schemes)))
        progress("jl, 5 shufflers")
        return {"rows": [], "thesis": overhead.THESIS, "threads": 1}

    monkeypatch.setattr(overhead, "measure_all", measure_all)
    assert main(["bench", "overhead", "--users", "2000", "--shufflers", "5", "--schemes", "jl", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["thesis"]["threads"] == 32
    assert main(["bench", "overhead"]) == 0
    said = capsys.readouterr().out
    assert "32 threads" in said
    assert "429.8" in said
    assert asked == [(2000, (5,), ("jl",)), (4000, (3, 7), ())]


def test_count_runs_as_it_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(count, "REPETITIONS", 1)
    assert main(["bench", "count", "--reports", "2000", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["domain"], found["d_prime"], found["reports"]) == (42178, 705, 2000)
    assert [row["method"] for row in found["rows"]] == ["walked progressions", "xxhash of all pairs"]
    assert found["bar"] == 100


@pytest.mark.parametrize(
    ("given", "id_", "says"),
    [
        (["schemes", "--count", "3"], "input.number", "--count"),
        (["overhead", "--users", "10"], "input.number", "--users"),
        (["overhead", "--shufflers", "2"], "plan.shufflers", "2"),
        (["overhead", "--schemes", "rot13"], "input.scheme", "'rot13'"),
        (["count", "--reports", "0"], "input.number", "--reports"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_sentence(
    given: list[str], id_: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *given]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    require_shown(said.err, id_, says)
    assert said.err.count("\n") == 1


def test_every_package_that_the_command_may_import_is_installed_with_it() -> None:
    root = Path(__file__).parents[3]
    listed = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"]
    tops = ("analyzer", "peos", "shuffler", "user_client")
    found = {
        ".".join(path.parent.relative_to(root).parts) for top in tops for path in (root / top).rglob("__init__.py")
    }
    assert set(listed) == found, "name the package in pyproject.toml, else it is missing after `pip install .`"
