"""A whole collection of separate processes on this machine, from `init` to the published result."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from peos.ending import ends_with_this
from peos.errors import PeosError
from peos.localcluster import LocalCluster, Party
from peos.registry import DEFAULT_PROTOCOL
from peos.spec import CollectionSpec, StudySpec

if TYPE_CHECKING:
    from rich.console import Console

NAME: Final = "demo"
_LOOK_EVERY: Final = 0.2  # seconds, for the next round's invitation
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


def local_spec(
    users: int, domain: int, *, question: str | None = None, labels: Sequence[str] = (), **asked: Any
) -> CollectionSpec:
    """The collection that a run on this machine asks about."""
    question = question or f"Which of the {domain} values is yours?"
    return CollectionSpec(name=NAME, question=question, domain=domain, labels=tuple(labels), users=users, **asked)


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
        clock.under_way(f"starting an analyzer and {shufflers} shufflers")
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
        answers = [spec.labels[value] for value in values] if spec.labels else values
        submitted = _submit(cluster, folder, answers, tickets, clock)
        clock.done(f"{submitted['accepted']} of {users} users have submitted")
        analyzer.run("freeze", *config, NAME)
        result: dict[str, Any] = json.loads(
            analyzer.run("result", *config, NAME, "--wait", "3600", "--json", tell=clock.under_way)
        )
        clock.done("frozen, shuffled, delivered, decrypted and estimated")
        result["cost"] = _costs(cluster, result["cost"], submitted["cost"])
    return result, clock


def run_study_locally(
    folder: Path, spec: StudySpec, records: Sequence[object], *, shufflers: int, console: "Console"
) -> tuple[dict[str, Any], Clock]:
    """Run a study with users who hold these records: every round as it comes, each user in the one that asks her."""
    clock = Clock(console)
    with LocalCluster(folder / "cluster", shufflers=shufflers) as cluster:
        analyzer = cluster.analyzer
        assert analyzer is not None, "the cluster was made with one"
        clock.under_way(f"starting an analyzer and {shufflers} shufflers")
        cluster.init()
        cluster.start()
        clock.done(f"an analyzer and {shufflers} shufflers are running")
        config = ("--config", str(analyzer.config))
        file = folder / f"{spec.name}.toml"
        file.write_text(spec.to_toml(), encoding="utf-8")
        _peos("study", "create", *config, "--spec", str(file))
        tickets = folder / "tickets.txt"
        _peos("enrol", *config, "--study", spec.name, "--count", str(len(records)), "--out", str(tickets))
        clock.done("the study is planned, and its tickets are minted")
        client, held = cluster.client(), folder / "records.jsonl"
        held.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records), encoding="utf-8")
        spent: dict[str, float] = dict.fromkeys(("seconds", "sent", "peak_rss"), 0)
        answered: set[Path] = set()
        run = ("study", "run", *config, "--out", str(folder), spec.name)
        with subprocess.Popen(  # noqa: S603 # our own command line
            [sys.executable, "-m", "peos.cli", *run],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=ends_with_this(),
        ) as running:
            assert running.stderr is not None, "it was asked for"
            saying = threading.Thread(target=_tell_lines, args=(running.stderr, clock), daemon=True)
            saying.start()
            try:
                while running.poll() is None:
                    for invitation in sorted({*folder.glob("*.invitation")} - answered):
                        answered.add(invitation)
                        said = _submit_records(client, invitation, tickets, held, clock)
                        spent["sent"] += said["sent"]
                        spent["seconds"] += client.spent["seconds"]
                        spent["peak_rss"] = max(spent["peak_rss"], client.spent["peak_rss"])
                        clock.done(f"{invitation.stem}: {said['accepted']} users have submitted")
                        analyzer.run("freeze", *config, invitation.stem)
                    time.sleep(_LOOK_EVERY)
            finally:
                if running.poll() is None:
                    running.terminate()
                saying.join()
        found: dict[str, Any] = json.loads(_peos("study", "result", *config, spec.name, "--json"))
        clock.done("every round is shuffled, decrypted and decoded")
        found["cost"] = _costs(cluster, found["cost"], {"party": "users", "received": None, **spent})
    return found, clock


def _submit_records(client: Party, invitation: Path, tickets: Path, records: Path, clock: Clock) -> dict[str, Any]:
    said = client.run(
        *("submit-file", "--config", str(client.config), "--invitation", str(invitation)),
        *("--tickets", str(tickets), "--records", str(records), "--json"),
        tell=clock.under_way,
    )
    found: dict[str, Any] = json.loads(said)
    return found


def _tell_lines(lines: IO[bytes], clock: Clock) -> None:
    for line in lines:
        if words := line.decode(errors="replace").strip():
            clock.under_way(words)


def _peos(*words: str) -> str:
    """A command of `peos` to its end; what it printed."""
    ran = subprocess.run(  # noqa: S603 # our own command line
        [sys.executable, "-m", "peos.cli", *words], capture_output=True, text=True, check=False, env=ends_with_this()
    )
    if ran.returncode:
        raise PeosError(
            "demo.command",
            f"`peos {' '.join(words[:2])}` failed: {ran.stderr.strip()}",
            hint="nothing was left running; try again",
        )
    return ran.stdout


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
    _peos("enrol", "--config", str(analyzer.config), "--collection", NAME, "--count", str(users), "--out", str(tickets))


def _submit(
    cluster: LocalCluster, folder: Path, values: Sequence[object], tickets: Path, clock: Clock
) -> dict[str, Any]:
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
