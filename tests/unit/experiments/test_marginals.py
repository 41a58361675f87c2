"""The bars of `Marginals` and of the papers' systems, held on the kept figures, which are means of ten runs."""

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


@pytest.mark.parametrize("name", [full("local_marginals"), full("shuffled_marginals")])
def test_a_quick_look_has_every_row(name: str) -> None:
    result = shuffled_marginals.FIGURES[name].run(True, keyed(name))
    kept = {row["what"] for row in kept_one(name)["rows"] if "panel" in row}  # type: ignore[attr-defined] # as above
    assert {row["what"] for row in result.rows} == kept
    assert all(row["verdict"] != DIFFERS for row in result.rows)
