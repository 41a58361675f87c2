"""Runs a module with the tests' own tasks registered, and kills it at a point: `-m tests.e2e.with_tasks MODULE …`.

DIES in the environment is "module:function:before" or "…:after": the process is killed at the first call of it.
"""

import os
import runpy
import signal
import sys
from functools import wraps
from importlib import import_module
from inspect import iscoroutinefunction
from typing import Any

from peos.registry import TASKS
from tests.e2e.run_off import RUN_OFF

DIES = "PEOS_TEST_DIES"


def dying(point: str) -> None:
    """Have this process killed at a point."""
    home, name, moment = point.split(":")
    module = import_module(home)
    function = getattr(module, name)

    def kill(when: str) -> None:
        if when == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    @wraps(function)
    async def awaited(*given: Any, **named: Any) -> Any:
        kill("before")
        found = await function(*given, **named)
        kill("after")
        return found

    @wraps(function)
    def called(*given: Any, **named: Any) -> Any:
        kill("before")
        found = function(*given, **named)
        kill("after")
        return found

    setattr(module, name, awaited if iscoroutinefunction(function) else called)


if __name__ == "__main__":
    TASKS[RUN_OFF.name] = RUN_OFF
    if os.environ.get(DIES):
        dying(os.environ[DIES])
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
