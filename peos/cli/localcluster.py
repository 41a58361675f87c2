"""`peos localcluster`: r shufflers on this machine, for trying things out."""

import signal
import threading
from pathlib import Path
from typing import Annotated, Final

import typer

from peos.cli.options import whole
from peos.errors import BadEncoding, WrongInput

_CARD: Final = "`peos analyzer init` writes the card and says where"


def localcluster(
    analyzer: Annotated[
        Path, typer.Option(help="Card of the analyzer whose collections are accepted.", metavar="FILE")
    ],
    out: Annotated[
        Path,
        typer.Option("--dir", help="Folder for the shufflers, new or of an earlier run.", metavar="FOLDER"),
    ],
    shufflers: Annotated[int, whole("--shufflers", least=3, most=9, help="Number of shufflers.")] = 3,
) -> None:
    """Start shufflers as processes, print the paths of their cards, write a client.toml; Ctrl-C stops them."""
    from peos.ending import ending_signals
    from peos.localcluster import LocalCluster
    from peos.wire.parties import decode_card

    if not analyzer.is_file():
        raise WrongInput("card.missing", f"{analyzer} is not a file", hint=_CARD)
    try:
        card = decode_card(analyzer.read_bytes())
    except BadEncoding as bad:
        raise WrongInput("card.unreadable", f"{analyzer} cannot be read as a card: {bad}", hint=_CARD) from None
    if card.is_shuffler:
        raise WrongInput("config.card_of_shuffler", f"{analyzer} is the card of a shuffler", hint=_CARD)
    stop = threading.Event()
    for number in ending_signals():
        signal.signal(number, lambda *_: stop.set())
    card_file = analyzer.absolute()
    with LocalCluster(out.absolute(), shufflers=shufflers, analyzer_card=card_file, resumes=True) as cluster:
        if not cluster.is_resumed:
            cluster.init()
            cluster.write_client(cluster.folder / "client.toml", most_eps_local=4.0, least_reports=10, budget=8.0)
        cluster.start()
        for party, identity in zip(cluster.shufflers, cluster.identities(), strict=True):
            typer.echo(f"{party.name}  card {party.card}  identity {identity}")
        typer.echo("running, and pinned in client.toml there; Ctrl-C stops them")
        stop.wait()
