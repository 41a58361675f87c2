"""[listen] web and what belongs to it: the port for browsers, off unless it is configured."""

from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final

from peos.errors import WrongInput
from peos.net.acceptor import caller_of
from peos.net.web import Pair
from peos.settings import ADDRESS, ORIGINS, PATH, TEXTS, Key, Kind, Settings


def _addresses(value: Any) -> tuple[str, ...]:
    return tuple(str(ip_address(one)) for one in TEXTS.take(value))


_WEB: Final[Key[str | None]] = Key("listen.web", ADDRESS, None)
_CERTIFICATE: Final[Key[str | None]] = Key("listen.web_certificate", PATH, None)
_KEY: Final[Key[str | None]] = Key("listen.web_key", PATH, None)
_ORIGINS: Final[Key[tuple[str, ...]]] = Key("listen.web_origins", ORIGINS, ())
_PROXIES: Final[Key[tuple[str, ...]]] = Key(
    "listen.web_proxies", Kind("a list of addresses of proxies, not of networks", _addresses), ()
)
KEYS: Final[tuple[Key[Any], ...]] = (_WEB, _CERTIFICATE, _KEY, _ORIGINS, _PROXIES)


@dataclass(frozen=True)
class Web:
    """The port: where, with which certificate (none: a proxy has it), for which pages, behind which proxies."""

    address: str
    pair: Pair | None
    origins: tuple[str, ...]
    proxies: tuple[str, ...]

    @property
    def callers(self) -> frozenset[str]:
        """The proxies as connections are counted by them."""
        return frozenset(map(caller_of, self.proxies))


def web(found: Settings) -> Web | None:
    """The port that a file asks for, or none."""
    address, files = found[_WEB], (found[_CERTIFICATE], found[_KEY])
    if address is None:
        if unused := [key.name for key in KEYS if found[key]]:
            raise _wrong(found, f"{unused[0]} is of no use without listen.web", "name the port, or remove it")
        return None
    if not found[_ORIGINS]:
        raise _wrong(found, "listen.web has no listen.web_origins", "name the pages that may ask here")
    if (files[0] is None) is not (files[1] is None):
        raise _wrong(found, "listen.web_certificate and listen.web_key belong together", "name both files")
    if files[0] is None or files[1] is None:
        if not found[_PROXIES]:
            raise _wrong(
                found,
                "listen.web has neither a certificate nor a proxy that has one",
                "name web_certificate and web_key, or in web_proxies the only addresses that may connect",
            )
        return Web(address, None, found[_ORIGINS], found[_PROXIES])
    pair = Pair(found.beside(files[0]), found.beside(files[1]))
    return Web(address, pair, found[_ORIGINS], found[_PROXIES])


def _wrong(found: Settings, sentence: str, hint: str) -> WrongInput:
    return WrongInput("config.web", sentence, hint=hint, where=str(found.path))
