"""What people write for a number, a duration or a size, and what is none."""

from collections.abc import Callable
from typing import Any

import pytest

from peos import typed


@pytest.mark.parametrize(
    ("read", "text", "found"),
    [
        (typed.whole, "1000", 1000),
        (typed.whole, "1e3", 1000),
        (typed.whole, "2.5e5", 250_000),
        (typed.whole, "100,000", 100_000),
        (typed.whole, "1,000,000", 1_000_000),
        (typed.whole, "100_000", 100_000),
        (typed.whole, "100 000", 100_000),
        (typed.whole, "-1", -1),
        (typed.real, "0.5", 0.5),
        (typed.real, "1e-6", 1e-6),
        (typed.real, ".25", 0.25),
        (typed.seconds, "90", 90),
        (typed.seconds, "90s", 90),
        (typed.seconds, "10 min", 600),
        (typed.seconds, "2h", 7200),
        (typed.seconds, "1.5 h", 5400),
        (typed.seconds, "3 days", 259_200),
        (typed.seconds, "1w", 604_800),
        (typed.megabytes, "64", 64),
        (typed.megabytes, "64 MB", 64),
        (typed.megabytes, "2GB", 2000),
        (typed.megabytes, "500 kB", 0.5),
    ],
)
def test_what_people_write(read: Callable[[str], float], text: str, found: float) -> None:
    assert read(text) == found


NUMBERS = [
    "",
    " ",
    "x",
    "1,00",
    "1,0000",
    "1.000,5",
    "1,000_000",
    "0x10",
    "nan",
    "inf",
    "1e",
    "١٢",
    "1e999999999",
    "--1",
]


NUMBERS += ["\u0661\u0662"]  # digits, and not those of a number here


@pytest.mark.parametrize("text", NUMBERS)
@pytest.mark.parametrize("read", [typed.whole, typed.real, typed.seconds, typed.megabytes])
def test_what_is_no_number(read: Callable[[str], Any], text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        read(text)


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (typed.whole, "1.5"),
        (typed.whole, "1e-3"),
        (typed.seconds, "2 lightyears"),
        (typed.seconds, "h"),
        (typed.megabytes, "2h"),
        (typed.real, "2h"),
    ],
)
def test_what_is_another_thing(read: Callable[[str], Any], text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        read(text)
