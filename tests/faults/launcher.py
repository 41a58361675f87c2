"""Starts a role's own command with fault points armed: the process kills itself there, as `kill -9` would.

python -m tests.faults.launcher TRACE POINT|POINT... MODULE ARGUMENTS...

The role's code is what it always is: a named function is wrapped from outside, and then the role's normal main runs.
At the point a line goes to TRACE, is fsynced, and SIGKILL follows: no handler runs, nothing is flushed, no connection
is closed in order. Worker processes of the role start its main anew and are not armed.

Or something fails within the function, once, with the error that it would have from a disk, and the process runs on.
"""

import functools
import importlib
import inspect
import json
import multiprocessing
import os
import runpy
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable
from typing import Any, Final

from peos.errors import Full
from tests.faults.failures import named
from tests.faults.points import JOINT, Fails, Moment, Point

Strike = Callable[[], None]
FAILING: Final = {
    Fails.COMMIT: ("peos.store.database:commit", Moment.BEFORE),
    Fails.ANSWER: ("peos.store.database:commit", Moment.AFTER),
    Fails.WITNESS: ("peos.store.private_files:write_witness", Moment.BEFORE),
    Fails.CHECKPOINT: ("peos.store.database:empty_log", Moment.BEFORE),
}


def resolve(where: str) -> tuple[Any, str]:
    """The module or class that holds the function, and its name there; AttributeError if there is none."""
    module, _, path = where.partition(":")
    owner: Any = importlib.import_module(module)
    *outer, name = path.split(".")
    for one in outer:
        owner = getattr(owner, one)
    if not inspect.isfunction(inspect.getattr_static(owner, name)):
        raise AttributeError(f"{where} is no function")
    return owner, name


def arm(point: Point, strike: Strike) -> None:
    """Put a wrapper around the point's function that strikes at its moment, once."""
    if point.fails is not None:
        arm_failure(point, FAILING[point.fails], strike)
        return
    owner, name = resolve(point.where)
    setattr(owner, name, wrapped(inspect.getattr_static(owner, name), point, strike))


def arm_failure(point: Point, inner: tuple[str, Moment], strike: Strike) -> None:
    """Strike at a function that is called within the point's own, in the same thread, the `count`-th time in a call."""
    (owner, name), (within, part) = resolve(point.where), resolve(inner[0])
    original, failing = inspect.getattr_static(owner, name), inspect.getattr_static(within, part)
    signature, under_way = inspect.signature(original), threading.local()
    struck = threading.Lock()  # is never given back

    @functools.wraps(original)
    def meant(*args: Any, **kwargs: Any) -> Any:
        if not point.only(signature.bind(*args, **kwargs).arguments):
            return original(*args, **kwargs)
        under_way.calls = 0
        try:
            return original(*args, **kwargs)
        finally:
            del under_way.calls

    @functools.wraps(failing)
    def fails(*args: Any, **kwargs: Any) -> Any:
        due = False
        if hasattr(under_way, "calls"):
            under_way.calls += 1
            due = under_way.calls == point.count and struck.acquire(blocking=False)
        if due and inner[1] is Moment.BEFORE:
            strike()
        result = failing(*args, **kwargs)
        if due:
            strike()
        return result

    setattr(owner, name, meant)
    setattr(within, part, fails)


def wrapped(original: Callable[..., Any], point: Point, strike: Strike) -> Callable[..., Any]:
    """The function with the strike in it, of the same kind: plain, coroutine, generator or asynchronous generator."""
    signature = inspect.signature(original)
    lock, calls = threading.Lock(), 0

    def is_meant(args: Any, kwargs: Any) -> bool:
        return point.only(signature.bind(*args, **kwargs).arguments)

    def reach(moment: Moment, meant: bool) -> None:
        nonlocal calls
        if meant and moment is point.moment:
            with lock:
                calls += 1
                due = calls == point.count
            if due:
                strike()

    def pass_item(number: int, meant: bool) -> None:
        if meant and point.moment is Moment.DURING and number == point.count:
            strike()

    # What is meant is decided beforehand: a function may use its arguments up.
    if inspect.isasyncgenfunction(original):

        @functools.wraps(original)
        async def each_later(*args: Any, **kwargs: Any) -> Any:
            meant = is_meant(args, kwargs)
            reach(Moment.BEFORE, meant)
            number = 0
            async for item in original(*args, **kwargs):
                yield item
                number += 1
                pass_item(number, meant)
            reach(Moment.AFTER, meant)

        return each_later
    if inspect.isgeneratorfunction(original):

        @functools.wraps(original)
        def each(*args: Any, **kwargs: Any) -> Any:
            meant = is_meant(args, kwargs)
            reach(Moment.BEFORE, meant)
            for number, item in enumerate(original(*args, **kwargs), start=1):
                yield item
                pass_item(number, meant)
            reach(Moment.AFTER, meant)

        return each
    if inspect.iscoroutinefunction(original):

        @functools.wraps(original)
        async def later(*args: Any, **kwargs: Any) -> Any:
            meant = is_meant(args, kwargs)
            reach(Moment.BEFORE, meant)
            result = await original(*args, **kwargs)
            reach(Moment.AFTER, meant)
            return result

        return later

    @functools.wraps(original)
    def plain(*args: Any, **kwargs: Any) -> Any:
        meant = is_meant(args, kwargs)
        reach(Moment.BEFORE, meant)
        result = original(*args, **kwargs)
        reach(Moment.AFTER, meant)
        return result

    return plain


def strike(point: Point, trace: str) -> None:
    """Say durably that the point was reached, and die; or have a worker die, or the call fail, as the point says."""
    victim = 0 if point.fails else os.getpid()
    if point.worker:
        victim = min(process.pid or 0 for process in multiprocessing.active_children())
    line = json.dumps({"point": point.name, "pid": os.getpid(), "killed": victim}) + "\n"
    descriptor = os.open(trace, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    os.write(descriptor, line.encode())
    os.fsync(descriptor)
    os.close(descriptor)
    if point.fails is Fails.WITNESS:
        raise Full("test.full", "there is no room left where the witness is")
    if point.fails is not None:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorname = "SQLITE_IOERR_FSYNC"
        raise error
    os.kill(victim, signal.SIGKILL)


def main(arguments: list[str]) -> None:
    """Arm the points and become the role."""
    trace, names, module, *rest = arguments
    for point in map(named, names.split(JOINT)):
        arm(point, functools.partial(strike, point, trace))
    sys.argv = [module, *rest]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1:])
