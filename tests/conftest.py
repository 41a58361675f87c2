"""Fixtures for every test: named randomness, so that a failure can be replayed."""

import hashlib

import pytest

from peos.crypto.randomness import Randomness


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> Randomness:
    """A stream of its own for each test, the same in each run."""
    return Randomness(hashlib.sha256(request.node.nodeid.encode()).digest())
