"""Answers by name: what a document may call its values, and what a user's words mean."""

import dataclasses

import pytest

from peos.errors import WrongInput
from peos.tasks.labels import LABEL_LIMIT, LABELS_LIMIT, expected, require_labels, value_of
from peos.wire.documents import decode_document, encode_document
from tests.unit.collection.made import DOCUMENT

PETS = ("nobody", "a dog", "a cat")


@pytest.mark.parametrize(
    ("words", "labels", "value"),
    [
        ("a dog", PETS, 1),
        (" a cat\n", PETS, 2),
        ("2", PETS, 2),
        ("3", PETS, None),
        ("A dog", PETS, None),
        ("", PETS, None),
        ("-1", PETS, None),
        ("2", ("1", "2", "3 or more"), 1),
        ("0", ("1", "2", "3 or more"), None),
        ("3", ("1", "2", "3 or more"), None),
        ("17", (), 17),
        ("18", (), None),
        ("a dog", (), None),
        ("٧", (), None),
        ("1" * 30, (), None),
    ],
)
def test_words_are_a_label_or_where_none_is_a_number_a_number(
    words: str, labels: tuple[str, ...], value: int | None
) -> None:
    assert value_of(words, labels, len(labels) or 18) == value


def test_every_label_means_its_own_value() -> None:
    for labels in (PETS, ("2", "1", "0"), ("1", "10", "a")):
        assert [value_of(label, labels, len(labels)) for label in labels] == [0, 1, 2]


@pytest.mark.parametrize(
    "labels",
    [
        ("one",),
        ("a", "b", "a"),
        ("a", "b", ""),
        ("a", "b", " c"),
        ("a", "b", "c\n"),
        ("a", "b", "\x1b[31mc"),
        ("a", "b", "c" * (LABEL_LIMIT + 1)),
    ],
)
def test_labels_that_do_not_name_every_value_once_are_refused(labels: tuple[str, ...]) -> None:
    with pytest.raises(WrongInput) as refused:
        require_labels(labels, 3)
    assert refused.value.id == "document.labels"


def test_labels_that_no_user_could_fetch_are_refused() -> None:
    many = tuple(f"{number:0{LABEL_LIMIT}}" for number in range(LABELS_LIMIT // LABEL_LIMIT + 1))
    require_labels(many[:-1], len(many) - 1)
    with pytest.raises(WrongInput) as refused:
        require_labels(many, len(many))
    assert refused.value.id == "document.labels"


def test_what_an_answer_may_be_is_said_and_cut() -> None:
    assert expected((), 64) == "a whole number from 0 to 63"
    assert expected(PETS, 3) == "one of nobody, a dog, a cat"
    assert expected(tuple(map(str, range(20))), 20).endswith("11 and 8 more")


def test_labels_are_in_the_signed_bytes_and_a_document_without_them_has_the_bytes_that_it_had() -> None:
    labels = tuple(f"answer {value}" for value in range(DOCUMENT.choice.domain))
    named = dataclasses.replace(DOCUMENT, labels=labels)
    assert decode_document(encode_document(named), floor=512).labels == labels
    assert encode_document(named) != encode_document(DOCUMENT)
    assert encode_document(dataclasses.replace(named, labels=())) == encode_document(DOCUMENT)
    for label in labels:
        assert label.encode() in encode_document(named)
