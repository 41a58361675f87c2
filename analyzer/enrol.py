"""`peos enrol`: tickets for the users of one collection, each good for one submission."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import typer

from analyzer.home import Home
from analyzer.telling import Teller
from peos.collection.document import ID_BYTES
from peos.collection.lifecycle import State
from peos.collection.ticket import mint
from peos.errors import Closed, WrongInput, in_words

MOST: Final = 100_000_000
_TELL_EVERY: Final = 1000

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command()
def enrol(
    config: Annotated[Path, typer.Option("--config", help="analyzer.toml")],
    collection: Annotated[str, typer.Option(help="The name of the collection.")],
    count: Annotated[int, typer.Option(help="How many tickets.", min=1, max=MOST)],
    out: Annotated[Path, typer.Option(help="The file to write, one ticket a line; it must not exist.")],
) -> None:
    """Mint tickets for the users of a collection."""
    from analyzer.config import read

    home = Home(read(config))
    try:
        with Teller() as teller:
            mint_tickets(home, collection, count, out, teller)
    finally:
        home.close()
    typer.echo(f"{count:,} tickets in {out}")


def mint_tickets(home: Home, collection: str, count: int, out: Path, teller: Teller) -> None:
    """Write `count` fresh tickets: the id and its signature in hexadecimal, a colon between."""
    kept = home.kept(collection)
    if kept.state not in (State.DRAFT, State.OPEN):
        raise Closed(f"{collection} is {kept.state}: tickets would be of no use", hint="create another collection")
    partial = out.with_name(f".{out.name}.partial")
    if out.exists():
        raise WrongInput(f"{out} exists already", hint="choose another file: tickets that were handed out stay valid")
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            for number, line in enumerate(_tickets(home, kept.digest, count), start=1):
                file.write(line)
                if number % _TELL_EVERY == 0:
                    teller.waiting(f"minting tickets: {number:,} of {count:,}")
            file.flush()
            os.fsync(descriptor)
        home.store.note("tickets minted", kept.digest, count=count)  # before anybody can be given one
        partial.rename(out)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise WrongInput(f"{out} cannot be written: {in_words(error)}", hint="give --out another file") from None
    except BaseException:  # an interrupt: nobody was given these
        partial.unlink(missing_ok=True)
        raise


def _tickets(home: Home, digest: bytes, count: int) -> Iterator[str]:
    for _ in range(count):
        id_ = home.rng.bytes(ID_BYTES)
        yield f"{id_.hex()}:{mint(home.keys.enrolment, digest, id_).hex()}\n"
