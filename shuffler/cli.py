"""`peos shuffler`: init, serve, accept, status."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from peos.errors import WrongInput

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Run a shuffler: take in parts, shuffle with the others, deliver.",
)
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
    config: Config, log: Annotated[Path | None, typer.Option(help="Write the log here, not to stderr.")] = None
) -> None:
    """Take in parts, shuffle and deliver, until told to stop."""
    from peos.net.logs import Log, configure
    from shuffler.config import read
    from shuffler.process import run

    settings = read(config)
    configure(log)
    asyncio.run(run(settings, Log().bind(party=settings.name)))


@app.command()
def accept(config: Config, collection: Annotated[str, typer.Argument(help="The digest, or its beginning.")]) -> None:
    """Accept a collection that waits for the operator."""
    from shuffler.config import read
    from shuffler.process import ACCEPTED

    settings = read(config)
    known = [str(line["collection"]) for line in _status(settings.folder)]
    found = [digest for digest in known if digest.startswith(collection)]
    if len(found) != 1 or len(collection) < 8:
        raise WrongInput(
            f"{len(found)} collections of this shuffler begin with {collection!r}",
            hint="give at least 8 digits; `peos shuffler status` lists them",
        )
    (settings.folder / ACCEPTED / found[0]).touch(mode=0o600)
    typer.echo(f"accepted {found[0][:16]}…")


@app.command()
def status(config: Config, as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False) -> None:
    """Say where each collection stands, what is waited for, and what was refused."""
    from shuffler.config import read

    lines = _status(read(config).folder)
    if as_json:
        shown = [
            {
                "collection": line["collection"],
                "state": line["state"],
                "reason": line["reason"],
                "reports": line["reports"],
                "waiting": {key: line[key] for key in ("step", "done", "total", "seconds")}
                | {"from": line["waited_for"]},
                "refused": line["refused"],
            }
            for line in lines
        ]
        typer.echo(json.dumps(shown, ensure_ascii=False))
        return
    for line in lines or [{}]:
        typer.echo(_sentence(line) if line else "no collections yet")


def _sentence(line: dict[str, object]) -> str:
    told = f"{str(line['collection'])[:16]}…  {line['state']}, {line['reports']} submissions"
    if line["step"]:
        parties = line["waited_for"]
        whom = f" from {', '.join(parties)}" if isinstance(parties, list) and parties else ""
        told += f"; waiting for {line['step']}{whom}, {line['seconds']} s"
    if line["reason"]:
        told += f"; {line['reason']}"
    refused = line["refused"]
    if isinstance(refused, list) and refused:
        told += f"; refused: {'; '.join(map(str, refused))}"
    return told


def _status(folder: Path) -> list[dict[str, object]]:
    from shuffler.process import STATUS

    try:
        found: list[dict[str, object]] = json.loads((folder / STATUS).read_text(encoding="utf-8"))
    except OSError:
        raise WrongInput(f"no shuffler is running in {folder}", hint="start it with `peos shuffler serve`") from None
    return found


def main() -> int:
    """`python -m shuffler`."""
    from peos.cli.running import run

    return run(app, sys.argv[1:], "shuffler")
