"""Numbers rounded by chance, records packed: means that stay, documents, and that how many there are is hidden."""

import math
from typing import Any

import numpy as np
import pytest

from peos.crypto.randomness import Randomness
from peos.ldp.grouped_tables import GroupedTables
from peos.tasks.cell_views import Axis
from peos.tasks.measure_views import PackedView, RoundedView, rounded
from peos.tasks.schema import Schema
from peos.tasks.views import ViewChoice, from_choice, problems
from tests.raising import raises

SCHEMA = Schema.of({"smokes": ["no", "yes"], "age": (0, 100), "spending": (0.0, 500.0)})
SMOKES, AGE, SPENDING = SCHEMA.attributes
BOUGHT = Schema.of({"kind": ["a", "b", "c"]}).attributes[0]
ROUNDED = RoundedView((Axis(AGE, 25), Axis(SPENDING)), 5)
PACKED = PackedView((Axis(SMOKES), Axis(BOUGHT)), "bought", 1, 3, 4)
USERS = 200_000
EPSILON = 2.0


def rng() -> Randomness:
    return Randomness(bytes(range(32)))


@pytest.mark.parametrize("value", [0.0, 1.0, 130.0, 333.3, 500.0, 900.0, -3.0])
def test_a_rounded_number_keeps_its_mean_and_stands_next_to_it(value: float) -> None:
    points = rounded(np.full(USERS, value), 0.0, 500.0, 5, rng()) * 125.0
    kept = min(max(value, 0.0), 500.0)
    assert np.all(np.abs(points - kept) <= 125.0)
    assert abs(points.mean() - kept) <= 5 * 62.5 / math.sqrt(USERS)


def test_the_cell_has_the_point_last() -> None:
    record = [{"age": 60, "spending": 500.0}, {"age": 0, "spending": 0.0}]
    assert ROUNDED.answers(ROUNDED.read(record), rng()).tolist() == [2 * 5 + 4, 0]
    assert ROUNDED.cells == 25


@pytest.mark.parametrize("view", [ROUNDED, PACKED], ids=lambda view: view.kind)
def test_a_document_describes_a_view_in_one_way(view: RoundedView | PackedView) -> None:
    choice = view.describe()
    assert from_choice(choice) == view
    with raises("view.parameters"):
        from_choice(ViewChoice(choice.kind, {**choice.parameters, "width_9": 1}, choice.labels))
    with raises("mechanism.range"):
        from_choice(ViewChoice(choice.kind, {**choice.parameters, "points": 1}, choice.labels))
    widths = {name: value for name, value in choice.parameters.items() if not name.startswith("width_")}
    with raises("view.parameters"):
        from_choice(ViewChoice(choice.kind, widths))


def test_what_is_rounded_is_a_number() -> None:
    with raises("view.measure"):
        RoundedView((Axis(AGE), Axis(SMOKES)), 3)


def test_packed_records_of_another_shape_are_named() -> None:
    fits = {"smokes": "no", "bought": [{"kind": "a"}]}
    bad = [fits, {"smokes": "no"}, {"smokes": "no", "bought": [{"kind": "z"}]}, {"bought": []}, 3]
    assert [at for at, _ in problems([PACKED], bad)] == [1, 2, 3, 4]


def law_of(record: dict[str, Any]) -> np.ndarray:
    """How often each cell is what the view makes of a record; the reports' law is a mean over it."""
    cells = PACKED.answers(PACKED.read([record] * 50_000), rng())
    return np.bincount(cells, minlength=PACKED.cells) / 50_000


RECORDS: list[dict[str, Any]] = [
    {"smokes": smokes, "bought": [{"kind": kind} for kind in kinds]}
    for smokes in ("no", "yes")
    for kinds in ("", "a", "b", "ab", "aab", "abcabcabc")
]


@pytest.mark.full
def test_packed_reports_hide_all_of_a_users_records_and_how_many_there_are() -> None:
    """The enumerated law of one hidden table, mixed over what the view draws: the ratio of any two users' is e^ε."""
    mechanism = GroupedTables([PACKED.cells], EPSILON)
    γ = float(mechanism.gamma)
    laws = [(1 - γ) * law_of(record) + γ / PACKED.cells for record in RECORDS]
    ratio = max(float((one / other).max()) for one in laws for other in laws)
    assert math.exp(EPSILON) * 0.8 < ratio <= math.exp(EPSILON) * (1 + 1e-9)
    # A report for each record, as many as there are, tells their number: what has none is impossible under some.
    counts = [len(record["bought"]) for record in RECORDS]
    assert len(set(counts)) > 1


def test_a_packed_record_counts_as_often_as_its_user_has_any() -> None:
    weights = np.linspace(0.0, PACKED.most, PACKED.points)
    for record in RECORDS:
        law = law_of(record).reshape(2, 3, 4)
        found = (law * weights).sum(axis=2)
        listed = [one["kind"] for one in record["bought"]]
        counted = min(len(listed), PACKED.most)
        for at, kind in enumerate("abc"):
            expected = listed.count(kind) * counted / max(len(listed), 1)
            assert abs(found.sum(axis=0)[at] - expected) < 0.06
        assert found[1 - ("no", "yes").index(str(record["smokes"]))].sum() == 0.0
