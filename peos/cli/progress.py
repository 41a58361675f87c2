"""What a command says while it works: sentences and progress on standard error, results on standard output.

On a terminal the last line is kept up to date; elsewhere a plain line comes when something changed, after two seconds
and then more and more rarely, since what changes is often only how long it has taken. With --json standard output holds
the result alone, which these never touch.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.status import Status

_FIRST: Final = 2.0
_SLOWER: Final = 1.5
_LAST: Final = 30.0
_EVERY: Final = 2.0  # seconds between plain lines of a bar, and before the first


class Progress:
    """The voice of one command; a context manager that clears its line at the end."""

    def __init__(self) -> None:
        self._status: Status | None = None
        self._last = ""
        self._told_at = time.monotonic()
        self._every = _FIRST

    def say(self, sentence: str) -> None:
        """Something that happened, or begins."""
        self._every = _FIRST
        self._show(sentence)

    def waiting(self, sentence: str) -> None:
        """What is being waited for; said again only when it changed."""
        if sys.stderr.isatty():
            self._show(sentence)
        elif sentence != self._last and time.monotonic() - self._told_at >= self._every:
            self._every = min(_LAST, self._every * _SLOWER)
            self._show(sentence)

    def _show(self, sentence: str) -> None:
        self._last = sentence
        if sys.stderr.isatty():
            self._line(sentence)
        else:
            print(sentence, file=sys.stderr, flush=True)  # noqa: T201 - what this is for
            self._told_at = time.monotonic()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()
            self._status = None

    def _line(self, sentence: str) -> None:
        if self._status is None:
            from rich.console import Console  # only where there is a terminal: a command must start at once

            self._status = Console(stderr=True, highlight=False).status(sentence)
            self._status.start()
        else:
            self._status.update(sentence)


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A function to say how many are done, and of how many."""
    if sys.stderr.isatty():
        from rich import progress
        from rich.console import Console

        columns = (progress.TextColumn(what), progress.BarColumn(), progress.MofNCompleteColumn())
        shown = progress.Progress(
            *columns, progress.TimeRemainingColumn(), console=Console(stderr=True), transient=True
        )
        with shown:
            task = shown.add_task(what, total=None)
            yield lambda done, total: shown.update(task, completed=done, total=total)
    else:
        last = time.monotonic()

        def tell(done: int, total: int) -> None:
            nonlocal last
            if time.monotonic() - last >= _EVERY:
                last = time.monotonic()
                print(f"{what}: {done:,} of {total:,}", file=sys.stderr, flush=True)  # noqa: T201 - likewise

        yield tell
