"""`peos demo`: an analyzer, shufflers and users as separate processes over TLS, and the estimates beside the truth."""

import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from peos.errors import PeosError, WrongInput

if TYPE_CHECKING:
    from rich.console import Console

    from peos.localcluster import LocalCluster, Party

ALPHA: Final = 1e-6  # that all estimates lie within their bounds fails by chance with this probability
ZIPF: Final = 1.2
NAME: Final = "demo"
SHOWN: Final = 20


def demo(
    users: Annotated[int, typer.Option(help="How many users take part.", min=1)] = 2000,
    shufflers: Annotated[int, typer.Option(help="Organisations that shuffle.")] = 3,
    domain: Annotated[int, typer.Option(help="How many values there are.")] = 64,
    delta: Annotated[float, typer.Option(help="The probability that a guarantee may fail with.")] = 1e-6,
    eps_server: Annotated[float, typer.Option(help="Against the analyzer, alone or with few shufflers.")] = 1.0,
    eps_users: Annotated[float, typer.Option(help="Against it with all other users.")] = 1.0,
    eps_local: Annotated[float, typer.Option(help="Against everybody.")] = 4.0,
    fakes: Annotated[str, typer.Option(help="Fake reports.", metavar="auto|K")] = "auto",
    mechanism: Annotated[str, typer.Option(help="How users randomise.", metavar="auto|grr|solh|sue")] = "auto",
    scheme: Annotated[str, typer.Option(help="The encryption scheme.", metavar="paillier")] = "paillier",
    protocol: Annotated[str, typer.Option(help="The shuffle.", metavar="peos")] = "peos",
    seed: Annotated[int | None, typer.Option(help="Fixes the users' true values, and nothing else.")] = None,
    out: Annotated[Path | None, typer.Option(help="A folder for the results; made if need be.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print result.json.")] = False,
) -> None:
    """Run a whole collection on this machine: separate processes, TLS, real encryption; check it against the truth."""
    from rich.console import Console

    if scheme != "paillier":
        raise WrongInput(f"the scheme {scheme} does not exist yet", hint="paillier does")
    if protocol != "peos":
        raise WrongInput(f"the protocol {protocol} does not exist yet", hint="peos does")
    console = Console(stderr=as_json, highlight=False)
    asked = ["--eps-server", str(eps_server), "--eps-users", str(eps_users), "--eps-local", str(eps_local)]
    asked += ["--delta", str(delta), "--fakes", fakes, "--mechanism", mechanism, "--scheme", scheme]
    if mechanism == "sue":
        # Shuffled unary vectors claim nothing but ε_l (docs/privacy.md §1), so nothing else can be asked of them.
        asked = asked[4:]
    with tempfile.TemporaryDirectory(prefix="peos-demo-") as scratch:
        result = _run(Path(scratch), users, shufflers, domain, asked, _values(users, domain, seed), console)
    folder = out or Path("peos-demo")
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=2, ensure_ascii=False)
    (folder / "result.json").write_text(text, encoding="utf-8")
    if as_json:
        typer.echo(text)
    else:
        _show(result, folder, console)
    if not result["ok"]:
        failed = ", ".join(name for name, held in result["checks"].items() if not held)
        raise PeosError(f"the demo does not hold: {failed}", hint=f"see {folder / 'result.json'}")


def _values(users: int, domain: int, seed: int | None) -> list[int]:
    """The users' true values: Zipf. They are the demo's pretence, no secret, and need no cryptographic randomness."""
    import numpy as np

    weights = 1.0 / np.arange(1, domain + 1) ** ZIPF
    values: list[int] = np.random.default_rng(seed).choice(domain, size=users, p=weights / weights.sum()).tolist()
    return values


