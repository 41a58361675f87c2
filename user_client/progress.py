"""How far a long run is: a bar on a terminal, a plain line now and then elsewhere; always on standard error."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import typer

_EVERY: Final = 2.0  # seconds between plain lines, and before the first


@contextmanager
def shown(what: str) -> Iterator[Callable[[int, int], None]]:
    """A function to tell how many are done, and of how many."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(what, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
    else:
        last = time.monotonic()

        def tell(done: int, total: int) -> None:
            nonlocal last
            if time.monotonic() - last >= _EVERY:
                last = time.monotonic()
                typer.echo(f"{what}: {done:,} of {total:,}", err=True)

        yield tell
