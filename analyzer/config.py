"""analyzer.toml: where this analyzer lives, where it listens, and who shuffles for it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from peos import configuration
from peos.compute import PROCESSES, Choice
from peos.configuration import ADDRESS, NAME, POSITIVE, TEXT, TEXTS, Key
from peos.errors import WrongInput
from peos.net.tunnel import Proxy
from peos.privacy.ledger import Budget

_NAME: Final = Key("name", NAME)
_FOLDER: Final = Key("folder", TEXT)
_PASSPHRASE_FILE: Final = Key("passphrase_file", TEXT)
_SHUFFLERS: Final = Key("shufflers", TEXTS)
_PEERS: Final = Key("listen.peers", ADDRESS)
_BUDGET_EPSILON: Final[Key[float | None]] = Key("budget.epsilon", POSITIVE, None)
_BUDGET_DELTA: Final[Key[float | None]] = Key("budget.delta", POSITIVE, None)
_DUMMIES_THROUGH: Final[Key[tuple[str, ...]]] = Key("dummies.through", TEXTS, ())
KEYS: Final = (
    *(_NAME, _FOLDER, _PASSPHRASE_FILE, _SHUFFLERS, _PEERS, _BUDGET_EPSILON, _BUDGET_DELTA, _DUMMIES_THROUGH),
    *(configuration.PEER_CONNECTIONS, *configuration.COMPUTE),
)


@dataclass(frozen=True)
class Config:
    """An analyzer's configuration, paths resolved against the file's own folder."""

    path: Path
    name: str
    folder: Path
    passphrase_file: Path
    shufflers: tuple[Path, ...]
    peers: str
    peer_connections: int = configuration.PEER_CONNECTIONS.default
    compute: Choice = PROCESSES  # where ciphertexts are decrypted
    budget: Budget | None = None  # of each population, for all collections together
    dummies_through: tuple[Proxy, ...] = ()  # each dummy is sent through one of these, if there are any

    def signed_cards(self) -> tuple[bytes, ...]:
        """The shufflers' cards in their order, as they were signed; read when they are needed, not before."""
        return tuple(_signed_card(self.path, path) for path in self.shufflers)


def _signed_card(config: Path, path: Path) -> bytes:
    data, card = configuration.read_card(config, _SHUFFLERS.name, path)
    if not card.user_address or not card.user_certificate:
        raise WrongInput(
            "config.card_of_analyzer",
            f"{config}: shufflers: {path} is the card of a party without a port for users",
            hint="name the card that a shuffler's `peos shuffler init` made",
        )
    return data


def read(path: Path) -> Config:
    """The configuration in a file; WrongInput says which key is wrong."""
    found = configuration.read(path, KEYS)
    if len(set(found[_SHUFFLERS])) < len(found[_SHUFFLERS]):
        raise WrongInput(
            "config.same_card", f"{path}: shufflers names one file twice", hint="name each shuffler's card once"
        )
    return Config(
        path=path,
        name=found[_NAME],
        folder=found.beside(found[_FOLDER]),
        passphrase_file=found.beside(found[_PASSPHRASE_FILE]),
        shufflers=tuple(map(found.beside, found[_SHUFFLERS])),
        peers=found[_PEERS],
        peer_connections=found[configuration.PEER_CONNECTIONS],
        compute=configuration.compute(found),
        budget=_budget(path, found[_BUDGET_EPSILON], found[_BUDGET_DELTA]),
        dummies_through=tuple(_proxy(path, text) for text in found[_DUMMIES_THROUGH]),
    )


def _proxy(path: Path, text: str) -> Proxy:
    try:
        return Proxy.parse(text)
    except WrongInput as wrong:
        raise WrongInput(wrong.id, f"{path}: {_DUMMIES_THROUGH.name}: {wrong}", hint=wrong.hint) from None


def _budget(path: Path, epsilon: float | None, delta: float | None) -> Budget | None:
    if epsilon is None and delta is None:
        return None
    if epsilon is None or delta is None or delta >= 1:
        raise WrongInput(
            "config.budget",
            f"{path}: a budget has an epsilon, and a delta between 0 and 1",
            hint="give budget.epsilon and budget.delta, or neither",
        )
    return Budget(epsilon, delta)
