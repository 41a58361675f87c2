"""analyzer.toml: where this analyzer lives, where it listens, and who shuffles for it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from analyzer import console_config, web_config
from analyzer.console_config import Console
from analyzer.web_config import ByWeb
from peos import configuration
from peos.compute import PROCESSES, Choice
from peos.errors import WrongInput
from peos.net.tunnel import Proxy
from peos.privacy.ledger import Budget
from peos.settings import ADDRESS, NAME, PATH, PATHS, POSITIVE, TEXTS, File, Key, Kind, Settings, group, load, setting

_EPSILON: Final[Key[float | None]] = Key("budget.epsilon", POSITIVE, None)
_DELTA: Final[Key[float | None]] = Key("budget.delta", POSITIVE, None)


def _proxies(value: Any) -> tuple[Proxy, ...]:
    return tuple(map(Proxy.parse, TEXTS.take(value)))


def _budget(found: Settings) -> Budget | None:
    epsilon, delta = found[_EPSILON], found[_DELTA]
    if epsilon is None and delta is None:
        return None
    if epsilon is None or delta is None or delta >= 1:
        raise WrongInput(
            "config.budget",
            "a budget has an epsilon, and a delta between 0 and 1",
            hint="give budget.epsilon and budget.delta, or neither",
            where=str(found.path),
        )
    return Budget(epsilon, delta)


@dataclass(frozen=True, kw_only=True)
class Config(File):
    """An analyzer's configuration, paths resolved against the file's own folder."""

    name: str = setting("name", NAME)
    folder: Path = setting("folder", PATH)
    passphrase_file: Path = setting("passphrase_file", PATH)
    shufflers: tuple[Path, ...] = setting("shufflers", PATHS)
    peers: str = setting("listen.peers", ADDRESS)
    bind: str | None = setting(*configuration.BIND)
    metrics: str | None = setting(*configuration.METRICS)
    tracing: str | None = group(configuration.TRACING, configuration.tracing, None)  # a collector's address
    console: Console | None = group(console_config.KEYS, console_config.console, None)  # pages for the analyst
    peer_connections: int = setting(*configuration.PEER_CONNECTIONS)
    compute: Choice = group(configuration.COMPUTE, configuration.compute, PROCESSES)  # where ciphertexts are decrypted
    budget: Budget | None = group((_EPSILON, _DELTA), _budget, None)  # of each population, for all collections together
    # Each dummy is sent through one of these, if there are any.
    dummies_through: tuple[Proxy, ...] = setting("dummies.through", Kind(TEXTS.words, _proxies), ())
    # Some are sent as browsers' reports are.
    dummies_by_web: ByWeb | None = group(web_config.KEYS, web_config.by_web, None)

    def __post_init__(self) -> None:
        pages = None if self.console is None else self.console.address
        configuration.require_apart(self.path, {"peers": self.peers, "metrics": self.metrics, "console": pages})
        if len(set(self.shufflers)) < len(self.shufflers):
            raise WrongInput(
                "config.same_card",
                "shufflers names one file twice",
                hint="name each shuffler's card once",
                where=str(self.path),
            )
        named = len(self.dummies_by_web.site.addresses) if self.dummies_by_web else len(self.shufflers)
        if named != len(self.shufflers):
            raise WrongInput(
                "config.web",
                f"dummies.web has {named} addresses for {len(self.shufflers)} shufflers",
                hint="name the port for browsers of each, in their order",
                where=str(self.path),
            )

    @property
    def console_socket(self) -> Path:
        """Where the serving process answers the console."""
        own = None if self.console is None else self.console.socket
        return own or self.folder / console_config.SOCKET

    def signed_cards(self) -> tuple[bytes, ...]:
        """The shufflers' cards in their order, as they were signed; read when they are needed, not before."""
        return tuple(_signed_card(self.path, path) for path in self.shufflers)


def _signed_card(config: Path, path: Path) -> bytes:
    data, card = configuration.read_card(config, "shufflers", path)
    if not card.is_shuffler:
        raise WrongInput(
            "config.card_of_analyzer",
            f"shufflers: {path} is the card of a party without a port for users",
            hint="name the card that a shuffler's `peos shuffler init` made",
            where=str(config),
        )
    return data


def read(path: Path) -> Config:
    """The configuration in a file; WrongInput says which key is wrong."""
    return load(path, Config)
