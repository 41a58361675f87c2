"""Where heavy vectors are worked: inline in this process, by spawned workers on all cores, or by a cluster.

    with engine() as workers:
        words = workers.decrypt(private, rows)

Depends on `peos.crypto` and nothing above it. Not pure: it starts processes, and asks the operating system for the
randomness of each of them.
"""

from peos.compute.choice import ENGINES, PROCESSES, Choice, Tls, engine
from peos.compute.engine import Engine, Progress
from peos.compute.inline import Inline
from peos.compute.processes import Background, Processes
from peos.compute.zeros import ReadyZeros

__all__ = [
    "ENGINES",
    "PROCESSES",
    "Background",
    "Choice",
    "Engine",
    "Inline",
    "Processes",
    "Progress",
    "ReadyZeros",
    "Tls",
    "engine",
]
