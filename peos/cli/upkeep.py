"""The commands that keep a party's keys and folder, alike for both roles: backup, restore, rotate-keys."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from peos.cli.options import config as config_option
from peos.cli.options import examples
from peos.store.private_files import PUBLIC, write_durably

if TYPE_CHECKING:
    from peos.store.backup import Manifest, Restored

CardOut = Annotated[
    Path | None,
    typer.Option("--card", help="File to write the card to as well, readable by all, to hand out.", metavar="FILE"),
]
Out = Annotated[Path, typer.Option(help="New file for the backup.", metavar="FILE")]
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
        write_durably(handed_out, [path.read_bytes()], mode=PUBLIC)
    typer.echo(f"card      {handed_out or path}")
    typer.echo(f"identity  {identity.hex()}")


class Keeper(Protocol):
    """What a role does for its keys and its folder; both roles' modules `backup` are such."""

    def write(self, config: Any, out: Path, *, with_reports: bool) -> "Manifest":
        """Make a backup."""

    def restore(self, config_path: Path, archive: Path) -> "Restored":
        """Put it into an empty folder."""

    def rotate(self, config: Any, *, keep_identity: bool, early: bool) -> bytes:
        """Draw new keys, and return the identity."""


def add_upkeep(
    app: typer.Typer, role: str, keeper: Callable[[], Keeper], read: Callable[[Path], Any], card: str
) -> None:
    """Give a role's command line `backup`, `restore` and `rotate-keys`; `card` is the name of its card."""
    Config = Annotated[Path, config_option(f"{role}.toml")]

    @app.command(
        epilog=examples(f"peos {role} backup --config {role}.toml --out {role}.backup"),
        help=f"Write keys, settings, audit log and budgets to one file, also while the {role} runs.",
    )
    def backup(config: Config, out: Out, with_reports: WithReports = False) -> None:
        manifest = keeper().write(read(config), out, with_reports=with_reports)
        _show("backup", out, manifest)

    @app.command(
        epilog=examples(f"peos {role} restore --config {role}.toml {role}.backup"),
        help="Put a backup into an empty folder. What was unfinished is given up, unless the backup has all it needs.",
    )
    def restore(config: Config, archive: Archive) -> None:
        done = keeper().restore(config, archive)
        _show("restored to", done.folder, done.manifest)
        for name in done.aborted:
            typer.echo(f"aborted       {name}: `peos {role} abort {name}` sends that to the shufflers")
        if role == "shuffler":
            typer.echo("next          peos shuffler serve --restored, which gives up what was unfinished")

    @app.command(
        "rotate-keys",
        epilog=examples(f"peos {role} rotate-keys --config {role}.toml --card organisation.card"),
        help=f"Draw new keys and write a new card, between collections and while the {role} is stopped.",
    )
    def rotate_keys(
        config: Config, keep_identity: KeepIdentity = False, early: Early = False, card_out: CardOut = None
    ) -> None:
        settings = read(config)
        identity = keeper().rotate(settings, keep_identity=keep_identity, early=early)
        show_card(settings.folder / card, identity, card_out)


def _show(what: str, where: Path, manifest: "Manifest") -> None:
    typer.echo(f"{what:12}  {where}")
    for line in manifest.lines():
        typer.echo(line)
