"""Workers that die, workers that are not wanted any more, and what others on the machine see of them."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from peos.compute import Engine, Inline, Processes
from peos.crypto.randomness import Randomness
from peos.errors import LocalFault
from tests.keys import small_key
from tests.raising import raises
from tests.unit.compute.conftest import Eager

KEY = small_key()
LONG = 1024  # bits: a decryption takes long enough that a worker can be killed in the middle


def test_what_a_killed_worker_had_in_hand_is_done_again(rng: Randomness) -> None:
    key = small_key(LONG)
    words = rng.uint64(4000)
    encrypted = Inline(rng).encrypt(key.public, words)
    killed: list[int] = []

    def kill_once(done: int, total: int) -> None:  # noqa: ARG001 - the shape of a progress callback
        if not killed:
            killed.append(engine.worker_ids[0])
            os.kill(killed[0], signal.SIGKILL)

    with Eager(2) as engine:
        assert np.array_equal(engine.decrypt(key, encrypted, kill_once), words)
        assert killed
        assert killed[0] not in engine.worker_ids


class _Doomed(Eager):
    """Workers that end at once, as they do where memory is short."""

    def _running_pool(self):  # type: ignore[no-untyped-def] # the pool's type is not this test's business
        pool = super()._running_pool()
        pool.submit(os._exit, 1)
        time.sleep(0.2)
        return pool


def test_workers_that_never_work_anything_are_given_up_with_a_sentence(rng: Randomness) -> None:
    encrypted = Inline(rng).encrypt(KEY.public, rng.uint64(20))
    with _Doomed(1) as engine, raises("compute.workers_died", "3"):
        engine.decrypt(KEY, encrypted)


def test_an_error_of_a_chunk_is_the_callers_and_the_workers_stay(eager: Eager, rng: Randomness) -> None:
    encrypted = Inline(rng).encrypt(KEY.public, rng.uint64(20))
    with raises("key.rows"):
        eager.decrypt(KEY, encrypted[:, 1:])
    assert len(eager.decrypt(KEY, encrypted)) == 20


@pytest.mark.parametrize("kind", [Eager, Inline])
def test_closing_gives_up_a_call_that_is_under_way(rng: Randomness, kind: type[Eager | Inline]) -> None:
    key = small_key(LONG)
    encrypted = Inline(rng).encrypt(key.public, rng.uint64(2000))
    begun, ended = threading.Event(), []
    engine: Engine = Eager(2) if kind is Eager else Inline()

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


def test_no_key_is_on_a_workers_command_line_or_in_its_environment(eager: Eager, rng: Randomness) -> None:
    encrypted = Inline(rng).encrypt(KEY.public, rng.uint64(20))
    eager.decrypt(KEY, encrypted)
    assert eager.worker_ids
    secrets = (KEY.encode()[3:35], KEY.encode()[-32:])
    for worker in eager.worker_ids:
        for name in ("cmdline", "environ"):
            shown = Path(f"/proc/{worker}/{name}").read_bytes()
            for secret in secrets:
                number = int.from_bytes(secret, "big")
                for spelt in (secret, secret.hex().encode(), str(number).encode()):
                    assert spelt not in shown


def test_workers_are_spawned_and_not_forked(eager: Eager, rng: Randomness) -> None:
    eager.encrypt(KEY.public, rng.uint64(20))
    assert all(b"spawn_main" in Path(f"/proc/{worker}/cmdline").read_bytes() for worker in eager.worker_ids)
    assert "fork" not in {child.name for child in multiprocessing.active_children()}


ORPHANS = """
import os, sys, time
import numpy as np
from peos.compute.processes import Processes

class Eager(Processes):
    def pays(self, *_): return True

if __name__ == "__main__":
    from tests.keys import small_key
    engine = Eager(2)
    engine.encrypt(small_key().public, np.zeros(200, dtype=np.uint64))
    print(*engine.worker_ids, flush=True)
    time.sleep(60)
"""


def test_workers_do_not_outlive_a_parent_that_was_killed(tmp_path: Path) -> None:
    script = tmp_path / "orphans.py"
    script.write_text(ORPHANS)
    root = str(Path(__file__).parents[3])
    with subprocess.Popen(  # noqa: S603 - the script above
        [sys.executable, str(script)], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": root}
    ) as parent:
        assert parent.stdout is not None
        workers = [int(word) for word in parent.stdout.readline().split()]
        parent.kill()
        parent.wait()
    assert workers
    deadline = time.monotonic() + 60
    while any(_runs(worker) for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [worker for worker in workers if _runs(worker)]


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_the_repr_shows_no_key(eager: Eager) -> None:
    from peos.compute.engine import Decrypt

    assert repr(eager) == "Processes(workers=2)"
    assert str(KEY.p) not in repr(Decrypt(KEY, 2))  # type: ignore[attr-defined] # Paillier's own
    assert isinstance(eager, Processes)
