"""Every role's commands leave no picture of their memory, and no file that others may read: seen from outside."""

import resource
import subprocess
import sys

import pytest

from tests.full import full
from tests.sources import ROOT

_LOOK = """
import os, runpy, sys
module, *sys.argv[1:] = sys.argv[1:]
try:
    runpy.run_module(module, run_name="__main__", alter_sys=True)
except SystemExit:
    pass
print(next(line for line in open("/proc/self/limits") if line.startswith("Max core file size")))
print(oct(os.umask(0)))
import ctypes
print("dumpable", ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
@pytest.mark.parametrize(
    "words",
    [
        ("shuffler", "status"),
        ("analyzer", "status"),
        ("user_client", "ledger"),
        full(("peos.cli", "shuffler", "serve")),
        full(("peos.cli", "analyzer", "serve")),
        full(("peos.cli", "client", "ledger")),
        full(("peos.cli", "enrol")),
    ],
    ids=" ".join,
)
def test_core_dumps_are_off_and_files_are_the_owners_alone(words: tuple[str, ...]) -> None:
    """The command is given no such file, and ends; what it did to its process before stays."""
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    ran = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", _LOOK, *words, "--config", "/nowhere/party.toml"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        umask=0o022,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (most, most)),
    )
    limits, _, umask, dumpable = ran.stdout.splitlines()
    assert limits.split()[-3:-1] == ["0", "0"], limits
    assert umask == "0o77"
    assert dumpable == "dumpable 0"
