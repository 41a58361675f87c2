"""`peos localcluster`: r shufflers on this machine, for trying things out."""

import signal
import threading
from pathlib import Path
from typing import Annotated, Final

import typer

from peos.errors import BadEncoding, WrongInput

_CARD: Final = "`peos analyzer init` writes the card and says where"


def localcluster(
    analyzer: Annotated[Path, typer.Option(help="Card of the analyzer whose collections are accepted.")],
    out: Annotated[Path, typer.Option("--dir", help="Folder for the shufflers; it must not exist yet.")],
    shufflers: Annotated[int, typer.Option(help="Number of shufflers.", min=3, max=9)] = 3,
) -> None:
    """Start shufflers as processes, print the paths of their cards, write a client.toml; Ctrl-C stops them."""
    from peos.ending import ending_signals
    from peos.localcluster import LocalCluster
    from peos.wire.parties import decode_card

    if not analyzer.is_file():
        raise WrongInput("card.missing", f"{analyzer} is not a file", hint=_CARD)
    try:
        decode_card(analyzer.read_bytes())
    except BadEncoding as bad:
        raise WrongInput("card.unreadable", f"{analyzer} is not a card: {bad}", hint=_CARD) from None
    stop = threading.Event()
    for number in ending_signals():
        signal.signal(number, lambda *_: stop.set())
    with LocalCluster(out.absolute(), shufflers=shufflers, analyzer_card=analyzer.absolute()) as cluster:
        cluster.init()
        cluster.start()
        for party, identity in zip(cluster.shufflers, cluster.identities(), strict=True):
            typer.echo(f"{party.name}  card {party.card}  identity {identity}")
        cluster.write_client(cluster.folder / "client.toml", most_eps_local=4.0, least_reports=10, budget=8.0)
        typer.echo("running, and pinned in client.toml there; Ctrl-C stops them")
        stop.wait()
