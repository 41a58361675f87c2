"""Each experiment on few users: it agrees, its rows have the shape that scripts read, and a planted error is seen."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from unittest.mock import Mock

import pytest

from experiments import figure_9_3, figure_9_3_sentences, table_9_1, table_9_2, the_claim
from experiments.measuring import Measurement
from experiments.populations import KOSARAK
from experiments.report import (
    AGREES,
    DIFFERS,
    EXPLAINED,
    NORMAL_ALPHA,
    OURS,
    Result,
    half_a_digit,
    integer,
    number,
    statement,
    within,
)
from experiments.running import keyed, main
from experiments.table_9_2 import TARGETS
from tests.full import full

NAMES = ("table_9_1", full("table_9_2"), full("figure_9_3"), "the_claim")
MODULES = {
    "table_9_1": table_9_1,
    "table_9_2": table_9_2,
    "figure_9_3": figure_9_3,
    "the_claim": the_claim,
}


@cache
def quick(name: str) -> Result:
    """One quick run serves all tests that only read it."""
    run: Callable[..., Result] = MODULES[name].run
    return run(True, keyed(name))


@pytest.mark.parametrize("name", NAMES)
def test_a_quick_run_agrees_with_the_paper_but_for_what_is_explained(name: str) -> None:
    result = quick(name)
    assert result.agree, [row for row in result.rows if row["verdict"] == DIFFERS]
    assert any(row["verdict"] == AGREES for row in result.rows)
    assert all(row["why"] for row in result.rows if row["verdict"] == EXPLAINED)


@pytest.mark.parametrize("name", NAMES)
def test_the_json_has_the_five_names_and_every_row_a_verdict(name: str) -> None:
    found = json.loads(quick(name).text())
    assert set(found) == {"name", "paper", "rows", "agree", "notes"}
    assert (found["name"], found["agree"]) == (name, True)
    assert all(isinstance(note, str) for note in found["notes"])
    for row in found["rows"]:
        assert {"what", "verdict", "why"} <= set(row)
        assert row["verdict"] in (AGREES, EXPLAINED, OURS, DIFFERS)
        assert "found" in row or isinstance(row["measured"], int | float)


@pytest.mark.full
def test_table_9_2_has_every_number_of_the_paper_and_says_which_it_explains() -> None:
    rows = quick("table_9_2").rows
    printed = [row["printed"] for row in rows if row.get("printed") is not None]
    numbers = [value for line in table_9_2.PRINTED.values() for value in line]
    assert sorted(set(printed)) == sorted({*numbers, *table_9_2.CELLS.values()})
    explained = [row["what"] for row in rows if row["verdict"] == EXPLAINED and "ideal" in row["what"]]
    assert explained == ["SOLH with d' = 100, printed as RAP_R, ε_c = 0.8; ideal hashing, drawn value by value"]


@pytest.mark.full
def test_wrong_printed_numbers_are_seen_and_no_others() -> None:
    """Two per cent off, one in each of four lines; what is printed agrees, in the test above."""
    wrong = {("SOLH", 0.2): 1.02, ("d' = 10", 0.8): 0.98, ("d' = 1000", 0.2): 1.02, ("RAP_R", 0.6): 0.98}
    planted = {
        line: tuple(value * wrong.get((line, target), 1.0) for target, value in zip(TARGETS, values, strict=True))
        for line, values in table_9_2.PRINTED.items()
    }
    result = table_9_2.run(True, keyed("planted"), planted)
    assert not result.agree
    # In the rows of our own hash family too: it explains a factor of its own, and no more.
    seen = [(row["method"], row["eps_c"]) for row in result.rows if row["verdict"] == DIFFERS]
    assert sorted(seen) == sorted([*wrong, ("SOLH", 0.2), ("d' = 10", 0.8), ("d' = 1000", 0.2)])


def test_a_bound_that_claims_less_than_is_true_is_seen() -> None:
    bold = replace(table_9_1.BOUNDS[2], claims=lambda local, data: (table_9_1.balle(local, data) or 0.0) / 40 or None)
    result = table_9_1.run(True, keyed("planted"), (*table_9_1.BOUNDS[:2], bold))
    assert not result.agree
    assert result.rows[0]["verdict"] == DIFFERS


@pytest.mark.full
def test_a_sentence_that_the_figure_contradicts_is_seen() -> None:
    rows = [row for row in quick("figure_9_3").rows if "method" in row]
    for name, factor in (("SH", 1e-4), ("AUE", 30), ("Lap", 10), ("OLH", 0.1), ("ours", 100)):
        wrong = [{**row, "formula": row["formula"] * (factor if row["method"] == name else 1)} for row in rows]
        verdicts = [row["verdict"] for row in figure_9_3_sentences.sentences(wrong, "formula")]
        assert DIFFERS in verdicts, name


@pytest.mark.full
def test_figure_9_3_has_every_method_at_every_epsilon() -> None:
    rows = [row for row in quick("figure_9_3").rows if "method" in row]
    methods = {row["method"] for row in rows}
    assert {"SH", "AUE", "RAP", "RAP_R", "SOLH", "OLH", "Had", "Lap", "Base", "ours"} <= methods
    assert len(rows) == len(methods) * len(figure_9_3.TARGETS_QUICK)


def test_the_claim_states_all_three_epsilons_and_keeps_to_what_was_asked() -> None:
    rows = [row for row in quick("the_claim").rows if "eps_l" in row]
    assert [row["limit"] for row in rows] == [None, *the_claim.LIMITS]
    thesis, *ours = rows
    assert thesis["eps_c"]["theorem"] == pytest.approx(the_claim.TARGET, rel=1e-4)
    assert thesis["eps_c"]["exact"] < thesis["eps_c"]["theorem"] / 3.5
    for row in ours:
        assert row["eps_c"]["exact"] <= the_claim.TARGET
        assert row["limit"] is None or row["eps_l"] <= row["limit"]
        assert row["eps_s"]["exact"] == row["eps_l"], "without fakes"
    # A larger ε_l buys a smaller error, and no plan has it for nothing.
    by_local = sorted(ours, key=lambda row: row["eps_l"])
    assert [row["formula"] for row in by_local] == sorted((row["formula"] for row in ours), reverse=True)


def test_a_measurement_that_contradicts_our_variance_differs_whatever_is_printed() -> None:
    for off, verdict in ((0.0, OURS), (4.0, OURS), (6.0, DIFFERS), (-6.0, DIFFERS)):
        found = Measurement(1e-8 + off * 1e-10, 1e-10, None, 9, 1e-8)
        assert number("planted", found, KOSARAK)["verdict"] == verdict
        assert (number("planted", found, KOSARAK, printed=1e-8, why="because")["verdict"] == DIFFERS) == (abs(off) > 5)


def test_a_printed_number_is_explained_only_by_another_that_is_what_was_measured() -> None:
    found = Measurement(1e-8, 1e-11, None, 100, 1e-8)
    assert number("x", found, KOSARAK, printed=1.03e-8)["verdict"] == DIFFERS
    assert number("x", found, KOSARAK, printed=1.03e-8, why="because")["verdict"] == DIFFERS
    assert number("x", found, KOSARAK, printed=1.03e-8, instead=1e-8, why="because")["verdict"] == EXPLAINED
    assert number("x", found, KOSARAK, printed=1.03e-8, instead=1.06e-8, why="because")["verdict"] == DIFFERS
    agreeing = number("x", found, KOSARAK, printed=1.002e-8, instead=1e-8, why="because")
    assert (agreeing["verdict"], agreeing["why"]) == (AGREES, ""), "no excuse where none is needed"


def test_sentences_with_an_erratum_must_fail_and_others_must_hold() -> None:
    verdicts = [statement("x", "y", holds=h, erratum=e)["verdict"] for h in (True, False) for e in ("", "because")]
    assert verdicts == [AGREES, DIFFERS, DIFFERS, EXPLAINED]
    assert statement("x", "y", holds=False, erratum="because", instead=False)["verdict"] == DIFFERS
    assert [integer("x", 45, found)["verdict"] for found in (45, 44)] == [AGREES, DIFFERS]


def test_the_margin_for_a_printed_number_is_its_rounding_and_both_errors() -> None:
    assert half_a_digit(5.27e-8) == pytest.approx(0.005e-8)
    theirs = 5.27e-8 * math.sqrt(2 / (KOSARAK.domain * 100))
    edge = NORMAL_ALPHA * math.hypot(theirs, 1e-10) + 0.005e-8
    assert within(5.27e-8, 5.27e-8 + 0.99 * edge, 1e-10, KOSARAK)
    assert not within(5.27e-8, 5.27e-8 + 1.01 * edge, 1e-10, KOSARAK)


def test_the_command_prints_json_alone_and_fails_if_something_differs(capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = quick("table_9_1"), replace(quick("table_9_1"), rows=(integer("x", 1, 2),))
    for result, code in ((good, 0), (bad, 1)):
        run, draw = Mock(return_value=result), Mock(side_effect=AssertionError("a quick run draws nothing"))
        assert main("x", "about", run, draw, ["--quick", "--json"]) == code
        assert json.loads(capsys.readouterr().out)["agree"] is (code == 0)
        assert main("x", "about", run, draw, ["--quick"]) == code
        assert result.paper in capsys.readouterr().out


def test_a_run_can_be_repeated_to_the_last_digit() -> None:
    assert the_claim.run(True, keyed("the_claim")).text() == quick("the_claim").text()
    assert the_claim.run(True, keyed("another")).text() != quick("the_claim").text()
