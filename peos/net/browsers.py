"""Browsers whose handshake curl_cffi imitates, with what their workers' requests have in common.

The order of headers was read off Chromium 156 and Firefox 153 (tests/e2e/test_web_client.py does so with a Chromium).
There is no Safari: curl_cffi's writes its headers as in HTTP/2 alone.
"""

from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from peos.tabular import needed

EXTRA: Final = "dummies"  # which installs curl_cffi
AGENT: Final = "chrome"  # the latest that it knows
_FIREFOX: Final = (
    "Host,User-Agent,Accept,Accept-Language,Accept-Encoding,content-type,Content-Length,Access-Control-Request-Method,"
    "Access-Control-Request-Headers,Origin,Connection,Sec-Fetch-Dest,Sec-Fetch-Mode,Sec-Fetch-Site,Priority,"
    "Pragma,Cache-Control"
)


class Family(NamedTuple):
    """What browsers of one maker have in common; requests of a worker, as they were seen to come from them."""

    since: float  # the version from which on they take these encodings
    agent: str
    systems: Mapping[str, str]
    order: str  # of the headers that they send
    preflight: str


_FAMILIES: Final[Mapping[str, Family]] = {
    "Chrome": Family(
        123,
        "Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version}.0.0.0 Safari/537.36",
        {"Windows": "Windows NT 10.0; Win64; x64", "macOS": "Macintosh; Intel Mac OS X 10_15_7"},
        "Host,Connection,Content-Length,Pragma,Cache-Control,User-Agent,content-type,Accept,Origin,"
        "Sec-Fetch-Site,Sec-Fetch-Mode,Sec-Fetch-Dest,Accept-Encoding,Accept-Language",
        "Host,Connection,Pragma,Cache-Control,Accept,Access-Control-Request-Method,Access-Control-Request-Headers,"
        "Origin,User-Agent,Sec-Fetch-Mode,Sec-Fetch-Site,Sec-Fetch-Dest,Accept-Encoding,Accept-Language",
    ),
    "Firefox": Family(
        126,
        "Mozilla/5.0 ({system}; rv:{version}) Gecko/20100101 Firefox/{version}",
        {"Windows": "Windows NT 10.0; Win64; x64", "macOS": "Macintosh; Intel Mac OS X 10.15"},
        _FIREFOX,
        _FIREFOX,
    ),
}


class Browser(NamedTuple):
    """One that can be imitated: handshake, User-Agent and headers agree."""

    target: str  # as curl_cffi names it
    agent: str
    family: Family


@cache
def browsers() -> Mapping[str, Browser]:
    """Those that can be imitated, by their names; WrongInput says what to install."""
    found = {}
    for known in needed("curl_cffi.fingerprints", EXTRA).NATIVE_IMPERSONATE_TARGETS:
        family, name, version = _FAMILIES.get(known["browser"]), known["target_name"], known["version"]
        if family and known["os"] in family.systems and float(version) >= family.since:
            agent = family.agent.format(system=family.systems[known["os"]], version=version)
            found[name] = Browser(name, agent, family)
    latest = needed("curl_cffi.requests.impersonate", EXTRA).REAL_TARGET_MAP
    return {name: found[target] for name, target in latest.items() if target in found} | found
