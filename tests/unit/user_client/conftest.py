"""Three shufflers that answer, and a user who trusts them."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.unit.user_client.town import NOW, FakeShufflers
from user_client.client import Client
from user_client.config import Config

Open = Callable[..., Client]


@pytest.fixture
def town() -> Iterator[FakeShufflers]:
    """A collection that everybody accepts."""
    with FakeShufflers().running() as here:
        yield here


@pytest.fixture
def config(town: FakeShufflers, tmp_path: Path) -> Config:
    """Limits that the town's collection keeps to."""
    return Config(
        folder=tmp_path / "memory",
        shufflers=tuple(card.identity for card in town.cards),
        most_eps_local=2.5,
        least_reports=500,
        least_fakes=50,
        budget=5.0,
    )


@pytest.fixture
def client(config: Config) -> Iterator[Open]:
    """Clients of one folder, with limits changed as asked: each call is a start of the program."""
    opened: list[Client] = []

    def start(now: float = NOW, clock: Callable[[], float] | None = None, **changes: Any) -> Client:
        opened.append(Client(replace(config, **changes), clock=clock or (lambda: now)))
        return opened[-1]

    yield start
    for one in opened:
        one.close()
