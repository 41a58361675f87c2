"""Sessions of browsers: a random id in a cookie that no script reads, and a word of it in every form."""

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from peos.crypto.randomness import KEY_BYTES, Randomness

LASTS: Final = 12 * 3600.0  # seconds
MOST: Final = 1000
_ID: Final = 64  # hex digits


@dataclass(frozen=True, repr=False)
class Session:
    """One browser, known by its cookie. A new one is `fresh` until its cookie is set."""

    id: str
    is_in: bool
    fresh: bool = False

    def __repr__(self) -> str:
        return f"Session(is_in={self.is_in})"


class Sessions:
    """In memory: a restart ends all. Without a token everybody who reaches the port is in."""

    def __init__(self, token: bytes | None, rng: Randomness, clock: Callable[[], float]) -> None:
        self._token = None if token is None else hashlib.sha256(token).digest()
        self._rng, self._clock = rng, clock
        self._key = rng.bytes(KEY_BYTES)
        self._until: dict[str, float] = {}  # of those who are in

    @property
    def needs_token(self) -> bool:
        """Whether an operator has to log in."""
        return self._token is not None

    def of(self, cookie: str) -> Session:
        """The session of a cookie; a fresh one where there is none that this process made."""
        id_, _, mark = cookie.partition(".")
        if not hmac.compare_digest(mark.encode(), self._mark("cookie", id_).encode()):
            return self._fresh(is_in=not self.needs_token)
        return Session(id_, not self.needs_token or self._until.get(id_, 0.0) > self._clock())

    def enter(self, token: str) -> Session | None:
        """A session that is in, under a new id; nothing for a wrong token."""
        given = hashlib.sha256(token.encode()).digest()
        if self._token is None or not hmac.compare_digest(given, self._token):
            return None
        now = self._clock()
        self._until = {id_: until for id_, until in self._until.items() if until > now}
        while len(self._until) >= MOST:
            del self._until[min(self._until, key=self._until.__getitem__)]
        session = self._fresh(is_in=True)
        self._until[session.id] = now + LASTS
        return session

    def leave(self, session: Session) -> None:
        """End it."""
        self._until.pop(session.id, None)

    def cookie(self, session: Session) -> str:
        """What the browser keeps."""
        return f"{session.id}.{self._mark('cookie', session.id)}"

    def word(self, session: Session) -> str:
        """What every form of this session carries: another site cannot read it, and so cannot send it."""
        return self._mark("form", session.id)

    def is_word(self, session: Session, word: str) -> bool:
        """Whether a form was made for this session."""
        return hmac.compare_digest(word.encode(), self.word(session).encode())

    def _fresh(self, *, is_in: bool) -> Session:
        return Session(self._rng.bytes(_ID // 2).hex(), is_in, fresh=True)

    def _mark(self, use: str, id_: str) -> str:
        return hmac.new(self._key, f"{use} {id_}".encode(), hashlib.sha256).hexdigest()
