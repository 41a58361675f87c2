"""client.toml: whom a user trusts to shuffle, and what she is ready to give away."""

import math
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from peos.crypto.identity import PUBLIC_BYTES
from peos.errors import WrongInput
from peos.shuffle.schedule import MIN_SHUFFLERS

_KINDS: Final[dict[str, tuple[tuple[type, ...], str]]] = {
    "folder": ((str,), "a text"),
    "shufflers": ((list,), "a list"),
    "most_eps_local": ((int, float), "a number"),
    "least_reports": ((int,), "a whole number"),
    "least_fakes": ((int,), "a whole number"),
    "budget": ((int, float), "a number"),
}
_OPTIONAL: Final = frozenset({"least_fakes"})


@dataclass(frozen=True)
class Config:
    """A user's configuration; the folder is resolved against the file's own."""

    folder: Path
    shufflers: tuple[bytes, ...]  # identities that she pins
    most_eps_local: float
    least_reports: int
    least_fakes: int
    budget: float  # of ε_l, over all that she will ever answer


def read(path: Path) -> Config:
    """The configuration in a file; WrongInput names the file and the key."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise WrongInput(f"the configuration {path} cannot be read") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WrongInput(f"{path} is not TOML: {error}") from None
    for key, value in content.items():
        if key not in _KINDS:
            raise WrongInput(f"{path}: {key} is not a setting", hint=f"known: {', '.join(sorted(_KINDS))}")
        types, kind = _KINDS[key]
        if not isinstance(value, types) or isinstance(value, bool):
            raise WrongInput(f"{path}: {key} must be {kind}")
    for key in _KINDS:
        if key not in content and key not in _OPTIONAL:
            raise WrongInput(f"{path}: {key} is missing")
    if not content["folder"]:
        raise WrongInput(f"{path}: folder is empty")
    return Config(
        folder=path.parent / content["folder"],
        shufflers=_identities(path, content["shufflers"]),
        most_eps_local=_positive(path, "most_eps_local", content["most_eps_local"]),
        least_reports=_count(path, "least_reports", content["least_reports"], least=1),
        least_fakes=_count(path, "least_fakes", content.get("least_fakes", 0), least=0),
        budget=_positive(path, "budget", content["budget"]),
    )


def _identities(path: Path, given: list[Any]) -> tuple[bytes, ...]:
    found = []
    for position, text in enumerate(given, start=1):
        digits = text if isinstance(text, str) else ""
        try:
            identity = bytes.fromhex(digits) if len(digits) == 2 * PUBLIC_BYTES else b""
        except ValueError:
            identity = b""
        if len(identity) != PUBLIC_BYTES:
            raise WrongInput(
                f"{path}: shufflers: entry {position} is not an identity of {2 * PUBLIC_BYTES} hex digits",
                hint="ask the organisation for it; its `peos shuffler init` prints it",
            )
        found.append(identity)
    if len(set(found)) < len(found):
        raise WrongInput(f"{path}: shufflers: one identity is there twice")
    if len(found) < MIN_SHUFFLERS:
        raise WrongInput(f"{path}: shufflers: {len(found)} identities, and at least {MIN_SHUFFLERS} must shuffle")
    return tuple(found)


def _positive(path: Path, key: str, value: float) -> float:
    if not (value > 0 and math.isfinite(value)):
        raise WrongInput(f"{path}: {key} is above zero and finite")
    return float(value)


def _count(path: Path, key: str, value: int, *, least: int) -> int:
    if value < least:
        raise WrongInput(f"{path}: {key} is at least {least}")
    return value
