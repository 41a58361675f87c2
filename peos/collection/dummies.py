"""When the analyzer's dummies are sent: spread like users' reports, so that neither time nor order tells them apart.

Each dummy has a place u between the first report and the last, drawn with its salt. It is due once that share of the
time has passed, or once that share of the expected users has answered, whichever comes first: users who come evenly
and users who come all at once both find the dummies among them. One dummy in eight waits for four times as many users
as it otherwise would: should more come than were expected, not all dummies are in before them (protocol.md §7.1).

How many have answered is what the shufflers say. The lower median of their words is taken, so that fewer than half of
them, who might call the dummies in early, do not decide it.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Final

from peos.crypto.randomness import Randomness

LEAST_SENT: Final = (
    16  # with fewer acknowledged dummies nothing is published: 16 miss a tenth of the rows one time in 5
)
REST_SECONDS: Final = 10.0  # within which an early freeze sends what is left
_LATE_SHARE: Final = 8  # one in so many waits for more users
_LATE_FACTOR: Final = 4
_MARGIN_SHARE: Final = 0.05  # of the open time, at its end, is for repeats
_MARGIN_SECONDS: Final = 30.0


@dataclass(frozen=True)
class Spread:
    """The time over which a collection's dummies are spread, and the users among whom they are to be."""

    opened_at: float
    closes_at: float
    expected: int

    def due(self, salts: Sequence[bytes], *, now: float, answered: int) -> tuple[int, ...]:
        """The dummies, by number, that are to be in by now."""
        passed, came = self._passed(now), answered / max(1, self.expected)
        return tuple(number for number, salt in enumerate(salts) if _is_due(salt, passed, came))

    def pauses(self, count: int, *, now: float, answered: int, rng: Randomness) -> list[float]:
        """Seconds before each of the last `count` dummies when the collection is closed early: the users' own tempo.

        Exponential, as between users who come independently; together they take no longer than `REST_SECONDS`.
        """
        mean = min((now - self.opened_at) / max(1, answered), REST_SECONDS / 2 / max(1, count))
        drawn = [-log((rng.integer_below(1 << 53) + 1) / (1 << 53)) * max(0.0, mean) for _ in range(count)]
        longest = REST_SECONDS / max(sum(drawn), REST_SECONDS)
        return [pause * longest for pause in drawn]

    def _passed(self, now: float) -> float:
        whole = self.closes_at - self.opened_at
        lasting = whole - min(_MARGIN_SECONDS, _MARGIN_SHARE * whole)
        return (now - self.opened_at) / lasting if lasting > 0 else 1.0


def answered(reports: Sequence[int], dummies: int) -> int:
    """How many users have answered, by what the shufflers say that they hold; one that says nothing counts as 0."""
    return max(0, sorted(reports)[(len(reports) - 1) // 2] - dummies)


def _is_due(salt: bytes, passed: float, came: float) -> bool:
    drawn = hashlib.sha256(b"when" + salt).digest()
    place = int.from_bytes(drawn[:8], "big") / (1 << 64)
    late = drawn[8] % _LATE_SHARE == 0
    return passed >= place or came >= (place * _LATE_FACTOR if late else place)
