"""An analyzer's keys: its identity, its peer certificate and its enrolment key, in one encrypted file."""

import json
from dataclasses import dataclass, field
from typing import Final

from analyzer.config import Config
from peos import configuration
from peos.collection.cards import Card
from peos.crypto.identity import Identity
from peos.crypto.randomness import KEY_BYTES, Randomness
from peos.crypto.vault import Vault, lock, unlock
from peos.errors import WrongInput
from peos.net.certificates import Certificate, as_der, make_certificate
from peos.store.private_files import PUBLIC, private_folder, write_durably
from peos.wire.parties import sign_card

KEYS: Final = "keys"
CARD: Final = "analyzer.card"


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
        _write(config, _secrets(rng) | _certificate(config, rng), rng)
    return _with_card(config, rng)


def rotate(config: Config, rng: Randomness, *, keep_identity: bool) -> Keys:
    """Put new keys in the place of these, at once; only a new certificate, if the identity is kept."""
    kept = _opened(config, rng) if keep_identity else _secrets(rng)
    _write(config, kept | _certificate(config, rng), rng)
    return _with_card(config, rng)


def _secrets(rng: Randomness) -> dict[str, str]:
    return {
        "identity": Identity.generate(rng).secret.hex(),
        "enrolment": Identity.generate(rng).secret.hex(),
        "vault": rng.bytes(KEY_BYTES).hex(),
    }


def _certificate(config: Config, rng: Randomness) -> dict[str, str]:
    made = make_certificate(f"{config.name[:40]} peers", rng)
    return {"certificate": made.pem.decode(), "certificate_key": made.key.decode()}


def _write(config: Config, content: dict[str, str], rng: Randomness) -> None:
    write_durably(config.folder / KEYS, [lock(_passphrase(config), json.dumps(content).encode(), rng)])


def _with_card(config: Config, rng: Randomness) -> Keys:
    keys = load(config, rng)
    write_durably(config.folder / CARD, [keys.signed_card], mode=PUBLIC)
    return keys


def load(config: Config, rng: Randomness) -> Keys:
    """Read the keys, with the passphrase."""
    content = _opened(config, rng)
    identity, enrolment = (Identity(bytes.fromhex(content[name])) for name in ("identity", "enrolment"))
    certificate = Certificate(content["certificate"].encode(), content["certificate_key"].encode())
    card = Card(config.name, identity.public, config.peers, as_der(certificate.pem))
    vault = Vault(bytes.fromhex(content["vault"]), rng)
    return Keys(identity, enrolment, certificate, vault, card, sign_card(card, identity))


def _opened(config: Config, rng: Randomness) -> dict[str, str]:
    file = config.folder / KEYS
    if config.folder.is_dir():
        private_folder(config.folder)
    if not file.is_file():
        raise WrongInput(
            "key.no_analyzer",
            f"{config.folder} has no keys of an analyzer",
            hint=f"run `peos analyzer init --config {config.path}` first",
        )
    content: dict[str, str] = json.loads(unlock(_passphrase(config), file.read_bytes(), rng))
    return content


def _passphrase(config: Config) -> bytes:
    return configuration.read_passphrase(config.path, config.passphrase_file)
