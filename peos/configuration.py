"""What the configurations of several processes have in common: cards, the engine, a passphrase, limits of a port."""

import os
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from peos.collection.cards import Card
from peos.compute import ENGINES, Choice, Tls
from peos.errors import BadEncoding, WrongInput, in_words
from peos.settings import ADDRESS, FLAG, TEXT, Key, Kind, Settings, count, one_of
from peos.wire.parties import decode_card

_CREDENTIALS: Final = "$CREDENTIALS_DIRECTORY"
_WRITE_IT: Final = "write the secret into it, and give it mode 0600"


def read_card(settings: Path, key: str, card: Path) -> tuple[bytes, Card]:
    """A card that a configuration names, as it was signed and as it reads."""
    try:
        data = card.read_bytes()
    except OSError as error:
        raise WrongInput(
            "card.missing",
            f"{key}: {card} cannot be read: {in_words(error)}",
            hint="the party that it is of makes it with its `init`; ask its operator",
            where=str(settings),
        ) from None
    try:
        return data, decode_card(data)
    except BadEncoding as bad:
        raise WrongInput(
            "card.unreadable",
            f"{key}: {card} cannot be read as a card: {bad}",
            hint=bad.hint or "ask its operator for the card again",
            where=str(settings),
        ) from None


# [limits], for every process with a port for peers.
PEER_CONNECTIONS: Final = ("limits.peer_connections", count(8), 256)


def _collector(value: Any) -> str:
    """An address of HTTP, without what would be a secret."""
    to = urlsplit(TEXT.take(value))
    if "@" in to.netloc or to.query or to.fragment:
        raise WrongInput(
            "config.tracing",
            "tracing.to has more than an address and a path",
            hint="what the collector wants to know of its callers stands in $OTEL_EXPORTER_OTLP_HEADERS",
        )
    if to.scheme not in ("http", "https") or not to.hostname or to.port == 0:
        raise ValueError
    return to.geturl().rstrip("/")


# [listen], for every process that serves: a port without TLS, for Prometheus and for health checks.
METRICS: Final = ("listen.metrics", ADDRESS, None)


# [tracing], likewise: where traces are sent.
_TO: Final[Key[str | None]] = Key("tracing.to", Kind('an address like "http://127.0.0.1:4318"', _collector), None)
_PLAIN: Final = Key("tracing.plain_http", FLAG, False)
TRACING: Final[tuple[Key[Any], ...]] = (_TO, _PLAIN)


def tracing(found: Settings) -> str | None:
    """The address of a collector, if one is named: on this machine, or by TLS, or over a network of the operator's."""
    to = found[_TO]
    if to is None or found[_PLAIN] or to.startswith("https:") or _is_here(str(urlsplit(to).hostname)):
        return to
    raise WrongInput(
        "config.tracing",
        f"tracing.to is plain HTTP to another machine: {to}",
        hint="name an https:// address, or write plain_http = true if only networks of yours lie between",
        where=str(found.path),
    )


def _is_here(name: str) -> bool:
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def require_apart(settings: Path, ports: Mapping[str, str | None]) -> None:
    """The ports of [listen] that are given are different ones."""
    named = [f"listen.{name}" for name, address in ports.items() if address is not None]
    if len(set(ports.values()) - {None}) < len(named):
        raise WrongInput(
            "config.same_port",
            f"each of {', '.join(named[:-1])} and {named[-1]} is a port of its own",
            hint="give one of them another port",
            where=str(settings),
        )


# [compute], for every process that works vectors.
_ENGINE: Final = Key("compute.engine", one_of(*ENGINES), ENGINES[0])
_SCHEDULER: Final[Key[str | None]] = Key("compute.scheduler", TEXT, None)
_AUTHORITY: Final[Key[str | None]] = Key("compute.authority", TEXT, None)
_CERTIFICATE: Final[Key[str | None]] = Key("compute.certificate", TEXT, None)
_KEY_FILE: Final[Key[str | None]] = Key("compute.key", TEXT, None)
_TLS: Final = (_AUTHORITY, _CERTIFICATE, _KEY_FILE)
COMPUTE: Final[tuple[Key[Any], ...]] = (_ENGINE, _SCHEDULER, *_TLS)


def compute(found: Settings) -> Choice:
    """The engine that a file chooses."""
    scheduler = found[_SCHEDULER]
    files = [found.beside(name) for key in _TLS if (name := found[key]) is not None]
    if found[_ENGINE] != "dask":
        if scheduler is not None or files:
            raise WrongInput(
                "config.engine",
                "[compute] names a cluster, and another engine",
                hint='write engine = "dask", or remove it',
                where=str(found.path),
            )
        return Choice(found[_ENGINE])
    if scheduler is None:
        raise WrongInput(
            "config.scheduler",
            "compute.scheduler is missing",
            hint="the address of the cluster's scheduler: tls://host:port",
            where=str(found.path),
        )
    if 0 < len(files) < len(_TLS):
        raise WrongInput(
            "config.certificates",
            "[compute] has some of the cluster's certificates and not all",
            hint="name authority, certificate and key",
            where=str(found.path),
        )
    try:
        return Choice(found[_ENGINE], scheduler, Tls(*files) if files else None)
    except WrongInput as wrong:
        raise WrongInput(wrong.id, str(wrong), hint=wrong.hint, where=str(found.path)) from None


def host(value: Any) -> str:
    """The host of an address, a name or a number."""
    return ADDRESS.take(f"{TEXT.take(value)}:1").rpartition(":")[0]


# [listen], for every process with ports.
BIND: Final = ("listen.bind", Kind("a host like 0.0.0.0 or [::]", host), None)


def bound(address: str, bind: str | None) -> str:
    """Where a port listens: at its own address, or at `bind` where that address is another machine's."""
    return address if bind is None else f"{bind}:{address.rpartition(':')[2]}"


def read_passphrase(path: Path, file: Path, key: str = "passphrase_file") -> bytes:
    """The secret that the configuration `path` names by `key`, from a file that only its owner can open.

    A newline at its end does not count. `$CREDENTIALS_DIRECTORY` is the folder that a supervisor has made for this
    process alone; the file in it may be root's, and readable through the process' group.
    """
    others = 0o077
    if _CREDENTIALS in file.parts:
        folder = os.environ.get(_CREDENTIALS[1:])
        if not folder:
            raise WrongInput(
                "config.credentials",
                f"{key}: {_CREDENTIALS} is not set",
                hint="a supervisor sets it, like systemd's LoadCredential; or name the file itself",
                where=str(path),
            )
        file, others = Path(folder, *file.parts[file.parts.index(_CREDENTIALS) + 1 :]), 0o037
    try:
        if file.stat().st_mode & others:
            raise WrongInput(
                "config.passphrase_open",
                f"{key}: {file} is open to others",
                hint=f"chmod 600 {file}",
                where=str(path),
            )
        content = file.read_bytes().rstrip(b"\r\n")
    except OSError as error:
        raise WrongInput(
            "config.passphrase_unreadable",
            f"{key}: {file} cannot be read: {in_words(error)}",
            hint="give it to the account that runs this party" if isinstance(error, PermissionError) else _WRITE_IT,
            where=str(path),
        ) from None
    if not content:
        raise WrongInput("config.passphrase_empty", f"{key}: {file} is empty", hint=_WRITE_IT, where=str(path))
    return content
