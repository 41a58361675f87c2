"""The engine of a cluster, on a real scheduler with two worker processes: what the other engines give, and no less."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from peos.compute import Choice, Engine, Inline, ReadyZeros, Tls, engine
from peos.compute.dask_cluster import Dask
from peos.compute.engine import Decrypt
from peos.compute.zeros import ZeroTaker
from peos.crypto.onion import Layer, OnionKeys, OnionPrivateKey
from peos.crypto.randomness import Randomness
from peos.errors import LocalFault
from peos.net.certificates import make_certificate
from tests.keys import small_key
from tests.raising import raises
from tests.unit.compute.cluster import Cluster, met
from tests.unit.compute.conftest import Eager
from tests.unit.compute.seeded import SeededEncrypt, SeededRemask

pytestmark = pytest.mark.full

KEY = small_key()
ROWS = 700  # more than two chunks, and not a multiple of one


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster")) as made:
        made.work()
        made.work()
        yield made


@pytest.fixture(scope="module")
def dask(cluster: Cluster) -> Iterator[Dask]:
    with met(cluster, 2) as engine:
        yield engine


def test_what_is_encrypted_and_remasked_decrypts_to_the_sum(dask: Dask, rng: Randomness) -> None:
    words, masks = rng.uint64(ROWS), rng.uint64(ROWS)
    encrypted = dask.encrypt(KEY.public, words)
    assert bool(np.all(KEY.public.check(encrypted)))
    remasked = dask.remask(KEY.public, encrypted, masks, 1)
    assert np.array_equal(dask.decrypt(KEY, remasked, passes=1), words + masks)
    assert not np.any(np.all(encrypted == remasked, axis=1))


def test_no_two_rows_share_their_randomness_whichever_worker_made_them(dask: Dask) -> None:
    same = dask.encrypt(KEY.public, np.zeros(ROWS, dtype=np.uint64))
    assert len(np.unique(same, axis=0)) == ROWS


@pytest.mark.parametrize("name", ["paillier", "jl"])
def test_inline_processes_and_a_cluster_give_the_same_bytes_from_the_same_seed(
    name: str, dask: Dask, eager: Eager, rng: Randomness
) -> None:
    key = small_key(512, name)
    public, words, masks = key.public, rng.uint64(ROWS), rng.uint64(ROWS)
    inline = Inline()
    inline.workers = 2  # chunks are cut by how many workers there are
    # Paillier's by powers: each chunk has a supply of its own here, and tables for each would take long.
    found = []
    for each in (inline, eager, dask):
        encrypted, passed = (np.empty((ROWS, public.ciphertext_bytes), np.uint8) for _ in range(2))
        nothing = ZeroTaker(None, public)
        each._run(SeededEncrypt(public, ROWS, name == "paillier", b"seed"), (words, nothing), encrypted, None)
        job = SeededRemask(public, 1, ROWS, name == "paillier", b"seed")
        each._run(job, (encrypted, masks, nothing), passed, None)
        found.append((encrypted.tobytes(), passed.tobytes(), each.decrypt(key, passed, passes=1).tobytes()))
    assert found[0] == found[1] == found[2]
    assert found[0][2] == (words + masks).tobytes()


def test_onions_are_peeled_by_a_cluster_as_here(dask: Dask, rng: Randomness) -> None:
    layer = Layer(OnionPrivateKey.generate(rng), b"c" * 32, 1)
    onions = OnionKeys((layer.private.point,)).wrap(layer.collection, rng.uint64((ROWS, 1)).view(np.uint8), rng)
    onions[5, -1] ^= 1
    assert np.array_equal(dask.peel(layer, onions), layer.under(onions))


def test_ready_zeros_reach_the_workers_and_are_used_once(dask: Dask, rng: Randomness) -> None:
    ready = ReadyZeros(KEY.public, 300)
    ready.put(KEY.public.zero_source(rng, expected=300).zeros(300))
    words = rng.uint64(ROWS)
    assert np.array_equal(dask.decrypt(KEY, dask.encrypt(KEY.public, words, ready=ready)), words)
    assert len(ready) == 0


def test_progress_rises_to_the_total_and_nothing_is_nothing(dask: Dask, rng: Randomness) -> None:
    seen: list[tuple[int, int]] = []
    dask.encrypt(KEY.public, rng.uint64(ROWS), progress=lambda done, total: seen.append((done, total)))
    assert [total for _, total in seen] == [ROWS] * len(seen)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert seen[-1] == (ROWS, ROWS)
    assert dask.decrypt(KEY, np.empty((0, KEY.public.ciphertext_bytes), np.uint8)).shape == (0,)


def test_an_error_of_a_chunk_is_the_callers_and_the_cluster_stays(dask: Dask, rng: Randomness) -> None:
    encrypted = dask.encrypt(KEY.public, rng.uint64(20))
    with raises("key.rows"):
        dask.decrypt(KEY, encrypted[:, 1:])
    assert len(dask.decrypt(KEY, encrypted)) == 20


def test_two_threads_work_at_a_time(dask: Dask, rng: Randomness) -> None:
    words = [rng.uint64(ROWS), rng.uint64(ROWS)]
    found: dict[int, Any] = {}

    def work(number: int) -> None:
        found[number] = dask.decrypt(KEY, dask.encrypt(KEY.public, words[number]))

    threads = [threading.Thread(target=work, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(found[number], words[number]) for number in (0, 1))


def test_closing_gives_up_a_call_that_is_under_way(cluster: Cluster, rng: Randomness) -> None:
    key = small_key(1024)
    encrypted = Inline(rng).encrypt(key.public, rng.uint64(3000))
    begun, ended = threading.Event(), []
    engine: Engine = met(cluster, 2)

    def decrypt() -> None:
        try:
            while True:
                engine.decrypt(key, encrypted, lambda *_: begun.set())
        except LocalFault as fault:
            ended.append(str(fault))

    caller = threading.Thread(target=decrypt)
    caller.start()
    assert begun.wait(120)
    engine.close()
    caller.join(120)
    assert len(ended) == 1, ended
    assert "cancelled" in ended[0]


def test_the_choice_of_a_configuration_is_met_at_once(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with engine(None, Choice("dask", cluster.address)) as found:
        assert isinstance(found, Dask)
        assert repr(found) == f"Dask({cluster.address!r})"
    monkeypatch.setattr("peos.compute.dask_cluster.CONNECT", 1.0)
    with raises("compute.unreachable", "tcp://127.0.0.1:9"):
        engine(None, Choice("dask", "tcp://127.0.0.1:9"))


def test_a_cluster_that_is_not_installed_is_said_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "peos.compute.dask_cluster", None)
    with raises("compute.not_installed") as refused:
        engine(None, Choice("dask", "tcp://127.0.0.1:8786"))
    assert "'peos[cluster]'" in refused.value.hint


NAMED = Tls(Path("a"), Path("b"), Path("c"))


@pytest.mark.parametrize(
    ("address", "tls", "mistake"),
    [
        ("tcp://10.0.0.1:8786", None, ("compute.no_tls",)),
        ("tcp://10.0.0.1:8786", NAMED, ("compute.no_tls",)),
        ("tls://10.0.0.1:8786", None, ("compute.certificates",)),
        ("tcp://127.0.0.1:8786", NAMED, ("compute.needless_certificates",)),
        ("127.0.0.1:8786", None, ("compute.address",)),
        ("tls://host", NAMED, ("compute.address",)),
        ("tls://host:port", NAMED, ("compute.address",)),
        ("", None, ("compute.address", "nothing")),
    ],
)
def test_a_cluster_elsewhere_is_reached_by_tls_only(address: str, tls: Tls | None, mistake: tuple[str, ...]) -> None:
    with raises(*mistake):
        Choice("dask", address, tls)
    assert Choice("dask", "tls://10.0.0.1:8786", NAMED).tls is NAMED
    assert Choice("dask", "tcp://[::1]:8786").tls is None


def test_over_tls_only_who_has_a_certificate_of_the_clusters_gets_in(tmp_path: Path, rng: Randomness) -> None:
    files = []
    for name in ("ours", "another"):
        made = make_certificate(name, rng)
        certificate, key = tmp_path / f"{name}.pem", tmp_path / f"{name}.key"
        certificate.write_bytes(made.pem)
        key.write_bytes(made.key)
        files.append(Tls(certificate, certificate, key))
    ours, another = files
    with Cluster(tmp_path, tls=(ours.certificate, ours.key)) as cluster:
        assert cluster.address.startswith("tls://")
        cluster.work()
        words = rng.uint64(40)
        with met(cluster, 1, ours) as engine:
            assert np.array_equal(engine.decrypt(KEY, engine.encrypt(KEY.public, words)), words)
        with raises("compute.unreachable"):
            Dask(cluster.address, another).connect()
        with raises("compute.unreachable"):
            Dask(cluster.address.replace("tls", "tcp")).connect()


def test_jobs_show_no_key(dask: Dask) -> None:
    assert str(KEY.p) not in repr(Decrypt(KEY, 2))  # type: ignore[attr-defined] # Paillier's own
    assert dask._key.hex() not in repr(vars(dask))
    assert repr(dask._shared) == "Shared(...)"
