"""A certificate for this host as an authority signs it: for tests of ports that browsers trust."""

from pathlib import Path

from peos.crypto.randomness import system
from peos.net.web_certificates import web_certificates


def certificate(folder: Path) -> None:
    """It and its key, in two files."""
    _, (made,) = web_certificates([folder.name], system())
    (folder / "web.pem").write_bytes(made.pem)
    (folder / "web.key").write_bytes(made.key)
