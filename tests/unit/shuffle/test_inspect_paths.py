"""Where rows went: what all hiders of a round say, and nothing less."""

import numpy as np

from peos.crypto.kdf import StreamKey
from peos.shuffle.inspect.machine import after
from peos.shuffle.inspect.paths import Paths, Places
from peos.shuffle.schedule import Schedule

START: Places = (4, 5, 6)
THERE: Places = (0, 2, 7)


def paths(shufflers: int = 3) -> Paths:
    return Paths(Schedule(shufflers), 10, START)


def test_a_place_counts_once_every_hider_of_the_round_names_it() -> None:
    found = paths()
    assert list(found.agreed) == [START]
    found.claim(1, 1, THERE)
    assert found.after(1) is None
    assert not found.is_disputed(1)
    found.claim(1, 2, THERE)
    assert list(found.agreed) == [START, THERE]


def test_who_does_not_hide_in_a_round_has_no_word_in_it() -> None:
    found = paths()
    found.claim(1, 1, THERE)
    found.claim(1, 3, THERE)
    assert found.after(1) is None
    found.claim(1, 3, (1, 2, 3))
    found.claim(1, 2, THERE)
    assert found.after(1) == THERE


def test_the_first_word_of_a_hider_stands() -> None:
    found = paths()
    found.claim(1, 1, THERE)
    found.claim(1, 1, (1, 2, 3))
    found.claim(1, 2, THERE)
    assert found.after(1) == THERE


def test_one_hider_that_says_otherwise_stops_the_path_in_a_round_of_three() -> None:
    found = paths(5)
    for who, places in ((1, THERE), (2, THERE), (3, (0, 2, 8))):
        found.claim(1, who, places)
    assert found.after(1) is None
    assert found.is_disputed(1)
    assert found.disputing(1) == (1, 2, 3), "two that say the same may both be wrong"


def test_places_that_no_permutation_leads_to_accuse_whoever_names_them() -> None:
    for impossible in ((0, 0, 1), (0, 1), (0, 1, 10), (-1, 1, 2), (0, 1, 2, 3)):
        found = paths()
        found.claim(1, 1, impossible)
        found.claim(1, 2, THERE)
        assert found.is_disputed(1)
        assert found.disputing(1) == (1,)


def test_rows_are_followed_through_the_permutation_that_moves_them() -> None:
    key = StreamKey(b"\x09" * 32)
    moved = np.arange(10)[key.stream().permutation(10)]
    there = after(key, 10, START)
    assert [int(moved[place]) for place in there] == list(START)
