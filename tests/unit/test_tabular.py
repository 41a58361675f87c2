"""Rows to look at and to take away: of estimates, plans, answers, results; nothing in them runs, here or elsewhere."""

import csv
import io
import sys
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from peos import tabular
from peos.crypto.randomness import Randomness
from peos.estimate.post_processing import post_process
from peos.ldp import GRR, LocalHash
from peos.privacy import plan
from peos.simulate import run_collection
from peos.tabular import Rows, Tabular
from peos.tasks.base import Answer, Table
from peos.tasks.ranges.answer import Figure, Groups
from tests.keys import small_key
from tests.raising import raises
from tests.unit.analyzer.pages import made
from tests.unit.analyzer.test_tables import ONE, TWO

HOSTILE = "<script>alert('1')</script>"


@pytest.fixture(autouse=True)
def _drawn_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")


def estimate() -> Any:
    rng = Randomness(b"\x07" * 32)
    mechanism = GRR(8, 4.0)
    words = np.concatenate((mechanism.randomize(np.arange(1000) % 3, rng), rng.uint64((200, 1))))
    return mechanism.estimate(mechanism.tally(words), users=1000, fakes=200)


def read_csv(rows: Rows) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(rows.to_csv())))


def test_a_data_frame_has_every_value_with_its_interval() -> None:
    found = estimate()
    frame = found.to_dataframe()
    assert list(frame.columns) == ["value", "frequency", "stderr", "low", "high", "found"]
    assert frame["frequency"].tolist() == found.frequency.tolist()
    assert frame[["low", "high"]].to_numpy().tolist() == found.interval(0.95).tolist()
    assert frame["found"].tolist() == [True] * 3 + [False] * 5
    labels = ["a", "b", "c", "d", "e", "f", "g", "h"]
    assert found.rows(labels).to_dataframe()["label"].tolist() == labels
    with raises("estimate.labels"):
        found.rows(labels[:3])


def test_a_repr_is_short_and_says_what_matters() -> None:
    found = estimate()
    assert repr(found) == "<Estimate: 8 frequencies from 1,000 users and 200 fake reports, 3 found>"
    assert repr(GRR(8, 4.0)) == "<grr domain=8 ε_l=4>"
    assert repr(LocalHash(915, 4.5, 45)) == "<solh domain=915 ε_l=4.5 d_prime=45>"
    asked = plan(10_000, 16, 1e-6, eps_server=0.5)
    assert repr(asked).startswith(f"<Plan: {asked.mechanism}, ")
    assert f"standard error {asked.stderr:.3g}; ε_c = " in repr(asked)
    collected = run_collection([0, 1, 1], mechanism=GRR(4, 3.0), fakes=10, key=small_key())
    assert repr(collected).startswith("<Collected: 4 frequencies from 3 users and 10 fake reports")
    assert all(len(repr(one)) < 300 for one in (found, asked, collected))


def test_what_post_processing_makes_has_rows_a_drawing_and_a_table_too() -> None:
    found = post_process(estimate(), "norm_sub")
    frame = found.to_dataframe()
    assert list(frame.columns) == ["value", "frequency"], "nothing is claimed of their errors"
    assert frame["frequency"].tolist() == found.frequency.tolist()
    labels = ["a", "b", "c", "d", "e", "f", "g", "h"]
    assert found.rows(labels).to_dataframe()["label"].tolist() == labels
    with raises("estimate.labels"):
        found.rows(labels[:3])
    assert repr(found).startswith("<PostProcessed: frequencies of 8 values after norm_sub")
    assert Text(found._repr_html_()).tags.count("tr") == 9
    assert len(found.plot().containers) == 8
    of_sets = post_process(estimate(), "post_pos", queries=[[0, 1], [2]])
    assert of_sets.to_dataframe()["set"].tolist() == [0, 1]


def test_a_plans_rows_are_what_holds_against_whom() -> None:
    asked = plan(10_000, 16, 1e-6, eps_server=0.5)
    frame = asked.to_dataframe()
    claims = asked.guarantees
    assert frame["epsilon"].tolist() == [claims.server.epsilon, claims.users.epsilon, claims.local]
    assert frame["delta"].tolist()[2] == 0
    assert asked.plot().get_xlabel() == "epsilon"


class Text(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - the parser's
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_notebook_shows_the_largest_and_runs_nothing() -> None:
    found = estimate()
    shown = Text(found.rows([HOSTILE, *"bcdefgh"])._repr_html_())
    assert set(shown.tags) <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "p"}
    assert HOSTILE in shown.text
    large = GRR(1000, 4.0)
    many = large.estimate(np.arange(1000), users=int(np.arange(1000).sum()))
    shown = Text(many._repr_html_())
    assert shown.tags.count("tr") == 21
    assert "980 more rows" in shown.text
    assert shown.text.index("999") < shown.text.index("998")
    assert Text(Rows(HOSTILE, {HOSTILE: ["a"], "frequency": [0.1]}).html()).tags.count("script") == 0


def test_a_drawing_has_a_bar_for_each_and_hollow_ones_for_noise() -> None:
    found = estimate()
    axes = found.rows(["$x", *"bcdefgh"]).plot()
    bars = [one.patches[0] for one in axes.containers]
    assert sorted((bar.get_width() for bar in bars), reverse=True) == [bar.get_width() for bar in bars]
    assert sorted(bar.get_width() for bar in bars) == sorted(found.frequency)
    hollow = [bar for bar in bars if bar.get_facecolor()[3] == 0]
    assert len(hollow) == 5
    axes.figure.savefig(io.BytesIO())  # a dollar is no formula
    assert found.plot(axes) is axes


