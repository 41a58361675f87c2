"""What an analyzer is known by: its identity, its peer certificate and its enrolment key, in one encrypted file."""

import json
from dataclasses import dataclass, field
from typing import Final

from analyzer.config import Config
from analyzer.vault import Vault, lock, unlock
from peos.collection.party import Card
from peos.crypto.identity import Identity
from peos.crypto.randomness import KEY_BYTES, Randomness
from peos.errors import WrongInput, in_words
from peos.net.certificates import Certificate, as_der, make_certificate
from peos.store.folder import private_folder, write_durably
from peos.wire.parties import sign_card

KEYS: Final = "keys"
CARD: Final = "analyzer.card"
_WRITE_IT: Final = "write the passphrase into it, and give it mode 0600"


@dataclass(frozen=True, repr=False)
class Keys:
    """An analyzer's secrets, and the card that shows their public side."""

    identity: Identity
    enrolment: Identity
    certificate: Certificate
    vault: Vault
    card: Card
    signed_card: bytes = field(repr=False)

    def __repr__(self) -> str:
        return f"Keys(of {self.identity!r})"


def make(config: Config, rng: Randomness) -> Keys:
    """Draw everything and write it down; called again, keep the keys and write the card anew.

    The card follows the configuration: after a change of the address, it is this that the shufflers have to get.
    """
    private_folder(config.folder)
    if not (config.folder / KEYS).exists():
        certificate = make_certificate(f"{config.name[:40]} peers", rng)
        content = {
            "identity": Identity.generate(rng).secret.hex(),
            "enrolment": Identity.generate(rng).secret.hex(),
            "vault": rng.bytes(KEY_BYTES).hex(),
            "certificate": certificate.pem.decode(),
            "certificate_key": certificate.key.decode(),
        }
        locked = lock(passphrase(config), json.dumps(content).encode(), rng)
        write_durably(config.folder / KEYS, [locked])
    keys = load(config, rng)
    write_durably(config.folder / CARD, [keys.signed_card])
    return keys


def load(config: Config, rng: Randomness) -> Keys:
    """What `make` wrote, opened with the passphrase."""
    file = config.folder / KEYS
    if not file.is_file():
        raise WrongInput(
            f"{config.folder} has no keys of an analyzer", hint=f"run `peos analyzer init --config {config.path}` first"
        )
    private_folder(config.folder)
    content = json.loads(unlock(passphrase(config), file.read_bytes(), rng))
    identity, enrolment = (Identity(bytes.fromhex(content[name])) for name in ("identity", "enrolment"))
    certificate = Certificate(content["certificate"].encode(), content["certificate_key"].encode())
    card = Card(config.name, identity.public, config.peers, as_der(certificate.pem))
    vault = Vault(bytes.fromhex(content["vault"]), rng)
    return Keys(identity, enrolment, certificate, vault, card, sign_card(card, identity))


def passphrase(config: Config) -> bytes:
    """The passphrase, from a file that nobody else can open; a newline at its end does not count."""
    file = config.passphrase_file
    try:
        if file.stat().st_mode & 0o077:
            raise WrongInput(f"{config.path}: passphrase_file: {file} is open to others", hint=f"chmod 600 {file}")
        content = file.read_bytes().rstrip(b"\r\n")
    except OSError as error:
        raise WrongInput(
            f"{config.path}: passphrase_file: {file} cannot be read: {in_words(error)}", hint=_WRITE_IT
        ) from None
    if not content:
        raise WrongInput(f"{config.path}: passphrase_file: {file} is empty", hint=_WRITE_IT)
    return content
