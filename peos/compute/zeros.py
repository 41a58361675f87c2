"""Zeros: a worker's own supply, and those made ahead of their use, in memory only, each given out once.

Made while a collection is open, they cut a pass to one multiplication a ciphertext. A party that learns a zero can link
the ciphertext that it hid before and after the pass, and a zero used for two rows links them to each other. So a zero
leaves the supply before it is used and never comes back, whatever becomes of the work that took it; it is never
written to a file; and what was not used is overwritten at the end.
"""

from collections import deque
from threading import Lock
from typing import Final

import numpy as np

from peos.crypto.randomness import Randomness, system
from peos.crypto.schemes.base import Packed, PublicKey, ZeroSource
from peos.errors import LocalFault

_OUTGROWN: Final = 8  # tables built for few zeros are built anew for so many times more: wider ones then pay


class ReadyZeros:
    """At most `capacity` zeros under one public key. Safe to use from several threads."""

    def __init__(self, public: PublicKey, capacity: int) -> None:
        self.public = public
        self.capacity = capacity
        self._rows: deque[Packed] = deque()
        self._count = 0
        self._erased = False
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"ReadyZeros({self._count} of {self.capacity})"

    def __len__(self) -> int:
        return self._count

    def put(self, zeros: Packed) -> int:
        """Add fresh zeros, as many as there is room for; says how many. After the end there is room for none."""
        with self._lock:
            room = 0 if self._erased else self.capacity - self._count
            kept = zeros[:room]
            if len(kept):
                self._rows.append(kept.copy())
                self._count += len(kept)
            return len(kept)

    def take(self, count: int) -> Packed:
        """Up to `count` zeros, given out once."""
        taken = np.empty((count, self.public.ciphertext_bytes), np.uint8)
        filled = 0
        with self._lock:
            while filled < count and self._rows:
                rows = self._rows.pop()
                part = rows[: count - filled]
                taken[filled : filled + len(part)] = part
                filled += len(part)
                if len(part) < len(rows):
                    self._rows.append(rows[len(part) :])
                part[:] = 0
            self._count -= filled
        return taken[:filled]

    def erase(self) -> int:
        """Overwrite what is left, and take in nothing more; says how many were left."""
        with self._lock:
            for rows in self._rows:
                rows[:] = 0
            self._rows.clear()
            left, self._count, self._erased = self._count, 0, True
            return left


class ZeroTaker:
    """As the input of an engine: a chunk that is cut takes its zeros from the supply, and cut again takes others."""

    def __init__(self, ready: ReadyZeros | None, public: PublicKey) -> None:
        if ready is not None and ready.public != public:
            raise LocalFault("compute.other_key", "zeros under one key are of no use under another")
        self._ready = ready
        self._none = np.empty((0, public.ciphertext_bytes), np.uint8)

    def __getitem__(self, where: slice) -> Packed:
        return self._none if self._ready is None else self._ready.take(where.stop - where.start)

    def missing(self, count: int) -> int:
        """How many of `count` zeros have to be made."""
        return max(0, count - (len(self._ready) if self._ready is not None else 0))


class WorkerZeros:
    """A worker's randomness and its zeros, for one key at a time: tables take up to 170 MB, so an old key's are freed.

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
