"""What is published: an archive of the source with all that git has, and a wheel with what runs, and nothing else.

Built without a network, from a copy in which caches and builds lie about as they do on a developer's machine.
"""

import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import Any, Final

import pytest

from peos import __version__

ROOT: Final = Path(__file__).parent.parent
MADE: Final = {"PKG-INFO", "setup.cfg"}  # by the build, besides its own folder
FOR_TESTS: Final = {"peos/errors.toml"}  # the registry of ids, from which docs/errors.md is written
STRAY: Final = (
    "tests/__pycache__/conftest.cpython-311.pyc",
    "peos/ldp/__pycache__/grr.cpython-311.pyc",
    "user_client/web/node_modules/left-pad/index.js",
    "user_client/web/dist/index.js",
    "user_client/web/build/test/parts.test.js",
    "deploy/.DS_Store",
    ".hypothesis/examples/1",
    "peos-demo/report.html",
    ".venv/pyvenv.cfg",
)
BUILD: Final = "import sys; from setuptools import build_meta as b; print(getattr(b, sys.argv[1])(sys.argv[2]))"
SETTINGS: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def tracked() -> set[str]:
    """What git has; there is none in an unpacked archive."""
    listed = subprocess.run(  # noqa: S603 - our own folder
        ["git", "-C", str(ROOT), "ls-files", "-z"],  # noqa: S607 - wherever it is installed
        capture_output=True,
        check=False,
        text=True,
    )
    if listed.returncode:
        pytest.skip("this is not a checkout")
    return {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}


def built(folder: Path, kind: str, out: Path) -> Path:
    """The archive or the wheel of a folder."""
    out.mkdir(exist_ok=True)
    ran = subprocess.run(  # noqa: S603 - our own words
        [sys.executable, "-c", BUILD, f"build_{kind}", str(out)], cwd=folder, capture_output=True, text=True, check=True
    )
    return out / ran.stdout.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of the source."""
    copy = tmp_path_factory.mktemp("copy")
    for name in tracked():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copy / name)
    for name in STRAY:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_text("left here by something else")
    return built(copy, "sdist", tmp_path_factory.mktemp("out"))


@pytest.fixture(scope="module")
def wheel(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from that archive: nothing that it needs is missing there."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    return built(folder / f"peos-{__version__}", "wheel", tmp_path_factory.mktemp("wheels"))


@pytest.mark.full
def test_the_archive_holds_what_git_has_and_nothing_else(archive: Path) -> None:
    with tarfile.open(archive) as opened:
        files = {one.name.partition("/")[2] for one in opened.getmembers() if one.isfile()}
    held = {name for name in files if not name.startswith("peos.egg-info/")}
    assert held - MADE - tracked() == set()
    assert {name.rpartition("/")[2] for name in tracked() - held} == {".gitignore"}
    for name in ("proto/peos/v1/collection.proto", "deploy/shuffler.full.toml", "Makefile", "tests/conftest.py"):
        assert name in held
    assert "user_client/web/src/strict.ts" in held


@pytest.mark.full
def test_the_wheel_holds_what_runs_and_nothing_else(wheel: Path) -> None:
    packages = {name.replace(".", "/") for name in SETTINGS["tool"]["setuptools"]["packages"]}
    wanted = {name for name in tracked() if name.rpartition("/")[0] in packages} - FOR_TESTS
    with zipfile.ZipFile(wheel) as opened:
        files = set(opened.namelist())
    about = f"peos-{__version__}.dist-info/"
    assert {name for name in files if not name.startswith(about)} == wanted
    assert {"analyzer/report/report.html", "analyzer/report/page.css", "peos/py.typed"} <= wanted
    assert {name.partition(about)[2] for name in files if name.startswith(about)} == {
        "METADATA",
        "RECORD",
        "WHEEL",
        "entry_points.txt",
        "licenses/LICENSE",
        "top_level.txt",
    }


@pytest.mark.full
def test_the_wheel_says_what_it_is(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        read = {
            name.rpartition("/")[2]: opened.read(name).decode() for name in opened.namelist() if ".dist-info/" in name
        }
    metadata = Parser().parsestr(read["METADATA"])
    assert (metadata["Name"], metadata["Version"]) == ("peos", __version__)
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert set(metadata.get_all("Provides-Extra", [])) == set(SETTINGS["project"]["optional-dependencies"])
    assert "Typing :: Typed" in metadata.get_all("Classifier", [])
    assert read["LICENSE"] == (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert read["entry_points.txt"].split() == ["[console_scripts]", "peos", "=", "peos.cli:main"]
    assert read["top_level.txt"].split() == ["analyzer", "peos", "shuffler", "user_client"]
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {__version__}" in cited
    assert "license: Apache-2.0" in cited
