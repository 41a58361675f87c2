"""[dummies] web and what belongs to it: which of the analyzer's own reports go by the shufflers' ports for browsers.

What imitates the browsers is an extra (`peos[dummies]`).
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Any, Final

from peos.errors import WrongInput
from peos.net.browsers import AGENT, browsers
from peos.net.web_submit import LANGUAGE, Site
from peos.settings import POSITIVE, TEXT, TEXTS, Key, Kind, Settings

_SITE: Final = re.compile(r"https://[a-z0-9.-]+(:[0-9]{1,5})?|http://(localhost|127\.0\.0\.1)(:[0-9]{1,5})?")

_LANGUAGE: Final = re.compile(r"[A-Za-z0-9*,;=. -]+")  # as a browser says it, in one line


def _sites(value: Any) -> tuple[str, ...]:
    found = TEXTS.take(value)
    if not all(_SITE.fullmatch(one) and one.startswith("https:") for one in found):
        raise ValueError
    return found


def _origin(value: Any) -> str:
    if not _SITE.fullmatch(found := TEXT.take(value)):
        raise ValueError
    return found


def _languages(value: Any) -> tuple[str, ...]:
    found = TEXTS.take(value)
    if not all(map(_LANGUAGE.fullmatch, found)):
        raise ValueError
    return found


_WEB: Final[Key[tuple[str, ...]]] = Key(
    "dummies.web", Kind('a list of addresses such as "https://shuffle.north.example"', _sites), ()
)
_SHARE: Final[Key[float]] = Key("dummies.web_share", POSITIVE, 0.5)
_ORIGIN: Final[Key[str]] = Key("dummies.web_origin", Kind('an origin such as "https://app.example"', _origin), "")
_AGENTS: Final[Key[tuple[str, ...]]] = Key("dummies.web_agents", TEXTS, (AGENT,))
_LANGUAGES: Final[Key[tuple[str, ...]]] = Key(
    "dummies.web_languages", Kind('a list of languages such as "de-DE,de;q=0.9"', _languages), (LANGUAGE,)
)
_READING: Final[Key[float]] = Key("dummies.web_reading", POSITIVE, 20.0)
KEYS: Final[tuple[Key[Any], ...]] = (_WEB, _SHARE, _ORIGIN, _AGENTS, _LANGUAGES, _READING)


@dataclass(frozen=True)
class ByWeb:
    """Where, for which share of the dummies, and how many seconds a person typically looks before she answers."""

    site: Site
    share: float
    reading: float

    def takes(self, salt: bytes) -> bool:
        """Whether the dummy with this salt goes this way: the same whenever it is sent again."""
        drawn = int.from_bytes(hashlib.sha256(b"port" + salt).digest()[:8], "big")
        return drawn < self.share * 2**64


def by_web(found: Settings) -> ByWeb | None:
    """What a file asks for, or none."""
    if not found[_WEB]:
        if unused := [key.name for key in KEYS if found[key] != key.default]:
            raise _wrong(found, f"{unused[0]} is of no use without dummies.web", "name the addresses, or remove it")
        return None
    if not found[_ORIGIN]:
        raise _wrong(found, "dummies.web has no dummies.web_origin", "name the page that users answer from")
    if unknown := [name for name in found[_AGENTS] if name not in browsers()]:
        sentence = f"dummies.web_agents names {unknown[0][:80]!r}, which is none of {', '.join(browsers())}"
        raise _wrong(found, sentence, "name browsers that can be imitated")
    if found[_SHARE] > 1.0:
        raise _wrong(found, f"dummies.web_share is at most 1, not {found[_SHARE]:g}", "0.5 is one dummy of two")
    site = Site(found[_WEB], found[_ORIGIN], found[_AGENTS], found[_LANGUAGES])
    return ByWeb(site, found[_SHARE], found[_READING])


def _wrong(found: Settings, sentence: str, hint: str) -> WrongInput:
    return WrongInput("config.web", sentence, hint=hint, where=str(found.path))
