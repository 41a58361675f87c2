"""One worker's randomness, and its supply of zeros under the key that it works for."""

from typing import Final

from peos.crypto.randomness import Randomness, system
from peos.crypto.schemes.base import Packed, PublicKey, ZeroSource

_OUTGROWN: Final = 8  # tables built for few zeros are built anew for so many times more: wider ones then pay


class Supply:
    """Zeros for one key at a time: tables take up to 170 MB, so those of the key before are given up.

    `rng` is for tests, where a run has to be repeated; each production worker has a secret stream of its own.
    """

    def __init__(self, rng: Randomness | None = None) -> None:
        self.rng = rng or system()
        self._built_for: tuple[bytes, bool] = (b"", False)
        self._expected = 0
        self._source: ZeroSource | None = None

    def zeros(self, public: PublicKey, count: int, *, expected: int, statistical: bool) -> Packed:
        """`count` fresh zeros, from tables if `expected` in all makes them worth building."""
        wanted = (public.fingerprint, statistical)
        if self._source is None or self._built_for != wanted or expected > _OUTGROWN * self._expected:
            self._source = public.zero_source(self.rng, expected=expected, statistical=statistical)
            self._built_for, self._expected = wanted, expected
        return self._source.zeros(count)
