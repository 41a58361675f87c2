"""Fixtures for every test: named randomness, so that a failure can be replayed."""

import hashlib

import pytest

from peos.crypto.randomness import Randomness
from tests import needs


def pytest_configure(config: pytest.Config) -> None:
    """Tests that need more than Python: which, and what if it is not there."""
    config.pluginmanager.register(needs, "needs")


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> Randomness:
    """A stream of its own for each test, the same in each run."""
    return Randomness(hashlib.sha256(request.node.nodeid.encode()).digest())