@pytest.mark.parametrize("label", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\r=x", "  =HYPERLINK(0)", "\uff1d1", "\n=1"])
def test_a_label_that_a_spreadsheet_would_run_is_shown_instead(label: str) -> None:
    found = made(3)
    found["labels"] = [label, "b", "c - d"]
    shown = read_csv(tabular.of_result(found))
    assert shown[0]["label"].startswith("'")
    assert shown[0]["label"][1:].replace("\r\n", "\n") == label.replace("\r\n", "\n")
    assert [row["label"] for row in shown[1:]] == ["b", "c - d"]
    assert shown[0]["frequency"] == repr(found["frequency"][0]), "numbers stay numbers, negative ones too"
    found["post_processed"] = {"method": "=2", "frequency": [0.0] * 3}
    assert "'=2" not in tabular.of_result(found).to_csv().splitlines()[0], "after =2 begins with a letter"


def test_a_results_rows_are_its_values_in_the_order_of_the_file() -> None:
    found = made(12, truth=True)
    found["post_processed"] = {"method": "norm_sub", "frequency": [0.5] * 12}
    shown = read_csv(tabular.of_result(found))
    assert list(shown[0]) == ["label", "frequency", "stderr", "low", "high", "found", "truth", "after norm_sub"]
    assert [row["label"] for row in shown] == found["labels"]
    assert [float(row["frequency"]) for row in shown] == found["frequency"]
    assert [[float(row["low"]), float(row["high"])] for row in shown] == found["interval95"]
    assert [row["found"] for row in shown] == [str(one).lower() for one in found["significant"]]
    del found["significant"]
    assert {row["found"] for row in read_csv(tabular.of_result(found))} == {""}


def test_the_tables_and_rules_of_a_studys_answer_are_rows_too() -> None:
    found = made(2) | {"tables": [ONE, TWO]}
    found["rules"] = Table(
        ("tea → milk",), np.array([0.5]), np.array([0.1]), np.array([[0.3, 0.7]]), np.array([True]), 9, 100
    ).to_json()
    rows = read_csv(tabular.of_result(found))
    assert list(rows[0])[:4] == ["table", "label", "label_2", "frequency"]
    assert [row["table"] for row in rows] == [""] * 2 + ["smokes"] * 2 + ["smokes by region"] * 6 + ["rules"]
    corner = next(row for row in rows if (row["label"], row["label_2"]) == ("yes", "west"))
    assert float(corner["frequency"]) == -0.002
    assert (float(corner["low"]), float(corner["high"])) == (0.0, 1.0)
    assert rows[-1]["label"] == "tea → milk"


def test_the_rounds_of_a_study_are_rows_of_their_own() -> None:
    claims = made(3)["guarantees"]
    done = {"name": "t-1", "state": "published", "users": 500, "fakes": 20, "guarantees": claims}
    given_up = {"name": "t-2", "state": "aborted", "reason": "too few", "digest": "ab"}
    first, second = read_csv(tabular.rounds_of({"rounds": [done, given_up]}))
    assert (first["users"], float(first["eps_local"])) == ("500", claims["local"])
    assert float(first["eps_server"]) == tabular.epsilons(claims)[0] < float(first["eps_users"])
    assert (second["reason"], second["users"], second["eps_local"]) == ("too few", "", "")


def test_parquet_has_the_same_with_types() -> None:
    parquet = tabular.needed("pyarrow.parquet", "parquet")
    found = made(3)
    found["labels"][0] = "=1"
    table = parquet.read_table(io.BytesIO(tabular.of_result(found).to_parquet()))
    assert table["label"].to_pylist() == found["labels"], "a label is not altered where nothing runs it"
    assert table["frequency"].to_pylist() == found["frequency"]
    assert [str(kind) for kind in table.schema.types] == ["string", "double", "double", "double", "double", "bool"]
    del found["significant"]
    table = parquet.read_table(io.BytesIO(tabular.of_result(found).to_parquet()))
    assert str(table.schema.field("found").type) == "bool"
    assert table["found"].to_pylist() == [None] * 3


def test_answers_have_rows_whatever_else_they_say() -> None:
    table = Table(
        ("b", "a"),
        np.array([0.4, 0.1]),
        np.full(2, 0.1),
        np.array([[0.2, 0.6], [0.0, 0.3]]),
        np.array([True, False]),
        *(7, 100),
    )
    answer = Answer(table, is_complete=False)
    assert answer.to_dataframe()["label"].tolist() == ["b", "a"]
    assert repr(answer) == "<Answer: 2 of 7 candidates, from 100 users; the task was not done>"
    groups = Groups(north=Figure.of(10.0, 4.0), south=Figure.of(5.0, 1.0))
    assert groups == dict(groups)
    assert groups.to_dataframe()["stderr"].tolist() == [2.0, 1.0]
    assert groups.plot().get_xlabel() == "value"


@pytest.mark.parametrize(
    ("package", "extra"), [("pandas", "notebook"), ("matplotlib", "notebook"), ("pyarrow", "parquet")]
)
def test_what_is_not_installed_is_said_with_the_extra_that_installs_it(
    package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: Tabular = Rows("a", {"label": ["a"], "frequency": [0.1]})
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"{package}.pyplot", raising=False)
    monkeypatch.delitem(sys.modules, f"{package}.parquet", raising=False)
    calls = {"pandas": rows.to_dataframe, "matplotlib": rows.plot, "pyarrow": rows.rows().to_parquet}
    with raises("extra.missing", package, extra):
        calls[package]()
