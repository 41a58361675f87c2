"""Orderings of the kept figures, which are means of thirty runs and more; quick runs agree with them."""

from itertools import pairwise

import pytest

from experiments import chapter_3, chapter_8, designs
from experiments.chapters import Panel
from experiments.page import CHAPTERS, kept_one
from experiments.report import AGREES, DIFFERS, OURS, Row
from experiments.running import keyed
from tests.full import full

FIGURES = {**chapter_3.FIGURES, **chapter_8.FIGURES}
QUICKEST = ("table_3_2", "figure_8_5")
RUNS = 30
STEP = 1.2


def rows_of(name: str) -> list[Row]:
    rows: list[Row] = kept_one(name)["rows"]  # type: ignore[assignment]  # JSON has no types of its own
    return rows


def means(name: str, panel: str, x: float) -> dict[str, float]:
    """Of each method, as they are kept."""
    return {row["method"]: row["measured"] for row in rows_of(name) if (row.get("panel"), row.get("x")) == (panel, x)}


def test_every_figure_is_on_the_page_and_of_no_fewer_than_thirty_runs() -> None:
    listed = [name for chapter, names in CHAPTERS.items() if chapter in ("chapter_3", "chapter_8") for name in names]
    assert set(listed) == set(FIGURES)
    for name in FIGURES:
        points = [row for row in rows_of(name) if "panel" in row]
        assert points or name == "table_3_2"
        assert all(row["repeats"] >= RUNS for row in points)
        assert all(row["verdict"] != DIFFERS for row in rows_of(name))


@pytest.mark.parametrize(
    ("figure", "panel", "x", "methods"),
    [
        ("figure_8_4", "Zipf", 1.0, ("power_ns", "norm_sub", "norm_cut", "base_pos", "base", "norm_mul")),
        (
            "figure_8_6",
            "Zipf",
            0.9,
            ("power_ns", "norm_sub", "norm_cut", "norm", "base", "base_cut", "base_pos"),
        ),
        ("figure_8_10", "Zipf", 10.0, ("base", "norm_sub", "norm_mul")),
    ],
)
def test_methods_err_in_this_order_by_a_fifth_at_each_step(
    figure: str, panel: str, x: float, methods: tuple[str, ...]
) -> None:
    found = means(figure, panel, x)
    for before, after in pairwise(methods):
        assert found[after] >= STEP * found[before], f"{before}: {found[before]}, {after}: {found[after]}"


def test_methods_that_leave_the_largest_alone_err_alike_there_and_norm_sub_as_mle_apx() -> None:
    top = means("figure_8_10", "Zipf", 10.0)
    assert max(top[name] for name in ("base", "base_cut", "norm")) <= 1.02 * min(
        top["base"], top["base_cut"], top["norm"]
    )
    every = means("figure_8_4", "Zipf", 1.0)
    assert every["mle_apx"] == pytest.approx(every["norm_sub"], rel=0.03)


def test_power_ns_saves_nine_tenths_of_the_users() -> None:
    for x in (row["x"] for row in rows_of("figure_8_5") if row.get("method") == "base"):
        assert 0.85 <= 1 - x / means("figure_8_5", "Zipf", x)["power_ns"] <= 0.95


def test_olh_finds_more_true_values_than_rappor_and_rappor_than_blh_and_olh_the_fewest_false_ones() -> None:
    found = means("figure_3_4", "Kosarak (stand-in)", 4.0)
    assert 165 <= found["OLH, true"] <= 190
    assert 36 <= found["BLH, true"] <= 48 < found["RAP(16), true"] <= 70
    assert found["OLH, false"] < min(found["RAP(8), false"] / 1.5, found["RAP(16), false"] / 5)
    at = means("figure_3_5", "Kosarak (stand-in), ε = 4", 5000.0)
    assert at["BLH, false"] > 50 * at["OLH, false"]


def test_every_printed_number_of_table_3_2_is_its_closed_form() -> None:
    rows = [row for row in rows_of("table_3_2") if "printed" in row]
    assert len(rows) == 36
    assert all(row["verdict"] == AGREES for row in rows)


@pytest.mark.parametrize("name", [full(name) if name not in QUICKEST else name for name in FIGURES])
def test_a_quick_run_agrees(name: str) -> None:
    result = FIGURES[name].run(True, keyed(name))
    assert result.agree, [row for row in result.rows if row["verdict"] == DIFFERS]
    assert any(row["verdict"] == AGREES for row in result.rows)


@pytest.mark.long
@pytest.mark.parametrize("name", FIGURES)
def test_a_full_run_comes_out_again_as_it_is_kept(name: str) -> None:
    """Some five minutes of one core together: pytest -m long tests/unit/experiments/test_chapters.py."""
    assert FIGURES[name].run(False, keyed(name)).to_json() == kept_one(name)


def test_methods_in_the_wrong_order_are_seen() -> None:
    panel = Panel("planted", "x")
    for method, error in (("one", 1.0), ("other", 1.1), ("last", 3.0)):
        panel.take(1.0, {method: (error, 0.01, 30)})
    assert panel.ordered(1.0, ("other", "last"), step=1.2)["verdict"] == AGREES
    assert panel.ordered(1.0, ("one", "other"), step=1.2)["verdict"] == DIFFERS
    assert panel.ordered(1.0, ("last", "one"), step=1.2)["verdict"] == DIFFERS
    assert panel.close(1.0, ("one", "other"), 0.15)["verdict"] == AGREES
    assert panel.close(1.0, ("one", "other"), 0.05)["verdict"] == DIFFERS
    panel.expect(1.0, "one", 1.2)
    assert [row["verdict"] for row in panel.rows()] == [DIFFERS, OURS, OURS]


def test_what_is_said_of_designs_is_what_the_kept_rows_say() -> None:
    kept = rows_of("designs")
    measured = [row for row in kept if "multiples" in row]
    assert len(measured) == len(list(designs.cases(quick=False)))
    assert list(designs.sentences(measured)) == [row for row in kept if "multiples" not in row]
    assert all(row["verdict"] == AGREES for row in kept if "multiples" not in row)
    wrong = [{**row, "multiples": {**row["multiples"], "sue": 0.9}} for row in measured]
    assert DIFFERS in [row["verdict"] for row in designs.sentences(wrong)]


@pytest.mark.full
def test_a_quick_run_of_designs_agrees_with_the_kept_rows() -> None:
    result = designs.run(True, keyed("designs"))
    assert result.agree
    kept = {row["what"]: row["multiples"] for row in rows_of("designs") if "multiples" in row}
    for row in result.rows:
        if "multiples" in row:
            assert row["multiples"] == pytest.approx(kept[row["what"]], rel=1e-4)
