"""The engine of a dask cluster: chunks worked by any number of machines (docs/decisions/0012).

Dask's scheduler sees every argument and every result of every task, keeps them, and shows them on its pages. So all of
them are sealed (`peos.compute.dask_worker`): it has ciphertexts, and knows how many rows there are. A worker that is
lost loses the chunk that it was at, which dask has worked again elsewhere, from the same sealed bytes: what was
made of them before was seen by no party.

What this does not protect from: a client that may submit tasks to a cluster can run anything in its workers. A cluster
belongs to one party, like the machines that its process runs on.
"""

import contextlib
import json
import logging
import pickle
import queue
import threading
import time
from collections import deque
from concurrent.futures import CancelledError
from itertools import count
from typing import Any, Final

import numpy as np
from distributed import Client, Future
from distributed.security import Security

from peos.chunks import chunks
from peos.compute import dask_worker
from peos.compute.choice import Tls
from peos.compute.engine import Engine, Job, Progress, chunk_length, cut, given_up
from peos.crypto.randomness import KEY_BYTES, system
from peos.crypto.sealing import Shared, seal
from peos.errors import BadEncoding, LocalFault, named

CONNECT: Final = 10.0  # seconds
_LEAVE: Final = 2.0
_GLANCE: Final = 0.5
WITHOUT_WORKERS: Final = 60.0  # seconds until work is given up
_IN_FLIGHT: Final = 2  # chunks handed over a worker
_TRIES: Final = 3  # introductions, one after another, after which a worker still knows no session
_SESSION_BYTES: Final = 16


class Dask(Engine):
    """Works chunks on the workers of a cluster, whose scheduler is at `address`: tls://host:port, or tcp:// here."""

    def __init__(self, address: str, tls: Tls | None = None) -> None:
        self.address = address
        self._tls = tls
        self._rng = system()
        self._numbers = count()
        self._session = self._rng.bytes(_SESSION_BYTES)
        self._key = self._rng.bytes(KEY_BYTES)
        self._shared = Shared(self._key)
        self._lock = threading.Lock()
        self._client: Client | None = None
        self._closed = False
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what goes wrong is said once, in our words

    def __repr__(self) -> str:
        return f"Dask({self.address!r})"

    def connect(self) -> None:
        """Meet the cluster; LocalFault if it does not answer."""
        client = self._connected()
        try:
            self._introduce(client)
        except OSError:
            raise self._lost() from None

    def close(self) -> None:
        """Close the connections to the cluster; a call under way in another thread gets LocalFault."""
        with self._lock:
            self._closed, client, self._client = True, self._client, None
        if client is not None:
            leaving = threading.Thread(target=self._leave, args=(client,), daemon=True)
            leaving.start()
            leaving.join(_LEAVE)  # a cluster that is gone has nothing left to forget
            client.close(timeout=_LEAVE)

    def _leave(self, client: Client) -> None:
        with contextlib.suppress(OSError, CancelledError):
            client.run(dask_worker.forget, self._session, on_error="ignore")

    def _run(self, job: Job, inputs: tuple[Any, ...], out: Any, progress: Progress | None) -> None:
        client = self._connected()
        try:
            if len(out):
                _Work(self, client, job, inputs, out, progress).go()
        except (OSError, CancelledError):
            with self._lock:
                if self._client is client:
                    self._client = None
            if self._closed:
                raise given_up() from None
            client.close(timeout=_LEAVE)
            raise self._lost() from None
        except Exception:
            if self._closed:  # the client was closed under it, which says so in many ways
                raise given_up() from None
            raise

    def _connected(self) -> Client:
        with self._lock:
            if self._closed:
                raise given_up()
            if self._client is None:
                try:
                    self._client = Client(
                        self.address, security=_security(self._tls), timeout=CONNECT, set_as_default=False
                    )
                except (OSError, ValueError):  # ssl.SSLError is an OSError
                    raise self._lost() from None
            return self._client

    def _lost(self) -> LocalFault:
        return LocalFault(
            "compute.unreachable",
            f"the scheduler of the cluster does not answer at {self.address}",
            hint="see that it runs, and that [compute] names its address and certificates",
        )

    def _introduce(self, client: Client) -> int:
        """Give the session's key to every worker, sealed to it; how many there are."""
        points = client.run(dask_worker.introduce, on_error="ignore")
        for worker, point in points.items():
            sealed = seal(point, self._key, self._rng)
            client.run(dask_worker.admit, self._session, sealed, workers=[worker], on_error="ignore")
        self.workers = max(1, len(points))
        return len(points)

    def _seal(self, job: Job, inputs: tuple[Any, ...]) -> tuple[int, bytes]:
        number = next(self._numbers)
        with self._lock:  # one stream of nonces
            return number, self._shared.seal(
                pickle.dumps((job, *inputs)), dask_worker.chunk_label(self._session, number), self._rng
            )

    def _open(self, number: int, sealed: bytes) -> bytes:
        result = self._shared.open(sealed, dask_worker.result_label(self._session, number))
        if result[:1] == dask_worker.FAILED:
            name, id_, sentence, hint = json.loads(result[1:])
            told = named(name)(id_, sentence, hint=hint)
            raise told
        return result[1:]


