"""Runs a module with the tests' own tasks registered, and kills it at a point: `-m tests.e2e.with_tasks MODULE …`.

DIES in the environment is "module:function:before" or "…:after": the process is killed at the first call of it.
KEEPS is a folder, for the words of each collection as the analyzer publishes them: in a file 0.npy, 1.npy, …
"""

import os
import runpy
import signal
import sys
from functools import wraps
from importlib import import_module
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import numpy as np

from peos.crypto.randomness import U64
from peos.registry import TASKS
from tests.e2e.run_off import RUN_OFF

DIES = "PEOS_TEST_DIES"
KEEPS = "PEOS_TEST_KEEPS"


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


def keeping(folder: Path) -> None:
    """Have the analyzer's words kept, without its dummies."""
    publisher = import_module("analyzer.publisher")
    without_dummies = publisher.without_dummies

    @wraps(without_dummies)
    def kept(*given: Any, **named: Any) -> U64:
        words: U64 = without_dummies(*given, **named)
        np.save(folder / f"{len([*folder.iterdir()])}.npy", words)
        return words

    setattr(publisher, without_dummies.__name__, kept)


if __name__ == "__main__":
    TASKS[RUN_OFF.name] = RUN_OFF
    if os.environ.get(DIES):
        dying(os.environ[DIES])
    if os.environ.get(KEEPS):
        keeping(Path(os.environ[KEEPS]))
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
