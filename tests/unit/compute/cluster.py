"""A real cluster on this machine: a scheduler and its workers, each a process of its own."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

from peos.compute import Tls
from peos.compute.dask_cluster import Dask
from peos.ending import ends_with_this

ROOT: Final = Path(__file__).parents[3]
_PATIENCE: Final = 180.0


class Cluster:
    """Ends what it started."""

    def __init__(self, folder: Path, *, tls: tuple[Path, Path] | None = None) -> None:
        self.folder = folder
        self._tls = tls
        self._started: list[subprocess.Popen[bytes]] = []
        self._file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--port", "0", "--scheduler-file", str(self._file), "--no-dashboard")
        self.workers: list[subprocess.Popen[bytes]] = []
        self.address = self._address()

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._started:
            process.kill()
        for process in self._started:
            process.wait()

    def work(self) -> subprocess.Popen[bytes]:
        """One more worker."""
        worker = self._start(
            *("worker", self.address, "--no-nanny", "--nthreads", "1", "--no-dashboard"),
            *("--local-directory", str(self.folder / f"worker{len(self.workers)}")),
        )
        self.workers.append(worker)
        return worker

    def logs(self) -> bytes:
        """What all of them have said."""
        return b"".join(path.read_bytes() for path in sorted(self.folder.glob("*.log")))

    def _start(self, kind: str, *options: str) -> subprocess.Popen[bytes]:
        host: tuple[str, ...] = ("--host", "127.0.0.1")
        if self._tls is not None:
            certificate, key = map(str, self._tls)
            host += ("--protocol", "tls", "--tls-ca-file", certificate, "--tls-cert", certificate, "--tls-key", key)
        command = [sys.executable, "-m", "tests.bound", f"distributed.cli.dask_{kind}", *options, *host]
        with (self.folder / f"{kind}{len(self._started)}.log").open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 - dask's own
                command, stdout=log, stderr=log, env={**ends_with_this(), "PYTHONPATH": str(ROOT)}
            )
        self._started.append(process)
        return process

    def _address(self) -> str:
        give_up = time.monotonic() + _PATIENCE
        while not self._file.exists():
            assert self.scheduler.poll() is None, self.logs()
            assert time.monotonic() < give_up, "the scheduler says nothing"
            time.sleep(0.1)
        time.sleep(0.1)
        return str(json.loads(self._file.read_text(encoding="utf-8"))["address"])


def met(cluster: Cluster, workers: int, tls: Tls | None = None) -> Dask:
    """An engine on that cluster, once so many workers are there."""
    engine = Dask(cluster.address, tls)
    give_up = time.monotonic() + _PATIENCE
    engine.connect()
    while present(engine) < workers:
        assert time.monotonic() < give_up, cluster.logs()
        time.sleep(0.1)
    engine.connect()
    return engine


def present(engine: Dask) -> int:
    """How many workers the scheduler knows."""
    client: Any = engine._connected()
    return len(client.nthreads())
