"""What a user holds: attributes from Python, TOML and documents, and which cell each value has."""

import numpy as np
import pytest

from peos.tasks.schema import Attribute, Schema, column
from tests.raising import raises

TOML = """
smokes = ["no", "yes"]
age = {from = 0, to = 100}
spending = {from = 0.0, to = 500.0, real = true}
income = {from = -10, to = 89, parts = 7}
"""
SCHEMA = Schema.from_toml(TOML)


def test_toml_and_python_state_the_same() -> None:
    given = {"smokes": ["no", "yes"], "age": (0, 100), "spending": (0.0, 500.0)}
    assert Schema.of(given).attributes == SCHEMA.attributes[:3]
    assert SCHEMA.sizes == (2, 101, 1024, 7)
    assert SCHEMA.names == ("smokes", "age", "spending", "income")
    assert SCHEMA.places(["income", "smokes"]) == (3, 0)
    assert SCHEMA["age"].in_words == "age (0 to 100)"


def test_values_have_their_cells_and_what_is_beyond_the_bounds_counts_at_them() -> None:
    assert SCHEMA["smokes"].index(["yes", "no"]).tolist() == [1, 0]
    assert SCHEMA["smokes"].index(np.array([1, 0, 1])).tolist() == [1, 0, 1]
    assert SCHEMA["age"].index([0, 34, 100, 250, -3]).tolist() == [0, 34, 100, 100, 0]
    assert SCHEMA["spending"].index([0.0, 250.0, 499.99, 500.0]).tolist() == [0, 512, 1023, 1023]
    cells = SCHEMA["income"].index(np.arange(-10, 90))
    assert np.all(np.diff(cells) >= 0)
    assert set(cells.tolist()) == set(range(7))
    assert SCHEMA["income"].cells[:2] == ("-10 to 4", "5 to 18")
    named = [SCHEMA["income"].cells[cell] for cell in cells.tolist()]
    for value, name in zip(range(-10, 90), named, strict=True):
        low, _, high = name.partition(" to ")
        assert int(low) <= value <= int(high), "a cell is called by the values that it has"


def test_a_range_takes_its_stretch_of_the_cells() -> None:
    assert SCHEMA["age"].span(20, 35) == (20, 36)
    assert SCHEMA["age"].span(-5, 200) == (0, 101)
    assert SCHEMA["spending"].span(125.0, 250.0) == (256, 512)
    assert SCHEMA["spending"].span(600.0, 700.0)[1] >= SCHEMA["spending"].span(600.0, 700.0)[0]
    assert SCHEMA["age"].value_at(20) == 20


def test_columns_of_objects_and_of_arrays() -> None:
    objects = [{"smokes": "no", "age": 3}, {"smokes": "yes", "age": 5}]
    assert column(objects, "age") == [3, 5]
    array = np.array([(0, 3), (1, 5)], dtype=[("smokes", np.int8), ("age", np.int16)])
    assert column(array, "age").tolist() == [3, 5]  # type: ignore[union-attr] # of an array it is one


def test_values_of_another_kind_are_refused_by_a_sentence() -> None:
    assert SCHEMA["smokes"].problem("no") == SCHEMA["age"].problem(200) == SCHEMA["spending"].problem(3) == ""
    for name, value in (("smokes", 1), ("smokes", "maybe"), ("age", 3.5), ("age", True), ("spending", float("nan"))):
        assert name in SCHEMA[name].problem(value)


@pytest.mark.parametrize("attribute", SCHEMA.attributes, ids=lambda one: one.name)
def test_a_document_states_an_attribute_in_one_way(attribute: Attribute) -> None:
    assert Attribute.from_text(attribute.text) == attribute
    for other in (attribute.text + " ", attribute.text.replace(":", ": ", 1), "[]", "{}", "[" * 5000, "7"):
        with raises("schema.text"):
            Attribute.from_text(other)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"a": []},
        {"a": ["x", "x"]},
        {"a": ["x"]},
        {"a": ["x", ""]},
        {"a": [1, 2]},
        {"a": (5, 5)},
        {"a": (5, 2)},
        {"a": (0, 2**60)},
        {"a": {"from": 0}},
        {"a": {"from": 0, "to": 1, "step": 1}},
        {"a": {"from": 0, "to": 1, "real": 1}},
        {"a": {"from": 0, "to": 9, "parts": 11}},
        {"a": {"from": 0, "to": 9, "parts": True}},
        {"a": {"from": 0.5, "to": 9}},
        {"a": {"from": 0.0, "to": float("inf"), "real": True}},
        {"": ["x", "y"]},
        {"a\n": ["x", "y"]},
    ],
    ids=str,
)
def test_what_is_no_schema_is_refused(given: dict[str, object]) -> None:
    with raises("schema.attribute"):
        Schema.of(given)


def test_other_refusals() -> None:
    with raises("schema.unknown", "'weight'"):
        SCHEMA["weight"]
    with raises("schema.attribute"):
        SCHEMA.places(["age", "age"])
    with raises("schema.attribute"):
        Schema((SCHEMA["age"], SCHEMA["age"]))
    with raises("schema.toml"):
        Schema.from_toml("age = ")
