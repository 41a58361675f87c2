"""A registry that a test changes is afterwards as it was, the order of its names included."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from peos.registry import Registry


@contextmanager
def registered(known: Registry[Any], thing: Any) -> Iterator[None]:
    """`thing` is known by its name meanwhile; the body may change the registry in other ways too."""
    before = dict(known)
    known[thing.name] = thing
    try:
        yield
    finally:
        known.clear()
        known.update(before)
