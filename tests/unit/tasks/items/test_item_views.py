"""Views of lists: what each makes of records, what a document says of them, and which records are refused in words."""

import itertools
from typing import Any

import numpy as np
import pytest

from peos.crypto.randomness import Randomness
from peos.ldp.sampled import SampledGRR
from peos.tasks.items.views import (
    MOST_ITEMS,
    ItemsView,
    Lists,
    SizeView,
    SubsetsView,
    label_of,
    matched,
    problem_of,
    set_of,
)
from peos.tasks.views import Catalogue, View, ViewChoice, answers_of, from_choice, problems
from tests.raising import raises

BREAD = ("bread", "butter", "milk", "salt")
RECORDS: list[list[Any]] = [["milk", "bread", "milk"], [], ["wine"], ["salt", "milk", "butter", "bread", "wine"]]
RNG = Randomness(bytes(32))


def rows(sets: Any) -> list[list[int]]:
    ends = np.cumsum(sets.sizes).tolist()
    return [sets.items[last - size : last].tolist() for last, size in zip(ends, sets.sizes.tolist(), strict=True)]


def test_items_are_those_asked_about_once_each_and_in_order() -> None:
    (found,) = answers_of([ItemsView(4, BREAD)], RECORDS, RNG)
    assert rows(found) == [[0, 2], [], [], [0, 1, 2, 3]]
    (numbers,) = answers_of([ItemsView(10)], [[7, 3, 7, 12, -1], [0], []], RNG)
    assert rows(numbers) == [[3, 7], [0], []]


def test_a_number_is_the_item_that_is_called_so() -> None:
    for records in ([[17, 3]], [["17", 3]], [["17", "3"]]):
        assert rows(answers_of([ItemsView(20)], records, RNG)[0]) == [[3, 17]]
        assert rows(answers_of([ItemsView(2, ("3", "17"))], records, RNG)[0]) == [[0, 1]]
    assert rows(answers_of([ItemsView(20)], [["017", "x"]], RNG)[0]) == [[]]
    assert rows(answers_of([ItemsView(1, ("tea",))], [[1, 2]], RNG)[0]) == [[]]


def test_a_catalogue_is_a_file_next_to_the_invitation() -> None:
    content = b"".join(b'"item %d"\n' % number for number in range(100_000))
    view = ItemsView(100_000, catalogue=Catalogue.of(content))
    with raises("view.no_catalogue"):
        answers_of([view], [["item 5"]], RNG)
    listed = view.listing(content)
    assert rows(answers_of([listed], [["item 99999", "item 5", "item 100000"]], RNG)[0]) == [[5, 99_999]]
    assert from_choice(listed.describe()) == view, "the document has its digest alone"
    with raises("view.other_catalogue"):
        view.listing(content + b'"more"\n')
    with raises("view.items"):
        ItemsView(5, catalogue=Catalogue.of(content))


def test_sizes_are_of_what_is_asked_about_and_no_more_than_the_most() -> None:
    for most, expected in ((4, [2, 0, 0, 4]), (3, [2, 0, 0, 3])):
        view = SizeView(items=4, labels=BREAD, most=most)
        assert view.cells == most + 1
        assert answers_of([view], RECORDS, RNG)[0].tolist() == expected


SETS = tuple(label_of(one) for one in (("bread", "milk"), ("bread", "butter", "milk"), ("salt", "wine")))


def test_item_sets_are_held_whole_or_not_at_all() -> None:
    view = SubsetsView(SETS)
    assert rows(answers_of([view], RECORDS, RNG)[0]) == [[0], [], [], [0, 1, 2]]
    assert answers_of([SizeView(items=3, labels=SETS, most=3, sets=1)], RECORDS, RNG)[0].tolist() == [1, 0, 0, 3]
    assert answers_of([SizeView(items=3, labels=SETS, most=2, sets=1)], RECORDS, RNG)[0].tolist() == [1, 0, 0, 2]


