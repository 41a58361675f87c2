"""Long things worked piece by piece: the one place that says where the pieces begin and end."""

from collections.abc import Iterator
from typing import Final

MEGABYTE: Final = 1 << 20


def chunks(count: int, length: int, *, first: int = 0) -> Iterator[slice]:
    """Consecutive slices of `length` that cover `count` items from `first` on; the last may be shorter."""
    for start in range(first, count, length):
        yield slice(start, min(start + length, count))


def rows_of(width: int) -> int:
    """How many rows of `width` bytes make a megabyte; at least one."""
    return max(1, MEGABYTE // max(width, 1))
