"""What every party's process does before it holds anything: leave nothing to others, and have room for connections."""

import contextlib
import ctypes
import os
import resource
import sys
from typing import Final

_PR_SET_DUMPABLE: Final = 4


def harden() -> None:
    """A process that dies leaves no picture of its memory, nor do those that it starts; its files are its owner's.

    On Linux another process of the same owner cannot read its memory either, nor trace it.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the hard limit too: nothing in here can raise it again
    os.umask(0o077)
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # a libc without it: the limit above remains
            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def descriptors() -> int:
    """How many files and connections this process may have open, after the limit was raised as far as it goes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):  # some systems name a hard limit that they do not grant
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
    return soft if soft != resource.RLIM_INFINITY else _MANY


_MANY: Final = 1 << 20
