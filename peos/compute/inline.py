"""The engine without workers: everything in the calling thread."""

from threading import Lock
from typing import Any

from peos.chunks import chunks
from peos.compute.engine import Engine, Job, Progress, chunk_length, cut, given_up
from peos.compute.zeros import WorkerZeros
from peos.crypto.randomness import Randomness


class Inline(Engine):
    """Works each chunk here; `rng` is for tests."""

    def __init__(self, rng: Randomness | None = None) -> None:
        self._supply = WorkerZeros(rng)
        self._closed = False
        self._lock = Lock()  # two threads that drew from one stream at a time could draw the same words

    def close(self) -> None:
        """Work nothing more: a call that is under way ends after the chunk that it is at."""
        self._closed = True

    def _run(self, job: Job, inputs: tuple[Any, ...], out: Any, progress: Progress | None) -> None:
        for where in chunks(len(out), chunk_length(job, len(out), self.workers)):
            if self._closed:
                raise given_up()
            with self._lock:
                out[where] = job.work(self._supply, *cut(inputs, where))
            if progress:
                progress(where.stop, len(out))
