"""Views of attributes: cells, documents, refusals, and what a user allows."""

import numpy as np
import pytest

from peos.crypto.randomness import Randomness
from peos.errors import Refused
from peos.tasks.cell_views import AttributesView, Axis, CellView, GridView, LevelView, asked_for, require_allowed
from peos.tasks.schema import Schema
from peos.tasks.views import ViewChoice, answers_of, from_choice, problems
from tests.raising import raises

SCHEMA = Schema.of({"smokes": ["no", "yes"], "age": (0, 100), "spending": (0.0, 500.0)})
SMOKES, AGE, SPENDING = SCHEMA.attributes
VIEWS: list[CellView] = [
    AttributesView((Axis(SMOKES), Axis(AGE))),
    LevelView((Axis(AGE, 25),)),
    GridView((Axis(AGE, 10), Axis(SPENDING, 128), Axis(SMOKES))),
]
RECORDS = [
    {"smokes": "yes", "age": 34, "spending": 10.0},
    {"smokes": "no", "age": 100, "spending": 499.0, "more": 1},
    {"age": 900, "smokes": "no", "spending": -5},
]


def test_cells_of_records() -> None:
    rng = Randomness(bytes(32))
    found = [one.tolist() for one in answers_of(VIEWS, RECORDS, rng)]
    assert found == [[101 + 34, 100, 100], [1, 4, 4], [(3 * 8 + 0) * 2 + 1, (10 * 8 + 7) * 2, (10 * 8 + 0) * 2]]
    assert [view.cells for view in VIEWS] == [202, 5, 11 * 8 * 2]
    array = np.array(
        [(1, 34, 10.0), (0, 100, 499.0), (0, 900, -5.0)],
        dtype=[("smokes", np.int8), ("age", np.int16), ("spending", np.float64)],
    )
    assert [one.tolist() for one in answers_of(VIEWS, array, rng)] == found


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.kind)
def test_a_document_describes_a_view_in_one_way(view: CellView) -> None:
    choice = view.describe()
    assert from_choice(choice) == view
    for other in (
        ViewChoice(choice.kind, {**choice.parameters, "width_9": 1}, choice.labels),
        ViewChoice(choice.kind, {} if choice.parameters else {"width_1": 1}, choice.labels),
    ):
        with raises("view.parameters"):
            from_choice(other)
    with raises("schema.text"):
        from_choice(ViewChoice(choice.kind, choice.parameters, (*choice.labels[1:], "{}")))


def test_records_of_another_shape_are_named_by_position_and_reason() -> None:
    bad = [RECORDS[0], {"smokes": "maybe", "age": 3, "spending": 1}, {"smokes": "no"}, 7, {**RECORDS[1], "age": 3.5}]
    found = problems(VIEWS, bad)
    assert [position for position, _ in found] == [1, 2, 3, 4]
    for (_, reason), part in zip(found, ("smokes", "no age", "object", "age"), strict=True):
        assert part in reason


def test_views_that_are_none_are_refused() -> None:
    for wrong, id_ in (
        (lambda: LevelView((Axis(AGE), Axis(SMOKES))), "mechanism.range"),
        (lambda: GridView((Axis(AGE, 0),)), "mechanism.range"),
        (lambda: GridView((Axis(AGE), Axis(AGE))), "view.attributes"),
        (lambda: AttributesView(()), "mechanism.range"),
        (lambda: GridView((Axis(AGE, 200),)), "mechanism.range"),
        (lambda: AttributesView((Axis(AGE), Axis(SPENDING), Axis(SMOKES), Axis(SCHEMA["age"]))), "view.attributes"),
    ):
        with raises(id_):
            wrong()


def test_a_user_allows_attributes_and_a_number_of_cells() -> None:
    assert asked_for(VIEWS) == ("smokes", "age", "spending")
    require_allowed(VIEWS, allowed=None, most_cells=None)
    require_allowed(VIEWS, allowed=["spending", "age", "smokes", "more"], most_cells=202)
    with raises("client.attributes", "spending", kind=Refused):
        require_allowed(VIEWS, allowed=["smokes", "age"], most_cells=None)
    with raises("client.cells", kind=Refused):
        require_allowed(VIEWS, allowed=None, most_cells=200)


def test_what_a_user_is_shown_names_attributes_and_cells() -> None:
    said = VIEWS[2].in_words
    assert "age (0 to 100) in 11 parts" in said
    assert "smokes (no, yes)" in said
    assert "176 cells" in said
