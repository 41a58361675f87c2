"""A shuffler's keys: its identity and the certificates of its two ports, in its own folder.

With a passphrase every secret lies sealed under the key of the vault, which alone lies under the passphrase; without
one they all lie there as they are.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from peos import configuration
from peos.collection.cards import Card
from peos.crypto.identity import Identity
from peos.crypto.onion import OnionPrivateKey
from peos.crypto.randomness import KEY_BYTES, Randomness, system
from peos.crypto.vault import Vault, is_locked, lock, unlock
from peos.errors import LocalFault, WrongInput
from peos.net.certificates import Certificate, as_der, make_certificate, require_pair
from peos.store.private_files import PUBLIC, private_folder, sync_folder, wipe, write_durably
from peos.wire.parties import sign_card
from shuffler.config import Config

CARD: Final = "shuffler.card"
_VAULT: Final = "vault.key"
_IDENTITY: Final = "identity.key"
_PORTS: Final = ("peers", "users")
_FILES: Final = (_IDENTITY, *(f"{port}.{end}" for port in _PORTS for end in ("pem", "key")))
FILES: Final = (_VAULT, *_FILES)
_SECRET: Final = (_IDENTITY, *(f"{port}.key" for port in _PORTS))
_SEALED: Final = b"peos sealed 1\n"
_ASIDE: Final = ".sealed"


@dataclass(frozen=True)
class Keys:
    """A shuffler's secrets, and the card that shows their public side."""

    identity: Identity
    peers: Certificate = field(repr=False)
    users: Certificate = field(repr=False)
    signed_card: bytes = field(repr=False)
    card: Card
    vault: Vault = field(repr=False, compare=False)


def make(config: Config) -> Keys:
    """Draw everything and write it down; refused if all of it is there already, as it is to lie there.

    What is missing after an `init` that was cut off is drawn now. The card is written last: as long as there is none,
    the keys drawn before have not been published. Where a passphrase has come since, what lies open is sealed.
    """
    folder, rng = config.folder, system()
    private_folder(folder)
    _put_in_place(folder)
    open_ = [name for name in (_VAULT, *_SECRET) if (folder / name).exists() and not _is_sealed(folder / name)]
    if all((folder / name).exists() for name in (_VAULT, *_FILES, CARD)) and not (config.passphrase_file and open_):
        raise WrongInput(
            "key.exists",
            f"{folder} has keys already",
            hint="a shuffler is initialised once; remove only its card, and the card is written anew",
        )
    if not (folder / _VAULT).exists():
        write_durably(folder / _VAULT, [_shut(config, rng.bytes(KEY_BYTES), rng)])
    elif config.passphrase_file and _VAULT in open_:
        _replace(folder / _VAULT, _shut(config, _opened(folder / _VAULT, None, rng), rng))
    vault = _vault(config, rng)
    if not (folder / _IDENTITY).exists():
        _write_secret(config, _IDENTITY, Identity.generate(rng).secret.hex().encode(), vault)
    for name in open_ if config.passphrase_file else ():
        if name != _VAULT:
            _replace(folder / name, _SEALED + vault.seal(name, content=(folder / name).read_bytes()))
    for port in _PORTS:
        _complete(config, port, f"{config.name[:40]} {port}", rng, vault)
    keys = load(config)
    write_durably(folder / CARD, [keys.signed_card], mode=PUBLIC)
    return keys


