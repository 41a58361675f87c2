"""Small disks that tests fill, and make room on again."""

import errno
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, kib: int) -> Iterator[Path]:
    """A file system of its own at `folder`, of so many KiB; the test is skipped where none may be mounted."""
    folder.mkdir(mode=0o700, parents=True)
    options = f"size={kib}k,mode=0700"
    command = ["mount", "-t", "tmpfs", "-o", options, "small", str(folder)]
    ran = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - the system's own
    if ran.returncode:
        pytest.skip("no file system can be mounted here: this needs root, or a namespace of its own")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)  # noqa: S603, S607 - likewise


def fill(folder: Path) -> Path:
    """Leave no room there; the file that takes it, to be removed."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
    return ballast