def test_matching_by_bits_is_matching() -> None:
    """More items than a word has bits, against every set by hand."""
    rng = np.random.default_rng(3)
    lists = [rng.choice(150, size, replace=False).tolist() for size in rng.integers(0, 60, 300)]
    asked = [tuple(map(str, rng.choice(150, size, replace=False))) for size in (1, 2, 2, 2, 3, 3, 1, 4)]
    found = rows(matched(Lists.of(lists), asked))
    assert found == [[at for at, one in enumerate(asked) if {*map(int, one)} <= {*row}] for row in lists]
    assert sum(map(len, found)) > 100


VIEWS: list[View] = [
    ItemsView(10),
    ItemsView(4, BREAD),
    SizeView(items=4, labels=BREAD, most=2),
    SizeView(items=10, most=10),
    SizeView(items=3, labels=SETS, most=3, sets=1),
    SubsetsView(SETS),
]


@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_a_document_says_all_of_a_view(view: View) -> None:
    choice = view.describe()
    assert from_choice(choice) == view
    assert choice.encoded == from_choice(choice).describe().encoded
    assert len({one.describe().encoded for one in VIEWS}) == len(VIEWS)
    assert str(view.cells - (view.gives == "value")) in view.in_words or view.in_words
    for change in ({**choice.parameters, "more": 1}, dict(itertools.islice(choice.parameters.items(), 1, None))):
        if change != dict(choice.parameters):
            with raises("view.parameters"):
                from_choice(ViewChoice(choice.kind, change, choice.labels))


@pytest.mark.parametrize(
    ("kind", "parameters", "labels", "id_"),
    [
        ("items", {"items": 0}, (), "mechanism.range"),
        ("items", {"items": 3}, BREAD, "document.labels"),
        ("size", {"items": 4, "most": 5, "sets": 0}, BREAD, "mechanism.range"),
        ("size", {"items": 4, "most": 4, "sets": 2}, BREAD, "mechanism.range"),
        ("size", {"items": 4, "most": 4, "sets": 1}, BREAD, "view.item_set"),
        ("subsets", {}, (), "view.labels"),
        ("subsets", {}, ("bread",), "view.item_set"),
        ("subsets", {}, ("[]",), "view.item_set"),
        ("subsets", {}, ('["milk", "bread"]',), "view.item_set"),
        ("subsets", {}, ('["bread", "bread"]',), "view.item_set"),
        ("subsets", {}, ("[1.5]",), "view.item_set"),
        ("subsets", {}, ('{"bread": 1}',), "view.item_set"),
    ],
)
def test_what_is_no_view_is_refused(kind: str, parameters: dict[str, int], labels: tuple[str, ...], id_: str) -> None:
    with raises(id_):
        from_choice(ViewChoice(kind, parameters, labels))


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ("bread", "not a list"),
        (7, "not a list"),
        ({"bread": 1}, "not a list"),
        (["bread", 1.5], "item 2"),
        ([True], "item 1"),
        ([None], "item 1"),
        ([["bread"]], "item 1"),
        ([0] * (MOST_ITEMS + 1), "10,001"),
    ],
)
def test_a_record_that_is_no_list_of_items_is_refused_in_words_without_being_shown(record: object, says: str) -> None:
    said = problem_of(record)
    assert says in said
    assert "bread" not in said
    for view in VIEWS:
        assert view.problem(record) == said
    assert problems(VIEWS, [["milk"], record]) == [(1, said)]
    with raises("view.not_items", "2"):
        answers_of(VIEWS[:1], [["milk"], record], RNG)


def test_labels_of_sets_are_one_for_each_set() -> None:
    assert label_of(("10", "9", "milk", "bread")) == '[9, 10, "bread", "milk"]'
    assert set_of('[9, 10, "bread", "milk"]') == ("9", "10", "bread", "milk")
    assert label_of(("café",)) == '["café"]'


def test_a_mechanism_of_sets_fits_views_of_as_many_items_alone() -> None:
    made = SampledGRR(4, 2, 1.0)
    made.require_asked([("set", 4)])
    for asked in ([("set", 5)], [("value", 4)], [("set", 4)] * 2, []):
        with raises("mechanism.views"):
            made.require_asked(asked)
