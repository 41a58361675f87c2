"""The generated code is what the pinned generator makes of proto/, byte by byte, and proto/ compiles as it lies."""

import re
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROTO = ROOT / "proto"
SOURCES = [str(path.relative_to(PROTO)) for path in sorted(PROTO.rglob("*.proto"))]
RECIPE = re.compile(
    r"^\t\$\(BIN\)/python -m grpc_tools\.protoc (?P<options>-Iproto( --\w+_out=\.)+) proto/peos/v1/\*\.proto$",
    re.MULTILINE,
)
# Another party's project: it has no package peos of its own, so nothing that this repository installs is on its path.
IMPORTING = """
import importlib, sys
generated, library, *sources = sys.argv[1:]
sys.path[:0] = [generated, library]
for source in sources:
    made = importlib.import_module(source.removesuffix(".proto").replace("/", ".") + "_pb2")
    assert made.__file__.startswith(generated), made.__file__
    assert (made.DESCRIPTOR.name, made.DESCRIPTOR.package) == (source, "peos.v1"), made.DESCRIPTOR
    print(*made.DESCRIPTOR.message_types_by_name, *made.DESCRIPTOR.services_by_name)
"""


def run(cwd: Path, *command: str) -> str:
    ran = subprocess.run([sys.executable, *command], cwd=cwd, capture_output=True, text=True, check=False)  # noqa: S603  # our own command
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def test_regenerating_the_code_as_the_makefile_does_changes_nothing(tmp_path: Path) -> None:
    found = RECIPE.search((ROOT / "Makefile").read_text())
    assert found, "the Makefile's recipe for `proto` is not the one that this test can follow"
    options = [re.sub(r"_out=\.$", f"_out={tmp_path}", option) for option in found["options"].split()]
    assert sum(f"_out={tmp_path}" in option for option in options) >= 2, f"no code, or no stubs: {options}"
    run(ROOT, "-m", "grpc_tools.protoc", *options, *(f"proto/{source}" for source in SOURCES))
    made = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    kept = {str(path.relative_to(ROOT)): path.read_bytes() for path in (ROOT / "peos").rglob("*_pb2*.py*")}
    kept = {name: content for name, content in kept.items() if not name.endswith(".pyc")}
    assert set(made) == set(kept)
    assert [name for name in sorted(made) if made[name] != kept[name]] == [], "run `make proto`"


def test_another_project_compiles_proto_as_it_lies_and_imports_the_outcome(tmp_path: Path) -> None:
    run(tmp_path, "-m", "grpc_tools.protoc", f"-I{PROTO}", f"--python_out={tmp_path}", *SOURCES)
    library = sysconfig.get_path("purelib")  # protobuf; -S leaves out what makes this repository importable
    told = run(tmp_path, "-I", "-S", "-c", IMPORTING, str(tmp_path), library, *SOURCES)
    assert set(told.split()) >= {"Users", "Peers", "Analyst", "Part", "VectorHeader", "SignedDocument", "Announcements"}
