"""Which engine a process works with, as its configuration says."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from peos.compute.engine import Engine
from peos.compute.inline import Inline
from peos.compute.processes import Processes
from peos.errors import WrongInput

_INLINE: Final = "inline"
_DASK: Final = "dask"
ENGINES: Final = ("processes", _INLINE, _DASK)
LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Tls:
    """Files of a cluster's certificates: who may be in it, and this process' own."""

    authority: Path
    certificate: Path
    key: Path


@dataclass(frozen=True)
class Choice:
    """An engine by its name; for a cluster, where its scheduler is."""

    engine: str = ENGINES[0]
    scheduler: str = ""
    tls: Tls | None = None

    def __post_init__(self) -> None:
        if self.engine == _DASK:
            _require_protected(self.scheduler, self.tls)


PROCESSES: Final = Choice()


def engine(workers: int | None = None, choice: Choice = PROCESSES) -> Engine:
    """The engine that was chosen, by default `workers` processes, one a core; a single one means no processes.

    A cluster is met before this returns: WrongInput if it is not installed here, LocalFault if it does not answer.
    """
    if choice.engine == _INLINE:
        return Inline()
    if choice.engine == _DASK:
        try:
            from peos.compute.dask_cluster import Dask
        except ImportError as missing:
            raise WrongInput(
                "compute.not_installed",
                f"the engine dask cannot be used: {missing.name} is not installed",
                hint="pip install 'peos[cluster]', here and on the cluster's machines",
            ) from None
        cluster = Dask(choice.scheduler, choice.tls)
        cluster.connect()
        return cluster
    found = Processes(workers)
    return found if found.workers > 1 else Inline()


def _require_protected(address: str, tls: Tls | None) -> None:
    """A cluster on other machines is reached by TLS, and by nothing else."""
    try:
        parts = urlsplit(address)
        right = bool(parts.hostname) and parts.port is not None and parts.scheme in ("tls", "tcp")
    except ValueError:
        right = False
    if not right:
        raise WrongInput(
            "compute.address", f"{address or 'nothing'} is not the address of a scheduler", hint="write tls://host:port"
        )
    if parts.scheme == "tcp" and parts.hostname not in LOOPBACK:
        raise WrongInput(
            "compute.no_tls",
            f"the cluster at {address} would be reached without TLS",
            hint="write tls://host:port, and its certificates",
        )
    if parts.scheme == "tls" and tls is None:
        raise WrongInput(
            "compute.certificates",
            f"the cluster at {address} needs certificates",
            hint="name the files of its authority, certificate and key",
        )
    if parts.scheme == "tcp" and tls is not None:
        raise WrongInput(
            "compute.needless_certificates",
            f"the cluster at {address} is reached without certificates",
            hint="write tls://host:port, or name none",
        )
