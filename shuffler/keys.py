"""What a shuffler is known by: its identity and the certificates of its two ports, in its own folder."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from peos.collection.party import Card
from peos.crypto.identity import Identity
from peos.crypto.randomness import system
from peos.errors import WrongInput
from peos.net.certificates import Certificate, as_der, make_certificate
from peos.wire.parties import sign_card
from shuffler.config import Config

CARD: Final = "shuffler.card"
_FILES: Final = ("identity.key", "peers.pem", "peers.key", "users.pem", "users.key")


@dataclass(frozen=True)
class Keys:
    """A shuffler's secrets, and the card that shows their public side."""

    identity: Identity
    peers: Certificate = field(repr=False)
    users: Certificate = field(repr=False)
    signed_card: bytes = field(repr=False)
    card: Card


def make(config: Config) -> Keys:
    """Draw everything and write it down; refused if anything is there already."""
    config.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _require_private(config.folder)
    if any((config.folder / name).exists() for name in _FILES):
        raise WrongInput(
            f"{config.folder} has keys already", hint="a shuffler is initialised once; choose another folder"
        )
    rng = system()
    peers, users = (make_certificate(f"{config.name[:40]} {port}", rng) for port in ("peers", "users"))
    contents = (Identity.generate(rng).secret.hex().encode(), peers.pem, peers.key, users.pem, users.key)
    for name, content in zip(_FILES, contents, strict=True):
        _write(config.folder / name, content)
    keys = load(config)
    _write(config.folder / CARD, keys.signed_card)
    return keys


def load(config: Config) -> Keys:
    """What `make` wrote; the card follows the configuration, should an address have changed."""
    _require_private(config.folder)
    for name in _FILES:
        path = config.folder / name
        if path.exists() and path.stat().st_mode & 0o077:
            raise WrongInput(f"the file {path} is open to others", hint=f"chmod 600 {path}")
    try:
        secret, *pems = ((config.folder / name).read_bytes() for name in _FILES)
    except OSError:
        raise WrongInput(
            f"{config.folder} has no keys of a shuffler", hint=f"run `peos shuffler init --config {config.path}` first"
        ) from None
    try:
        identity = Identity(bytes.fromhex(secret.decode()))
    except ValueError:
        raise WrongInput(f"{config.folder / _FILES[0]} is damaged", hint="restore it from a backup") from None
    peers, users = Certificate(pems[0], pems[1]), Certificate(pems[2], pems[3])
    card = Card(config.name, identity.public, config.peers, as_der(peers.pem), config.users, as_der(users.pem))
    return Keys(identity, peers, users, sign_card(card, identity), card)


def _require_private(folder: Path) -> None:
    if not folder.is_dir():
        raise WrongInput(f"the folder {folder} does not exist", hint="`peos shuffler init` makes it")
    if folder.stat().st_mode & 0o077:
        raise WrongInput(f"the folder {folder} is open to others", hint=f"chmod 700 {folder}")


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
