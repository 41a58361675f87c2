"""analyzer.toml: where this analyzer lives, where it listens, and who shuffles for it."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from peos.collection.party import Card
from peos.errors import BadEncoding, WrongInput
from peos.wire.parties import decode_card

_KINDS: Final[Mapping[type, str]] = {str: "a text", list: "a list of texts", dict: "a table"}
_TOP: Final = {"name": str, "folder": str, "passphrase_file": str, "shufflers": list, "listen": dict}
_LISTEN: Final = {"peers": str}


@dataclass(frozen=True)
class Config:
    """An analyzer's configuration, paths resolved against the file's own folder."""

    path: Path
    name: str
    folder: Path
    passphrase_file: Path
    shufflers: tuple[Path, ...]
    peers: str

    def signed_cards(self) -> tuple[bytes, ...]:
        """The shufflers' cards in their order, as they were signed; read when they are needed, not before."""
        return tuple(_signed_card(self.path, path) for path in self.shufflers)


def _signed_card(config: Path, path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError:
        raise WrongInput(
            f"{config}: shufflers: {path} cannot be read", hint="`peos shuffler init` makes a shuffler's card"
        ) from None
    try:
        card: Card = decode_card(data)
    except BadEncoding as bad:
        raise WrongInput(f"{config}: shufflers: {path} is not a card: {bad}") from None
    if not card.user_address or not card.user_certificate:
        raise WrongInput(f"{config}: shufflers: {path} is the card of a party without a port for users")
    return data


def read(path: Path) -> Config:
    """The configuration in a file; WrongInput says which key is wrong."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise WrongInput(f"the configuration {path} cannot be read") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WrongInput(f"{path} is not TOML: {error}") from None
    _check(path, content, _TOP, "")
    listen: dict[str, Any] = content["listen"]
    _check(path, listen, _LISTEN, "listen.")
    shufflers = content["shufflers"]
    if not shufflers or not all(isinstance(one, str) and one for one in shufflers):
        raise WrongInput(f"{path}: shufflers names the files with the shufflers' cards, in their order")
    if len(set(shufflers)) < len(shufflers):
        raise WrongInput(f"{path}: shufflers names one file twice")
    here = path.parent
    return Config(
        path=path,
        name=content["name"],
        folder=here / content["folder"],
        passphrase_file=here / content["passphrase_file"],
        shufflers=tuple(here / one for one in shufflers),
        peers=_address(path, "listen.peers", listen["peers"]),
    )


def _check(path: Path, table: Mapping[str, Any], known: Mapping[str, type], prefix: str) -> None:
    for key, value in table.items():
        if key not in known:
            raise WrongInput(f"{path}: {prefix}{key} is not a setting", hint=f"known: {', '.join(sorted(known))}")
        if not isinstance(value, known[key]):
            raise WrongInput(f"{path}: {prefix}{key} must be {_KINDS[known[key]]}")
        if value == "":
            raise WrongInput(f"{path}: {prefix}{key} is empty")
    for key in known:
        if key not in table:
            raise WrongInput(f"{path}: {prefix}{key} is missing")


def _address(path: Path, key: str, value: str) -> str:
    host, _, port = value.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise WrongInput(f"{path}: {key} is host:port with a port from 1 to 65535, not {value[:80]!r}")
    return value
