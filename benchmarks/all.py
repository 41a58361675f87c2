"""Everything that docs/performance.md shows, measured anew, one after another, and the page written.

    python -m benchmarks.all [--only NAME …] [--million]

On a quiet machine: `cores`, `ingest` and `end-to-end` are elapsed times. A step that fails leaves its older figures as
they are, and the exit code is 1.
"""

import argparse
import importlib.util
import json
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Final

from benchmarks import page
from benchmarks.measuring import keep

LONG: Final = "end-to-end-million"
_MODULES: Final = {"peos": ("-m", "peos.cli"), "python": ()}


def arguments(command: str) -> list[str]:
    """A command of the page, run by this interpreter."""
    first, *rest = shlex.split(command)
    return [sys.executable, *_MODULES[first], *rest]


def missing(command: str) -> bool:
    """Whether it needs a benchmark that this checkout does not have."""
    words = shlex.split(command)
    return words[0] == "python" and importlib.util.find_spec(words[2]) is None


def measure(name: str) -> str:
    """Run one command and keep what it prints; what went wrong, in a few words, or nothing."""
    command = page.COMMANDS[name]
    if missing(command):
        return "there is no such benchmark"
    ran = subprocess.run(arguments(command), stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603 - our own
    if ran.returncode:
        return f"exit code {ran.returncode}"
    keep(name, json.loads(ran.stdout))
    return ""


def run(names: Sequence[str]) -> list[str]:
    """Measure all of these; the names of those that failed."""
    failed = []
    for name in names:
        print(f"{name}: {page.COMMANDS[name]}", file=sys.stderr, flush=True)
        begun = time.monotonic()
        wrong = measure(name)
        print(f"{name}: {wrong or 'kept'}, {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
        failed += [name] if wrong else []
    return failed


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.all", description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=page.NAMES, help="measure these and no others")
    parser.add_argument(
        "--million", action="store_true", help="a whole collection of a million users too, about half an hour"
    )
    options = parser.parse_args()
    names = options.only or [name for name in page.NAMES if name != LONG or options.million]
    failed = run(names)
    for path, text in page.files(page.data()).items():
        path.write_text(text, encoding="utf-8")
    if failed:
        print(f"not measured: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
