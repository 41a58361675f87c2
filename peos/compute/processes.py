"""The engine of all cores: spawned worker processes, each with its own randomness and its own zeros.

Spawned and never forked: a forked child would carry a copy of its parent's random streams. Chunks and keys travel
through the pool's pipes (pickle), so that no key is ever on a command line. A worker that is killed takes the pool with
it; what had come back by then is kept, and the rest is worked again by a new pool, with fresh zeros.
"""

import multiprocessing
import os
import signal
import threading
from collections import deque
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait as wait_for_end
from typing import Any, Final

from peos.chunks import chunks
from peos.compute.engine import (
    Decrypt,
    Encrypt,
    Engine,
    Job,
    Peel,
    Progress,
    Remask,
    Sum,
    Zeros,
    chunk_length,
    cut,
    given_up,
)
from peos.compute.inline import Inline
from peos.compute.zeros import WorkerZeros
from peos.crypto.schemes import scheme
from peos.errors import LocalFault

# Workers answer 0.2 to 0.6 s after they were asked for, on two cores of a shared machine. So they are started, for
# Paillier at 3072 bits, from about 1,100 decryptions or 4,000 ciphertexts to remask, or 100,000 with ready zeros.
_START_SECONDS: Final = 0.6
_MEASURED_AT: Final = 3072  # bits; all but the start grow with the cube of the length
_MS: Final = 1e3
_TABLES_FROM: Final = 95
_IN_FLIGHT: Final = 2  # chunks handed over a worker, so that none waits and few are copied
_GLANCE: Final = 1.0  # seconds between looks at whether the engine was closed
_TRIES: Final = 3  # pools that may break one after another without a single chunk coming back


_PEEL: Final = 5.6e-5


class Processes(Engine):
    """Works chunks on `workers` processes (default: one a core), which start when it first pays and then stay."""

    _niceness = 0

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or len(os.sched_getaffinity(0))
        self._inline = Inline()
        self._lock = threading.Lock()
        self._pool: ProcessPoolExecutor | None = None
        self._closed = False

    def __repr__(self) -> str:
        return f"Processes(workers={self.workers})"

    def close(self) -> None:
        """End the workers after the chunk that each is at; a call under way in another thread gets LocalFault."""
        self._inline.close()
        with self._lock:
            self._closed, pool, self._pool = True, self._pool, None
        if pool:
            pool.shutdown(wait=True, cancel_futures=True)

    def pays(self, job: Job, count: int) -> bool:
        """Whether workers finish sooner than this process would, their start included unless they run already."""
        saved = _seconds(job, count, self.workers) * (1.0 - 1.0 / self.workers)
        return saved > (0.0 if self._pool else _START_SECONDS)

    def _run(self, job: Job, inputs: tuple[Any, ...], out: Any, progress: Progress | None) -> None:
        if not self.pays(job, len(out)):
            self._inline._run(job, inputs, out, progress)
            return
        waiting = deque(chunks(len(out), chunk_length(job, len(out), self.workers)))
        done = broken = 0
        while waiting:
            came = self._one_pool(job, inputs, out, waiting, progress, done)
            done += came
            broken = 0 if came else broken + 1
            if waiting and broken == _TRIES:
                raise LocalFault(
                    "compute.workers_died",
                    f"{_TRIES} times in a row the worker processes died before they finished anything",
                    hint="the system may be short of memory; see its log for processes that it killed",
                )

    def _one_pool(
        self,
        job: Job,
        inputs: tuple[Any, ...],
        out: Any,
        waiting: deque[slice],
        progress: Progress | None,
        before: int,
    ) -> int:
        """Work until nothing waits or a worker dies; what was lost with it is put back. Returns the rows that came."""
        pool = self._running_pool()
        came = 0
        working: dict[Future[Any], slice] = {}
        try:
            while waiting or working:
                while waiting and len(working) < _IN_FLIGHT * self.workers:
                    future = self._submit(pool, job, cut(inputs, waiting[0]))
                    working[future] = waiting.popleft()
                done = wait(working, _GLANCE, return_when=FIRST_COMPLETED).done
                if self._closed and not done:  # `wait` does not return for a future that was cancelled before it began
                    raise CancelledError
                for future in done:
                    out[working[future]] = future.result()
                    where = working.pop(future)
                    came += where.stop - where.start
                    if progress:
                        progress(before + came, len(out))
        except (BrokenProcessPool, CancelledError):
            if self._closed:
                raise given_up() from None
            waiting.extendleft(reversed(working.values()))
            self._give_up(pool)
        finally:
            for future in working:  # if the caller's progress or a chunk raised: the rest is not needed
                future.cancel()
        return came

    @staticmethod
    def _submit(pool: ProcessPoolExecutor, job: Job, inputs: tuple[Any, ...]) -> Future[Any]:
        try:
            return pool.submit(_work, job, *inputs)
        except BrokenProcessPool:
            raise
        except RuntimeError:  # it was shut down: by close, or by another thread that saw it break
            raise CancelledError from None

    @property
    def worker_ids(self) -> tuple[int, ...]:
        """The process ids of the workers that run now."""
        pool = self._pool
        running = pool._processes if pool else None  # the pool has no public name for them
        return tuple(running or ())

    def _running_pool(self) -> ProcessPoolExecutor:
        with self._lock:
            if self._closed:
                raise given_up()
            if self._pool is None:
                spawn = multiprocessing.get_context("spawn")
                self._pool = ProcessPoolExecutor(
                    self.workers, mp_context=spawn, initializer=_begin, initargs=(self._niceness,)
                )
            return self._pool

    def _give_up(self, pool: ProcessPoolExecutor) -> None:
        with self._lock:
            if self._pool is pool:
                self._pool = None
        pool.shutdown(wait=False, cancel_futures=True)


