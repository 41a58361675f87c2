"""`peos bench`: what a collection costs, measured on this machine with real processes."""

import json
import os
import platform
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="Measure on this machine.")
Json = Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")]


@app.command("end-to-end")
def end_to_end(
    users: Annotated[int, typer.Option(help="Reports.", min=1)] = 20_000,
    shufflers: Annotated[int, typer.Option(help="Organisations that shuffle.")] = 3,
    fakes: Annotated[int, typer.Option(help="Fake reports.", min=0)] = 1000,
    domain: Annotated[int, typer.Option(help="Values.", min=2)] = 64,
    scheme: Annotated[str, typer.Option(help="The encryption scheme.", metavar="paillier|dgk|jl")] = "paillier",
    as_json: Json = False,
) -> None:
    """A whole collection in separate processes: seconds of each step; seconds, bytes and peak memory of each party."""
    from peos.cli.local_run import run_locally, zipf_values

    console = _console(as_json)
    asked = ["--delta", "1e-6", "--eps-local", "4", "--fakes", str(fakes), "--mechanism", "grr", "--scheme", scheme]
    with tempfile.TemporaryDirectory(prefix="peos-bench-") as scratch:
        result, clock = run_locally(
            Path(scratch),
            zipf_values(users, domain, 1),
            shufflers=shufflers,
            domain=domain,
            asked=asked,
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


@app.command()
def ingest(
    users: Annotated[int, typer.Option(help="Submissions to each shuffler that is measured.", min=100)] = 10_000,
    streams: Annotated[int, typer.Option(help="Clients that submit at the same time.", min=1)] = 4,
    as_json: Json = False,
) -> None:
    """Durable acknowledged submissions per second of one shuffler, and how long an acknowledgement takes."""
    from peos.cli.bench_ingest import measure

    console = _console(as_json)
    with tempfile.TemporaryDirectory(prefix="peos-bench-") as scratch:
        rows = measure(Path(scratch), users=users, streams=streams, console=console)
    report = {"bench": "ingest", "machine": machine(), "submissions": users, "streams": streams, "rows": rows}
    _print(report, rows, console, as_json=as_json)


def machine() -> dict[str, Any]:
    """What this machine is, beside the figures that it gave."""
    names = [line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    memory = next((line.split()[1] for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), "0")
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(int(memory) / 1e6, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


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
    return f"{value:,}" if isinstance(value, int | float) else str(value)
