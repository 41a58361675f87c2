"""What every benchmark of schemes uses: the machine's description, processor time, memory."""

import os
import platform
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import gmpy2
import phe

Row = dict[str, Any]
Work = tuple[str, str, Callable[[], object], int]  # scheme, operation, what does it, how many times


def machine() -> Row:
    """What the figures were measured on."""
    model = platform.processor()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as lines:
            model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), model)
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "gmpy2": gmpy2.version(),
        "gmp": gmpy2.mp_version(),
        "phe": phe.__version__,
    }


def peak_megabytes() -> float:
    """The most memory this process has held so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def microseconds(work: Callable[[], object], count: int) -> float:
    """Processor time of one of `count` operations that `work` does."""
    begun = time.process_time()
    work()
    return (time.process_time() - begun) / count * 1e6


def seconds(work: Callable[[], Any]) -> tuple[Any, float]:
    """What `work` makes, and its processor time."""
    begun = time.process_time()
    made = work()
    return made, time.process_time() - begun
