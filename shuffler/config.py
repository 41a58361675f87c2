"""shuffler.toml: where this shuffler lives, where it listens, and what its operator accepts."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, Final

from peos.collection.party import Card
from peos.collection.policy import Policy
from peos.errors import BadEncoding, WrongInput
from peos.wire.parties import decode_card

_TOP: Final = {"name": str, "folder": str, "listen": dict, "policy": dict, "encryption": dict, "limits": dict}
_LISTEN: Final = {"users": str, "peers": str}
_POLICY: Final = {
    "analyzers": list,
    "accept": str,
    "most_eps_local": float,
    "least_reports": int,
    "least_fakes": int,
}
_NAME_LIMIT: Final = 200
_ENCRYPTION: Final = {"statistical": bool}
_LIMITS: Final = {"step_seconds": float, "workers": int}


@dataclass(frozen=True)
class Config:
    """A shuffler's configuration, paths resolved against the file's own folder."""

    path: Path
    name: str
    folder: Path
    users: str
    peers: str
    analyzers: tuple[Path, ...]
    ask_operator: bool
    most_eps_local: float
    least_reports: int
    least_fakes: int
    statistical: bool  # re-randomise without assuming an honestly made key, at a hundred times the price
    step_seconds: float  # how long a step of the shuffle may take, beside what its rows take
    workers: int | None  # processes for passes over ciphertexts; one a core if not given

    def policy(self) -> Policy:
        """The operator's policy, with the identities of the analyzers' cards."""
        return Policy(
            tuple(card.identity for card in self.analyzer_cards()),
            self.most_eps_local,
            self.least_reports,
            self.least_fakes,
        )

    def analyzer_cards(self) -> list[Card]:
        """The cards of the analyzers that may ask."""
        found = []
        for path in self.analyzers:
            try:
                data = path.read_bytes()
                found.append(decode_card(data))
            except OSError:
                raise WrongInput(f"{self.path}: policy.analyzers: {path} cannot be read") from None
            except BadEncoding as bad:
                raise WrongInput(f"{self.path}: policy.analyzers: {path} is not a card: {bad}") from None
        return found


def read(path: Path) -> Config:
    """The configuration in a file; WrongInput says which key is wrong."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise WrongInput(f"the configuration {path} cannot be read") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WrongInput(f"{path} is not TOML: {error}") from None
    _check(path, content, _TOP, "", required=("name", "folder", "listen", "policy"))
    listen, policy, limits = content["listen"], content["policy"], content.get("limits", {})
    _check(path, listen, _LISTEN, "listen.", required=tuple(_LISTEN))
    _check(path, policy, _POLICY, "policy.", required=("analyzers", "most_eps_local", "least_reports"))
    _check(path, limits, _LIMITS, "limits.", required=())
    _check(path, content.get("encryption", {}), _ENCRYPTION, "encryption.", required=())
    _check_values(path, content)
    here = path.parent
    return Config(
        path=path,
        name=content["name"],
        folder=here / content["folder"],
        users=_address(path, "listen.users", listen["users"]),
        peers=_address(path, "listen.peers", listen["peers"]),
        analyzers=tuple(here / one for one in policy["analyzers"]),
        ask_operator=policy.get("accept", "ask") == "ask",
        most_eps_local=float(policy["most_eps_local"]),
        least_reports=policy["least_reports"],
        least_fakes=policy.get("least_fakes", 0),
        statistical=content.get("encryption", {}).get("statistical", False),
        step_seconds=float(limits.get("step_seconds", 60.0)),
        workers=limits.get("workers"),
    )


def _check_values(path: Path, content: dict[str, Any]) -> None:
    """What the types alone do not say."""
    listen, policy, limits = content["listen"], content["policy"], content.get("limits", {})
    if not 1 <= len(content["name"]) <= _NAME_LIMIT or not content["name"].isprintable():
        raise WrongInput(f"{path}: name has 1 to {_NAME_LIMIT} printable characters")
    if listen["users"] == listen["peers"]:
        raise WrongInput(f"{path}: listen.users and listen.peers are two ports, not one")
    if policy.get("accept", "ask") not in ("auto", "ask"):
        raise WrongInput(f'{path}: policy.accept is "auto" or "ask", not {policy["accept"]!r}')
    if not 0 < policy["most_eps_local"] < inf:
        raise WrongInput(f"{path}: policy.most_eps_local is a number above zero")
    if policy["least_reports"] < 1:
        raise WrongInput(f"{path}: policy.least_reports is at least 1")
    if policy.get("least_fakes", 0) < 0:
        raise WrongInput(f"{path}: policy.least_fakes is not below zero")
    if not policy["analyzers"] or not all(isinstance(one, str) for one in policy["analyzers"]):
        raise WrongInput(f"{path}: policy.analyzers names at least one file with an analyzer's card")
    if not 1 <= limits.get("step_seconds", 1) < inf:
        raise WrongInput(f"{path}: limits.step_seconds is at least 1")
    if limits.get("workers", 1) < 1:
        raise WrongInput(f"{path}: limits.workers is at least 1")


def _check(
    path: Path, table: dict[str, Any], known: Mapping[str, type], prefix: str, *, required: tuple[str, ...]
) -> None:
    for key, value in table.items():
        if key not in known:
            raise WrongInput(f"{path}: {prefix}{key} is not a setting", hint=f"known: {', '.join(sorted(known))}")
        wanted = (int, float) if known[key] is float else known[key]
        if not isinstance(value, wanted) or (isinstance(value, bool) and known[key] is not bool):
            raise WrongInput(f"{path}: {prefix}{key} must be {_KINDS[known[key]]}")
    for key in required:
        if key not in table:
            raise WrongInput(f"{path}: {prefix}{key} is missing")


_KINDS: Final[Mapping[type, str]] = {
    str: "a text",
    dict: "a table",
    list: "a list",
    float: "a number",
    int: "a whole number",
    bool: "true or false",
}


def _address(path: Path, key: str, value: str) -> str:
    host, _, port = value.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise WrongInput(f"{path}: {key} is host:port with a port from 1 to 65535, not {value!r}")
    return value
