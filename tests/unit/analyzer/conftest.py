"""An analyzer's workspace in its own folder, and shufflers that speak the real wire from a thread of this process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from peos.crypto import vault
from tests.unit.analyzer.world import World
from tests.unit.fake_shuffler import Loop


@pytest.fixture(autouse=True)
def _quick_passphrases(monkeypatch: pytest.MonkeyPatch) -> None:
    """A third of a second a workspace would be most of these tests' time; test_vault pins the real cost."""
    monkeypatch.setattr(vault, "COST", 10)


@pytest.fixture(scope="session")
def loop() -> Iterator[Loop]:
    running = Loop()
    yield running
    running.close()


@pytest.fixture
def world(tmp_path: Path, loop: Loop) -> Iterator[World]:
    made = World(tmp_path, loop)
    yield made
    made.close()
