"""Fixtures for every test: named randomness, so that a failure can be replayed; and which worker runs which tests."""

import hashlib
import os
import signal
from pathlib import Path
from typing import Any, Final

# Before NumPy is loaded: of several workers, threads that multiply small matrices would wait for one another tenfold.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

from peos.crypto.randomness import Randomness
from peos.ending import end_with_starter
from peos.localcluster import LocalCluster
from tests import full, needs

# Files whose tests look at the same whole run (tests/e2e/conftest.py): in one worker it is made once.
WHOLE_RUN: Final = frozenset(
    path.name
    for path in (Path(__file__).parent / "e2e").glob("test_*.py")
    if "concluded: Concluded" in path.read_text()
)

# Files that look at the project's own files (tests/sources.py): in one worker those are read once.
READING: Final = frozenset(
    path.name for path in Path(__file__).parent.glob("test_*.py") if "tests.sources import" in path.read_text()
)

# The same examples in each run, however long one takes on a machine that is busy.
settings.register_profile("replayed", derandomize=True, deadline=None, database=None)
settings.load_profile("replayed")


class Together(LoadFileScheduling):  # type: ignore[misc]  # its package ships no types
    """A file's tests in one worker, as `--dist loadfile` has it; those of the whole run count as one."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        if file.rpartition("/")[2] in WHOLE_RUN:
            return "the whole run"
        return "the project's files" if file.rpartition("/")[2] in READING else file


def pytest_configure(config: pytest.Config) -> None:
    """Tests that need more than Python: which, and what if it is not there. Ctrl-C is heard; nothing outlives this."""
    end_with_starter()  # a worker with the run that started it, and what a test starts with its worker
    LocalCluster.init_launcher = ("tests.quick_keys",)
    config.pluginmanager.register(needs, "needs")
    config.pluginmanager.register(full, "full")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # As a shell has it for what it starts in the background; the processes that tests interrupt would inherit it.
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Together | None:
    """Asked for by pytest-xdist."""
    return Together(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> Randomness:
    """A stream of its own for each test, the same in each run."""
    return Randomness(hashlib.sha256(request.node.nodeid.encode()).digest())
