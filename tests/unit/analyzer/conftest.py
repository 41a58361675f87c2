"""An analyzer's workspace in its own folder, and shufflers that speak the real wire from a thread of this process."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from peos.crypto import vault
from tests.unit.analyzer.site import Site
from tests.unit.analyzer.test_serving import Serving
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


@pytest.fixture
def behind(world: World, request: pytest.FixtureRequest) -> Iterator[Serving]:
    budget = getattr(request, "param", 50.0)
    text = world.file.read_text(encoding="utf-8").replace("[listen]", '[listen]\nconsole = "127.0.0.1:8080"')
    world.file.write_text(f"{text}[budget]\nepsilon = {budget}\ndelta = 1e-4\n", encoding="utf-8")
    running = Serving(world, world.workspace())
    _wait_for(world.config.console_socket)
    (world.folder / "passphrase").rename(world.folder / "away")  # the serving process has read it
    yield running
    running.stop()


@pytest.fixture
def site(world: World, behind: Serving) -> Iterator[Site]:
    assert behind
    made = Site(world)
    yield made
    made.close()


def _wait_for(path: Path) -> None:
    give_up_at = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < give_up_at, f"{path} never came"
        time.sleep(0.02)
