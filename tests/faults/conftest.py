"""The preparation from which every run of the tests here begins."""

from collections.abc import Iterator

import pytest

from tests.faults.ground import Ground, ground

USERS = 200


@pytest.fixture(scope="session")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Stages are made when they are first needed, and copied for each run."""
    with ground(tmp_path_factory.mktemp("faults") / "ground", USERS) as made:
        yield made