def _run(
    folder: Path, users: int, shufflers: int, domain: int, asked: list[str], values: list[int], console: "Console"
) -> dict[str, Any]:
    from peos.localcluster import LocalCluster

    clock = _Clock(console)
    with LocalCluster(folder / "cluster", shufflers=shufflers) as cluster:
        analyzer = cluster.analyzer
        assert analyzer is not None, "the cluster was made with one"
        cluster.init()
        cluster.start()
        clock.done(f"an analyzer and {shufflers} shufflers are running")
        config = ("--config", str(analyzer.config))
        analyzer.run(
            *("create", *config, "--name", NAME, "--question", "the demo's question"),
            *("--domain", str(domain), "--users", str(users), *asked, "--out", str(folder)),
        )
        clock.done("the collection is planned, created and accepted by every shuffler")
        tickets = folder / "tickets.txt"
        _enrol(analyzer, users, tickets)
        submitted = _submit(cluster, folder, values, tickets)
        clock.done(f"{submitted['accepted']} of {users} users have submitted")
        analyzer.run("freeze", *config, NAME)
        result: dict[str, Any] = json.loads(analyzer.run("result", *config, NAME, "--wait", "3600", "--json"))
        clock.done("frozen, shuffled, delivered, decrypted and estimated")
        result["cost"] = [*cluster.cost(), submitted["cost"]]
    return _compare(result, values, users, clock)


def _enrol(analyzer: "Party", users: int, tickets: Path) -> None:
    import subprocess
    import sys

    command = [sys.executable, "-m", "peos.cli", "enrol", "--config", str(analyzer.config), "--collection", NAME]
    command += ["--count", str(users), "--out", str(tickets)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if ran.returncode:
        raise PeosError(f"tickets could not be minted: {ran.stderr.strip()}")


def _submit(cluster: "LocalCluster", folder: Path, values: list[int], tickets: Path) -> dict[str, Any]:
    client = cluster.client()
    (client.folder / "values.txt").write_text("".join(f"{value}\n" for value in values), encoding="utf-8")
    said = client.run(
        *("submit-file", "--config", str(client.config), "--invitation", str(folder / f"{NAME}.invitation")),
        *("--tickets", str(tickets), "--values", str(client.folder / "values.txt"), "--json"),
    )
    submitted: dict[str, Any] = json.loads(said)
    submitted.setdefault("cost", {"party": "users", "seconds": None, "sent": None, "received": None, "peak_rss": None})
    return submitted


def _compare(result: dict[str, Any], values: list[int], users: int, clock: "_Clock") -> dict[str, Any]:
    """The truth beside the estimates, and the checks that decide whether the demo holds."""
    import numpy as np
    from scipy.special import ndtri

    domain = result["parameters"]["domain"]
    truth = np.bincount(values, minlength=domain) / users
    off = np.abs(np.asarray(result["frequency"]) - truth) / np.asarray(result["stderr"])
    bound = float(ndtri(1 - ALPHA / (2 * domain)))
    result["truth"] = truth.tolist()
    result["dropped"] = users - result["users"]
    result["seconds"] = clock.steps
    result["deviation"] = {"largest": float(off.max()), "bound": bound, "alpha": ALPHA}
    result["checks"] = {
        "conservation": bool(result["checks"]["dummies"]),  # every dummy came back exactly
        "digests": bool(result["checks"]["digests"]),
        "everybody_counted": result["dropped"] == 0,
        "estimates": bool(off.max() <= bound),
    }
    result["ok"] = all(result["checks"].values())
    return result


class _Clock:
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


def _show(result: dict[str, Any], folder: Path, console: "Console") -> None:
    from rich.table import Table

    table = Table(title=f"{result['users']:,} users, {result['fakes']:,} fakes, {result['parameters']['mechanism']}")
    for column in ("value", "estimate", "95 % interval", "truth"):
        table.add_column(column, justify="right")
    order = sorted(range(len(result["truth"])), key=lambda value: -result["truth"][value])[:SHOWN]
    for value in order:
        low, high = result["interval95"][value]
        row = (result["labels"][value], f"{result['frequency'][value]:.4f}", f"{low:.4f} … {high:.4f}")
        table.add_row(*row, f"{result['truth'][value]:.4f}")
    console.print(table)
    if len(result["truth"]) > SHOWN:
        console.print(
            f"the {SHOWN} most frequent of {len(result['truth'])} values; all are in {folder / 'result.json'}"
        )
    for sentence in result["guarantees_in_words"]:
        console.print(sentence)
    for name, held in result["checks"].items():
        console.print(f"{'holds' if held else 'FAILS'}  {name.replace('_', ' ')}")
