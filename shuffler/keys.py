"""What a shuffler is known by: its identity and the certificates of its two ports, in its own folder."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from peos.collection.party import Card
from peos.crypto.identity import Identity
from peos.crypto.onion import OnionPrivateKey
from peos.crypto.randomness import Randomness, system
from peos.errors import WrongInput
from peos.net.certificates import Certificate, as_der, make_certificate, require_pair
from peos.store.folder import private_folder, write_durably
from peos.wire.parties import sign_card
from shuffler.config import Config

CARD: Final = "shuffler.card"
_IDENTITY: Final = "identity.key"
_PORTS: Final = ("peers", "users")
_FILES: Final = (_IDENTITY, *(f"{port}.{end}" for port in _PORTS for end in ("pem", "key")))


@dataclass(frozen=True)
class Keys:
    """A shuffler's secrets, and the card that shows their public side."""

    identity: Identity
    peers: Certificate = field(repr=False)
    users: Certificate = field(repr=False)
    signed_card: bytes = field(repr=False)
    card: Card


def make(config: Config) -> Keys:
    """Draw everything and write it down; refused if all of it is there already.

    What is missing after an `init` that was cut off is drawn now. The card is written last: as long as there is none,
    nobody has been shown what was drawn before.
    """
    folder = config.folder
    private_folder(folder)
    if all((folder / name).exists() for name in (*_FILES, CARD)):
        raise WrongInput(
            f"{folder} has keys already",
            hint="a shuffler is initialised once; remove only its card, and the card is written anew",
        )
    rng = system()
    if not (folder / _IDENTITY).exists():
        write_durably(folder / _IDENTITY, [Identity.generate(rng).secret.hex().encode()])
    for port in _PORTS:
        _complete(folder, port, f"{config.name[:40]} {port}", rng)
    keys = load(config)
    write_durably(folder / CARD, [keys.signed_card])
    return keys


def load(config: Config) -> Keys:
    """What `make` wrote; the card follows the configuration, should an address have changed."""
    folder = config.folder
    if not folder.is_dir():
        raise WrongInput(f"the folder {folder} does not exist", hint="`peos shuffler init` makes it")
    private_folder(folder)
    for name in _FILES:
        path = folder / name
        if path.exists() and path.stat().st_mode & 0o077:
            raise WrongInput(f"the file {path} is open to others", hint=f"chmod 600 {path}")
    try:
        secret, *pems = ((folder / name).read_bytes() for name in _FILES)
    except OSError:
        raise WrongInput(
            f"{folder} has no keys of a shuffler", hint=f"run `peos shuffler init --config {config.path}` first"
        ) from None
    try:
        identity = Identity(bytes.fromhex(secret.decode()))
    except ValueError:
        raise WrongInput(f"{folder / _IDENTITY} is damaged", hint="restore it from a backup") from None
    peers, users = Certificate(pems[0], pems[1]), Certificate(pems[2], pems[3])
    for port, pair in zip(_PORTS, (peers, users), strict=True):
        try:
            require_pair(pair)
        except WrongInput as wrong:
            raise WrongInput(
                f"{folder / port}.pem and .key are damaged: {wrong}",
                hint="restore both from a backup; or remove both and the card, and run `peos shuffler init` again",
            ) from None
    card = Card(
        config.name,
        identity.public,
        config.peers,
        as_der(peers.pem),
        config.users,
        as_der(users.pem),
        OnionPrivateKey.of(identity).point,
    )
    return Keys(identity, peers, users, sign_card(card, identity), card)


def _complete(folder: Path, port: str, name: str, rng: Randomness) -> None:
    """A port's certificate and its key, the key first: one without the other is of no use, and drawn anew."""
    if (folder / f"{port}.pem").exists() and (folder / f"{port}.key").exists():
        return
    made = make_certificate(name, rng)
    write_durably(folder / f"{port}.key", [made.key])
    write_durably(folder / f"{port}.pem", [made.pem])
