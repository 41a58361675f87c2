"""Engines that start workers however little there is to do."""

from collections.abc import Iterator
from typing import Any

import pytest

from peos.compute import Processes


class Eager(Processes):
    """Never works inline, so that small inputs reach the workers."""

    def pays(self, job: Any, count: int) -> bool:  # noqa: ARG002 - the answer is always the same
        """Always."""
        return True


@pytest.fixture(scope="module")
def eager() -> Iterator[Eager]:
    with Eager(2) as engine:
        yield engine
