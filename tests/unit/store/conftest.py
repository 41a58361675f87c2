"""Each test of the contract runs on every store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from peos.crypto.randomness import Randomness
from peos.store.base import ShufflerStore
from peos.store.memory import MemoryStore
from tests.unit.store.made import sqlite


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path, rng: Randomness) -> Iterator[ShufflerStore]:
    """A new store of each kind."""
    with MemoryStore(rng) if request.param == "memory" else sqlite(tmp_path) as made:
        yield made
