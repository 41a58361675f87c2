"""[listen] console and what belongs to it: pages for the analyst, off unless they are configured."""

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

from peos.errors import WrongInput
from peos.net.web import Pair
from peos.settings import ADDRESS, PATH, Key, Settings

SOCKET: Final = "console.sock"
_CONSOLE: Final[Key[str | None]] = Key("listen.console", ADDRESS, None)
_SOCKET: Final[Key[str | None]] = Key("listen.console_socket", PATH, None)
_CERTIFICATE: Final[Key[str | None]] = Key("listen.console_certificate", PATH, None)
_KEY: Final[Key[str | None]] = Key("listen.console_key", PATH, None)
_TOKEN: Final[Key[str | None]] = Key("listen.console_token_file", PATH, None)
KEYS: Final[tuple[Key[Any], ...]] = (_CONSOLE, _SOCKET, _CERTIFICATE, _KEY, _TOKEN)


@dataclass(frozen=True)
class Console:
    """Where the pages are, with which certificate and token; and the socket of the serving process, or its default."""

    address: str
    socket: Path | None
    pair: Pair | None
    token_file: Path | None


def console(found: Settings) -> Console | None:
    """The console that a file asks for, or none."""
    address = found[_CONSOLE]
    if address is None:
        if unused := [key.name for key in KEYS if found[key]]:
            raise _wrong(found, f"{unused[0]} is of no use without listen.console", "name the address, or remove it")
        return None
    certificate, key, token = (
        None if found[one] is None else found.beside(str(found[one])) for one in (_CERTIFICATE, _KEY, _TOKEN)
    )
    if (certificate is None) is not (key is None):
        raise _wrong(
            found, "listen.console_certificate and listen.console_key belong together", "name both files, or neither"
        )
    if not _is_loopback(address) and (certificate is None or token is None):
        raise _wrong(
            found,
            f"listen.console is {address}, which others than this machine may reach, and it has no certificate or no "
            "token",
            "listen at 127.0.0.1, or name console_certificate, console_key and console_token_file",
        )
    pair = Pair(certificate, key) if certificate is not None and key is not None else None
    socket = None if found[_SOCKET] is None else found.beside(str(found[_SOCKET]))
    return Console(address, socket, pair, token)


def _is_loopback(address: str) -> bool:
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _wrong(found: Settings, sentence: str, hint: str) -> WrongInput:
    return WrongInput("config.console", sentence, hint=hint, where=str(found.path))
