"""What the scheduler of a cluster holds of keys, masks and words: nothing. What a naive engine leaves there: a key."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client

from peos.compute import Inline
from peos.compute.engine import Decrypt
from peos.compute.zeros import WorkerZeros
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.base import Packed
from tests.keys import small_key
from tests.unit.compute.cluster import Cluster, met

KEY = small_key(768)
ROWS = 600
_READABLE = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) r")
_PIECE = 1 << 24


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("secrets")) as made:
        made.work()
        made.work()
        yield made


def spellings(number: int, length: int) -> set[bytes]:
    """A secret integer as it stands in memory, in a pickle, in a text."""
    whole = {number.to_bytes(length, "little"), number.to_bytes(length, "big")}
    return whole | {number.to_bytes(length, "big").hex().encode(), str(number).encode()}


def key_spellings() -> set[bytes]:
    """The primes."""
    return spellings(int(KEY.p), 48) | spellings(int(KEY.q), 48)  # type: ignore[attr-defined] # Paillier's own


def held(process: int, wanted: set[bytes]) -> set[bytes]:
    """Which of these are in a process' memory."""
    found: set[bytes] = set()
    with Path(f"/proc/{process}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{process}/maps").read_text(encoding="utf-8").splitlines():
            bounds = _READABLE.match(line)
            if bounds is None or line.endswith(("[vvar]", "[vsyscall]", "[vvar_vclock]")):
                continue
            start, end = (int(bound, 16) for bound in bounds.groups())
            longest = max(map(len, wanted))
            for at in range(start, end, _PIECE):
                memory.seek(at)
                try:
                    piece = memory.read(min(_PIECE + longest, end - at))
                except OSError:
                    break
                found |= {one for one in wanted if one in piece}
    return found


def decrypted_naively(job: Decrypt, rows: Packed) -> U64:
    """What an engine would submit that thinks nothing of it."""
    return job.work(WorkerZeros(), rows)


def test_the_scheduler_holds_no_key_no_word_and_no_mask(cluster: Cluster, rng: Randomness) -> None:
    words, masks = rng.uint64(ROWS), rng.uint64(ROWS)
    encrypted = Inline(rng).encrypt(KEY.public, words)
    looks: list[set[bytes]] = []
    asked: list[int] = []
    with met(cluster, 2) as engine:
        secrets = key_spellings() | {engine._key, words[:4].tobytes(), masks[:4].tobytes()}
        secrets |= {KEY.encode()[-40:], KEY.encode()[4:44], encrypted[0].tobytes()}

        def look(done: int, total: int) -> None:
            asked.append(done)
            if done == total or len(asked) % 3 == 1:
                looks.append(held(cluster.scheduler.pid, secrets))

        passed = engine.remask(KEY.public, encrypted, masks, 1, progress=look)
        assert np.array_equal(engine.decrypt(KEY, passed, look, passes=1), words + masks)
        session = {engine._session.hex().encode()}
        assert held(cluster.scheduler.pid, session), "the search sees what is there: the names of the tasks"
    assert len(looks) >= 4
    assert not set.union(*looks, held(cluster.scheduler.pid, secrets))
    assert not [one for one in secrets if one in cluster.logs()]


@pytest.mark.full
def test_the_search_finds_the_key_that_a_naive_engine_leaves_with_the_scheduler(
    cluster: Cluster, rng: Randomness
) -> None:
    """The control, which comes last: the scheduler's memory may keep it."""
    words = rng.uint64(20)
    encrypted = Inline(rng).encrypt(KEY.public, words)
    naive: Any = Client  # typed in part
    with naive(cluster.address, set_as_default=False) as client:
        future = client.submit(decrypted_naively, Decrypt(KEY, 0), encrypted, pure=False)
        assert np.array_equal(future.result(), words)
        assert held(cluster.scheduler.pid, key_spellings())


@pytest.mark.full
def test_no_key_is_on_a_command_line_or_in_an_environment_of_the_cluster(cluster: Cluster, rng: Randomness) -> None:
    with met(cluster, 2) as engine:
        engine.decrypt(KEY, Inline(rng).encrypt(KEY.public, rng.uint64(20)))
    for process in (cluster.scheduler, *cluster.workers):
        for name in ("cmdline", "environ"):
            shown = Path(f"/proc/{process.pid}/{name}").read_bytes()
            assert not [one for one in key_spellings() if one in shown]
