"""Orderings and accuracies of chapter 5, of the kept figures; quick runs agree with them."""

import json
from pathlib import Path

import pytest

from experiments import chapter_5, chapters
from experiments.baskets import scores
from experiments.page import CHAPTERS, kept_one
from experiments.report import AGREES, DIFFERS, EXPLAINED, Row
from experiments.running import keyed
from peos.tasks.base import NOTHING
from tests.full import full

QUICKEST = ("table_5_1", "table_5_2", "figure_5_5")
LDP_MINER = "(OLH, L), (OLH, 2k)"
PUBLISHED = "(BLH, L), (SUE, 2k): LDPMiner"


def rows_of(name: str) -> list[Row]:
    rows: list[Row] = kept_one(name)["rows"]  # type: ignore[assignment] # JSON has no types of its own
    return rows


def at(name: str, panel: str, x: float) -> dict[str, float]:
    return {row["method"]: row["measured"] for row in rows_of(name) if (row.get("panel"), row.get("x")) == (panel, x)}


@pytest.mark.parametrize("name", CHAPTERS["chapter_5"])
def test_nothing_that_is_kept_differs(name: str) -> None:
    assert not [row for row in rows_of(name) if row["verdict"] == DIFFERS]


def test_table_5_1_has_each_digit_and_table_5_2_is_nowhere_above_the_theorem() -> None:
    assert {row["verdict"] for row in rows_of("table_5_1")} == {AGREES}
    hashed = rows_of("table_5_2")
    assert len(hashed) == 60
    low = [row for row in hashed if row["verdict"] == EXPLAINED]
    assert len(low) == 13, "cells that are printed too low"
    assert all(row["measured"] > row["printed"] for row in low)


@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_svim_finds_more_than_ldp_miner_with_errors_two_orders_smaller(epsilon: float) -> None:
    ncr, var = at("figure_5_3", "NCR, k = 64", epsilon), at("figure_5_3", "Var, k = 64", epsilon)
    for other in (LDP_MINER, PUBLISHED):
        assert ncr["SVIM"] >= ncr[other] + 0.25
        assert var["SVIM"] * 100 <= var[other]


def test_items_are_found_as_another_simulation_has_it() -> None:
    for name, expected in {PUBLISHED: (0.25, 0.42), LDP_MINER: (0.29, 0.46), "SVIM": (0.69, 0.88)}.items():
        for epsilon, value in zip((1.0, 2.0), expected, strict=True):
            assert abs(at("figure_5_3", "NCR, k = 64", epsilon)[name] - value) <= 0.08, (name, epsilon)


def test_each_step_of_the_ladder_finds_as_many_independent_items_as_another_simulation() -> None:
    found = at("figure_5_3", f"{chapter_5.INDEPENDENT.name}: hits, k = 64", 2.0)
    for name, value in zip(chapter_5.LADDER, (9.7, 14, 27, 46, 50, 46), strict=True):
        assert abs(found[name] / value - 1) <= 0.25, (name, found[name])
    before, after = (at("figure_5_3", "NCR, k = 64", 2.0)[f"(OLH, 1), ({one}, 2k)"] for one in ("OLH", "Adap"))
    assert after - before > 0.25, "the largest step"


def test_item_sets_are_found_as_another_simulation_has_it() -> None:
    for name, expected in {
        "SVSM-LDPMiner": ((0.11,) * 2, (0.18,) * 2),
        "SVSM-SVIM": ((0.64, 0.69), (0.81, 0.88)),
    }.items():
        for epsilon, (low, high) in zip((1.0, 2.0), expected, strict=True):
            assert low - 0.12 <= at("figure_5_4", "POS: NCR, k = 64", epsilon)[name] <= high + 0.12, (name, epsilon)


@pytest.mark.parametrize("data", ["Online", "Kosarak", "Synthesize"])
def test_other_data_sets_agree(data: str) -> None:
    """Of the last there are no sets to find: its items are independent."""
    ncr, var = at("figure_5_6", f"{data}: NCR, k = 64", 2.0), at("figure_5_7", f"{data}: Var, k = 64", 2.0)
    assert ncr["SVIM"] >= ncr[LDP_MINER] + 0.2
    assert var["SVIM"] * 100 <= var[LDP_MINER]
    sets = at("figure_5_8", f"{data}: NCR, k = 64", 2.0)
    assert bool(sets) is (data != "Synthesize")
    assert not sets or sets["SVSM-SVIM"] >= 3 * sets["SVSM-LDPMiner"]


@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_svsm_with_svim_finds_three_times_what_it_does_with_ldp_miner(epsilon: float) -> None:
    found = at("figure_5_4", "POS: NCR, k = 64", epsilon)
    assert found["SVSM-SVIM"] >= 3 * found["SVSM-LDPMiner"]


def test_a_shuffle_finds_nearly_all_at_an_epsilon_at_which_the_local_model_finds_little() -> None:
    found = at("shuffled_items", "NCR, k = 64", 0.2)
    assert found["SVIM, shuffled"] >= 0.95
    assert found["SVIM, local model"] <= 0.3
    assert at("shuffled_items", "NCR, k = 64", 0.05)["SVIM, shuffled"] >= 0.9


@pytest.mark.parametrize("name", [name if name in QUICKEST else full(name) for name in chapter_5.FIGURES])
def test_a_quick_run_agrees(name: str) -> None:
    result = chapter_5.FIGURES[name].run(True, keyed(name))
    assert result.agree, [row for row in result.rows if row["verdict"] == DIFFERS]


@pytest.mark.full
@pytest.mark.parametrize("name", ["figure_5_3", "figure_5_4", "shuffled_items"])
def test_a_file_of_lists_takes_their_place(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "lists.json"
    names = [f"item {number}" for number in range(200)]
    path.write_text("\n".join(json.dumps(names[at % 50 : at % 50 + at % 7]) for at in range(3_000)), "utf-8")
    given = [name, "--records", str(path), "--quick", "--json"]
    assert chapters.main("chapter_5", chapter_5.FIGURES, given, over=chapter_5.OVER) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["name"] == name
    assert "lists.json" in said["paper"]
    assert any("NCR" in row["what"] for row in said["rows"])


def test_scores_are_those_of_the_definition() -> None:
    """Ranks count from k down; of no hits there is no error."""
    assert scores(NOTHING, {"a": 3, "b": 2}, 10)["NCR"] == 0.0
