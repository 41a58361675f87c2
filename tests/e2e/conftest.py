"""The run that most tests here look at, made once."""

from collections.abc import Iterator

import pytest

from tests.e2e.whole_run import Concluded, whole_run


@pytest.fixture(scope="session")
def concluded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Concluded]:
    """A town after its run; its processes are still there."""
    with whole_run(tmp_path_factory.mktemp("town")) as made:
        yield made