class _Work:
    """One vector on its way through the cluster."""

    def __init__(
        self, engine: Dask, client: Client, job: Job, inputs: tuple[Any, ...], out: Any, progress: Progress | None
    ) -> None:
        self._engine = engine
        self._client = client
        self._job = job
        self._inputs = inputs
        self._out = out
        self._progress = progress
        self._working: dict[Future[bytes | None], tuple[int, slice]] = {}
        self._came: queue.SimpleQueue[Future[bytes | None]] = queue.SimpleQueue()
        self._done = 0
        self._strangers = 0
        self._alone_since: float | None = None

    def go(self) -> None:
        """Until all of it is there."""
        self._engine._introduce(self._client)
        waiting = deque(chunks(len(self._out), chunk_length(self._job, len(self._out), self._engine.workers)))
        try:
            while waiting or self._working:
                while waiting and len(self._working) < _IN_FLIGHT * self._engine.workers:
                    self._submit(waiting.popleft())
                try:
                    settled = [self._came.get(timeout=_GLANCE)]
                except queue.Empty:
                    self._look()
                    continue
                while not self._came.empty():
                    settled.append(self._came.get())
                waiting.extendleft(self._taken(settled))
        finally:
            for future in self._working:
                future.release()

    def _submit(self, where: slice) -> None:
        number, sealed = self._engine._seal(self._job, cut(self._inputs, where))
        key = f"peos-{self._engine._session.hex()}-{number}"
        future = self._client.submit(dask_worker.work, self._engine._session, number, sealed, key=key, pure=False)
        self._working[future] = number, where
        future.add_done_callback(self._came.put)

    def _taken(self, settled: "list[Future[bytes | None]]") -> list[slice]:
        """Write down what has come; what has to be worked again."""
        again: list[slice] = []
        for future in settled:
            number, where = self._working.pop(future)
            if future.status != "finished":  # its worker was lost too often, or the cluster
                raise CancelledError
            sealed = future.result(timeout=CONNECT)
            future.release()
            if sealed is None:  # a worker that has come since
                again.append(where)
                continue
            self._strangers = 0
            self._write(where, self._opened(number, sealed))
        if again:
            self._strangers += 1
            if self._strangers > _TRIES:
                raise LocalFault(
                    "compute.unstable",
                    "the cluster's workers change faster than they can be set up",
                    hint="look at their logs",
                )
            self._engine._introduce(self._client)
        return again

    def _opened(self, number: int, sealed: bytes) -> bytes:
        try:
            return self._engine._open(number, sealed)
        except BadEncoding:
            raise LocalFault(
                "compute.result", "the cluster returned something other than its worker's result"
            ) from None

    def _write(self, where: slice, result: bytes) -> None:
        shape = (where.stop - where.start, *self._out.shape[1:])
        self._out[where] = np.frombuffer(result, self._out.dtype).reshape(shape)
        self._done += where.stop - where.start
        if self._progress:
            self._progress(self._done, len(self._out))

    def _look(self) -> None:
        """Whether there is still a worker to wait for."""
        if self._engine._closed:
            raise CancelledError
        if self._client.nthreads():
            self._alone_since = None
            return
        self._alone_since = self._alone_since or time.monotonic()
        if time.monotonic() - self._alone_since > WITHOUT_WORKERS:
            raise LocalFault(
                "compute.no_workers", "the cluster has no workers", hint="start some: `dask worker`, one process a core"
            )


def _security(tls: Tls | None) -> Security | None:
    if tls is None:
        return None
    return Security(
        require_encryption=True,
        tls_ca_file=str(tls.authority),
        tls_client_cert=str(tls.certificate),
        tls_client_key=str(tls.key),
    )
