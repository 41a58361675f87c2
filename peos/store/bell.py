"""A bell in a party's folder: a command rings it, and the process that serves the folder looks at once.

It is a named pipe: the process need not look again and again, and a command learns whether a process heard.
"""

import asyncio
import contextlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

from peos.errors import WrongInput

NAME: Final = "bell"
_READ: Final = 4096


class Bell:
    """Heard in the running event loop until it is closed."""

    def __init__(self, folder: Path, heard: Callable[[], None]) -> None:
        path = folder / NAME
        with contextlib.suppress(FileExistsError):
            os.mkfifo(path, 0o600)
        if not stat.S_ISFIFO(path.lstat().st_mode):
            raise WrongInput("store.bell", f"{path} is not the bell of this folder", hint="remove it, and start again")
        # Also for writing: else it would be at its end whenever no command has it open.
        self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        self._heard = heard
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._pipe, self._read)

    def close(self) -> None:
        """Hear nothing more."""
        self._loop.remove_reader(self._pipe)
        os.close(self._pipe)

    def _read(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._pipe, _READ)
        self._heard()


def ring(folder: Path) -> bool:
    """Have the process that serves this folder look; False if there is none."""
    try:
        pipe = os.open(folder / NAME, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:  # no bell, or no process that listens
        return False
    try:
        with contextlib.suppress(BlockingIOError):  # full of rings that were not heard yet
            os.write(pipe, b"\0")
    finally:
        os.close(pipe)
    return True
