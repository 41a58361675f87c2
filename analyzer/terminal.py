"""What is told to the person at the terminal: sentences and progress on standard error, results on standard output.

On a terminal the last line is kept up to date; elsewhere a plain line comes when something changed, after two seconds
and then more and more rarely, since what changes is often only how long it has taken. With --json standard output holds
the result alone, which these never touch.
"""

import sys
import time
from typing import Final

from rich.console import Console
from rich.status import Status

_FIRST: Final = 2.0
_SLOWER: Final = 1.5
_LAST: Final = 30.0


class Teller:
    """One command's voice; a context manager that clears its line at the end."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._status: Status | None = None
        self._last = ""
        self._told_at = time.monotonic()
        self._every = _FIRST

    def say(self, sentence: str) -> None:
        """Something that happened, or begins."""
        self._every = _FIRST
        self._tell(sentence)

    def waiting(self, sentence: str) -> None:
        """What is being waited for; said again only when it changed."""
        if self._console.is_terminal:
            self._tell(sentence)
        elif sentence != self._last and time.monotonic() - self._told_at >= self._every:
            self._every = min(_LAST, self._every * _SLOWER)
            self._tell(sentence)

    def _tell(self, sentence: str) -> None:
        self._last = sentence
        if self._console.is_terminal:
            self._line(sentence)
        else:
            print(sentence, file=sys.stderr, flush=True)  # noqa: T201 - telling is what this is for
            self._told_at = time.monotonic()

    def __enter__(self) -> "Teller":
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()
            self._status = None

    def _line(self, sentence: str) -> None:
        if self._status is None:
            self._status = self._console.status(sentence)
            self._status.start()
        else:
            self._status.update(sentence)
