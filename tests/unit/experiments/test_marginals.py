"""The bars of `Marginals` and of the papers' systems, held on the kept figures, which are means of ten runs."""

from typing import Any

import pytest

from experiments import shuffled_marginals
from experiments.page import kept_one
from experiments.report import AGREES, DIFFERS
from experiments.running import keyed
from tests.full import full


@pytest.mark.parametrize("name", list(shuffled_marginals.FIGURES))
def test_every_bar_is_held_by_ten_runs(name: str) -> None:
    rows: list[dict[str, object]] = kept_one(name)["rows"]  # type: ignore[assignment] # JSON has no types of its own
    sentences = [row for row in rows if "found" in row]
    assert len(sentences) >= 2
    assert [row["what"] for row in sentences if row["verdict"] != AGREES] == []
    assert all(row["repeats"] == shuffled_marginals.RUNS for row in rows if "panel" in row)


def measured(name: str) -> dict[tuple[str, int], float]:
    """By method and setting, or number of attributes."""
    rows: list[dict[str, Any]] = kept_one(name)["rows"]  # type: ignore[assignment] # as above
    return {(row["method"], row["x"]): row["measured"] for row in rows if "panel" in row}


def test_unshuffled_calm_errs_four_and_eight_times_less_than_the_transform() -> None:
    found = measured("local_marginals")
    assert found["FT", 16] >= 4 * found["CALM", 16]
    assert found["FT", 32] >= 8 * found["CALM", 32]


def test_shuffled_marginals_err_little_and_many_times_less_than_the_papers_ways() -> None:
    """Settings: d = 16, k = 3 at ε_c = 1 and .2 with n = 2^16; d = 32, k = 6 at ε_c = .2 with n = 2^18."""
    assert shuffled_marginals.SETTINGS == (
        (16, 3, 2**16, 1.0, 8.0),
        (16, 3, 2**16, 0.2, 5.0),
        (32, 6, 2**18, 0.2, None),
    )
    found = measured("shuffled_marginals")
    for setting, most in ((1, 1e-4), (2, 3e-4), (3, 2.5e-4)):
        assert found["Marginals", setting] <= most
    for other, setting, times in (("FT", 1, 40), ("CALM", 1, 40), ("FT", 2, 20)):
        assert found[other, setting] >= times * found["Marginals", setting]


@pytest.mark.parametrize("name", [full("local_marginals"), full("shuffled_marginals")])
def test_a_quick_look_has_every_row(name: str) -> None:
    result = shuffled_marginals.FIGURES[name].run(True, keyed(name))
    kept = {row["what"] for row in kept_one(name)["rows"] if "panel" in row}  # type: ignore[attr-defined] # as above
    assert {row["what"] for row in result.rows} == kept
    assert all(row["verdict"] != DIFFERS for row in result.rows)
