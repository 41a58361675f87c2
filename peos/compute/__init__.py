"""Where heavy vectors are worked: inline in this process, or by spawned workers on all cores.

    with engine() as workers:
        words = workers.decrypt(private, rows)

Depends on `peos.crypto` and nothing above it. Not pure: it starts processes, and asks the operating system for the
randomness of each of them.
"""

from peos.compute.engine import Engine, Progress
from peos.compute.inline import Inline
from peos.compute.processes import Background, Processes
from peos.compute.ready import ReadyZeros

__all__ = ["Background", "Engine", "Inline", "Processes", "Progress", "ReadyZeros", "engine"]


def engine(workers: int | None = None) -> Engine:
    """The engine for this machine: `workers` processes, by default one a core; a single one means no processes."""
    found = Processes(workers)
    return found if found.workers > 1 else Inline()
