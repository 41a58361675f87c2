"""`peos analyzer result --csv --parquet --compare`: what is taken away of a published file, what is refused first."""

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from analyzer.report import compared, page
from peos.cli import main
from peos.tabular import epsilons, needed
from tests.raising import raises, require_shown
from tests.unit.analyzer.pages import cells, made, read, shown_number
from tests.unit.analyzer.test_tables import TWO


def published(folder: Path, name: str = "result.json", **changes: Any) -> Path:
    """A published file."""
    path = folder / name
    path.write_text(json.dumps(made(4, **changes)), encoding="utf-8")
    return path


def at(epoch: str, when: int, **changes: Any) -> dict[str, Any]:
    """The question in another epoch."""
    found = made(4, **changes)
    found["collection"] |= {"epoch": epoch, "published_at": when}
    return found | {"digest": epoch.encode().hex()}


def test_csv_parquet_and_page_are_written_next_to_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = published(tmp_path)
    table, parquet, html = tmp_path / "out.csv", tmp_path / "out.parquet", tmp_path / "out.html"
    asked = ["--csv", str(table), "--parquet", str(parquet), "--html", str(html), "--json"]
    assert main(["analyzer", "result", "--result", str(file), *asked, "--post-process", "norm_sub"]) == 0
    found = json.loads(capsys.readouterr().out)
    with table.open(encoding="utf-8", newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert [row["label"] for row in rows] == found["labels"]
    assert [float(row["after norm_sub"]) for row in rows] == found["post_processed"]["frequency"]
    assert needed("pyarrow.parquet", "parquet").read_table(parquet)["frequency"].to_pylist() == found["frequency"]
    assert html.exists()


def test_a_studys_file_has_its_tables_and_its_rounds(tmp_path: Path) -> None:
    guaranteed = made(4)["guarantees"]
    round_ = {"name": "t-1", "state": "published", "users": 9, "fakes": 2, "groups": [], "guarantees": guaranteed}
    task = {"name": "marginals", "parameters": {}}
    file = published(tmp_path, tables=[TWO], task=task, rounds=[round_], tested=4)
    out = tmp_path / "out.csv"
    assert main(["analyzer", "result", "--result", str(file), "--csv", str(out)]) == 0
    assert len(out.read_text(encoding="utf-8").splitlines()) == 1 + 4 + 6
    assert main(["analyzer", "result", "--result", str(file), "--csv", str(out), "--rows", "rounds"]) == 0
    assert out.read_text(encoding="utf-8").splitlines()[1].startswith("t-1,published,,9,2,")


@pytest.mark.parametrize(
    ("options", "id_"),
    [
        (["--csv", "nowhere/out.csv"], "input.file_unwritable"),
        (["--parquet", "."], "input.file_unwritable"),
        (["--html", "nowhere/page.html"], "input.page"),
        (["--csv", "out.csv", "--rows", "columns"], "input.command"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_is(
    options: list[str], id_: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = published(tmp_path)
    assert main(["analyzer", "result", "--result", str(file), *options]) == 2
    require_shown(capsys.readouterr().err, id_)
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_without_pyarrow_nothing_is_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    out = tmp_path / "out.csv"
    asked = ["--csv", str(out), "--parquet", str(tmp_path / "out.parquet")]
    assert main(["analyzer", "result", "--result", str(published(tmp_path)), *asked]) == 2
    require_shown(capsys.readouterr().err, "extra.missing", "pyarrow", "parquet")
    assert not out.exists()


def test_epochs_of_a_question_are_compared_value_by_value_with_what_each_cost() -> None:
    latest = at("2026", 300, users=6000)
    first, second = at("2024", 100, users=2000, epsilon=3.0), at("2025", 200, users=4000)
    latest["compared"] = compared(latest, [second, first, latest])
    assert [one["digest"] for one in latest["compared"]] == [second["digest"], first["digest"]], "not with itself"
    body = read(page(latest))
    table = body.one("table", "epochs")
    assert [one.text for one in table.one("thead").all("th")][1:4] == ["2024", "2025", "2026"]
    for label, *told, _ in cells(table):
        row = latest["labels"].index(label)
        for said, one in zip(told, (first, second, latest), strict=True):
            share, low, _, high = said.split()
            ends = one["interval95"][row]
            assert [*map(shown_number, (share, low, high))] == pytest.approx(
                [100 * one["frequency"][row], *(100 * end for end in ends)], abs=0.051
            )
    lines = next(table.one("tbody").all("svg"))
    assert len(list(lines.all("line", "interval"))) == len(list(lines.all("circle"))) == 3
    costs = next(one for one in body.all("table", "costs") if "What each cost" in one.one("caption").text)
    assert [row[0] for row in cells(costs)] == ["2024", "2025", "2026"]
    for row, one in zip(cells(costs), (first, second, latest), strict=True):
        assert [*map(float, row[3:])] == pytest.approx(epsilons(one["guarantees"]), abs=1e-4)
    assert not list(read(page(made(4))).all("table", "epochs"))


def test_another_question_or_other_values_are_not_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here, other = at("2024", 100), at("2025", 200)
    other["labels"] = [*other["labels"][:-1], "another"]
    with raises("result.other_question"):
        compared(here, [other])
    other = at("2025", 200)
    other["collection"]["question"] = "=Another?"
    with raises("result.other_question", "=Another?"):
        compared(here, [other])
    files = [tmp_path / "a.json", tmp_path / "b.json", tmp_path / "c.json"]
    for file, found in zip(files, (here, other, at("2025", 200)), strict=True):
        file.write_text(json.dumps(found), encoding="utf-8")
    html = tmp_path / "page.html"
    asked = ["analyzer", "result", "--result", str(files[0]), "--html", str(html), "--json", "--compare"]
    assert main([*asked, str(files[1])]) == 2
    capsys.readouterr()
    assert main([*asked, str(files[2])]) == 0
    assert [one["digest"] for one in json.loads(capsys.readouterr().out)["compared"]] == [b"2025".hex()]
    assert "The question over time" in html.read_text(encoding="utf-8")
