"""What runs in a cluster's worker processes: chunks that come sealed, and whose results leave sealed.

A worker draws a key pair when it first is asked for its point, in memory only. A client of the cluster then gives it
the key of a session, sealed to that point; everything else is sealed under the session's key. So the scheduler, which
keeps the arguments and results of all tasks, has nothing that it could open.
"""

import json
import pickle  # chunks come from the other end of a session, authenticated
import threading
from typing import Final

import numpy as np

from peos.compute.zeros import WorkerZeros
from peos.crypto.randomness import system
from peos.crypto.sealing import Receiver, Shared
from peos.errors import BadEncoding, PeosError

SESSIONS: Final = 16  # that a worker remembers: of the clients of one party
DONE: Final = b"\x00"
FAILED: Final = b"\x01"

_lock = threading.Lock()  # a worker that was given several threads works one chunk at a time: a supply has one stream
_receiver: Receiver | None = None
_sessions: dict[bytes, Shared] = {}
_supply: WorkerZeros | None = None


def introduce() -> bytes:
    """This worker's point."""
    global _receiver
    with _lock:
        if _receiver is None:
            _receiver = Receiver(system())
        return _receiver.point


def admit(session: bytes, sealed: bytes) -> bool:
    """Take in the key of a session; False if it was sealed to the worker that was here before."""
    with _lock:
        if _receiver is None:
            return False
        try:
            _sessions[session] = Shared(_receiver.open(sealed))
        except BadEncoding:
            return False
        for old in list(_sessions)[:-SESSIONS]:
            del _sessions[old]
        return True


def forget(session: bytes) -> None:
    """The session is over."""
    _sessions.pop(session, None)


def work(session: bytes, number: int, sealed: bytes) -> bytes | None:
    """One chunk's result, sealed; nothing if this worker does not know the session."""
    global _supply
    shared = _sessions.get(session)
    if shared is None:
        return None
    with _lock:
        if _supply is None:
            _supply = WorkerZeros()
        try:
            job, *inputs = pickle.loads(shared.open(sealed, chunk_label(session, number)))  # noqa: S301 - authenticated
            result = DONE + np.ascontiguousarray(job.work(_supply, *inputs)).tobytes()
        except PeosError as error:
            result = FAILED + json.dumps([type(error).__name__, error.id, str(error), error.hint]).encode()
        except Exception as error:  # its text could hold what was worked on, and the cluster logs what tasks raise
            failed = ["LocalFault", "compute.chunk", f"a chunk failed with {type(error).__name__}", ""]
            result = FAILED + json.dumps(failed).encode()
        return shared.seal(result, result_label(session, number), _supply.rng)


def chunk_label(session: bytes, number: int) -> bytes:
    """What a chunk is sealed under."""
    return b"chunk" + session + number.to_bytes(8, "big")


def result_label(session: bytes, number: int) -> bytes:
    """What its result is sealed under."""
    return b"result" + session + number.to_bytes(8, "big")
