"""`peos shuffler`: init, serve, show, accept, status."""

import asyncio
import json
import os
import sys
import time
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from peos.cli.options import Log, examples
from peos.cli.options import config as config_option
from peos.cli.upkeep import CardOut, Keeper, add_upkeep, show_card
from peos.errors import WrongInput

if TYPE_CHECKING:
    from peos.collection.status import Line

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Run a shuffler: accept submissions, shuffle with the others, deliver.",
)
_SHOWN: Final = {"collection", "state", "reason", "reports", "sent", "received", "refused"} | {
    *("step", "done", "total", "seconds", "waited_for", "document")
}
PATIENCE: Final = 10.0  # seconds for a running process to write its status
_GLANCE: Final = 0.02
Config = Annotated[Path, config_option("shuffler.toml")]
Digest = Annotated[str, typer.Argument(help="Digest of the collection, or its first digits.", metavar="DIGEST")]


@app.command(epilog=examples("peos shuffler init --config shuffler.toml"))
def init(config: Config, card: CardOut = None) -> None:
    """Generate this shuffler's keys, and write its card."""
    from shuffler import keys
    from shuffler.config import read

    settings = read(config)
    made = keys.make(settings)
    show_card(settings.folder / keys.CARD, made.identity.public, card)


@app.command(epilog=examples("peos shuffler serve --config shuffler.toml --log shuffler.log"))
def serve(
    config: Config,
    log: Log = None,
    restored: Annotated[
        bool,
        typer.Option("--restored", help="Accept a store restored from a backup; abandons its unfinished collections."),
    ] = False,
) -> None:
    """Accept submissions, shuffle and deliver, until stopped."""
    from peos.ending import outlive_terminal
    from peos.net import logs
    from shuffler.background import is_left
    from shuffler.config import read
    from shuffler.server import run

    outlive_terminal()
    settings = read(config)
    handler = logs.configure(log)
    asyncio.run(run(settings, logs.Log().bind(party=settings.name), restored=restored))
    if is_left():
        # A thread deep in arithmetic would hold up the end; everything durable is closed.
        handler.flush()
        os._exit(0)


@app.command(epilog=examples("peos shuffler show --config shuffler.toml 61c671"))
def show(
    config: Config,
    collection: Digest,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show a collection's question, answers, mechanism, minimum and times."""
    from shuffler.config import read

    line = _found(_status(read(config).folder)[0], collection)
    if as_json:
        typer.echo(json.dumps({"collection": line["collection"], "document": line["document"]}, ensure_ascii=False))
    else:
        typer.echo(str(_line(line)))
        typer.echo(_document(line))


@app.command(epilog=examples("peos shuffler accept --config shuffler.toml 61c671"))
def accept(config: Config, collection: Digest) -> None:
    """Print what a collection asks, and accept it."""
    from peos.store.bell import ring
    from shuffler.config import read
    from shuffler.server import ACCEPTED

    settings = read(config)
    line = _found(_status(settings.folder)[0], collection)
    typer.echo(_document(line))
    (settings.folder / ACCEPTED / line["collection"]).touch(mode=0o600)
    ring(settings.folder)
    typer.echo(f"accepted {line['collection'][:16]}…")


def _found(lines: list[dict[str, Any]], collection: str) -> dict[str, Any]:
    """The one collection that is meant."""
    found = [line for line in lines if line["collection"].startswith(collection)] if collection else lines
    if len(found) != 1:
        many = f"{len(found)} collections of this shuffler begin" if found else "no collection of this shuffler begins"
        raise WrongInput(
            "collection.ambiguous",
            f"{many} with {collection[:64]!r}",
            hint=f"{'give more of its digits' if found else 'name it by the first digits of its digest'}; "
            "`peos shuffler status` lists them",
        )
    return found[0]


def _document(line: dict[str, Any]) -> str:
    from peos.collection.summary import Summary

    return str(Summary.from_json(line["document"])) if line["document"] else "  it is over: what it asked is not shown"


@app.command(epilog=examples("PEOS_CONFIG=shuffler.toml peos shuffler status"))
def status(config: Config, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Show each collection's state, what it waits for, what was refused, and what one to accept asks."""
    from peos.collection.lifecycle import State
    from shuffler.config import read

    lines, age = _status(read(config).folder)
    if as_json:
        kept = ("collection", "document", "sent", "received")
        shown = [{key: line[key] for key in kept} | _line(line).to_json() for line in lines]
        typer.echo(json.dumps(shown, ensure_ascii=False))
        return
    if age is not None:
        typer.echo(f"the shuffler is not running; this is where it stood {age:,.0f} s ago", err=True)
    for line in lines:
        typer.echo(str(_line(line)))
        if line["state"] == State.DRAFT:
            typer.echo(_document(line))
    if not lines:
        typer.echo("no collections yet")


def _line(line: dict[str, Any]) -> "Line":
    from peos.collection.replies import Status
    from peos.collection.status import line_of

    names = (field.name for field in fields(Status))
    known: dict[str, Any] = {name: tuple(line[name]) if isinstance(line[name], list) else line[name] for name in names}
    known["collection"] = bytes.fromhex(line["collection"])
    return line_of(Status(**known))


def _status(folder: Path) -> tuple[list[dict[str, Any]], float | None]:
    """The running process's status; of a stopped one the last that it wrote, with its age."""
    from peos.store.bell import ring
    from peos.store.private_files import private_folder
    from shuffler.server import STATUS

    path = folder / STATUS
    try:
        before = path.stat().st_mtime_ns
        is_running, give_up_at = ring(folder), time.monotonic() + PATIENCE
        while is_running and path.stat().st_mtime_ns == before and time.monotonic() < give_up_at:
            time.sleep(_GLANCE)
        found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found, list) or not all(isinstance(line, dict) and line.keys() >= _SHOWN for line in found):
            raise ValueError
        return found, None if is_running else time.time() - path.stat().st_mtime
    except OSError as error:
        if isinstance(error, PermissionError):
            private_folder(folder)  # says whose it is
        raise WrongInput(
            "status.not_running", f"no shuffler is running in {folder}", hint="start it with `peos shuffler serve`"
        ) from None
    except ValueError:
        raise WrongInput(
            "status.unreadable",
            f"{path} was written by something else, or by another version",
            hint="restart this folder's shuffler",
        ) from None


def _keeper() -> Keeper:
    from shuffler import backup

    return backup


def _read(config: Path) -> Any:
    from shuffler.config import read

    return read(config)


add_upkeep(app, "shuffler", _keeper, _read, "shuffler.card")


def main() -> int:
    """`python -m shuffler`."""
    from peos.cli.running import run

    return run(app, sys.argv[1:], "shuffler")
