"""`peos localcluster`: r shufflers on this machine, for trying things out."""

import signal
import threading
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from peos.cli.options import whole
from peos.errors import BadEncoding, WrongInput

_LIMITS: Final[dict[str, Any]] = {"most_eps_local": 4.0, "least_reports": 10, "budget": 8.0}  # of users who try it
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
    web_origins: Annotated[
        list[str] | None,
        typer.Option(
            "--web-origin",
            help="Origin of a page that may answer, like http://localhost:8000; repeat it for several. "
            "Each shuffler gets a port for browsers.",
            metavar="URL",
        ),
    ] = None,
    web_tls: Annotated[
        bool,
        typer.Option("--web-tls", help="Give those ports TLS, by an authority for this machine that is written too."),
    ] = False,
) -> None:
    """Start shufflers as processes, print the paths of their cards, write a client.toml; Ctrl-C stops them."""
    from peos.crypto.randomness import system
    from peos.ending import ending_signals
    from peos.localcluster import AUTHORITY, LocalCluster
    from peos.net.web_certificates import web_certificates
    from peos.wire.parties import decode_card

    origins = _origins(web_origins or [], web_tls)
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
            cluster.write_client(cluster.folder / "client.toml", **_LIMITS)
        if origins and cluster.open_web(origins, partial(web_certificates, rng=system()) if web_tls else None):
            cluster.write_page(cluster.folder / "config.json", **_LIMITS)
        cluster.start()
        web = cluster.web_addresses()
        for party, identity in zip(cluster.shufflers, cluster.identities(), strict=True):
            shown = f"  web {web[identity]}" if identity in web else ""
            typer.echo(f"{party.name}  card {party.card}  identity {identity}{shown}")
        if (authority := cluster.folder / AUTHORITY).is_file():
            typer.echo(f"a browser reaches them once it trusts the authority {authority}, which is for this machine")
        pinned = "client.toml and config.json" if web else "client.toml"
        typer.echo(f"running, and pinned in {pinned} there; Ctrl-C stops them")
        stop.wait()


def _origins(given: list[str], tls: bool) -> tuple[str, ...]:
    from peos.settings import ORIGINS

    if not given:
        if tls:
            raise WrongInput("localcluster.web", "--web-tls is of no use without --web-origin", hint="name the page")
        return ()
    try:
        return ORIGINS.take(given)
    except ValueError:
        raise WrongInput(
            "localcluster.web",
            f"--web-origin: {', '.join(given)[:80]!r} is not https://HOST, https://HOST:PORT or http://localhost:PORT",
            hint="give what the page's address begins with, without its path",
        ) from None
