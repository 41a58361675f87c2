"""`peos shuffler`: init, serve, accept, status."""

import asyncio
import json
import os
import sys
import time
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from peos.errors import WrongInput

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Run a shuffler: take in parts, shuffle with the others, deliver.",
)
_SHOWN: Final = {"collection", "state", "reason", "reports", "sent", "received", "refused"} | {
    *("step", "done", "total", "seconds", "waited_for")
}
STALE: Final = 10.0  # seconds after which a status is no longer that of a running process
Config = Annotated[Path, typer.Option("--config", help="shuffler.toml")]


@app.command()
def init(config: Config) -> None:
    """Draw this shuffler's keys, and write the card to hand out."""
    from shuffler import keys
    from shuffler.config import read

    settings = read(config)
    made = keys.make(settings)
    typer.echo(f"card      {settings.folder / keys.CARD}")
    typer.echo(f"identity  {made.identity.public.hex()}")


@app.command()
def serve(
    config: Config,
    log: Annotated[Path | None, typer.Option(help="Write the log here, not to stderr.")] = None,
    restored: Annotated[
        bool, typer.Option("--restored", help="The store comes from a backup: give up what was unfinished in it.")
    ] = False,
) -> None:
    """Take in parts, shuffle and deliver, until told to stop."""
    from peos.net.logs import Log, configure
    from shuffler.background import is_left
    from shuffler.config import read
    from shuffler.process import run

    settings = read(config)
    handler = configure(log)
    asyncio.run(run(settings, Log().bind(party=settings.name), restored=restored))
    if is_left():
        # A thread deep in arithmetic would hold up the end; everything durable is closed.
        handler.flush()
        os._exit(0)


@app.command()
def accept(config: Config, collection: Annotated[str, typer.Argument(help="The digest, or its beginning.")]) -> None:
    """Accept a collection that waits for the operator."""
    from shuffler.config import read
    from shuffler.process import ACCEPTED

    settings = read(config)
    known = [line["collection"] for line in _status(settings.folder)[0]]
    found = [digest for digest in known if digest.startswith(collection)]
    if len(found) != 1 or len(collection) < 8:
        raise WrongInput(
            "collection.ambiguous",
            f"{len(found)} collections of this shuffler begin with {collection!r}",
            hint="give at least 8 digits; `peos shuffler status` lists them",
        )
    (settings.folder / ACCEPTED / found[0]).touch(mode=0o600)
    typer.echo(f"accepted {found[0][:16]}…")


@app.command()
def status(config: Config, as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False) -> None:
    """Say where each collection stands, what is waited for, and what was refused."""
    from shuffler.config import read

    lines, age = _status(read(config).folder)
    if as_json:
        shown = [
            {key: line[key] for key in ("collection", "state", "reason", "reports", "sent", "received", "refused")}
            | {
                "waiting": {key: line[key] for key in ("step", "done", "total", "seconds")}
                | {"from": line["waited_for"]}
            }
            for line in lines
        ]
        typer.echo(json.dumps(shown, ensure_ascii=False))
        return
    if age > STALE:
        typer.echo(f"the shuffler is not running; this is where it stood {age:,.0f} s ago", err=True)
    for line in lines:
        typer.echo(_sentence(line))
    if not lines:
        typer.echo("no collections yet")


def _sentence(line: dict[str, Any]) -> str:
    from peos.collection.party import Status
    from shuffler.telling import in_words

    names = (field.name for field in fields(Status))
    known: dict[str, Any] = {name: tuple(line[name]) if isinstance(line[name], list) else line[name] for name in names}
    known["collection"] = bytes.fromhex(line["collection"])
    return in_words(Status(**known))


def _status(folder: Path) -> tuple[list[dict[str, Any]], float]:
    """What the running process wrote last, and how many seconds ago."""
    from shuffler.process import STATUS

    path = folder / STATUS
    try:
        found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found, list) or not all(isinstance(line, dict) and line.keys() >= _SHOWN for line in found):
            raise ValueError
        return found, time.time() - path.stat().st_mtime
    except OSError:
        raise WrongInput(
            "status.not_running", f"no shuffler is running in {folder}", hint="start it with `peos shuffler serve`"
        ) from None
    except ValueError:
        raise WrongInput(
            "status.unreadable",
            f"{path} was written by something else, or by another version",
            hint="restart this folder's shuffler",
        ) from None


def main() -> int:
    """`python -m shuffler`."""
    from peos.cli.running import run

    return run(app, sys.argv[1:], "shuffler")
