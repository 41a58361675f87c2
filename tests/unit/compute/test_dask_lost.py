"""A cluster that loses workers, gains some, has none, or is gone: chunks are done again, or it is said."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from peos.compute import Inline, dask_cluster, dask_worker
from peos.compute.dask_cluster import Dask
from peos.crypto.randomness import Randomness
from peos.crypto.sealing import Shared, seal
from tests.keys import small_key
from tests.raising import raises
from tests.unit.compute.cluster import Cluster, met, present

KEY = small_key()
LONG = small_key(1024)  # a decryption takes long enough that a worker can be killed in the middle


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(tmp_path) as made:
        made.work()
        yield made


@pytest.mark.full
def test_what_a_killed_worker_had_in_hand_is_done_again_and_a_new_worker_takes_part(
    cluster: Cluster, rng: Randomness
) -> None:
    cluster.work()
    words = rng.uint64(6000)
    encrypted = Inline(rng).encrypt(LONG.public, words)
    killed: list[int] = []

    def kill_once(done: int, total: int) -> None:
        if not killed and done > total // 8:
            victim = cluster.workers[0]
            killed.append(victim.pid)
            victim.send_signal(signal.SIGKILL)
            cluster.work()

    with met(cluster, 2) as engine:
        assert np.array_equal(engine.decrypt(LONG, encrypted, kill_once), words)
        assert killed
        assert cluster.workers[0].wait() == -signal.SIGKILL
        while present(engine) < 2:
            time.sleep(0.1)
        (first, second) = (engine.decrypt(LONG, encrypted[:600]) for _ in range(2))
        assert np.array_equal(first, second)


@pytest.mark.full
def test_a_worker_that_does_not_know_the_session_is_introduced_to_it(cluster: Cluster, rng: Randomness) -> None:
    words = rng.uint64(50)
    with met(cluster, 1) as engine:
        encrypted = engine.encrypt(KEY.public, words)
        honest = Dask._introduce
        met_again: list[int] = []

        def late(self: Dask, client: Any) -> int:
            if met_again:
                return honest(self, client)
            met_again.append(1)
            client.run(dask_worker.forget, self._session)
            return 1

        Dask._introduce = late  # type: ignore[method-assign] # as a worker that comes after the introductions
        try:
            assert np.array_equal(engine.decrypt(KEY, encrypted), words)
        finally:
            Dask._introduce = honest  # type: ignore[method-assign] # likewise
        assert met_again


@pytest.mark.full
def test_a_cluster_without_workers_is_given_up_with_a_sentence_and_one_that_has_some_again_works(
    cluster: Cluster, rng: Randomness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster, "WITHOUT_WORKERS", 1.0)
    words = rng.uint64(50)
    with met(cluster, 1) as engine:
        encrypted = engine.encrypt(KEY.public, words)
        cluster.workers[0].kill()
        cluster.workers[0].wait()
        with raises("compute.no_workers"):
            engine.decrypt(KEY, encrypted)
        cluster.work()
        monkeypatch.setattr(dask_cluster, "WITHOUT_WORKERS", 30.0)
        assert np.array_equal(engine.decrypt(KEY, encrypted), words)


@pytest.mark.full
def test_a_scheduler_that_is_gone_is_said_and_nothing_hangs(
    cluster: Cluster, rng: Randomness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster, "CONNECT", 1.0)
    encrypted = Inline(rng).encrypt(LONG.public, rng.uint64(3000))
    gone: list[int] = []

    def end_it(done: int, total: int) -> None:  # noqa: ARG001 - the shape of a progress callback
        if not gone:
            gone.append(cluster.scheduler.pid)
            cluster.scheduler.kill()
            cluster.scheduler.wait()

    with met(cluster, 1) as engine:
        for _ in range(2):
            with raises("compute.unreachable"):
                engine.decrypt(LONG, encrypted, end_it)
    assert gone


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker's memory in this process."""
    monkeypatch.setattr(dask_worker, "_receiver", None)
    monkeypatch.setattr(dask_worker, "_sessions", {})


@pytest.mark.usefixtures("here")
def test_a_worker_opens_what_is_sealed_to_it_and_nothing_else(rng: Randomness) -> None:
    key = rng.bytes(32)
    assert not dask_worker.admit(b"s", key), "it has not said its point yet"
    point = dask_worker.introduce()
    assert point == dask_worker.introduce()
    assert dask_worker.work(b"s", 1, b"") is None
    assert dask_worker.admit(b"s", seal(point, key, rng))
    sealed = seal(point, key, rng)
    assert not dask_worker.admit(b"t", sealed[:-1] + bytes([sealed[-1] ^ 1]))
    shared = Shared(key)
    chunk = shared.seal(b"not a chunk", dask_worker.chunk_label(b"s", 1), rng)
    for number in (2, 1):  # another chunk's label; then one that is no job
        told = dask_worker.work(b"s", number, chunk)
        assert told is not None
        result = shared.open(told, dask_worker.result_label(b"s", number))
        assert result[:1] == dask_worker.FAILED
        assert b"not a chunk" not in result
    dask_worker.forget(b"s")
    assert dask_worker.work(b"s", 1, chunk) is None


@pytest.mark.usefixtures("here")
def test_a_worker_remembers_a_few_sessions(rng: Randomness) -> None:
    point = dask_worker.introduce()
    for number in range(dask_worker.SESSIONS + 3):
        assert dask_worker.admit(bytes([number]), seal(point, rng.bytes(32), rng))
    assert len(dask_worker._sessions) == dask_worker.SESSIONS
    assert bytes([0]) not in dask_worker._sessions
