"""What a process that holds keys sees to first."""

import os
import resource


def no_core_dumps() -> None:
    """A process that dies leaves no picture of its memory, nor do those that it starts."""
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    if most != 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.umask(0o077)
