"""Conditions as boxes that do not overlap, against what they mean record by record."""

from itertools import product

import numpy as np
import pytest

from peos.tasks.query import Where, both, outside, shares, spans_of
from peos.tasks.schema import Schema
from tests.raising import raises

SCHEMA = Schema.of({"age": (0, 9), "smokes": ["no", "yes", "gave up"], "spending": (0.0, 8.0)})
AGE, SMOKES, SPENDING = SCHEMA.attributes

QUESTIONS = [
    (Where(age=(2, 4)), lambda age, _smokes: 2 <= age <= 4),
    (Where(), lambda _age, _smokes: True),
    (
        Where(age=(2, 6), smokes="yes") | Where(age=(5, 8)),
        lambda age, smokes: (2 <= age <= 6 and smokes == "yes") or 5 <= age <= 8,
    ),
    (
        (Where(age=(0, 6)) | Where(smokes=["yes", "gave up"])) & (Where(age=(5, 9)) | Where(smokes="no")),
        lambda age, smokes: (age <= 6 or smokes != "no") and (age >= 5 or smokes == "no"),
    ),
    (Where(age=3) & Where(age=(4, 5)), lambda _age, _smokes: False),
    (Where(age=(0, 9)) | Where(age=(2, 3)) | Where(smokes="no"), lambda _age, _smokes: True),
]


@pytest.mark.parametrize(("where", "meant"), QUESTIONS)
def test_every_record_that_is_meant_is_in_one_box(where, meant) -> None:  # type: ignore[no-untyped-def] # of lambdas
    boxes = where.boxes(SCHEMA)
    for age, smokes in product(range(10), range(3)):
        found = 0.0
        for box in boxes:
            one = shares(AGE, box["age"])[age] if "age" in box else 1.0
            found += one * (shares(SMOKES, box["smokes"])[smokes] if "smokes" in box else 1.0)
        assert found == float(meant(age, SMOKES.labels[smokes]))


def test_a_range_of_real_numbers_takes_parts_of_cells() -> None:
    low, high = 1.0, 3.5
    spans = spans_of(SPENDING, (low, high))
    assert float(shares(SPENDING, spans).sum()) * 8.0 / SPENDING.size == pytest.approx(high - low)
    whole = ((0.0, float(SPENDING.size)),)
    apart = outside(whole, spans)
    assert both(apart, spans) == ()
    assert float(np.sum(shares(SPENDING, apart) + shares(SPENDING, spans))) == pytest.approx(SPENDING.size)


def test_conditions_that_do_not_fit_are_refused() -> None:
    for wrong in (
        {"age": "old"},
        {"age": (5, 2)},
        {"age": (1, 2, 3)},
        {"smokes": "maybe"},
        {"smokes": 3},
        {"age": True},
    ):
        with raises("query.condition"):
            Where(**wrong).boxes(SCHEMA)
    with raises("schema.unknown"):
        Where(height=3).boxes(SCHEMA)
