"""A test that lacks what it needs is skipped with the reason; where PEOS_REQUIRE names its marker it fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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


def run(folder: Path, *, required: str, path: str | None = None) -> tuple[int, str]:
    """The planted tests in a pytest of their own; exit code and what was printed."""
    (folder / "test_planted.py").write_text(PLANTED)
    environment = {**os.environ, VARIABLE: required, "PYTHONPATH": str(ROOT)}
    if path is not None:
        environment["PATH"] = path
    options = ["-p", "tests.needs", "-p", "no:cacheprovider", "-rsf", "-c", str(ROOT / "pyproject.toml")]
    ran = subprocess.run(  # noqa: S603 - our own interpreter and files
        [sys.executable, "-m", "pytest", *options, f"--rootdir={folder}", str(folder / "test_planted.py")],
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
