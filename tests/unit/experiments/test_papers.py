"""The kept figures of tables and ranges: anchors, orderings, bars; quick looks still run."""

import pytest

from experiments import (
    chapter_6,
    chapter_6_tables,
    chapter_7,
    chapter_7_relative,
    multi_service,
    multi_service_joins,
    range_bars,
    release,
)
from experiments.chapters import Figure
from experiments.page import PAPERS, kept_one
from experiments.report import AGREES, DIFFERS, EXPLAINED, Row
from experiments.running import keyed
from tests.full import full

MODULES = {
    "chapter_6": chapter_6,
    "chapter_6_tables": chapter_6_tables,
    "chapter_7": chapter_7,
    "chapter_7_relative": chapter_7_relative,
    "release": release,
    "multi_service": multi_service,
    "multi_service_joins": multi_service_joins,
}
FIGURES: dict[str, Figure] = {name: one for module in MODULES.values() for name, one in module.FIGURES.items()}
FEWEST = 4
QUICKEST = ("figure_7_3", "release_8", "multi_service_9")


def rows_of(name: str) -> list[Row]:
    rows: list[Row] = kept_one(name)["rows"]  # type: ignore[assignment]  # JSON has no types of its own
    return rows


def means(name: str, panel: str, x: float) -> dict[str, float]:
    """Of each method, as they are kept."""
    return {row["method"]: row["measured"] for row in rows_of(name) if (row.get("panel"), row.get("x")) == (panel, x)}


def test_every_figure_is_kept_of_four_runs_or_more_and_nothing_differs() -> None:
    assert {name for names in PAPERS.values() for name in names} == set(FIGURES)
    for module, names in PAPERS.items():
        assert set(names) <= set(MODULES[module].FIGURES)
    for name in FIGURES:
        rows = rows_of(name)
        assert rows
        assert all(row["repeats"] >= FEWEST for row in rows if "panel" in row or row.get("repeats"))
        assert not [row["what"] for row in rows if row["verdict"] == DIFFERS], name
        assert all(row["why"] for row in rows if row["verdict"] == EXPLAINED)


@pytest.mark.parametrize("name", [*QUICKEST, *(full(one) for one in FIGURES if one not in QUICKEST)])
def test_a_quick_look_runs(name: str) -> None:
    result = FIGURES[name].run(True, keyed(name))
    assert result.rows
    assert all("found" not in row for row in result.rows)


def test_input_hadamard_errs_least_and_input_sampling_explodes() -> None:
    for d, k in ((8, 2), (8, 3), (16, 2), (16, 3)):
        found = means("release_4", f"d = {d}, k = {k}", 2.0**18)
        assert found["InpHT"] == min(found.values())
        assert found["InpPS"] > 5 * found["InpHT"]
        assert found["MargPS"] < found["MargRR"]


def test_the_anchors_of_total_variation_hold_within_15_percent_and_at_five_attributes_within_5() -> None:
    said = {row["what"]: row for name in ("release_4", "release_5") for row in rows_of(name) if "found" in row}
    anchors = [row for what, row in said.items() if "by its variance, within 15 %" in what]
    assert len(anchors) == 6 * (len(release.EXPECTED) + 1)
    assert not [row["what"] for row in anchors if row["verdict"] != AGREES]
    at_five = means("release_5", "taxi trips (stand-in), d = 8", 5.0)
    assert min(at_five["InpHT"], at_five["InpRR"]) == pytest.approx(0.125, rel=0.05)


def test_hio_is_best_for_wide_ranges_and_a_flat_marginal_for_narrow_ones() -> None:
    narrow, wide = (means("figure_7_3", "IPUMS (stand-in), n = 1,000,000", x) for x in (0.01, 0.8))
    assert narrow["MG"] == min(narrow.values())
    assert wide["HIO"] == min(wide.values())


def test_calm_errs_four_times_less_than_the_transform_from_sixteen_attributes_on() -> None:
    for d in (16, 32):
        found = means("figure_6_4", f"d = {d}, k = 3, n = 2^16", 0.2)
        assert found["FT"] > 4 * found["CALM"]


def test_every_bar_of_ranges_is_held_by_the_kept_means() -> None:
    line, plane, total = ("1,024 cells, RMSE", "256 × 256, RMSE", "SUM over 24 of 64 cells, RMSE")
    for volume in (0.1, 0.25, 0.6):
        at = means("range_bars", line, volume)
        assert at["HIO with least squares"] <= 0.75 * at["HIO"]
        assert at["HI"] >= 1.8 * at["HIO"]
        assert at["Ranges"] <= 0.6 * at["hidden nodes"]
        assert at["Ranges"] <= at["HIO with least squares"] / 10
    for volume in (0.01, 0.1, 0.25, 0.6):
        at = means("range_bars", plane, volume)
        assert at["Ranges"] <= 0.4 * at["HIO"]
    at = means("range_bars", total, 24 / 64)
    assert at["Ranges"] <= at["weighted FO"] / 4


def test_the_bars_of_ranges_are_kept() -> None:
    rows = rows_of("range_bars")
    bars = [row for row in rows if "found" in row]
    assert len(bars) == 6
    assert all(row["verdict"] == AGREES for row in bars), [row["what"] for row in bars if row["verdict"] != AGREES]
    assert all(row["repeats"] >= 20 for row in rows if "panel" in row)


@pytest.mark.full
def test_a_quick_look_at_the_bars_of_ranges_agrees() -> None:
    assert not [row for row in range_bars.run(True, keyed("range_bars")).rows if row["verdict"] == DIFFERS]
