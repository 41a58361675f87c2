"""Which tests run: those that lack what they need are skipped and fail where required, and some are left to CI."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.full import VARIABLE as FULL
from tests.needs import NEEDS, VARIABLE

ROOT = Path(__file__).parent.parent
PLANTED = """
import pytest

@pytest.mark.browser
def test_a_page() -> None:
    pytest.skip("gives up by itself")

def test_without_needs() -> None:
    pytest.skip("for a reason of its own")
"""


LEFT_OUT = """
import pytest
from tests.full import many

@pytest.mark.full
def test_of_minutes() -> None:
    pass

@pytest.mark.browser
def test_a_page() -> None:
    pass

@pytest.mark.long
def test_of_hours() -> None:
    pass

def test_of_seconds() -> None:
    print("repeated", many(2, 8))
"""


def run(
    folder: Path, *words: str, required: str = "", full: str = "1", path: str | None = None, planted: str = PLANTED
) -> tuple[int, str]:
    """The planted tests in a pytest of their own; exit code and what was printed."""
    (folder / "test_planted.py").write_text(planted)
    environment = {**os.environ, VARIABLE: required, FULL: full, "PYTHONPATH": str(ROOT)}
    if path is not None:
        environment["PATH"] = path
    options = ["-p", "tests.needs", "-p", "tests.full", "-p", "no:cacheprovider", "-rsf", "-vs"]
    options += ["-c", str(ROOT / "pyproject.toml"), f"--rootdir={folder}"]
    ran = subprocess.run(  # noqa: S603 - our own interpreter and files
        [sys.executable, "-m", "pytest", *options, *(words or ["test_planted.py"])],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=environment,
        cwd=folder,
    )
    return ran.returncode, ran.stdout + ran.stderr


def test_without_a_browser_the_test_is_skipped_and_says_what_is_missing(tmp_path: Path) -> None:
    code, said = run(tmp_path, required="", path="/nowhere")
    assert code == 0, said
    assert "marked browser: no chromium and no chromedriver" in said
    assert "2 skipped" in said


@pytest.mark.parametrize("path", [None, "/nowhere"])
def test_where_it_is_required_a_skipped_test_fails_and_others_may_skip(tmp_path: Path, path: str | None) -> None:
    code, said = run(tmp_path, required="browser", path=path)
    assert code == 1, said
    assert "1 skipped" in said
    assert "1 failed" in said or "1 error" in said, said  # by itself, or before it began
    assert "PEOS_REQUIRE names browser, and this test did not run" in said


def test_what_is_required_must_be_known(tmp_path: Path) -> None:
    code, said = run(tmp_path, required="browser,brwoser")
    assert code == pytest.ExitCode.USAGE_ERROR, said
    assert "PEOS_REQUIRE names brwoser" in said


def test_every_need_is_a_marker_that_is_described(pytestconfig: pytest.Config) -> None:
    described = {line.partition(":")[0] for line in pytestconfig.getini("markers")}
    assert described >= NEEDS.keys()


def test_what_is_for_ci_is_left_out_and_counted_in_one_line(tmp_path: Path) -> None:
    code, said = run(tmp_path, full="", planted=LEFT_OUT)
    assert code == 0, said
    assert "1 passed, 3 deselected" in said
    assert "repeated 2" in said
    assert "\n2 tests and most repetitions were left to CI: PEOS_FULL=1 make test runs them" in said


@pytest.mark.full
def test_several_workers_leave_it_out_as_one_does(tmp_path: Path) -> None:
    code, said = run(tmp_path, "-n2", "test_planted.py", full="", planted=LEFT_OUT)
    assert code == 0, said
    assert "1 passed" in said
    assert "\n2 tests and most repetitions were left to CI" in said


@pytest.mark.parametrize(
    ("words", "full", "required", "ran"),
    [
        ((), "1", "", {"of_minutes", "a_page", "of_seconds"}),
        ((), "", "browser", {"a_page", "of_seconds"}),
        (("test_planted.py::test_of_minutes",), "", "", {"of_minutes"}),
        (("-m", "full", "test_planted.py"), "", "", {"of_minutes"}),
    ],
    ids=["all", "required", "named", "chosen"],
)
def test_it_runs_where_it_is_asked_for(
    tmp_path: Path, words: tuple[str, ...], full: str, required: str, ran: set[str]
) -> None:
    _, said = run(tmp_path, *words, full=full, required=required, planted=LEFT_OUT)
    names = {"of_minutes", "a_page", "of_hours", "of_seconds"}
    assert {name for name in names if f"test_{name} " in said} == ran, said
    assert "left to CI" not in said or required
