"""The generated code is what the pinned generator makes of proto/, byte by byte."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
RECIPE = re.compile(
    r"^\t\$\(BIN\)/python -m grpc_tools\.protoc (?P<options>[^$\n]*)"
    r"\$\(patsubst (?P<source>\S+)/%,(?P<package>\S+)/%,\$\(wildcard (?P=source)/\*\.proto\)\)$",
    re.MULTILINE,
)


def test_regenerating_the_code_as_the_makefile_does_changes_nothing(tmp_path: Path) -> None:
    found = RECIPE.search((ROOT / "Makefile").read_text())
    assert found, "the Makefile's recipe for `proto` is not the one that this test can follow"
    package = found["package"]
    sources = [f"{package}/{path.name}" for path in sorted((ROOT / found["source"]).glob("*.proto"))]
    options = [re.sub(r"_out=\.$", f"_out={tmp_path}", option) for option in found["options"].split()]
    assert sum(f"_out={tmp_path}" in option for option in options) >= 2, f"no code, or no stubs: {options}"
    command = [sys.executable, "-m", "grpc_tools.protoc", *options, *sources]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603  # our own command
    assert (ran.returncode, ran.stderr) == (0, "")
    made = {path.name: path.read_bytes() for path in (tmp_path / package).iterdir()}
    kept = {path.name: path.read_bytes() for path in (ROOT / package).glob("*_pb2*")}
    assert set(made) == set(kept)
    assert [name for name in sorted(made) if made[name] != kept[name]] == [], "run `make proto`"
