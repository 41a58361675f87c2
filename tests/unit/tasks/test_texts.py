"""Prefixes of texts: cut and filled up, the same whether one looks at a record or at a candidate."""

import numpy as np
import pytest

from peos.tasks.texts import Prefix, Texts
from tests.raising import raises

WORDS = ["", "a", "ab", "abcdefghij", "äöü", "zz\x00", "日本語のテキスト"]


@pytest.mark.parametrize("bits", [8, 24, 61, 64, 65, 80, 200])
def test_a_record_s_prefix_is_the_candidate_s(bits: int) -> None:
    texts = Texts.of(WORDS, 200)
    parents = texts.parents(bits)
    for word, parent in zip(WORDS, parents.tolist(), strict=True):
        whole = int.from_bytes(word.encode()[:25].ljust(25, b"\0"), "big")
        assert Prefix(whole >> (200 - bits), bits).parent == parent, word


def test_prefixes_grow_by_their_exts() -> None:
    texts = Texts.of(WORDS, 80)
    for row, word in enumerate(WORDS):
        prefix = Prefix(0, 0)
        for first, last in ((0, 11), (11, 16), (16, 36), (36, 37), (37, 57), (57, 73), (73, 80)):
            assert prefix.parent == texts.parents(first)[row]
            prefix = prefix.then(int(texts.exts(first, last)[row]), last - first)
        cut = word.encode()[:10]
        assert prefix.label in (cut.rstrip(b"\0").decode(errors="replace"), cut.ljust(10, b"\0").hex())


def test_numbers_are_strings_of_bits() -> None:
    numbers = np.array([0, 1, 0b101, 2**12 - 1, 2**12, -1])
    texts = Texts.of(numbers, 12)
    assert texts.fits.tolist() == [True] * 4 + [False] * 2
    assert texts.exts(0, 12)[:4].tolist() == [0, 1, 5, 4095]
    assert texts.exts(9, 12)[:4].tolist() == [0, 1, 5, 7]
    assert Texts.of(np.array([2**63], np.uint64), 64).parents(64).tolist() == [2**63]
    with raises("task.numbers"):
        Texts.of(numbers, 65)


def test_what_is_no_text_does_not_fit() -> None:
    assert Texts.of(["a", 7, None, ["a"]], 8).fits.tolist() == [True, False, False, False]


@pytest.mark.parametrize(
    ("value", "bits", "label"),
    [
        (0x6162, 16, "ab"),
        (0x610000, 24, "a"),
        (0, 8, ""),
        (0xFF, 8, "ff"),
        (0x1B5B, 16, "1b5b"),  # an escape sequence is shown in digits
        (0xE280AE, 24, "e280ae"),  # and so is a mark that turns the direction
        (5, 3, "a0"),
    ],
)
def test_labels_show_texts_and_nothing_that_a_screen_would_obey(value: int, bits: int, label: str) -> None:
    assert Prefix(value, bits).label == label
