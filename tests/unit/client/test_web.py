"""The client for browsers: its own tests, its generated code, and the vectors that it shares with the Python client."""

import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

from peos.registry import SCHEMES
from tests.needs import WEB
from tests.vectors import make_web_record_vectors, make_web_vectors

ROOT: Final = WEB.parents[1]


def ran(*words: str) -> str:
    """A command in the package's folder, which must succeed; what it printed."""
    done = subprocess.run(words, cwd=WEB, capture_output=True, text=True, check=False)  # noqa: S603 - our own words
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.full
@pytest.mark.parametrize("made", [make_web_vectors, make_web_record_vectors], ids=["values", "records"])
def test_the_vectors_are_those_of_the_python_client(made: ModuleType) -> None:
    assert made.FILE.read_text(encoding="utf-8") == made.rendered()


def test_the_lock_file_names_no_registry_and_one_dependency() -> None:
    lock = (WEB / "package-lock.json").read_text(encoding="utf-8")
    assert not re.search(r"\"resolved\"|https?://(?!(www\.)?(github|opencollective|feross|patreon|tidelift))", lock)
    shipped = (WEB / "package.json").read_text(encoding="utf-8").split('"dependencies": ')[1].split("}")[0]
    assert re.findall(r'"([^"]+)":', shipped) == ["@bufbuild/protobuf"]


def test_the_page_on_browsers_quotes_what_was_kept() -> None:
    page = (ROOT / "docs" / "browser.md").read_text(encoding="utf-8")
    found = json.loads((WEB / "figures.json").read_text(encoding="utf-8"))
    for scheme in SCHEMES:
        node, chromium = found["node"][scheme], found["chromium"][scheme]
        assert node["median"] < 1000
        cells = (
            f"{node['median']:.1f}",
            f"{chromium['median']:.1f}",
            f"{node['checked']:.0f}",
            f"{chromium['checked']:.0f}",
        )
        assert f"| {scheme} | {' | '.join(cells)} |" in page
    assert (
        found["chromium"]["jl"]["median"] < found["chromium"]["dgk"]["median"] < found["chromium"]["paillier"]["median"]
    )


@pytest.mark.node
def test_the_package_passes_its_own_tests_and_stays_small() -> None:
    assert "bytes compressed" in ran("npm", "test", "--silent")


@pytest.mark.node
def test_the_generated_code_is_that_of_the_messages(tmp_path: Path) -> None:
    ran("env", f"PYTHON={sys.executable}", "./generate.sh", str(tmp_path))
    fresh = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.ts")}
    kept = {path.name: path.read_text(encoding="utf-8") for path in (WEB / "src" / "generated").rglob("*.ts")}
    assert fresh == kept
