"""The town of a file that says nothing else."""

from collections.abc import Iterator

import pytest

from tests.integration.played import PlayedTown


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlayedTown]:
    """Processes that serve every test of a file; a test that stops one starts it again."""
    made = PlayedTown(tmp_path_factory.mktemp("town"))
    with made.cluster:
        yield made
