"""`peos bench`: what a collection costs, measured on this machine.

`end-to-end` and `ingest` run real processes; `schemes`, `overhead`, `count` and `search` measure processor time in this
one.
"""

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from peos.bench.machine import machine
from peos.cli.options import examples, whole
from peos.registry import DEFAULT_SCHEME, SCHEMES

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="Benchmark this machine.")
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("end-to-end", epilog=examples("peos bench end-to-end --users 20,000"))
def end_to_end(
    users: Annotated[int, whole("--users", help="Number of reports.", least=1)] = 20_000,
    shufflers: Annotated[int, whole("--shufflers", help="Number of shufflers.")] = 3,
    fakes: Annotated[int, whole("--fakes", help="Number of fake reports.", least=0)] = 1000,
    domain: Annotated[int, whole("--domain", help="Number of values.", least=2)] = 64,
    scheme: Annotated[str, typer.Option(help="Encryption scheme.", metavar=SCHEMES.choices)] = DEFAULT_SCHEME,
    as_json: Json = False,
) -> None:
    """Time a whole collection in separate processes, by step and party, with bytes and peak memory."""
    from peos.ldp import GRR
    from peos.localrun import local_spec, run_locally, zipf_values

    console = _console(as_json)
    spec = local_spec(users, domain, delta=1e-6, eps_local=4.0, fakes=str(fakes), mechanism=GRR.name, scheme=scheme)
    with tempfile.TemporaryDirectory(prefix="peos-bench-") as scratch:
        result, clock = run_locally(
            Path(scratch),
            zipf_values(users, domain, 1),
            shufflers=shufflers,
            spec=spec,
            console=console,
        )
    report = {
        "bench": "end-to-end",
        "machine": machine(),
        "users": users,
        "counted": result["users"],
        "fakes": fakes,
        "shufflers": shufflers,
        "scheme": scheme,
        "seconds": clock.steps,
        "cost": result["cost"],
    }
    _print(report, result["cost"], console, as_json=as_json)


@app.command(epilog=examples("peos bench ingest --streams 4"))
def ingest(
    users: Annotated[int, whole("--users", help="Number of submissions to each shuffler.", least=100)] = 10_000,
    streams: Annotated[int, whole("--streams", help="Number of clients that submit at the same time.", least=1)] = 4,
    as_json: Json = False,
) -> None:
    """Count durable acknowledged submissions per second of one shuffler, and time acknowledgements."""
    from peos.bench.ingest import measure

    console = _console(as_json)
    with tempfile.TemporaryDirectory(prefix="peos-bench-") as scratch:
        rows = measure(Path(scratch), users=users, streams=streams, console=console)
    report = {"bench": "ingest", "machine": machine(), "submissions": users, "streams": streams, "rows": rows}
    _print(report, rows, console, as_json=as_json)


@app.command(epilog=examples("peos bench schemes --json"))
def schemes(
    count: Annotated[int, whole("--count", help="Number of operations in a batch.", least=64)] = 1500,
    as_json: Json = False,
) -> None:
    """Time each operation of each scheme on one core, compared with phe, and with HEU where it is installed."""
    from peos.bench.schemes import lines, measure

    console = _console(as_json)
    console.print(f"making keys and measuring batches of {count:,}; this takes about half a minute")
    report = {"bench": "schemes", **measure(count)}
    _print(report, report["rows"], console, as_json=as_json)
    if not as_json:
        lines(report, typer.echo)


@app.command(epilog=examples("peos bench overhead --users 4000 --shufflers 3 --schemes jl"))
def overhead(
    users: Annotated[int, whole("--users", help="Number of reports of the larger collection.", least=1000)] = 4000,
    shufflers: Annotated[
        list[int] | None, typer.Option(help="Number of shufflers; may be repeated.", metavar="N")
    ] = None,
    schemes: Annotated[
        list[str] | None,
        typer.Option(help="Encryption scheme; may be repeated [default: all]", metavar=SCHEMES.choices),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare with table 9.3 of the thesis: seconds and bytes of a user, a shuffler and the analyzer."""
    from peos.bench.overhead import SHUFFLERS, flat, measure_all

    console = _console(as_json)
    found = measure_all(users, shufflers or SHUFFLERS, schemes or (), progress=console.print)
    rows = [*flat(found["rows"]), *flat(found["thesis"]["rows"])]
    _print({"bench": "overhead", **found}, rows, console, as_json=as_json)
    if not as_json:
        typer.echo(
            f"Ours: one core, measured at {users:,} and {users // 2:,} users, the difference scaled to a million."
        )
        typer.echo(
            f"The thesis' (no scheme named): {found['thesis']['machine']}, {found['thesis']['threads']} threads."
        )


@app.command("count", epilog=examples("peos bench count --reports 1e6"))
def count_supports(
    reports: Annotated[int, whole("--reports", help="Number of reports to count.", least=1)] = 1_000_000,
    as_json: Json = False,
) -> None:
    """Time support counts of local hashing (d = 42178, d' = 705) and a vectorised xxhash over all pairs."""
    from peos.bench.count import measure

    console = _console(as_json)
    report = {"bench": "count", **measure(reports)}
    _print(report, report["rows"], console, as_json=as_json)
    if not as_json:
        typer.echo(f"{report['times_faster']:.0f} times faster; the bar is {report['bar']}")


@app.command(epilog=examples("peos bench search --json"))
def search(
    users: Annotated[int, typer.Option(help="Number of users of the search.", min=1000, metavar="N")] = 1_000_000,
    reports: Annotated[
        int, typer.Option(help="Number of reports to count candidates of.", min=200, metavar="N")
    ] = 20_000,
    as_json: Json = False,
) -> None:
    """Time candidates of keys, and the default search for the 32 most frequent texts of six bytes."""
    from peos.bench.search import measure

    console = _console(as_json)
    named: set[int] = set()

    def progress(level: int, _done: int, _pieces: int) -> None:
        if level not in named:
            named.add(level)
            console.print(f"level {level + 1}")

    report = {"bench": "search", **measure(users, reports=reports, progress=progress)}
    _print(report, report["rows"], console, as_json=as_json)


def _console(as_json: bool) -> "Console":
    from rich.console import Console

    return Console(stderr=as_json, highlight=False)


def _print(report: dict[str, Any], rows: list[dict[str, Any]], console: "Console", *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(report, indent=2, ensure_ascii=False))
        return
    from rich.table import Table

    table = Table()
    for name in rows[0]:
        table.add_column(name.replace("_", " "), justify="right")
    for row in rows:
        table.add_row(*map(_cell, row.values()))
    console.print(table)


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        value = float(f"{value:.4g}")
    return f"{value:,}" if isinstance(value, int | float) else str(value)
