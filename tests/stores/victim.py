"""An older store opened by processes that are killed: the first before the first statement, the next before the second.

python -m tests.stores.victim STORE ARCHIVE FOLDER: leaves FOLDER/0, FOLDER/1 … as each death left them.
"""

import os
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any

from tests.stores.filled import STORES, StoreKind, unpack


class Mortal(sqlite3.Connection):
    """Kills its process instead of one statement."""

    left = 0

    def execute(self, *given: Any) -> sqlite3.Cursor:
        """The statement, if there is time for it."""
        if not Mortal.left:
            os.kill(os.getpid(), signal.SIGKILL)
        Mortal.left -= 1
        return super().execute(*given)


def dies(statements: int, kind: StoreKind, folder: Path) -> bool:
    """Whether a child that runs so many statements is killed before it has opened and read the store."""
    child = os.fork()
    if not child:
        connect, Mortal.left = sqlite3.connect, statements
        sqlite3.connect = lambda *given, **named: connect(*given, **{**named, "factory": Mortal})
        try:
            kind.read(folder)
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL), f"the child failed: {status}"
    return status != 0


def main(name: str, archive: Path, folder: Path) -> None:
    """All deaths, from the first statement of an opening to the last."""
    number, is_over = 0, False
    while not is_over:
        here = folder / str(number)
        here.mkdir(mode=0o700, parents=True)
        unpack(archive, here)
        is_over = not dies(number, STORES[name], here)
        number += 1


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
