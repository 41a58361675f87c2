"""What every benchmark uses: the machine's description, processor time, memory.

Times are processor time of this process: it is the work that is measured, and others on the machine disturb little.
"""

import importlib
import importlib.metadata
import os
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

Row = dict[str, Any]
Work = tuple[str, str, Callable[[], object], int]  # scheme, operation, what does it, how many times
NOT_INSTALLED: Final = "not installed"
REPETITIONS: Final = 3


def machine() -> Row:
    """What the figures were measured on."""
    import gmpy2

    names = [line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    memory = next((line.split()[1] for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), "0")
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(int(memory) / 1e6, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "gmpy2": gmpy2.version(),
        "gmp": gmpy2.mp_version(),
    }


def optional(module: str, distribution: str) -> tuple[Any, str]:
    """A library to compare with, and its version; None where it is not installed."""
    try:
        return importlib.import_module(module), importlib.metadata.version(distribution)
    except ImportError:
        return None, NOT_INSTALLED


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


def medians(works: Sequence[Work], bytes_: int) -> list[Row]:
    """A row for each work: the median of a few repetitions, which alternate, so that all meet the same machine."""
    samples: list[list[float]] = [[] for _ in works]
    for _ in range(REPETITIONS):
        for sample, (_scheme, _operation, work, count) in zip(samples, works, strict=True):
            sample.append(microseconds(work, count))
    return [
        {"scheme": scheme, "operation": operation, "microseconds": statistics.median(sample), "bytes": bytes_}
        for sample, (scheme, operation, _work, _count) in zip(samples, works, strict=True)
    ]


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
