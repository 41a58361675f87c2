"""What commands that keep a party's keys and folder have in common: options, and what is printed."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from peos.errors import WrongInput, in_words

if TYPE_CHECKING:
    from peos.store.backup import Manifest

CardOut = Annotated[
    Path | None, typer.Option("--card", help="File to write the card to as well, readable by all, to hand out.")
]
Out = Annotated[Path, typer.Option(help="New file for the backup.")]
WithReports = Annotated[
    bool,
    typer.Option(
        "--with-reports",
        help="Also reports, seeds and decryption keys; the backup then bears the date by which it must be destroyed.",
    ),
]
Archive = Annotated[Path, typer.Argument(help="Path of the backup.", metavar="BACKUP")]
KeepIdentity = Annotated[
    bool, typer.Option("--keep-identity", help="Only new certificates; users go on pinning the identity.")
]
Early = Annotated[
    bool,
    typer.Option("--early", help="Also while users or other parties may still ask about collections that are over."),
]


def show_card(path: Path, identity: bytes, handed_out: Path | None) -> None:
    """Print where the card is and whose, and copy it to where it can be handed out from."""
    if handed_out is not None:
        try:
            handed_out.write_bytes(path.read_bytes())
            os.chmod(handed_out, 0o644)  # a card holds nothing secret
        except OSError as error:
            raise WrongInput(
                "input.file_unwritable",
                f"{handed_out} cannot be written: {in_words(error)}",
                hint="give --card another file",
            ) from None
    typer.echo(f"card      {handed_out or path}")
    typer.echo(f"identity  {identity.hex()}")


def show_backup(what: str, where: Path, manifest: "Manifest") -> None:
    """Print what a backup holds, and where it went."""
    typer.echo(f"{what:12}  {where}")
    for line in manifest.lines():
        typer.echo(line)