class Background(Processes):
    """For work that may take its time: always in workers, which get what the rest of the machine leaves them."""

    _niceness = 19

    def pays(self, job: Job, count: int) -> bool:  # noqa: ARG002 - the answer is always the same
        """Always: this process has others to serve."""
        return True

    def close(self) -> None:
        """End the workers at once: at their niceness, the end of a chunk may be far off."""
        with self._lock:
            self._closed, pool, self._pool = True, self._pool, None
        if pool:
            for worker in list((pool._processes or {}).values()):  # before it is shut down, which forgets them
                worker.kill()
            pool.shutdown(wait=True)


def _seconds(job: Job, count: int, workers: int) -> float:
    """What the job would take in this process."""
    match job:
        case Peel():
            return count * _PEEL
        case Sum():
            return job.seconds
        case Decrypt():
            public = job.private.public
            whole = count * scheme(public.scheme).costs.chunk_decrypt_ms / _MS
        case Encrypt() | Remask() | Zeros():
            public, each = job.public, scheme(job.public.scheme).costs
            made = min(count, job.expected * workers)
            zero_ms = each.power_ms if job.statistical or made < _TABLES_FROM else each.zero_ms
            whole = (count * each.use_ms + made * zero_ms) / _MS
    return whole * (public.bits / _MEASURED_AT) ** 3


# What follows runs in the workers.

_supply: WorkerZeros | None = None


def _begin(niceness: int) -> None:
    """A worker outlives no parent, and leaves it to the parent to answer Ctrl-C and a terminal that was closed."""
    os.nice(niceness)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None, "a worker was started by a process"

    def leave_with_parent() -> None:
        wait_for_end([parent.sentinel])
        os._exit(1)  # at once: nothing here is durable, and the parent that would take the results is gone

    threading.Thread(target=leave_with_parent, daemon=True).start()


def _work(job: Job, *inputs: Any) -> Any:
    global _supply
    if _supply is None:
        _supply = WorkerZeros()
    return job.work(_supply, *inputs)
