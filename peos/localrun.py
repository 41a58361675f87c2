"""A whole collection of separate processes on this machine, from `init` to the published result."""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from peos.ending import ends_with_this
from peos.errors import PeosError
from peos.localcluster import LocalCluster, Party
from peos.registry import DEFAULT_PROTOCOL
from peos.spec import CollectionSpec

if TYPE_CHECKING:
    from rich.console import Console

NAME: Final = "demo"
ZIPF: Final = 1.2
_COST: Final = ("party", "seconds", "sent", "received", "peak_rss")


class Clock:
    """Says what was done, and how long it took."""

    def __init__(self, console: "Console") -> None:
        self.steps: dict[str, float] = {}
        self._console = console
        self._since = time.monotonic()

    def done(self, what: str) -> None:
        """A step is over."""
        now = time.monotonic()
        self.steps[what] = round(now - self._since, 2)
        self._since = now
        self._console.print(f"{self.steps[what]:7.1f} s  {what}")

    def under_way(self, line: str) -> None:
        """What a party says of its progress."""
        self._console.print(f"           {line}", style="dim", soft_wrap=True)


def local_spec(users: int, domain: int, **asked: Any) -> CollectionSpec:
    """The collection that a run on this machine asks about."""
    question = f"Which of the {domain} values is yours?"
    return CollectionSpec(name=NAME, question=question, domain=domain, users=users, **asked)


def zipf_values(users: int, domain: int, seed: int | None) -> list[int]:
    """The users' true values: Zipf. They are the demo's pretence, no secret, and need no cryptographic randomness."""
    import numpy as np

    weights = 1.0 / np.arange(1, domain + 1) ** ZIPF
    values: list[int] = np.random.default_rng(seed).choice(domain, size=users, p=weights / weights.sum()).tolist()
    return values


def run_locally(
    folder: Path,
    values: list[int],
    *,
    shufflers: int,
    spec: CollectionSpec,
    console: "Console",
    protocols: Sequence[str] = (DEFAULT_PROTOCOL,),
) -> tuple[dict[str, Any], Clock]:
    """Run the collection of `spec` with users who hold `values`, in fresh folders below `folder`.

    `protocols` are those that shufflers and users take part in.

    The result as the analyzer published it, with every party's cost, and how long each step took.
    """
    users = len(values)
    clock = Clock(console)
    with LocalCluster(folder / "cluster", shufflers=shufflers, protocols=protocols) as cluster:
        analyzer = cluster.analyzer
        assert analyzer is not None, "the cluster was made with one"
        cluster.init()
        cluster.start()
        clock.done(f"an analyzer and {shufflers} shufflers are running")
        config = ("--config", str(analyzer.config))
        file = folder / f"{NAME}.toml"
        file.write_text(spec.to_toml(), encoding="utf-8")
        analyzer.run("create", *config, "--spec", str(file), "--out", str(folder), tell=clock.under_way)
        clock.done("the collection is planned, created and accepted by every shuffler")
        tickets = folder / "tickets.txt"
        enrol(analyzer, users, tickets)
        submitted = _submit(cluster, folder, values, tickets, clock)
        clock.done(f"{submitted['accepted']} of {users} users have submitted")
        analyzer.run("freeze", *config, NAME)
        result: dict[str, Any] = json.loads(
            analyzer.run("result", *config, NAME, "--wait", "3600", "--json", tell=clock.under_way)
        )
        clock.done("frozen, shuffled, delivered, decrypted and estimated")
        result["cost"] = _costs(cluster, result["cost"], submitted["cost"])
    return result, clock


def _costs(cluster: LocalCluster, published: list[dict[str, Any]], users: dict[str, Any]) -> list[dict[str, Any]]:
    """Every party's row, keys in one order; the analyzer counts its own bytes."""
    counted = {row["party"]: row for row in published}
    rows = []
    for row in [*cluster.cost(), users]:
        own = counted.get(row["party"], {})
        rows.append({key: own.get(key) if row[key] is None else row[key] for key in _COST})
    return rows


def enrol(analyzer: Party, users: int, tickets: Path) -> None:
    """Mint tickets for the run's collection."""
    command = [sys.executable, "-m", "peos.cli", "enrol", "--config", str(analyzer.config), "--collection", NAME]
    command += ["--count", str(users), "--out", str(tickets)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=ends_with_this())  # noqa: S603
    if ran.returncode:
        raise PeosError(
            "demo.tickets",
            f"tickets could not be minted: {ran.stderr.strip()}",
            hint="nothing was left running; try again",
        )


def _submit(cluster: LocalCluster, folder: Path, values: list[int], tickets: Path, clock: Clock) -> dict[str, Any]:
    client = cluster.client()
    (client.folder / "values.txt").write_text("".join(f"{value}\n" for value in values), encoding="utf-8")
    said = client.run(
        *("submit-file", "--config", str(client.config), "--invitation", str(folder / f"{NAME}.invitation")),
        *("--tickets", str(tickets), "--values", str(client.folder / "values.txt"), "--json"),
        tell=clock.under_way,
    )
    submitted: dict[str, Any] = json.loads(said)
    submitted["cost"] = {"party": "users", "sent": submitted["sent"], "received": None, **client.spent}
    return submitted
