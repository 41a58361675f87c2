"""`peos card`: what a card says about its organisation."""

import hashlib
import json
from pathlib import Path
from typing import Annotated, Final

import typer

from peos.cli.options import examples
from peos.errors import BadEncoding, WrongInput, in_words

_ASK: Final = "`peos shuffler init` or `peos analyzer init` of the organisation makes it; ask its operator"

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="Show an organisation's card."
)


@app.callback()
def _card() -> None:
    """Show an organisation's card."""


@app.command(epilog=examples("peos card show north/state/shuffler.card"))
def show(
    file: Annotated[Path, typer.Argument(help="Path of the card.", metavar="FILE")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show whose card a file is: role, name, identity (as client.toml pins it), addresses and certificates."""
    from peos.collection.cards import plain_text
    from peos.net.certificates import validity
    from peos.wire.parties import decode_card

    try:
        card = decode_card(file.read_bytes())
    except OSError as error:
        raise WrongInput("card.missing", f"the card {file} cannot be read: {in_words(error)}", hint=_ASK) from None
    except BadEncoding as bad:
        raise WrongInput("card.unreadable", f"{file} cannot be read as a card: {bad}", hint=bad.hint or _ASK) from None
    role = "shuffler" if card.is_shuffler else "analyzer"
    shown = {"role": role, "name": plain_text(card.name), "identity": card.identity.hex()}
    ports = (("peers", card.peer_address, card.peer_certificate), ("users", card.user_address, card.user_certificate))
    for port, address, certificate in ports:
        if certificate:
            shown |= {port: plain_text(address), f"{port}_certificate": hashlib.sha256(certificate).hexdigest()}
            shown[f"{port}_valid"] = validity(certificate)
    if as_json:
        typer.echo(json.dumps(shown, ensure_ascii=False))
        return
    for what, value in shown.items():
        typer.echo(f"{what.replace('_', ' '):18}  {value}")
