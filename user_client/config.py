"""client.toml: whom a user trusts to shuffle, and what she is ready to give away."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from peos.client.consent import Limits
from peos.crypto.identity import PUBLIC_BYTES
from peos.errors import WrongInput
from peos.protocols import NEEDS_NO_LEAVE
from peos.registry import PROTOCOLS, VIEWS
from peos.settings import PATH, POSITIVE, TEXTS, File, Kind, count, load, setting, some_of
from peos.shuffle.schedule import MIN_SHUFFLERS

_ASK: Final = "ask the organisation for it; its `peos shuffler init` prints it"


def _identities(value: Any) -> tuple[bytes, ...]:
    found = []
    for position, digits in enumerate(TEXTS.take(value), start=1):
        try:
            identity = bytes.fromhex(digits) if len(digits) == 2 * PUBLIC_BYTES else b""
        except ValueError:
            identity = b""
        if len(identity) != PUBLIC_BYTES:
            raise WrongInput(
                "config.identity", f"entry {position} is not an identity of {2 * PUBLIC_BYTES} hex digits", hint=_ASK
            )
        found.append(identity)
    if len(set(found)) < len(found):
        raise WrongInput("config.same_identity", "an identity appears twice", hint="name each organisation once")
    if len(found) < MIN_SHUFFLERS:
        raise WrongInput(
            "config.few_identities",
            f"{len(found)} identities, and at least {MIN_SHUFFLERS} must shuffle",
            hint="pin every shuffler of the collections that you answer",
        )
    return tuple(found)


@dataclass(frozen=True, kw_only=True)
class Config(File):
    """A user's configuration; the folder is resolved against the file's own."""

    folder: Path = setting("folder", PATH)
    shufflers: tuple[bytes, ...] = setting("shufflers", Kind(TEXTS.words, _identities))  # identities that she pins
    most_eps_local: float = setting("most_eps_local", POSITIVE)
    least_reports: int = setting("least_reports", count(1))
    least_fakes: int = setting("least_fakes", count(0), 0)
    budget: float = setting("budget", POSITIVE)  # of ε_l, over all that she will ever answer
    # The sequential shuffle protects less (protocol.md §9).
    protocols: tuple[str, ...] = setting("protocols", some_of(*PROTOCOLS), NEEDS_NO_LEAVE)
    views: tuple[str, ...] | None = setting("views", some_of(*VIEWS), None)  # what may be asked; else all that is known
    attributes: tuple[str, ...] | None = setting("attributes", TEXTS, None)  # of her record; else all
    most_cells: int | None = setting("most_cells", count(2), None)  # of a table of them

    @property
    def limits(self) -> Limits:
        """The least protection with which she answers."""
        return Limits(
            self.most_eps_local,
            self.least_reports,
            self.least_fakes,
            self.protocols,
            self.views,
            self.attributes,
            self.most_cells,
        )


def read(path: Path) -> Config:
    """The configuration in a file; WrongInput names the file and the key."""
    return load(path, Config)
