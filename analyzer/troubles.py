"""Current failures of the serving process, in a file that `status`, another process, reads.

The file is whole at every moment, and gone when the process has ended in order. A disk without room keeps it out; the
log has everything.
"""

import contextlib
import json
import os
from pathlib import Path
from typing import Final

from analyzer.events import Began, Ended, MovedOn, NotMovedOn, StoreRead, StoreUnread
from peos.errors import PeosError
from peos.net.observer import Event, Follower

_NAME: Final = "troubles.json"
_TURN: Final = "its collections are looked at again"  # what is tried again after an error, as `status` shows it
_ALL: Final = ""  # of all collections


class Troubles:
    """Those of one process: of each collection, and of each kind of work on it, the last error until it is over."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _NAME
        self._found: dict[str, dict[str, str]] = {}
        self._written: dict[str, dict[str, str]] = {}

    def note(self, digest: bytes | None, work: str, error: Exception | None) -> bool:
        """An error, or that there is none any more; of all collections if no digest is given. True if that is new."""
        of = _ALL if digest is None else digest.hex()
        here = self._found.get(of, {})
        told = None if error is None else _sentence(error)
        is_new = told != here.get(work)
        if is_new:
            left = {one: sentence for one, sentence in here.items() if one != work} | ({work: told} if told else {})
            self._found = {one: found for one, found in (self._found | {of: left}).items() if found}
        if self._found != self._written:  # or it could not be written the last time
            with contextlib.suppress(OSError):
                self._write()
                self._written = self._found
        return is_new

    def follow(self, collection: bytes, event: Event) -> None:
        """The observer that keeps failures and their ends."""
        match event:
            case StoreUnread(error):
                self.note(None, _TURN, error)
            case StoreRead():
                self.note(None, _TURN, None)
            case NotMovedOn(error, _, work):
                self.note(collection, work, error)
            case MovedOn(work):
                self.note(collection, work, None)
            case Began() | Ended():
                self.clear()

    def followers(self) -> dict[type[Event], tuple[Follower, ...]]:
        """The kinds of events that it follows."""
        return dict.fromkeys((StoreUnread, StoreRead, NotMovedOn, MovedOn, Began, Ended), (self.follow,))

    def clear(self) -> None:
        """There is none: the process begins, or ends."""
        self._found = self._written = {}
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _write(self) -> None:
        new = self._path.with_name(f"{_NAME}.new")
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(self._found, file, ensure_ascii=False)
        new.replace(self._path)


def told(folder: Path, digest: bytes) -> str:
    """The serving process's current failures for a collection; empty if there are none."""
    try:
        found = json.loads((folder / _NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    return "; ".join(
        f"{work}: {sentence}" for of in (_ALL, digest.hex()) for work, sentence in found.get(of, {}).items()
    )


def _sentence(error: Exception) -> str:
    return str(error) if isinstance(error, PeosError) else f"it failed ({type(error).__name__}): see the log"
