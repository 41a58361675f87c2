"""When a process has to end: at the signals that ask for it, and with the process that started it.

A party that serves ends at SIGINT and SIGTERM. At SIGHUP it opens its log anew: a closed terminal does not end it.

What a process of ours starts ends when that process does, in whatever way it ended: killed, crashed, or with its
terminal. An environment variable names it, which each replaces by its own for what it starts in turn.
"""

import os
import select
import signal
import threading
import time
from collections.abc import Mapping
from typing import Final

ENDS_WITH: Final = "PEOS_ENDS_WITH"  # the id of the process to end with
GRACE: Final = 10.0  # seconds from SIGTERM to the end
STOPPING: Final = (signal.SIGINT, signal.SIGTERM)  # of a party that serves


def ending_signals() -> tuple[signal.Signals, ...]:
    """The signals that end a command; a closed terminal is one of them, unless `nohup` has it ignored."""
    hangs_up = signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
    return (*STOPPING, *((signal.SIGHUP,) if hangs_up else ()))


def outlive_terminal() -> None:
    """For a process that is to serve: from now on SIGHUP does not end it."""
    signal.signal(signal.SIGHUP, lambda *_: None)


def ends_with_this() -> Mapping[str, str]:
    """The environment of a process that is to end with this one."""
    return {**os.environ, ENDS_WITH: str(os.getpid())}


def end_with_starter() -> None:
    """Once the process that the environment names is gone, this one gets SIGTERM, and is ended GRACE later.

    Nothing is watched where the system cannot say that a process which is no child has ended; Linux can.
    """
    starter, own = os.environ.get(ENDS_WITH, ""), str(os.getpid())
    os.environ[ENDS_WITH] = own
    if starter == own or not starter.isdigit() or not hasattr(os, "pidfd_open"):
        return
    try:
        watched = os.pidfd_open(int(starter))
    except ProcessLookupError:  # it is gone already
        watched = None
    except OSError:  # the system forbids it
        return
    threading.Thread(target=_end_after, args=(watched,), name="ends with its starter", daemon=True).start()


def _end_after(watched: int | None) -> None:
    if watched is not None:
        poll = select.poll()
        poll.register(watched, select.POLLIN)
        poll.poll()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os._exit(1)  # what is durable is kept, as after a crash
