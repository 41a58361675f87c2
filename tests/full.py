"""What `make test` leaves to CI, which runs it with PEOS_FULL=1: tests marked `full`, and most of many repetitions.

Each kind of mistake is seen without it too (docs/testing.md). A test that is named on the command
line (`file::test`) runs in any case, and so does what `-m full` selects or PEOS_REQUIRE names.
"""

import os
from typing import Any, Final, TypeVar

import pytest
from _pytest.mark.structures import ParameterSet

from tests.needs import NEEDS, required

T = TypeVar("T")
VARIABLE: Final = "PEOS_FULL"
FULL: Final = os.environ.get(VARIABLE, "0") not in ("", "0")
_LEFT_OUT: Final = pytest.StashKey[int]()


def many(few: T, full: T) -> T:
    """How often something is repeated, or with which values: `few`, and in CI `full`."""
    return full if FULL else few


def full(*values: object) -> ParameterSet:
    """Values of a parametrised test that are for CI."""
    return pytest.param(*values, marks=pytest.mark.full)


def _is_for_full(item: pytest.Item) -> bool:
    """What needs more than Python is among it."""
    names = {mark.name for mark in item.iter_markers()}
    return bool(names & {"full", *NEEDS}) and not names & required()


@pytest.hookimpl(trylast=True)  # after -m and -k: what they leave out is not counted
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is for CI."""
    named = any("::" in one for one in config.args) or "full" in config.option.markexpr
    left = [] if FULL or named else [item for item in items if _is_for_full(item)]
    config.stash[_LEFT_OUT] = len(left)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not _is_for_full(item)]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of xdist says how many it left out; each leaves the same out."""
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["left_out"] = session.config.stash.get(_LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Called by pytest-xdist where the results come together."""
    node.config.stash[_LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """One line."""
    if count := config.stash.get(_LEFT_OUT, 0):
        line = f"{count} tests and most repetitions were left to CI: {VARIABLE}=1 make test runs them"
        terminalreporter.write_line(line)
