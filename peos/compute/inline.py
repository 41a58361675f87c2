"""The engine without workers: everything in the calling thread."""

from threading import Lock
from typing import Any

from peos.compute.engine import Engine, Job, Progress, chunks, cut
from peos.compute.supply import Supply
from peos.crypto.randomness import Randomness
from peos.crypto.schemes.base import PublicKey


class Inline(Engine):
    """Works each chunk here; `rng` is for tests."""

    def __init__(self, rng: Randomness | None = None) -> None:
        self._supply = Supply(rng)
        self._lock = Lock()  # two threads that drew from one stream at a time could draw the same words

    def _run(
        self,
        job: Job,
        public: PublicKey,  # noqa: ARG002 - only engines that choose where to work ask for it
        inputs: tuple[Any, ...],
        out: Any,
        progress: Progress | None,
    ) -> None:
        for where in chunks(len(out), self.workers):
            with self._lock:
                out[where] = job.work(self._supply, *cut(inputs, where))
            if progress:
                progress(where.stop, len(out))