def load(config: Config) -> Keys:
    """Read the keys; rewrite the card if an address of the configuration has changed."""
    folder = config.folder
    if not folder.is_dir():
        raise WrongInput("key.no_folder", f"the folder {folder} does not exist", hint="`peos shuffler init` makes it")
    private_folder(folder)
    _put_in_place(folder)
    for name in (_VAULT, *_FILES):
        path = folder / name
        if path.exists() and path.stat().st_mode & 0o077:
            raise WrongInput("key.open_to_others", f"the file {path} is open to others", hint=f"chmod 600 {path}")
    if not all((folder / name).is_file() for name in (_VAULT, *_FILES)):
        raise WrongInput(
            "key.no_shuffler",
            f"{folder} has no keys of a shuffler",
            hint=f"run `peos shuffler init --config {config.path}` first",
        )
    vault = _vault(config, system())
    secret, *pems = (_read(config, name, vault) for name in _FILES)
    try:
        identity = Identity(bytes.fromhex(secret.decode()))
    except ValueError:
        raise WrongInput("key.damaged", f"{folder / _IDENTITY} is damaged", hint="restore it from a backup") from None
    peers, users = Certificate(pems[0], pems[1]), Certificate(pems[2], pems[3])
    for port, pair in zip(_PORTS, (peers, users), strict=True):
        try:
            require_pair(pair)
        except WrongInput as wrong:
            raise WrongInput(
                "key.port_damaged",
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
    return Keys(identity, peers, users, sign_card(card, identity), card, vault)


def rotate(config: Config, *, keep_identity: bool) -> Keys:
    """Overwrite the keys, and draw new ones: certificates only, if users go on pinning this identity.

    The vault's key goes last: what is sealed under it is gone by then. After a crash in between some are missing, and
    `init` draws them; the old ones never come back.
    """
    kept = {_VAULT, _IDENTITY} if keep_identity else set[str]()
    for name in (CARD, *_FILES, _VAULT):
        if name not in kept:
            wipe(config.folder / name)
    return make(config)


def _complete(config: Config, port: str, name: str, rng: Randomness, vault: Vault) -> None:
    """A port's certificate and its key, the key first: one without the other is of no use, and drawn anew."""
    folder = config.folder
    if (folder / f"{port}.pem").exists() and (folder / f"{port}.key").exists():
        return
    made = make_certificate(name, rng)
    _write_secret(config, f"{port}.key", made.key, vault)
    write_durably(folder / f"{port}.pem", [made.pem])


def _vault(config: Config, rng: Randomness) -> Vault:
    """The vault of the other key files and of the evidence."""
    path, file = config.folder / _VAULT, config.passphrase_file
    if is_locked(path.read_bytes()) and file is None:
        raise WrongInput(
            "key.no_passphrase",
            f"the keys in {config.folder} are under a passphrase, and passphrase_file is not set",
            hint="name the file that holds it",
            where=str(config.path),
        )
    if file is not None and not is_locked(path.read_bytes()):
        raise _lies_open(config, path)
    word = None if file is None else configuration.read_passphrase(config.path, file)
    return Vault(_opened(path, word, rng), rng)


def _opened(path: Path, passphrase: bytes | None, rng: Randomness) -> bytes:
    content = path.read_bytes()
    try:
        secret = bytes.fromhex(content.decode()) if passphrase is None else unlock(passphrase, content, rng)
        if len(secret) != KEY_BYTES:
            raise ValueError
    except ValueError as error:
        if isinstance(error, WrongInput):
            raise
        raise WrongInput("key.damaged", f"{path} is damaged", hint="restore it from a backup") from None
    return secret


def _shut(config: Config, secret: bytes, rng: Randomness) -> bytes:
    """The vault's key as it lies in its file."""
    if config.passphrase_file is None:
        return secret.hex().encode()
    return lock(configuration.read_passphrase(config.path, config.passphrase_file), secret, rng)


def _write_secret(config: Config, name: str, content: bytes, vault: Vault) -> None:
    sealed = _SEALED + vault.seal(name, content=content) if config.passphrase_file else content
    write_durably(config.folder / name, [sealed])


def _read(config: Config, name: str, vault: Vault) -> bytes:
    content = (config.folder / name).read_bytes()
    if name not in _SECRET or config.passphrase_file is None:
        return content
    if not content.startswith(_SEALED):
        raise _lies_open(config, config.folder / name)
    try:
        return vault.open(name, sealed=content[len(_SEALED) :])
    except LocalFault:
        raise WrongInput("key.damaged", f"{config.folder / name} is damaged", hint="restore it from a backup") from None


def _lies_open(config: Config, path: Path) -> WrongInput:
    return WrongInput(
        "key.lies_open",
        f"{path} is not under the passphrase of passphrase_file",
        hint=f"run `peos shuffler init --config {config.path}`: it seals what lies open",
    )


def _is_sealed(path: Path) -> bool:
    content = path.read_bytes()
    return content.startswith(_SEALED) or is_locked(content)


def _replace(path: Path, sealed: bytes) -> None:
    """Put the sealed in the place of the open, which is overwritten."""
    write_durably(path.with_name(path.name + _ASIDE), [sealed])
    wipe(path)
    _put_in_place(path.parent)


def _put_in_place(folder: Path) -> None:
    """Finish replacements that were cut off: what lies aside is whole, and may be all that is left."""
    for name in (_VAULT, *_SECRET):
        aside = folder / (name + _ASIDE)
        if aside.exists():
            wipe(folder / name)
            aside.replace(folder / name)
            sync_folder(folder)
