"""client.toml: whom a user trusts to shuffle, and what she is ready to give away."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from peos import configuration
from peos.configuration import POSITIVE, TEXT, TEXTS, Key, count, some_of
from peos.crypto.identity import PUBLIC_BYTES
from peos.errors import WrongInput
from peos.protocols import NEEDS_NO_LEAVE, PROTOCOLS
from peos.shuffle.schedule import MIN_SHUFFLERS

_FOLDER: Final = Key("folder", TEXT)
_SHUFFLERS: Final = Key("shufflers", TEXTS)
_MOST_EPS_LOCAL: Final = Key("most_eps_local", POSITIVE)
_LEAST_REPORTS: Final = Key("least_reports", count(1))
_LEAST_FAKES: Final = Key("least_fakes", count(0), 0)
_BUDGET: Final = Key("budget", POSITIVE)
_PROTOCOLS: Final = Key("protocols", some_of(*PROTOCOLS), NEEDS_NO_LEAVE)
KEYS: Final = (_FOLDER, _SHUFFLERS, _MOST_EPS_LOCAL, _LEAST_REPORTS, _LEAST_FAKES, _BUDGET, _PROTOCOLS)
_ASK: Final = "ask the organisation for it; its `peos shuffler init` prints it"


@dataclass(frozen=True)
class Config:
    """A user's configuration; the folder is resolved against the file's own."""

    folder: Path
    shufflers: tuple[bytes, ...]  # identities that she pins
    most_eps_local: float
    least_reports: int
    least_fakes: int
    budget: float  # of ε_l, over all that she will ever answer
    protocols: tuple[str, ...] = NEEDS_NO_LEAVE  # others protect less: protocol.md §9


def read(path: Path) -> Config:
    """The configuration in a file; WrongInput names the file and the key."""
    found = configuration.read(path, KEYS)
    return Config(
        folder=found.beside(found[_FOLDER]),
        shufflers=_identities(path, found[_SHUFFLERS]),
        most_eps_local=found[_MOST_EPS_LOCAL],
        least_reports=found[_LEAST_REPORTS],
        least_fakes=found[_LEAST_FAKES],
        budget=found[_BUDGET],
        protocols=found[_PROTOCOLS],
    )


def _identities(path: Path, given: tuple[str, ...]) -> tuple[bytes, ...]:
    found = []
    for position, digits in enumerate(given, start=1):
        try:
            identity = bytes.fromhex(digits) if len(digits) == 2 * PUBLIC_BYTES else b""
        except ValueError:
            identity = b""
        if len(identity) != PUBLIC_BYTES:
            raise WrongInput(
                f"{path}: shufflers: entry {position} is not an identity of {2 * PUBLIC_BYTES} hex digits", hint=_ASK
            )
        found.append(identity)
    if len(set(found)) < len(found):
        raise WrongInput(f"{path}: shufflers: one identity is there twice", hint="name each organisation once")
    if len(found) < MIN_SHUFFLERS:
        raise WrongInput(
            f"{path}: shufflers: {len(found)} identities, and at least {MIN_SHUFFLERS} must shuffle",
            hint="pin every shuffler of the collections that you answer",
        )
    return tuple(found)
